package node

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"seganet.internal/overlay/internal/nodes"
	"seganet.internal/overlay/internal/servetest"
	"seganet.internal/overlay/internal/wire"
)

func TestAnIdleNodeAlternatesBetweenServicesAndRelay(t *testing.T) {
	const resting = 3 * time.Minute
	var c checks
	for i, want := range []bool{false, true, false, true} {
		if relay, wait := c.next(false, false, true, 0); relay != want || wait != checkIdle {
			t.Errorf("check %d: relay %v, then %v", i, relay, wait)
		}
	}
	for name, k := range map[string]struct {
		busy, metered, relay bool
		wait                 time.Duration
	}{"busy": {true, false, true, pingBusy}, "metered": {true, true, true, pingMetered}, "resting": {false, true, true, resting}, "without a relay": {false, false, false, pingIdle}} {
		for range 3 {
			if relay, wait := c.next(k.busy, k.metered, k.relay, resting); relay || wait != k.wait {
				t.Errorf("%s: relay %v, then %v", name, relay, wait)
			}
		}
	}
}

func TestARecheckTestsTheConnectionAtOnce(t *testing.T) {
	r := servetest.Start(t, servetest.Config(t))
	member := servetest.Join(t, r, "hall-3", nil)
	n, err := open(t.Context(), Options{State: servetest.Save(t, member), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer n.close()
	ctx, cancel := context.WithTimeout(t.Context(), servetest.Wait)
	defer cancel()
	c, err := nodes.Dial(ctx, member.Nodes[0], member.ClientTLS(), nodes.Greeting{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Send(ctx, &wire.Hello{}); err != nil {
		t.Fatal(err)
	}
	heard := make(chan struct{}, 1)
	go n.write(ctx, &link{client: c, queue: make(chan wire.Message, 1), cancel: cancel}, heard)
	for pongs := 0; pongs < 20; { // more than all turns of the time
		m, err := c.Receive(ctx)
		if err != nil {
			t.Fatalf("after %d answers: %v", pongs, err)
		}
		heard <- struct{}{}
		if _, ok := m.(*wire.Pong); ok {
			pongs++
		}
		n.recheck()
	}
}

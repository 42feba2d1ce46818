package engine_test

import (
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"seganet.internal/overlay/internal/bind"
)

// TestAStuckPeerDoesNotDelayControlMessagesOfOthers fills the queue of a peer whose sender is stuck.
func TestAStuckPeerDoesNotDelayControlMessagesOfOthers(t *testing.T) {
	lo := netip.MustParseAddr("127.0.0.1")
	var got atomic.Int64
	count := func([]byte) { got.Add(1) }
	a := newSide(t, "fd00:5e9a::1", count)
	b, c := newSide(t, "fd00:5e9a::2", count), newSide(t, "fd00:5e9a::3", count)
	for _, s := range []*side{b, c} {
		know(t, a, s, netip.AddrPortFrom(lo, s.bind.Port()))
		know(t, s, a, netip.AddrPortFrom(lo, a.bind.Port()))
		before := got.Load()
		a.wire.in <- numbered(a.v6, s.v6, 0)
		eventually(t, "a session", func() bool { return got.Load() > before })
	}
	free := make(chan struct{})
	t.Cleanup(func() { close(free) })
	a.bind.SetFaults(&bind.Faults{DropSend: func(to netip.AddrPort) bool {
		if to.Port() == c.bind.Port() {
			<-free
		}
		return false
	}})
	var sent atomic.Int64
	go func() {
		for a.e.SendControl(c.key, a.v6, []byte("c")) {
			sent.Add(1)
		}
	}()
	last := int64(-1)
	eventually(t, "a full queue", func() bool {
		now := sent.Load()
		full := now > 0 && now == last
		last = now
		time.Sleep(200 * time.Millisecond)
		return full
	})
	done := make(chan bool, 1)
	go func() { done <- a.e.SendControl(b.key, a.v6, []byte("b")) }()
	select {
	case ok := <-done:
		if !ok {
			t.Error("the message to the other peer was not sent")
		}
	case <-time.After(10 * time.Second):
		t.Error("the message to the other peer waits")
	}
}

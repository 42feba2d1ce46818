package serve_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"seganet.internal/overlay/internal/identity"
	"seganet.internal/overlay/internal/nodes"
	"seganet.internal/overlay/internal/serve"
	"seganet.internal/overlay/internal/servetest"
	"seganet.internal/overlay/internal/wire"
)

// running is a program of a node: it reads until its connection ends, as a node does.
type running struct {
	*servetest.Node
	warned atomic.Bool // that another program uses its identity
	ended  chan struct{}
}

func runNode(t *testing.T, m *identity.Member, instance string) *running {
	t.Helper()
	n := &running{Node: servetest.ConnectAs(t, m, wire.Hello{}, nodes.Greeting{Instance: instance}), ended: make(chan struct{})}
	go func() {
		defer close(n.ended)
		for {
			m, err := n.Receive(context.Background())
			if err != nil {
				return
			}
			if e, ok := m.(*wire.Error); ok && e.Code == wire.CodeTwice {
				n.warned.Store(true)
			}
		}
	}()
	return n
}

func awaitEnd(t *testing.T, n *running) {
	t.Helper()
	select {
	case <-n.ended:
	case <-time.After(servetest.Wait):
		t.Fatal("the replaced connection does not end")
	}
}

// at returns the membership with one of the URLs of the node services.
func at(m *identity.Member, service int) *identity.Member {
	c := *m
	c.Nodes = m.Nodes[service : service+1]
	return &c
}

// A connection that nothing reads is one whose program has lost power, or whose way is gone: the service has it still.
func TestANodeThatConnectsAgainIsNoCopy(t *testing.T) {
	t.Parallel()
	c := servetest.Config(t)
	c.Listen, c.Public = ":0", []string{"127.0.0.1", "::1"}
	r := servetest.Start(t, c)
	for name, life := range map[string]func(m *identity.Member){
		"restart": func(m *identity.Member) {
			runNode(t, m, "first").Close()
			runNode(t, m, "second")
		},
		"power": func(m *identity.Member) {
			servetest.ConnectAs(t, m, wire.Hello{}, nodes.Greeting{Instance: "first"})
			runNode(t, m, "second")
		},
		"roaming": func(m *identity.Member) { // from Wi-Fi to LTE, or a NAT that has forgotten the connection
			for range 3 {
				servetest.ConnectAs(t, m, wire.Hello{}, nodes.Greeting{Instance: "first"})
			}
		},
		"dualstack": func(m *identity.Member) {
			for i := range 4 {
				n := runNode(t, at(m, i%2), "first")
				n.Close()
				<-n.ended
			}
		},
		"machine": func(m *identity.Member) { // a virtual machine that is reset to its state before a restart
			for _, instance := range []string{"first", "second", "first"} {
				servetest.ConnectAs(t, m, wire.Hello{}, nodes.Greeting{Instance: instance})
			}
		},
	} {
		m := servetest.Join(t, r, name, nil)
		life(m)
	}
	const longer = nodes.AliveLimit + 2*time.Second // than a program has to answer, and than a report takes
	for start := time.Now(); time.Since(start) < longer; time.Sleep(50 * time.Millisecond) {
		if n := r.Nodes.UsedTwice(); n != 0 {
			t.Fatalf("%d false alarms", n)
		}
	}
	list, err := r.Auth.Nodes()
	for _, n := range list {
		if !n.Twice.IsZero() || !n.Suspended.IsZero() {
			t.Errorf("%+v", n)
		}
	}
	if err != nil || len(list) != 5 {
		t.Errorf("%d nodes, %v", len(list), err)
	}
}

// copies lets two programs with one identity connect in turns until the services refuse both, and returns the refusal.
func copies(t *testing.T, m *identity.Member, services int) error {
	t.Helper()
	var before *running
	for i, start := 0, time.Now(); time.Since(start) < 2*servetest.Wait; i++ {
		next := at(m, i%services)
		ctx, cancel := context.WithTimeout(context.Background(), servetest.Wait)
		probe, err := nodes.Dial(ctx, next.Nodes[0], next.ClientTLS(), nodes.Greeting{})
		cancel()
		if err != nil {
			return err
		}
		probe.Close()
		n := runNode(t, next, []string{"owner", "thief"}[i%2])
		if before != nil {
			awaitEnd(t, before)
			if i == 1 && !before.warned.Load() {
				t.Error("the first program is not warned")
			}
		}
		before = n
		time.Sleep(time.Second)
	}
	t.Fatal("both are still served")
	return nil
}

func TestAnIdentityThatIsUsedTwiceIsReportedAndStopped(t *testing.T) {
	t.Parallel()
	c := servetest.Config(t)
	c.Listen, c.Public = ":0", []string{"127.0.0.1", "::1"}
	r := servetest.Start(t, c)
	m := servetest.Join(t, r, "a", nil)
	watcher := servetest.Connect(t, servetest.Join(t, r, "watcher", nil), wire.Hello{})
	err := copies(t, m, 2)
	if err == nil || !strings.Contains(err.Error(), "suspended") {
		t.Fatal(err)
	}
	if got := servetest.Await[*wire.Revoked](watcher); !strings.Contains(got.List.Payload, m.Self.Serial) {
		t.Errorf("its peers learn %s", got.List.Payload)
	}
	n := listed(t, r, "a", func(n wire.NodeInfo) bool { return !n.Suspended.IsZero() })
	if from := strings.Join(n.TwiceFrom, " "); from != "127.0.0.1 ::1" && from != "::1 127.0.0.1" {
		t.Errorf("from %s", from)
	}
	if n := r.Nodes.UsedTwice(); n < 2 {
		t.Errorf("noticed %d times", n)
	}
	if err := r.Auth.Resume(wire.ResumeRequest{Name: "a"}); err != nil {
		t.Fatal(err)
	}
	servetest.Await[*wire.Revoked](watcher)
	runNode(t, m, "owner")
	listed(t, r, "a", func(n wire.NodeInfo) bool { return n.Online && n.Twice.IsZero() })
}

func TestCopiesAtTwoNodeServicesAreStopped(t *testing.T) {
	t.Parallel()
	bus := startNATS(t, -1)
	r, others := servetest.Split(t, 2)
	var both [2]*serve.Running
	for i := range others {
		others[i].NATS.URLs = []string{"nats://nms:secret@" + bus.Addr().String()}
		both[i] = servetest.Start(t, others[i])
	}
	m := servetest.Join(t, r, "a", nil)
	moving := servetest.Join(t, r, "moving", nil)
	for i := range 4 { // a node that moves between the services is in order
		n := runNode(t, at(moving, i%2), "first")
		n.Close()
		<-n.ended
	}
	if err := copies(t, m, 2); err == nil || !strings.Contains(err.Error(), "suspended") {
		t.Fatal(err)
	}
	if both[0].Nodes.UsedTwice() == 0 || both[1].Nodes.UsedTwice() == 0 {
		t.Error("one of the services has not noticed it")
	}
	if n := listed(t, r, "moving", func(n wire.NodeInfo) bool { return !n.Online }); !n.Twice.IsZero() {
		t.Errorf("%+v", n)
	}
}

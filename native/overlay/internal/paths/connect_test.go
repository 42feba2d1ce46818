package paths_test

import (
	"context"
	"io"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"seganet.internal/overlay/internal/bind"
	"seganet.internal/overlay/internal/busytest"
	"seganet.internal/overlay/internal/paths"
)

// patience bounds each step: a lost segment costs TCP seconds on a busy machine. The lab measures the times.
var patience = busytest.Limit(30 * time.Second)

// stream opens a TCP echo from a to b and returns a function that sends a line and waits for it to come back.
func stream(t *testing.T, a, b *node) func(limit time.Duration) time.Duration {
	t.Helper()
	l, err := b.net.ListenTCP(netip.AddrPortFrom(b.v4, 7))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c); c.Close() }()
		}
	}()
	c, err := a.net.DialAddr(t.Context(), "tcp", netip.AddrPortFrom(b.v4, 7))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return func(limit time.Duration) time.Duration {
		t.Helper()
		start := time.Now()
		_ = c.SetDeadline(start.Add(limit))
		if _, err := c.Write([]byte("0123456789")); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(c, make([]byte, 10)); err != nil {
			t.Fatalf("no echo within %v: %v", limit, err)
		}
		return time.Since(start)
	}
}

func TestTheFirstPacketConnectsByTheRelayAndGoesDirect(t *testing.T) {
	a, b, _ := pair(t, nodeOptions{})
	r := newRelay(t, "127.0.0.1:0", true, true)
	a.paths.SetTURN(r.turn(t, "udp"))
	b.paths.SetTURN(r.turn(t, "udp"))
	echo := stream(t, a, b)
	t.Logf("first echo after %v", echo(busytest.Limit(3*time.Second)))
	t.Logf("direct %v later", eventually(t, patience, "both sides direct", func() bool { return a.isDirect(b) && b.isDirect(a) }))
	echo(patience)
	_, path := ping(t, a, b, patience)
	if !strings.HasPrefix(path, "direct ") {
		t.Fatalf("path %q", path)
	}
}

func TestWithoutAnyRelayTheDirectPathConnects(t *testing.T) {
	a, b, _ := pair(t, nodeOptions{})
	_ = bind.Key(a.public)
	echo := stream(t, a, b)
	echo(patience)
	eventually(t, patience, "both sides direct", func() bool { return a.isDirect(b) && b.isDirect(a) })
}

func TestADeadDirectPathIsAbandonedAndComesBack(t *testing.T) {
	a, b, _ := pair(t, nodeOptions{})
	r := newRelay(t, "127.0.0.1:0", true, true)
	a.paths.SetTURN(r.turn(t, "udp"))
	b.paths.SetTURN(r.turn(t, "udp"))
	echo := stream(t, a, b)
	echo(patience)
	eventually(t, patience, "direct", func() bool { return a.isDirect(b) && b.isDirect(a) })
	a.direct.Store(true)
	start := time.Now()
	for time.Since(start) < 300*time.Millisecond || a.isDirect(b) || b.isDirect(a) {
		if time.Since(start) > patience {
			t.Fatal("the dead path was not left")
		}
		echo(patience)
		time.Sleep(20 * time.Millisecond)
	}
	t.Logf("on the relay %v after the cut: %s", time.Since(start), a.status(b).Why)
	if why := a.status(b).Why; !strings.Contains(why, "fell silent") {
		t.Errorf("why: %q", why)
	}
	a.direct.Store(false)
	back := time.Now()
	for !a.isDirect(b) || !b.isDirect(a) {
		if time.Since(back) > patience {
			t.Fatal("the direct path did not come back")
		}
		echo(patience)
		time.Sleep(20 * time.Millisecond)
	}
	t.Logf("direct again %v after the path healed", time.Since(back))
}

// If the direct path does not survive a change of this side's network, there is no silence: the relay carries copies.
func TestTheRelayCarriesCopiesAfterAChangeOfTheNetwork(t *testing.T) {
	a, b, _ := pair(t, nodeOptions{})
	r := newRelay(t, "127.0.0.1:0", true, true)
	a.paths.SetTURN(r.turn(t, "udp"))
	b.paths.SetTURN(r.turn(t, "udp"))
	echo := stream(t, a, b)
	echo(patience)
	eventually(t, patience, "direct", func() bool { return a.isDirect(b) && b.isDirect(a) })
	a.direct.Store(true)
	a.paths.NetworkChanged("a test")
	t.Logf("an echo took %v", echo(patience))
	eventually(t, patience, "both left the direct path", func() bool { return !a.isDirect(b) && !b.isDirect(a) })
	// If the direct path survives the change, it stays in use.
	a.direct.Store(false)
	eventually(t, patience, "direct again", func() bool { return a.isDirect(b) && b.isDirect(a) })
	before := time.Now()
	stayed := func(when string) { // another direct address of the peer may answer first now
		t.Helper()
		s := a.status(b)
		left := func(e paths.Event) bool { return e.Time.After(before) && !strings.HasPrefix(e.Path, "direct ") }
		if s.Why != "" || slices.ContainsFunc(s.LastChanges, left) {
			t.Errorf("%s: %q, %v", when, s.Why, s.LastChanges)
		}
	}
	a.paths.SetTURN(r.turn(t, "udp")) // another relay address, and no traffic: the peer has to answer
	time.Sleep(2 * paths.Grace)
	stayed("idle")
	a.paths.NetworkChanged("another test")
	for start := time.Now(); time.Since(start) < 2*paths.Grace; time.Sleep(20 * time.Millisecond) {
		echo(patience)
	}
	stayed("with traffic")
}

func TestByTheRelayOnlyTCPOrUDP(t *testing.T) {
	for _, transport := range []string{"udp", "tcp"} {
		t.Run(transport, func(t *testing.T) {
			a, b, _ := pair(t, nodeOptions{relayOnly: true})
			r := newRelay(t, "127.0.0.1:0", true, true)
			a.paths.SetTURN(r.turn(t, transport))
			b.paths.SetTURN(r.turn(t, transport))
			stream(t, a, b)(patience)
			if _, path := ping(t, a, b, patience); path != "relay" {
				t.Fatalf("path %q", path)
			}
			if why := a.status(b).Why; why != "this node is configured to use the relay only" {
				t.Errorf("why: %q", why)
			}
		})
	}
}

func TestUDPBlockedAtTheRelayFallsBackToTCP(t *testing.T) {
	a, b, _ := pair(t, nodeOptions{relayOnly: true})
	r := newRelay(t, "127.0.0.1:0", false, true)
	a.paths.SetTURN(r.turn(t, "udp", "tcp"))
	b.paths.SetTURN(r.turn(t, "udp", "tcp"))
	start := time.Now()
	stream(t, a, b)(patience)
	t.Logf("first echo after %v", time.Since(start))
}

func TestARelayDiesAndAnotherCarries(t *testing.T) {
	a, b, _ := pair(t, nodeOptions{relayOnly: true})
	one, two := newRelay(t, "127.0.0.1:0", true, false), newRelay(t, "127.0.0.1:0", true, false)
	first := one.turn(t, "udp")
	a.paths.SetTURN(first)
	b.paths.SetTURN(first)
	echo := stream(t, a, b)
	echo(patience)
	both := first
	both.Servers = append(both.Servers, two.turn(t, "udp").Servers...)
	a.paths.SetTURN(both)
	b.paths.SetTURN(both)
	one.stop()
	start := time.Now()
	echo(patience)
	t.Logf("the other relay carries after %v", time.Since(start))
}

// The side that only answers sends no data, which would reveal that its relay has forgotten it.
func TestASilentPairComesBackAfterItsRelayHasForgottenIt(t *testing.T) {
	a, _, r := relayedPair(t, false)
	time.Sleep(paths.ActiveFor + time.Second)
	r.stop()
	again := newRelay(t, r.addr, true, false)
	again.secret = r.secret
	took := eventually(t, patience, "an answer", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, _, err := a.paths.Ping(ctx, "b")
		return err == nil
	})
	t.Logf("an answer after %v", took)
	if took > busytest.Limit(12*time.Second) {
		t.Errorf("an answer after %v", took)
	}
}

// A restarted peer has no session. WireGuard detects such a silence after 15 s.
func TestASessionThatThePeerHasLostIsRenewed(t *testing.T) {
	a, b, _ := relayedPair(t, false)
	time.Sleep(paths.ActiveFor) // WireGuard leaves as much between two handshakes
	b.engine.DropSession(a.public)
	start := time.Now()
	ping(t, a, b, patience)
	took := time.Since(start)
	t.Logf("an answer %v after the loss", took)
	if took > busytest.Limit(10*time.Second) {
		t.Errorf("an answer %v after the loss", took)
	}
}

// refusing is an engine whose peer refuses its handshakes until this side forgets the session, as WireGuard does after
// a fast clock was corrected. The lab's command clock does it with clocks.
type refusing struct {
	paths.Tunnel
	refused   atomic.Bool
	forgotten atomic.Bool
}

func (r *refusing) Renew(key bind.Key) {
	if !r.refused.Load() {
		r.Tunnel.Renew(key)
	}
}

// Keepalive and SendControl begin no session, because the peer would refuse their handshake.
func (r *refusing) Keepalive(key bind.Key) {
	if !r.refused.Load() || r.Established(key) {
		r.Tunnel.Keepalive(key)
	}
}

func (r *refusing) SendControl(to bind.Key, self netip.Addr, message []byte) bool {
	return (!r.refused.Load() || r.Established(to)) && r.Tunnel.SendControl(to, self, message)
}

func (r *refusing) DropSession(key bind.Key) {
	r.forgotten.Store(true)
	r.Tunnel.DropSession(key)
}

// refusingPair returns a relayed pair that has a session, and the engine of each side.
func refusingPair(t *testing.T) (a, b *node, h *hub, tunnels []*refusing) {
	t.Helper()
	a, b, h = pair(t, nodeOptions{relayOnly: true, paths: func(c *paths.Config) {
		r := &refusing{Tunnel: c.Tunnel}
		tunnels = append(tunnels, r)
		c.Tunnel = r
	}})
	r := newRelay(t, "127.0.0.1:0", true, false)
	a.paths.SetTURN(r.turn(t, "udp"))
	b.paths.SetTURN(r.turn(t, "udp"))
	ping(t, a, b, patience)
	return a, b, h, tunnels
}

func TestAPairWithoutDataKeepsItsSessionAfterAnOffer(t *testing.T) {
	_, _, h, tunnels := refusingPair(t)
	time.Sleep(paths.ActiveFor + paths.LostAfter)
	for _, each := range tunnels {
		each.refused.Store(true) // no handshake helps, and none is needed
	}
	h.set(false) // both begin rounds
	time.Sleep(8 * time.Second)
	for i, each := range tunnels {
		if each.forgotten.Load() {
			t.Errorf("side %d forgot the session", i)
		}
	}
}

func TestASessionThatAHandshakeDoesNotRepairRestarts(t *testing.T) {
	a, b, _, tunnels := refusingPair(t)
	for _, each := range tunnels {
		each.refused.Store(true)
	}
	b.engine.DropSession(a.public)
	ping(t, a, b, patience)
	if !tunnels[0].forgotten.Load() && !tunnels[1].forgotten.Load() {
		t.Error("no side has begun the session again")
	}
}

func TestSessionsContinueWhileTheServicesAreDown(t *testing.T) {
	a, b, h := pair(t, nodeOptions{})
	r := newRelay(t, "127.0.0.1:0", true, true)
	a.paths.SetTURN(r.turn(t, "udp"))
	b.paths.SetTURN(r.turn(t, "udp"))
	echo := stream(t, a, b)
	echo(patience)
	eventually(t, patience, "direct", func() bool { return a.isDirect(b) && b.isDirect(a) })
	h.set(true)
	b.direct.Store(true) // both must agree to take the relay without the node service
	echo(patience)
	b.direct.Store(false)
	back := time.Now()
	for !a.isDirect(b) || !b.isDirect(a) {
		if time.Since(back) > patience {
			t.Fatalf("not direct again: %q, %q", a.status(b).Why, b.status(a).Why)
		}
		echo(patience)
		time.Sleep(20 * time.Millisecond)
	}
}

func TestARestartedPeerComesBack(t *testing.T) {
	a, b, h := pair(t, nodeOptions{})
	r := newRelay(t, "127.0.0.1:0", true, true)
	a.paths.SetTURN(r.turn(t, "udp"))
	b.paths.SetTURN(r.turn(t, "udp"))
	ping(t, a, b, patience)
	eventually(t, patience, "direct", func() bool { return a.isDirect(b) && b.isDirect(a) })
	// The same key with a new process: no session, another port.
	b.paths.Close()
	b.engine.Close()
	c := newNode(t, h, "b", 2, nodeOptions{})
	_ = c
	// newNode draws new keys: a has verified the new certificate.
	a.paths.Remove("b")
	a.engine.RemovePeer(b.public)
	a.know(t, c)
	c.know(t, a)
	c.paths.SetTURN(r.turn(t, "udp"))
	c.paths.Connect("a")
	ping(t, c, a, patience)
	ping(t, a, c, patience)
}

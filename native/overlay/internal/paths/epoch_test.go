package paths_test

import (
	"encoding/json"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"seganet.internal/overlay/internal/bind"
	"seganet.internal/overlay/internal/busytest"
	"seganet.internal/overlay/internal/paths"
	"seganet.internal/overlay/internal/wire"
)

// offers keeps the numbers of the offers that a Manager makes. Messages reach no peer.
type offers chan int64

func (o offers) Signal(_, kind string, epoch int64, _ string) error {
	if kind == wire.SignalOffer {
		o <- epoch
	}
	return nil
}

// noTunnel is an engine without sessions.
type noTunnel struct {
	paths.Tunnel
	dropped atomic.Int32 // sessions
}

func (*noTunnel) Begin(bind.Key)            {}
func (*noTunnel) Keepalive(bind.Key)        {}
func (*noTunnel) Renew(bind.Key)            {}
func (*noTunnel) Established(bind.Key) bool { return false }
func (n *noTunnel) DropSession(bind.Key)    { n.dropped.Add(1) }

func (*noTunnel) SendControl(bind.Key, netip.Addr, []byte) bool { return false }

// next returns the number of the next offer, or 0 if there is none within limit.
func (o offers) next(limit time.Duration) int64 {
	select {
	case epoch := <-o:
		return epoch
	case <-time.After(limit):
		return 0
	}
}

// alone returns a Manager whose peer "b" does not exist.
func alone(t *testing.T, made offers, tunnel *noTunnel) *paths.Manager {
	t.Helper()
	socket := bind.New()
	if _, _, err := socket.Open(0); err != nil {
		t.Fatal(err)
	}
	m := paths.New(paths.Config{Key: bind.Key{1}, Bind: socket, Tunnel: tunnel, Signaller: made, Loopback: true})
	t.Cleanup(func() {
		m.Close()
		_ = socket.Close()
	})
	m.Add("b", bind.Key{2})
	return m
}

// A peer that was unreachable when a round began does not know its number. If its clock is also behind, all its own
// numbers are lower.
func TestAPeerWhoseClockIsBehindIsAnsweredAfterItWasOutOfReach(t *testing.T) {
	made := make(offers, 64)
	m := alone(t, made, &noTunnel{})
	m.SignallingChanged(true)
	m.Connect("b")
	first := made.next(patience)
	if first == 0 {
		t.Fatal("no offer")
	}
	text, err := json.Marshal(wire.Offer{User: "aaaaaaaaaaaaaaaa", Password: "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"})
	if err != nil {
		t.Fatal(err)
	}
	take := func(epoch int64) {
		t.Helper()
		if err := m.Signal("b", wire.SignalOffer, epoch, string(text)); err != nil {
			t.Fatal(err)
		}
	}
	behind := first - (10 * time.Minute).Milliseconds()
	take(behind) // both began at the same moment: the peer follows the later number
	if n := made.next(500 * time.Millisecond); n != 0 {
		t.Fatalf("an offer %d at once", n-first)
	}
	time.Sleep(600 * time.Millisecond)
	take(behind + 1)
	second := made.next(busytest.Limit(time.Second)) // the next round of its own would begin after 3 s
	if second <= first {
		t.Fatalf("no offer with a number that the peer must follow: %d", second)
	}
	time.Sleep(1100 * time.Millisecond)
	take(first) // the peer's answer to the first offer was late: it has the second one by now
	if n := made.next(500 * time.Millisecond); n != 0 {
		t.Errorf("another offer after a late answer: %d", n-first)
	}
}

// The offers of a pair become rare while it stays silent.
func TestASessionThatAHandshakeDoesNotRepairRestartsWithoutAnotherOffer(t *testing.T) {
	made, tunnel := make(offers, 64), &noTunnel{}
	m := alone(t, made, tunnel)
	m.SignallingChanged(true)
	m.Connect("b")
	first := made.next(patience)
	text, err := json.Marshal(wire.Offer{User: "aaaaaaaaaaaaaaaa", Password: "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
		Relays: []netip.AddrPort{netip.MustParseAddrPort("192.0.2.1:5000")}})
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(paths.LostAfter + 100*time.Millisecond)
	for i := range int64(2) { // the first one begins the session
		if err := m.Signal("b", wire.SignalOffer, first+time.Hour.Milliseconds()+i, string(text)); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(2 * time.Second)
	if n := tunnel.dropped.Load(); n != 0 {
		t.Fatalf("%d sessions were dropped before a handshake had its time", n)
	}
	eventually(t, patience, "the session is begun again", func() bool { return tunnel.dropped.Load() == 1 })
	time.Sleep(7 * time.Second)
	if n := tunnel.dropped.Load(); n != 1 {
		t.Errorf("%d sessions were dropped for one offer", n)
	}
}

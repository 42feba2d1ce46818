package paths_test

import (
	"encoding/json"
	"testing"
	"time"

	"seganet.internal/overlay/internal/bind"
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
type noTunnel struct{ paths.Tunnel }

func (noTunnel) Begin(bind.Key)            {}
func (noTunnel) Keepalive(bind.Key)        {}
func (noTunnel) Renew(bind.Key)            {}
func (noTunnel) Established(bind.Key) bool { return false }

// next returns the number of the next offer, or 0 if there is none within limit.
func (o offers) next(limit time.Duration) int64 {
	select {
	case epoch := <-o:
		return epoch
	case <-time.After(limit):
		return 0
	}
}

// A peer that was out of reach when a round began does not know its number. If its clock is behind as well, all its own
// numbers are lower.
func TestAPeerWhoseClockIsBehindIsAnsweredAfterItWasOutOfReach(t *testing.T) {
	made := make(offers, 64)
	socket := bind.New()
	if _, _, err := socket.Open(0); err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	m := paths.New(paths.Config{Key: bind.Key{1}, Bind: socket, Tunnel: noTunnel{}, Signaller: made, Loopback: true})
	defer m.Close()
	m.SignallingChanged(true)
	m.Add("b", bind.Key{2})
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
	second := made.next(time.Second) // the next round of its own would begin after 3 s
	if second <= first {
		t.Fatalf("no offer with a number that the peer must follow: %d", second)
	}
	time.Sleep(1100 * time.Millisecond)
	take(first) // the peer's answer to the first offer was late: it has the second one by now
	if n := made.next(500 * time.Millisecond); n != 0 {
		t.Errorf("another offer after a late answer: %d", n-first)
	}
}

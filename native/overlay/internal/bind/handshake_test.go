package bind

import (
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tailscale/wireguard-go/device"

	"seganet.internal/overlay/internal/busytest"
)

// record is a relay that records the types of its packets and their receivers.
type record struct {
	mu   sync.Mutex
	sent []byte
	to   map[netip.AddrPort]int
}

func (r *record) SendRelayed(packets [][]byte, offset int, to netip.AddrPort) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.to == nil {
		r.to = map[netip.AddrPort]int{}
	}
	for _, p := range packets {
		r.sent = append(r.sent, p[offset])
		r.to[to]++
	}
	return nil
}

func (r *record) count(kind byte) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, k := range r.sent {
		if k == kind {
			n++
		}
	}
	return n
}

// messages returns a response and an initiation, of which only the types are valid.
func messages() (response, initiation []byte) {
	response, initiation = make([]byte, device.MessageResponseSize), make([]byte, device.MessageInitiationSize)
	response[0], initiation[0] = device.MessageResponseType, device.MessageInitiationType
	return response, initiation
}

// A lost response is repeated, even if this side wanted to begin a session in the meantime.
func TestAnOwnInitiationDoesNotEndTheCopiesOfAResponse(t *testing.T) {
	b, r := New(), &record{}
	b.SetRelay(r)
	e := b.Endpoint(Key{1}, false)
	e.SetPath(Path{Relay: netip.MustParseAddrPort("192.0.2.1:1")})
	response, initiation := messages()
	e.initiationSeen(b.Now(), Source{})
	for _, p := range [][]byte{response, initiation} {
		if err := e.send([][]byte{p}, 0); err != nil {
			t.Fatal(err)
		}
	}
	for start := time.Now(); r.count(device.MessageResponseType) < 1+len(copiesAfter); time.Sleep(10 * time.Millisecond) {
		if time.Since(start) > busytest.Limit(20*time.Second) {
			t.Fatalf("the response was sent %d times", r.count(device.MessageResponseType))
		}
	}
	if n := r.count(device.MessageInitiationType); n != 0 {
		t.Errorf("%d initiations beside the other side's", n)
	}
}

// The peer's address at its relay may be known a while before this node has a relay. WireGuard's next handshake comes after
// 5 s.
func TestAHandshakeThatWaitedForTheRelayLeavesAtOnceWithItsCopies(t *testing.T) {
	b, r := New(), &record{}
	e := b.Endpoint(Key{1}, true)
	_, initiation := messages()
	e.SetPath(Path{Relay: netip.MustParseAddrPort("192.0.2.1:1")})
	_ = e.send([][]byte{initiation}, 0) // no relay
	b.SetRelay(r)
	if r.count(device.MessageInitiationType) == 0 {
		t.Error("no initiation left with the relay")
	}
	for start := time.Now(); r.count(device.MessageInitiationType) < 2*len(copiesAfter); time.Sleep(10 * time.Millisecond) {
		if time.Since(start) > busytest.Limit(20*time.Second) {
			t.Fatalf("%d initiations", r.count(device.MessageInitiationType))
		}
	}
}

// Both sides may get their way at the same moment, after both WireGuards have made a handshake.
func TestTheSideThatDoesNotBeginHoldsBackFromWhenItHasAWay(t *testing.T) {
	b, r := New(), &record{}
	e := b.Endpoint(Key{1}, false)
	_, initiation := messages()
	if err := e.send([][]byte{initiation}, 0); err != nil {
		t.Fatal(err)
	}
	e.SetPath(Path{Relay: netip.MustParseAddrPort("192.0.2.1:1")}) // no way yet
	time.Sleep(holdBack + 50*time.Millisecond)
	start := time.Now()
	b.SetRelay(r)
	for r.count(device.MessageInitiationType) == 0 {
		if time.Since(start) > busytest.Limit(10*time.Second) {
			t.Fatal("no initiation")
		}
		time.Sleep(10 * time.Millisecond)
	}
	if d := time.Since(start); d < holdBack {
		t.Errorf("the initiation left %v after there was a way", d)
	}
}

// WireGuard makes a response only for an initiation that it has authenticated, so the response needs no path.
func TestAResponseWithoutAPathGoesWhereTheInitiationCameFrom(t *testing.T) {
	b, r := New(), &record{}
	b.SetRelay(r)
	e := b.Endpoint(Key{1}, true)
	response, initiation := messages()
	caller, other := netip.MustParseAddrPort("192.0.2.1:1"), netip.MustParseAddrPort("192.0.2.2:2")
	send := func(p []byte) {
		t.Helper()
		if err := e.send([][]byte{p}, 0); err != nil {
			t.Fatal(err)
		}
	}
	count := func(to netip.AddrPort) int {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.to[to]
	}
	send(initiation)
	send(response) // of no initiation that was seen
	e.initiationSeen(b.Now(), Source{caller, true})
	send(response)
	if n := count(caller); n != 1 {
		t.Fatalf("%d responses", n)
	}
	e.initiationSeen(b.Now(), Source{other, true}) // forged: WireGuard makes no response
	for start := time.Now(); count(caller) < 1+len(copiesAfter); time.Sleep(10 * time.Millisecond) {
		if time.Since(start) > busytest.Limit(20*time.Second) {
			t.Fatalf("%d responses", count(caller))
		}
	}
	if n := count(other); n != 0 {
		t.Errorf("%d responses to an address that was not authenticated", n)
	}
	if n := r.count(device.MessageInitiationType); n != 0 {
		t.Errorf("%d initiations without a path", n)
	}
}

// A restarted peer may have other addresses than those of the path.
func TestAResponseGoesWhereTheInitiationCameFromBesideThePath(t *testing.T) {
	b, r := New(), &record{}
	b.SetRelay(r)
	e := b.Endpoint(Key{1}, true)
	response, _ := messages()
	before, caller := netip.MustParseAddrPort("192.0.2.1:1"), netip.MustParseAddrPort("192.0.2.2:2")
	e.SetPath(Path{Relay: before})
	for i, from := range []netip.AddrPort{caller, before} {
		e.initiationSeen(b.Now(), Source{from, true})
		if err := e.send([][]byte{response}, 0); err != nil {
			t.Fatal(err)
		}
		r.mu.Lock()
		if r.to[caller] != 1 || r.to[before] != 1+i {
			t.Errorf("after %d initiations: %v", i+1, r.to)
		}
		r.mu.Unlock()
	}
}

func TestWithoutDirectPathsAResponseGoesOnlyByTheRelay(t *testing.T) {
	b, r := New(), &record{}
	var direct atomic.Int32
	b.SetFaults(&Faults{DropSend: func(netip.AddrPort) bool { direct.Add(1); return true }})
	b.SetRelay(r)
	e := b.Endpoint(Key{1}, true)
	response, _ := messages()
	at := netip.MustParseAddrPort("192.0.2.1:1")
	send := func(relay bool) {
		t.Helper()
		e.initiationSeen(b.Now(), Source{at, relay})
		if err := e.send([][]byte{response}, 0); err != nil {
			t.Fatal(err)
		}
	}
	b.SetRelayOnly(true)
	send(false)
	if n := direct.Load(); n != 0 {
		t.Errorf("%d responses went directly", n)
	}
	send(true)
	if n := r.count(device.MessageResponseType); n != 1 {
		t.Errorf("%d responses went by the relay", n)
	}
	b.SetRelayOnly(false)
	send(false)
	b.SetRelayOnly(true) // the copies that follow stay away, too
	if n := direct.Load(); n != 1 {
		t.Errorf("%d responses went directly", n)
	}
	time.Sleep(2 * copiesAfter[0])
	if n := direct.Load(); n != 1 {
		t.Errorf("%d copies went directly", n-1)
	}
}

// An attacker who knows both public keys can forge an initiation.
func TestForgedInitiationsOnlyDelayAnOwnHandshake(t *testing.T) {
	for _, begins := range []bool{true, false} {
		b, r := New(), &record{}
		b.SetRelay(r)
		e := b.Endpoint(Key{1}, begins)
		e.SetPath(Path{Relay: netip.MustParseAddrPort("192.0.2.1:1")})
		_, initiation := messages()
		forged := Source{netip.MustParseAddrPort("192.0.2.9:9"), false}
		e.initiationSeen(b.Now(), forged)
		start := time.Now()
		if err := e.send([][]byte{initiation}, 0); err != nil {
			t.Fatal(err)
		}
		for r.count(device.MessageInitiationType) == 0 {
			e.initiationSeen(b.Now(), forged)
			if time.Since(start) > busytest.Limit(10*time.Second) {
				t.Fatalf("begins=%v: no initiation", begins)
			}
			time.Sleep(10 * time.Millisecond)
		}
		if d := time.Since(start); d < holdBack {
			t.Errorf("begins=%v: the own initiation left after %v, beside the other one", begins, d)
		}
	}
}

func TestAForgedInitiationBeforeTheResponseTakesNoCopies(t *testing.T) {
	b, r := New(), &record{}
	b.SetRelay(r)
	e := b.Endpoint(Key{1}, true)
	response, _ := messages()
	caller, forged := netip.MustParseAddrPort("192.0.2.1:1"), netip.MustParseAddrPort("192.0.2.9:9")
	e.initiationSeen(b.Now(), Source{caller, true})
	e.initiationSeen(b.Now(), Source{forged, true})
	if err := e.send([][]byte{response}, 0); err != nil {
		t.Fatal(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.to[caller] == 0 {
		t.Error("the caller gets no response")
	}
}

// The proof of a direct path must not leave by a dead relay.
func TestASilentRelayDoesNotDelayTheProofOfATrial(t *testing.T) {
	b, r := New(), &record{}
	var direct atomic.Int32
	b.SetFaults(&Faults{DropSend: func(netip.AddrPort) bool { direct.Add(1); return true }})
	b.SetRelay(r)
	e := b.Endpoint(Key{1}, true)
	e.SetPath(Path{Relay: netip.MustParseAddrPort("192.0.2.1:1"), Trial: netip.MustParseAddrPort("192.0.2.2:2")})
	data := make([]byte, 100)
	data[0] = device.MessageTransportType
	send := func() (copies int32) {
		t.Helper()
		before := direct.Load()
		if err := e.send([][]byte{data}, 0); err != nil {
			t.Fatal(err)
		}
		return direct.Load() - before
	}
	b.start = b.start.Add(-time.Minute)
	if n := send(); n != 0 {
		t.Errorf("%d copies to an address that is not heard", n)
	}
	e.heardDirect.Store(b.Now())
	if n := send(); n != 1 {
		t.Errorf("%d copies while the relay is silent", n)
	}
	e.heardRelay.Store(b.Now())
	if n := send(); n != 0 {
		t.Errorf("%d copies while the relay is heard", n)
	}
	if n := r.count(device.MessageTransportType); n != 3 {
		t.Errorf("%d packets by the relay", n)
	}
}

package bind

import (
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/tailscale/wireguard-go/device"
)

// record is a relay that remembers the types of what it is given.
type record struct {
	mu   sync.Mutex
	sent []byte
}

func (r *record) SendRelayed(packets [][]byte, offset int, _ netip.AddrPort) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range packets {
		r.sent = append(r.sent, p[offset])
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

// A response that was lost is repeated, also if this side wanted to begin itself meanwhile.
func TestAnOwnInitiationDoesNotEndTheCopiesOfAResponse(t *testing.T) {
	b, r := New(), &record{}
	b.SetRelay(r)
	e := b.Endpoint(Key{1}, false)
	e.SetPath(Path{Relay: netip.MustParseAddrPort("192.0.2.1:1")})
	response := make([]byte, device.MessageResponseSize)
	response[0] = device.MessageResponseType
	initiation := make([]byte, device.MessageInitiationSize)
	initiation[0] = device.MessageInitiationType
	e.initiationSeen(b.Now())
	for _, p := range [][]byte{response, initiation} {
		if err := e.send([][]byte{p}, 0); err != nil {
			t.Fatal(err)
		}
	}
	for start := time.Now(); r.count(device.MessageResponseType) < 1+len(copiesAfter); time.Sleep(10 * time.Millisecond) {
		if time.Since(start) > 20*time.Second {
			t.Fatalf("the response was sent %d times", r.count(device.MessageResponseType))
		}
	}
	if n := r.count(device.MessageInitiationType); n != 0 {
		t.Errorf("%d initiations beside the other side's", n)
	}
}

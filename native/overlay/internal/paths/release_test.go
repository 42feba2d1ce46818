package paths

import (
	"context"
	"net"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pion/logging"
	"github.com/pion/turn/v5"
)

// fakeNetwork is the socket of a relay behind a network with faults.
type fakeNetwork struct {
	net.PacketConn
	drop   func(request []byte) bool
	answer func(request []byte) []byte // instead of the relay; nil: the relay answers
	delay  func(answer []byte) time.Duration
}

func (f *fakeNetwork) ReadFrom(p []byte) (int, net.Addr, error) {
	for {
		n, from, err := f.PacketConn.ReadFrom(p)
		if err == nil && f.answer != nil {
			if b := f.answer(p[:n]); b != nil {
				_, _ = f.PacketConn.WriteTo(b, from)
				continue
			}
		}
		if err != nil || f.drop == nil || !f.drop(p[:n]) {
			return n, from, err
		}
	}
}

func (f *fakeNetwork) WriteTo(p []byte, to net.Addr) (int, error) {
	if f.delay == nil {
		return f.PacketConn.WriteTo(p, to)
	}
	answer := append([]byte(nil), p...)
	time.AfterFunc(f.delay(answer), func() { _, _ = f.PacketConn.WriteTo(answer, to) })
	return len(p), nil
}

const testUser, testPassword = "node", "secret"

// testRelay starts a relay by UDP on loopback.
func testRelay(t *testing.T, f *fakeNetwork) (*turn.Server, Server) {
	t.Helper()
	return testRelayAt(t, f, "127.0.0.1:0")
}

func testRelayAt(t *testing.T, f *fakeNetwork, at string) (*turn.Server, Server) {
	t.Helper()
	c, err := net.ListenPacket("udp4", at)
	if err != nil {
		t.Fatal(err)
	}
	f.PacketConn = c
	s, err := turn.NewServer(turn.ServerConfig{Realm: Realm, LoggerFactory: logging.NewDefaultLoggerFactory(),
		AuthHandler: func(ra *turn.RequestAttributes) (string, []byte, bool) {
			return ra.Username, turn.GenerateAuthKey(ra.Username, ra.Realm, testPassword), true
		},
		PacketConnConfigs: []turn.PacketConnConfig{{PacketConn: f,
			RelayAddressGenerator: &turn.RelayAddressGeneratorStatic{RelayAddress: net.IPv4(127, 0, 0, 1), Address: "127.0.0.1"}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, Server{Host: "127.0.0.1", Port: c.LocalAddr().(*net.UDPAddr).Port, Transport: TransportUDP}
}

func isMessage(p []byte, kind uint16) bool { return len(p) > 2 && uint16(p[0])<<8|uint16(p[1]) == kind }

// Types of STUN messages (RFC 8656 §13).
const (
	allocateSuccess = 0x0103
	refreshRequest  = 0x0004
)

func noPacket([]byte, netip.AddrPort) {}

// noneLeft waits until a relay has no allocation.
func noneLeft(t *testing.T, s *turn.Server, what string) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); s.AllocationCount() > 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d allocations are left at %s", s.AllocationCount(), what)
		}
	}
}

func TestTheAllocationAtTheSlowerRelayIsReleased(t *testing.T) {
	late := func(d time.Duration) *fakeNetwork { // the allocation is there before its owner learns that
		return &fakeNetwork{delay: func(p []byte) time.Duration {
			if isMessage(p, allocateSuccess) {
				return d
			}
			return 0
		}}
	}
	first, firstAt := testRelay(t, late(100*time.Millisecond))
	second, secondAt := testRelay(t, late(400*time.Millisecond))
	r := newRelay(noPacket, func() bool { return false }, func(*Allocation, string) {})
	a, err := r.race(t.Context(), TURN{Servers: []Server{firstAt, secondAt}, User: testUser, Password: testPassword})
	if err != nil {
		t.Fatal(err)
	}
	if a.Server != firstAt {
		t.Skip("the machine is too busy: the other relay was first")
	}
	noneLeft(t, second, "the relay that was not taken")
	if first.AllocationCount() != 1 || a.Check(10*time.Second) != nil {
		t.Error("the allocation that was taken does not work")
	}
	a.Close()
	noneLeft(t, first, "the relay that was taken")
}

func TestAnAllocationIsReleasedThoughARequestIsLost(t *testing.T) {
	var lost atomic.Int32
	s, at := testRelay(t, &fakeNetwork{drop: func(p []byte) bool { return isMessage(p, refreshRequest) && lost.Add(1) <= 2 }})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	a, err := openAllocation(ctx, wish{at, 0, four}, TURN{User: testUser, Password: testPassword}, noPacket)
	if err != nil {
		t.Fatal(err)
	}
	a.Close()
	noneLeft(t, s, "the relay")
}

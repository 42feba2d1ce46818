package bind

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/pion/stun/v4"
	"github.com/tailscale/wireguard-go/device"
)

func TestSTUNIsDistinguishedFromWireGuard(t *testing.T) {
	request := stun.MustBuild(stun.TransactionID, stun.BindingRequest, stun.Fingerprint)
	initiation := make([]byte, device.MessageInitiationSize)
	initiation[0] = device.MessageInitiationType
	binary.BigEndian.PutUint32(initiation[4:], stunCookie) // an index may be any number
	keepalive := make([]byte, transportKeepalive)
	keepalive[0] = device.MessageTransportType
	binary.BigEndian.PutUint32(keepalive[4:], stunCookie)
	for name, c := range map[string]struct {
		packet []byte
		want   bool
	}{
		"binding request":          {request.Raw, true},
		"cut short":                {request.Raw[:19], false},
		"one byte too many":        {append(append([]byte(nil), request.Raw...), 0), false},
		"handshake, cookie inside": {initiation, false},
		"keepalive, cookie inside": {keepalive, false},
		"empty":                    {nil, false},
	} {
		if got := IsSTUN(c.packet); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// FuzzDemultiplexer feeds the shared port's demultiplexer: no panic, no WireGuard message taken for STUN, bounded queue.
func FuzzDemultiplexer(f *testing.F) {
	f.Add(stun.MustBuild(stun.TransactionID, stun.BindingRequest).Raw)
	f.Add([]byte{4, 0, 0, 0, 0x21, 0x12, 0xa4, 0x42})
	f.Add([]byte{})
	b := New()
	s := b.NewSTUNConn()
	f.Fuzz(func(t *testing.T, p []byte) {
		if !IsSTUN(p) {
			return
		}
		if len(p) >= 4 && p[0] >= 1 && p[0] <= 4 && p[1] == 0 && p[2] == 0 && p[3] == 0 && len(p) != 20 {
			t.Fatalf("a WireGuard message of %d bytes is taken for STUN", len(p))
		}
		s.push(p, netip.MustParseAddrPort("192.0.2.1:5000"))
		if len(s.queue) > stunQueue {
			t.Fatal("the queue has no bound")
		}
		m := stun.Message{Raw: p}
		_ = m.Decode()
	})
}

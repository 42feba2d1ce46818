package paths

import (
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
)

// tagLength is the length in bytes of the authentication tag that ends each message of WireGuard (Poly1305).
const tagLength = 16

// relaySocket is the UDP socket to a relay. Urgent packets leave by it with their type of service, as on a direct path;
// the relay sends them on without.
//
// TURN's client wraps packets and has no room for a mark, so the socket knows them by the tag at their end. The first
// packets to a destination travel in another form (RFC 8656, Send indication) and have no mark.
//
// Thread safety: all methods may be called concurrently.
type relaySocket struct {
	*net.UDPConn
	relay   netip.AddrPort // datagrams from elsewhere are skipped
	control []byte         // the control message with the type of service
	count   atomic.Int32
	urgent  sync.Map // tag → nothing: packets that are being sent
}

func tagOf(p []byte) (tag [tagLength]byte) {
	copy(tag[:], p[max(0, len(p)-tagLength):])
	return tag
}

// begin says that the packet is urgent until end.
func (s *relaySocket) begin(p []byte) {
	s.urgent.Store(tagOf(p), nil)
	s.count.Add(1)
}

func (s *relaySocket) end(p []byte) {
	s.count.Add(-1)
	s.urgent.Delete(tagOf(p))
}

// ReadFrom implements net.PacketConn. It returns what comes from the relay's address.
func (s *relaySocket) ReadFrom(p []byte) (int, net.Addr, error) {
	for {
		n, from, err := s.ReadFromUDPAddrPort(p)
		if err != nil {
			return n, nil, err
		}
		if from = unmap(from); from == s.relay {
			return n, net.UDPAddrFromAddrPort(from), nil
		}
	}
}

// WriteTo implements net.PacketConn.
func (s *relaySocket) WriteTo(p []byte, to net.Addr) (int, error) {
	if s.count.Load() > 0 {
		if u, ok := to.(*net.UDPAddr); ok {
			if _, urgent := s.urgent.Load(tagOf(p)); urgent {
				n, _, err := s.WriteMsgUDP(p, s.control, u)
				return n, err
			}
		}
	}
	return s.UDPConn.WriteTo(p, to)
}

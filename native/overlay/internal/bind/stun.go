package bind

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"
)

// stunQueue is the number of STUN messages that wait for ICE.
const stunQueue = 256

// stunMax is the length in bytes of the longest STUN message that ICE gets. RFC 8489 §6.1 asks senders to stay below the
// path MTU.
const stunMax = 1500

// stunCookie is the magic cookie of RFC 8489 §5. WireGuard's messages begin with a type of 1 to 4 and three zero bytes,
// and carry a random index where STUN carries the cookie.
const stunCookie = 0x2112A442

// IsSTUN is true if the datagram is a STUN message: two zero bits, a length that is a multiple of 4 and fits, the cookie.
func IsSTUN(p []byte) bool {
	return len(p) >= 20 && p[0] < 0x40 && binary.BigEndian.Uint32(p[4:]) == stunCookie &&
		p[3]&3 == 0 && int(binary.BigEndian.Uint16(p[2:])) == len(p)-20
}

type stunMessage struct {
	b    []byte
	from net.Addr
}

// STUNConn is the STUN part of the shared port as a net.PacketConn. It serves ICE.
type STUNConn struct {
	bind     *Bind
	queue    chan stunMessage
	closed   chan struct{}
	close    sync.Once
	deadline deadline
}

// NewSTUNConn returns a connection that gets all STUN messages from now on. An earlier one gets no more.
func (b *Bind) NewSTUNConn() *STUNConn {
	s := &STUNConn{bind: b, queue: make(chan stunMessage, stunQueue), closed: make(chan struct{})}
	b.stun.Store(s)
	return s
}

func (s *STUNConn) push(p []byte, from netip.AddrPort) {
	if len(p) > stunMax {
		s.bind.Counters.STUNFull.Add(1)
		return
	}
	select {
	case s.queue <- stunMessage{slices.Clone(p), net.UDPAddrFromAddrPort(from)}:
	default:
		s.bind.Counters.STUNFull.Add(1)
	}
}

// ReadFrom implements net.PacketConn.
func (s *STUNConn) ReadFrom(p []byte) (int, net.Addr, error) {
	select {
	case m := <-s.queue:
		return copy(p, m.b), m.from, nil
	case <-s.closed:
		return 0, nil, net.ErrClosed
	case <-s.deadline.passed():
		return 0, nil, os.ErrDeadlineExceeded
	}
}

// WriteTo implements net.PacketConn.
func (s *STUNConn) WriteTo(p []byte, to net.Addr) (int, error) {
	a, ok := to.(*net.UDPAddr)
	if !ok {
		return 0, fmt.Errorf("%v is not a UDP address", to)
	}
	if err := s.bind.SendTo(p, a.AddrPort()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close implements net.PacketConn. The shared port stays open.
func (s *STUNConn) Close() error {
	s.close.Do(func() {
		close(s.closed)
		s.bind.stun.CompareAndSwap(s, nil)
	})
	return nil
}

// LocalAddr implements net.PacketConn. The unspecified IPv6 address makes ICE offer the addresses of both versions.
func (s *STUNConn) LocalAddr() net.Addr {
	return &net.UDPAddr{IP: net.IPv6unspecified, Port: int(s.bind.Port())}
}

// SetDeadline implements net.PacketConn.
func (s *STUNConn) SetDeadline(t time.Time) error { return s.SetReadDeadline(t) }

// SetReadDeadline implements net.PacketConn.
func (s *STUNConn) SetReadDeadline(t time.Time) error {
	s.deadline.set(t)
	return nil
}

// SetWriteDeadline implements net.PacketConn. Writes do not wait.
func (s *STUNConn) SetWriteDeadline(time.Time) error { return nil }

// deadline is a channel that closes at a given time.
type deadline struct {
	mu    sync.Mutex
	timer *time.Timer
	ch    chan struct{}
}

func (d *deadline) passed() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ch == nil {
		d.ch = make(chan struct{})
	}
	return d.ch
}

func (d *deadline) set(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	ch := make(chan struct{})
	if d.ch != nil {
		select {
		case <-d.ch:
		default:
			ch = d.ch // a reader waits on it
		}
	}
	d.ch = ch
	if t.IsZero() {
		return
	}
	if wait := time.Until(t); wait > 0 {
		d.timer = time.AfterFunc(wait, func() { d.expire(ch) })
		return
	}
	close(ch)
}

func (d *deadline) expire(ch chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ch != ch {
		return
	}
	select {
	case <-ch:
	default:
		close(ch)
	}
}

package stack

import (
	"net"
	"net/netip"
	"sync"
)

// pairs are the open connections inside the overlay, each with the one of this host that it is spliced to, and the
// sessions of UDP. They end when the peer is cut off, and when their port is withdrawn. TCP alone would detect that
// only after minutes of unanswered data, and a UDP session would continue with its next datagram.
type pairs struct {
	mu   sync.Mutex
	open map[*spliced]struct{}
}

type spliced struct {
	network string
	// local and peer are the ends inside the overlay. They are recorded at the start, because a connection of the stack
	// that was reset no longer has them.
	local, peer netip.AddrPort
	end         func()
}

// splice splices two TCP connections and tracks them until they end.
func (p *pairs) splice(inside, outside net.Conn) {
	defer p.add(tcpPair(inside, outside))()
	splice(inside, outside)
}

// tcpPair describes two TCP connections. When it ends, the program outside gets a reset at once.
func tcpPair(inside, outside net.Conn) *spliced {
	return &spliced{"tcp", addressOf(inside.LocalAddr()), addressOf(inside.RemoteAddr()), func() {
		reset(outside)
		inside.Close()
	}}
}

// add tracks a pair until the returned function is called.
func (p *pairs) add(s *spliced) (done func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open == nil {
		p.open = map[*spliced]struct{}{}
	}
	p.open[s] = struct{}{}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.open, s)
	}
}

// addressOf returns the address of a connection's end, or none if the connection has ended.
func addressOf(a net.Addr) netip.AddrPort {
	if a == nil {
		return netip.AddrPort{}
	}
	at, _ := netip.ParseAddrPort(a.String())
	return netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
}

// cut ends the connections and sessions with the peers for which belongs returns true, and returns their number.
func (p *pairs) cut(belongs func(netip.Addr) bool) int {
	return p.endIf(func(s *spliced) bool { return belongs(s.peer.Addr()) })
}

// withdraw ends the connections and sessions that came by a port of these addresses.
func (p *pairs) withdraw(network string, port uint16, ours func(netip.Addr) bool) {
	p.endIf(func(s *spliced) bool {
		return s.network == network && s.local.Port() == port && ours(s.local.Addr())
	})
}

func (p *pairs) endIf(match func(*spliced) bool) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for s := range p.open {
		if match(s) {
			s.end()
			n++
		}
	}
	return n
}

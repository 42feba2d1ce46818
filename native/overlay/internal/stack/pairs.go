package stack

import (
	"net"
	"net/netip"
	"sync"
)

// pairs are the open TCP connections inside the overlay, each with the one of this host that it is spliced to. They end
// when the peer is cut off: TCP alone would notice that only when data has gone unanswered for minutes.
type pairs struct {
	mu   sync.Mutex
	open map[net.Conn]spliced // by the connection inside
}

type spliced struct {
	peer    netip.Addr // as it was at the start: a connection of the stack that was reset does not know it any more
	outside net.Conn
}

// splice splices two connections and knows them until they end.
func (p *pairs) splice(inside, outside net.Conn) {
	p.mu.Lock()
	if p.open == nil {
		p.open = map[net.Conn]spliced{}
	}
	p.open[inside] = spliced{peerOf(inside), outside}
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.open, inside)
		p.mu.Unlock()
	}()
	splice(inside, outside)
}

// peerOf returns the address of a connection's other end, or none if the connection has ended.
func peerOf(c net.Conn) netip.Addr {
	a := c.RemoteAddr()
	if a == nil {
		return netip.Addr{}
	}
	at, _ := netip.ParseAddrPort(a.String())
	return at.Addr().Unmap()
}

// cut resets the connections with the peers to which belongs says yes, and returns their number.
func (p *pairs) cut(belongs func(netip.Addr) bool) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for inside, c := range p.open {
		if !belongs(c.peer) {
			continue
		}
		reset(c.outside)
		inside.Close()
		n++
	}
	return n
}

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
	open map[net.Conn]net.Conn // inside → outside
}

// splice splices two connections and knows them until they end.
func (p *pairs) splice(inside, outside net.Conn) {
	p.mu.Lock()
	if p.open == nil {
		p.open = map[net.Conn]net.Conn{}
	}
	p.open[inside] = outside
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.open, inside)
		p.mu.Unlock()
	}()
	splice(inside, outside)
}

// cut resets the connections with the peers to which belongs says yes, and returns their number.
func (p *pairs) cut(belongs func(netip.Addr) bool) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for inside, outside := range p.open {
		at, err := netip.ParseAddrPort(inside.RemoteAddr().String())
		if err != nil || !belongs(at.Addr().Unmap()) {
			continue
		}
		reset(outside)
		inside.Close()
		n++
	}
	return n
}

package relay

import (
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// allocations holds the relayed addresses in use: at most each per node, and most in total.
//
// A node whose network changes cannot release its relayed address, because the relay identifies the node by the old
// outside address. Such an address stays until it expires. So a node at its limit that requests another address loses
// its least recently used one.
//
// Thread safety: all methods may be called concurrently.
type allocations struct {
	each, most int
	host       *host

	mu        sync.RWMutex
	revoked   map[string]struct{}            // serial numbers of certificates
	nodes     map[string][]*allocation       // by node
	relayed   map[string]*allocation         // by relayed address
	clients   map[string]*allocation         // by the node's side; see client
	addresses map[netip.AddrPort]*allocation // by relayed address
	fast      map[sender]*allocation         // those with channels, by the node's side
	total     int
}

// allocation is the socket of one relayed address.
type allocation struct {
	net.PacketConn
	list     *allocations
	node     string
	serial   string // of the node's certificate; empty: unknown
	relayed  string
	at       netip.AddrPort // the same
	client   string         // REQUIRES: list.mu
	closed   bool           // REQUIRES: list.mu
	channels *channels      // REQUIRES: list.mu; nil: none yet, or the node does not use UDP
	used     atomic.Int64   // by the node, in nanoseconds since begun
}

// begun is when this program started. Times relative to it are monotonic: they do not jump with the system clock.
var begun = time.Now()

func newAllocations(each, most int, h *host) *allocations {
	return &allocations{each: each, most: most, host: h, nodes: map[string][]*allocation{}, relayed: map[string]*allocation{}, clients: map[string]*allocation{},
		addresses: map[netip.AddrPort]*allocation{}, fast: map[sender]*allocation{}}
}

var errRevoked = errors.New("the node's certificate is revoked")

// add registers the socket c of a node's relayed address and returns its wrapper, which the caller must use instead.
// user is the node part of the credentials.
func (l *allocations) add(user, relayed string, c net.PacketConn) (*allocation, error) {
	node, serial := split(user)
	p := &allocation{PacketConn: c, list: l, node: node, serial: serial, relayed: relayed}
	p.at, _ = netip.ParseAddrPort(relayed)
	p.touch()
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, yes := l.revoked[serial]; yes {
		return nil, errRevoked
	}
	l.addresses[p.at] = p
	l.nodes[node] = append(l.nodes[node], p)
	l.relayed[relayed] = p
	l.total++
	return p, nil
}

// revoke replaces the set of revoked serial numbers. It closes the allocations of their nodes and returns them.
func (l *allocations) revoke(serials map[string]struct{}) (ended []*allocation) {
	l.mu.Lock()
	l.revoked = serials
	for _, list := range l.nodes {
		for _, p := range list {
			if _, yes := serials[p.serial]; yes {
				ended = append(ended, p)
			}
		}
	}
	l.mu.Unlock()
	for _, p := range ended {
		_ = p.Close() // the relay's reader of the socket ends the rest
	}
	return ended
}

func (l *allocations) isRevoked(serial string) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	_, yes := l.revoked[serial]
	return yes
}

// client returns a key for the node's side of an allocation: transport, node address, relay address.
func client(node, relay net.Addr) string {
	return node.Network() + " " + node.String() + " " + relay.String()
}

// created records the node's side (see client) of a relayed address.
func (l *allocations) created(from, relayed string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := l.relayed[relayed]; p != nil {
		p.client = from
		l.clients[from] = p
	}
}

// seen marks the node's relayed address as used, after a request that the node has authenticated.
func (l *allocations) seen(from string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := l.clients[from]; p != nil {
		p.touch()
	}
}

// room returns false if no relayed address is left for any node. If the node is at its own limit, room closes its least
// recently used address and returns that.
func (l *allocations) room(node string) (ended *allocation, ok bool) {
	l.mu.Lock()
	list := l.nodes[node]
	if len(list) < l.each {
		defer l.mu.Unlock()
		return nil, l.total < l.most
	}
	ended = list[0]
	for _, p := range list {
		if p.used.Load() < ended.used.Load() {
			ended = p
		}
	}
	l.mu.Unlock()
	_ = ended.Close() // the relay's reader of the socket ends the rest
	return ended, true
}

// count returns the number of relayed addresses.
func (l *allocations) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total
}

func (p *allocation) touch() { p.used.Store(int64(time.Since(begun))) }

var errHost = errors.New("the destination is a port of the relay's host that is no relayed address")

// WriteTo sends a packet of the node. On the host's own addresses it sends to ports of relayed addresses only, because
// other sockets there may be private to the host.
func (p *allocation) WriteTo(b []byte, to net.Addr) (int, error) {
	p.touch()
	u, ok := to.(*net.UDPAddr)
	if !ok {
		return 0, errHost
	}
	if at := unmap(u.AddrPort()); p.list.host.has(at.Addr()) && !p.list.has(at) {
		return 0, errHost
	}
	return p.PacketConn.WriteTo(b, to)
}

// has is true for a relayed address in use.
func (l *allocations) has(at netip.AddrPort) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.addresses[at] != nil
}

// Close frees the allocation.
func (p *allocation) Close() error {
	l := p.list
	l.mu.Lock()
	if !p.closed {
		p.closed = true
		l.total--
		list := l.nodes[p.node]
		for i, other := range list {
			if other == p {
				list = append(list[:i:i], list[i+1:]...)
				break
			}
		}
		if l.nodes[p.node] = list; len(list) == 0 {
			delete(l.nodes, p.node)
		}
		if l.relayed[p.relayed] == p {
			delete(l.relayed, p.relayed)
			delete(l.addresses, p.at)
		}
		if l.clients[p.client] == p {
			delete(l.clients, p.client)
		}
		if c := p.channels; c != nil && l.fast[sender{c.front, c.node}] == p {
			delete(l.fast, sender{c.front, c.node})
		}
	}
	l.mu.Unlock()
	return p.PacketConn.Close()
}

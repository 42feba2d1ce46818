package relay

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// places are the relayed addresses in use, at most each of one node and most of all nodes.
//
// A node whose network changes cannot give its address back: the relay knows the node by the old outside address. Such an
// address stays until it expires. So a node that needs one more than its share gets the place of its address that it used
// the longest time ago.
//
// Thread safety: all methods may be called concurrently.
type places struct {
	each, most int

	mu      sync.Mutex
	nodes   map[string][]*place // by node
	relayed map[string]*place   // by relayed address
	clients map[string]*place   // by the node's side; see client
	total   int
}

// place is the socket of one relayed address.
type place struct {
	net.PacketConn
	list    *places
	node    string
	relayed string
	client  string       // REQUIRES: list.mu
	closed  bool         // REQUIRES: list.mu
	used    atomic.Int64 // by the node, in nanoseconds since begun
}

// begun is when this program began: times since then do not jump with the clock.
var begun = time.Now()

func newPlaces(each, most int) *places {
	return &places{each: each, most: most, nodes: map[string][]*place{}, relayed: map[string]*place{}, clients: map[string]*place{}}
}

// add notes the socket c of a node's relayed address, and returns the socket to use.
func (l *places) add(node, relayed string, c net.PacketConn) *place {
	p := &place{PacketConn: c, list: l, node: node, relayed: relayed}
	p.touch()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.nodes[node] = append(l.nodes[node], p)
	l.relayed[relayed] = p
	l.total++
	return p
}

// client names the node's side of a relayed address.
func client(node, relay net.Addr) string {
	return node.Network() + " " + node.String() + " " + relay.String()
}

// created notes which node's side a relayed address belongs to.
func (l *places) created(from, relayed string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := l.relayed[relayed]; p != nil {
		p.client = from
		l.clients[from] = p
	}
}

// seen notes that a node has proved itself with a request.
func (l *places) seen(from string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := l.clients[from]; p != nil {
		p.touch()
	}
}

// room returns false if all nodes together have too many relayed addresses. If only this node has, it ends the one that
// the node has not used for the longest time, and returns it.
func (l *places) room(node string) (ended *place, ok bool) {
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
func (l *places) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total
}

func (p *place) touch() { p.used.Store(int64(time.Since(begun))) }

// WriteTo sends a packet of the node.
func (p *place) WriteTo(b []byte, to net.Addr) (int, error) {
	p.touch()
	return p.PacketConn.WriteTo(b, to)
}

// Close frees the place.
func (p *place) Close() error {
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
		}
		if l.clients[p.client] == p {
			delete(l.clients, p.client)
		}
	}
	l.mu.Unlock()
	return p.PacketConn.Close()
}

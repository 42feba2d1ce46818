// Package quota bounds what clients have running at once, in total and per client: a client that keeps much open must
// not block others.
package quota

import (
	"net/netip"
	"sync"
)

// Quota has places, which clients take and release. Thread safety: all methods may be called concurrently.
type Quota struct {
	all, each int
	mu        sync.Mutex
	taken     int
	by        map[netip.Prefix]int
}

// New returns a quota of `all` places. One client gets at most `each` of them.
func New(all, each int) *Quota {
	return &Quota{all: all, each: each, by: map[netip.Prefix]int{}}
}

// Take takes a place for the client at the address "host:port" until leave is called. ok is false if there is none.
func (p *Quota) Take(from string) (leave func(), ok bool) {
	client := ClientOf(from)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken >= p.all || p.by[client] >= p.each {
		return nil, false
	}
	p.taken++
	p.by[client]++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.taken--
		if p.by[client]--; p.by[client] == 0 {
			delete(p.by, client)
		}
	}, true
}

// ClientOf returns what one client has: an IPv4 address, or an IPv6 network of 64 bits.
func ClientOf(from string) netip.Prefix {
	at, err := netip.ParseAddrPort(from)
	if err != nil {
		return netip.Prefix{}
	}
	a := at.Addr().Unmap().WithZone("")
	bits := a.BitLen()
	if a.Is6() {
		bits = 64
	}
	return netip.PrefixFrom(a, bits).Masked()
}

package serve

import (
	"net"
	"net/netip"
	"sync"
)

const (
	maxHandshakes     = 512 // TLS handshakes that run at once
	maxHandshakesEach = 64  // of one client address
)

// handshakes counts the TLS handshakes that run. A client that keeps many open must not keep others out.
type handshakes struct {
	mu   sync.Mutex
	all  int
	each map[netip.Prefix]int
}

// begin takes a place for a handshake until end is called.
func (h *handshakes) begin(from net.Addr) (end func(), ok bool) {
	client := clientOf(from)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.all >= maxHandshakes || h.each[client] >= maxHandshakesEach {
		return nil, false
	}
	if h.each == nil {
		h.each = map[netip.Prefix]int{}
	}
	h.all++
	h.each[client]++
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.all--
		if h.each[client]--; h.each[client] == 0 {
			delete(h.each, client)
		}
	}, true
}

// clientOf returns what one client has: an IPv4 address, or an IPv6 network of 64 bits.
func clientOf(from net.Addr) netip.Prefix {
	at, err := netip.ParseAddrPort(from.String())
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

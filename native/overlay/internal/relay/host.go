package relay

import (
	"net"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"
)

// hostEvery is how often the host's addresses are read again while packets are relayed.
const hostEvery = 10 * time.Second

// host knows the addresses of the machine that the relay runs on.
//
// Thread safety: all methods may be called concurrently.
type host struct {
	public []netip.Addr // as nodes see them; behind a NAT they are on no interface
	known  atomic.Pointer[hostAddresses]
}

type hostAddresses struct {
	read time.Time
	set  map[netip.Addr]struct{}
}

// has is true for an address of the host, including loopback. It is false if h is nil.
func (h *host) has(a netip.Addr) bool {
	if h == nil {
		return false
	}
	if a.IsLoopback() || a.IsUnspecified() || slices.Contains(h.public, a) {
		return true
	}
	k := h.known.Load()
	if k == nil || time.Since(k.read) > hostEvery {
		k = readHost(k)
		h.known.Store(k)
	}
	_, yes := k.set[a]
	return yes
}

// readHost reads the addresses of the interfaces. If that fails, the previous ones stay.
func readHost(before *hostAddresses) *hostAddresses {
	k := &hostAddresses{read: time.Now(), set: map[netip.Addr]struct{}{}}
	list, err := net.InterfaceAddrs()
	if err != nil && before != nil {
		k.set = before.set
	}
	for _, each := range list {
		if n, ok := each.(*net.IPNet); ok {
			if a, ok := netip.AddrFromSlice(n.IP); ok {
				k.set[a.Unmap()] = struct{}{}
			}
		}
	}
	return k
}

// Package nat64 lets a host that has IPv6 only reach IPv4 addresses through the NAT64 of its network (RFC 6146). Names
// need no help where DNS64 gives them IPv6 addresses; addresses, such as those of relays and of peers, do.
//
// A Finder learns the network's prefix from DNS (RFC 7050): only DNS64 gives the name ipv4only.arpa IPv6 addresses. An
// IPv4 address is then written into the prefix (RFC 6052). A host that has a route to the IPv4 address, also by a
// translator of its own (464XLAT), uses that.
package nat64

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"time"
)

const (
	knownName = "ipv4only.arpa"
	// keep and keepNone are how long an answer counts: that there is a prefix, and that there is none.
	keep     = 10 * time.Minute
	keepNone = 30 * time.Second
	// askAgain is the pause after a question without an answer.
	askAgain = 5 * time.Second
	// askLimit bounds a question.
	askLimit = 2 * time.Second
	// maxAnswers bounds the addresses of an answer that are read.
	maxAnswers = 16
)

// The addresses of knownName, which DNS64 writes into the prefix (RFC 7050, section 2.2).
var known = []netip.Addr{netip.AddrFrom4([4]byte{192, 0, 0, 170}), netip.AddrFrom4([4]byte{192, 0, 0, 171})}

// wellKnown is the prefix that must not carry private addresses (RFC 6052, section 3.1).
var wellKnown = netip.MustParsePrefix("64:ff9b::/96")

// lengths are those that a prefix may have, the most usual first.
var lengths = []int{96, 64, 56, 48, 40, 32}

// Map writes an IPv4 address into a prefix (RFC 6052, section 2.2). It returns false for a prefix of another length,
// and for a private address in the well-known prefix.
func Map(prefix netip.Prefix, a netip.Addr) (netip.Addr, bool) {
	a = a.Unmap()
	if !a.Is4() || !valid(prefix) || prefix == wellKnown && private(a) {
		return netip.Addr{}, false
	}
	b, four := prefix.Masked().Addr().As16(), a.As4()
	for i, at := range places(prefix.Bits()) {
		b[at] = four[i]
	}
	return netip.AddrFrom16(b), true
}

func valid(prefix netip.Prefix) bool {
	if !prefix.Addr().Is6() || prefix.Addr().Is4In6() {
		return false
	}
	for _, n := range lengths {
		if n == prefix.Bits() {
			return true
		}
	}
	return false
}

// places returns the bytes that carry the IPv4 address. Byte 8 carries none.
func places(bits int) (at [4]int) {
	next := bits / 8
	for i := range at {
		if next == 8 {
			next++
		}
		at[i] = next
		next++
	}
	return at
}

func private(a netip.Addr) bool {
	return a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() || a.IsUnspecified() || a.IsMulticast()
}

// PrefixOf returns the prefix into which an address of knownName was written. It returns false if it was written into
// none, or if that is ambiguous (RFC 7050, section 3).
func PrefixOf(a netip.Addr) (prefix netip.Prefix, ok bool) {
	if !a.Is6() || a.Is4In6() || a.Zone() != "" {
		return prefix, false
	}
	b := a.As16()
	for _, bits := range lengths {
		var four [4]byte
		for i, at := range places(bits) {
			four[i] = b[at]
		}
		for _, k := range known {
			if four != k.As4() || bits < 96 && b[8] != 0 {
				continue
			}
			if ok {
				return netip.Prefix{}, false
			}
			prefix, ok = netip.PrefixFrom(a, bits).Masked(), true
		}
	}
	return prefix, ok
}

// Finder knows the prefix of the network that the host is in.
//
// Thread safety: all methods may be called concurrently.
type Finder struct {
	// Lookup returns the IPv6 addresses of a name; nil: the system's resolver.
	Lookup func(ctx context.Context, name string) ([]netip.Addr, error)
	// HasRoute is true if the host has a route to an IPv4 address; nil: it asks the system.
	HasRoute func(netip.Addr) bool

	asking sync.Mutex // one question at a time
	mu     sync.Mutex
	prefix netip.Prefix // zero: there is none
	until  time.Time    // when the answer no longer counts
	number int          // of Forget
}

// Default is the Finder of the program.
var Default = &Finder{}

// Forget discards what is known, because the network changed.
func (f *Finder) Forget() {
	f.mu.Lock()
	f.prefix, f.until = netip.Prefix{}, time.Time{}
	f.number++
	f.mu.Unlock()
}

// Known returns the prefix that the last question found. It does not wait.
func (f *Finder) Known() (netip.Prefix, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.prefix, f.prefix.IsValid()
}

// Prefix returns the network's prefix; it asks for it if the last answer no longer counts.
func (f *Finder) Prefix(waiting context.Context) (netip.Prefix, bool) {
	f.asking.Lock()
	defer f.asking.Unlock()
	f.mu.Lock()
	prefix, fresh, number := f.prefix, time.Now().Before(f.until), f.number
	f.mu.Unlock()
	if fresh {
		return prefix, prefix.IsValid()
	}
	ctx, cancel := context.WithTimeout(waiting, askLimit)
	defer cancel()
	list, err := f.lookup(ctx, knownName)
	if err != nil && ctx.Err() != nil { // no answer: the last one stays
		if waiting.Err() == nil {
			f.mu.Lock()
			f.until = time.Now().Add(askAgain)
			f.mu.Unlock()
		}
		return f.Known()
	}
	prefix = netip.Prefix{}
	for _, a := range list[:min(len(list), maxAnswers)] {
		if p, ok := PrefixOf(a); ok {
			prefix = p
			break
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.number != number {
		return netip.Prefix{}, false // of the previous network
	}
	f.prefix, f.until = prefix, time.Now().Add(keep)
	if !prefix.IsValid() {
		f.until = time.Now().Add(keepNone)
	}
	return prefix, prefix.IsValid()
}

func (f *Finder) lookup(ctx context.Context, name string) ([]netip.Addr, error) {
	if f.Lookup != nil {
		return f.Lookup(ctx, name)
	}
	return net.DefaultResolver.LookupNetIP(ctx, "ip6", name+".")
}

// Reach returns the address by which this host reaches an address: the address itself, or one in the network's prefix
// if it is an IPv4 address to which the host has no route.
func (f *Finder) Reach(ctx context.Context, a netip.Addr) netip.Addr {
	return f.reach(a, func() (netip.Prefix, bool) { return f.Prefix(ctx) })
}

// ReachNow is Reach with the prefix that is known, so that it does not wait.
func (f *Finder) ReachNow(a netip.Addr) netip.Addr { return f.reach(a, f.Known) }

func (f *Finder) reach(a netip.Addr, prefix func() (netip.Prefix, bool)) netip.Addr {
	if !a.Unmap().Is4() || a.Unmap().IsLoopback() || f.hasRoute(a.Unmap()) {
		return a
	}
	if p, ok := prefix(); ok {
		if mapped, ok := Map(p, a); ok {
			return mapped
		}
	}
	return a
}

// hasRoute connects a UDP socket, which sends nothing and fails without a route.
func (f *Finder) hasRoute(a netip.Addr) bool {
	if f.HasRoute != nil {
		return f.HasRoute(a)
	}
	c, err := net.DialUDP("udp4", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(a, 9)))
	if err == nil {
		_ = c.Close()
	}
	return err == nil
}

// Dialer returns the DialContext of an HTTP transport: it reaches addresses as Reach does, and names as d does.
func (f *Finder) Dialer(d *net.Dialer) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if at, err := netip.ParseAddrPort(address); err == nil {
			address = netip.AddrPortFrom(f.Reach(ctx, at.Addr()), at.Port()).String()
		}
		return d.DialContext(ctx, network, address)
	}
}

package paths

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
)

// family is an IP version; 0 is any.
type family uint8

const (
	four family = 4
	six  family = 6
)

func familyOf(a netip.Addr) family {
	if a.Unmap().Is4() {
		return four
	}
	return six
}

func (f family) String() string {
	if f == four {
		return "IPv4"
	}
	return "IPv6"
}

// relays keep this node's addresses at relays, one of each IP version. A relay sends from a relayed address to
// addresses of the same version only, so a pair by relays needs one version that both sides have. Whichever version a
// node uses to reach a relay, it requests an IPv4 address first; if the relays support both versions, every node then
// has one. It also requests an IPv6 address if it gets no IPv4 one, or while a peer has none.
//
// Thread safety: all methods may be called concurrently.
type relays struct {
	four, six *relay
	peers     atomic.Bool // a peer has no IPv4 address at a relay
	awake     atomic.Bool // a peer does not sleep
}

// newRelays makes both. busy is true while data flows by relayed addresses of a version.
//
// A node without onDemand keeps an allocation all the time, so that the first packet of a peer does not wait for one.
func newRelays(deliver func([]byte, netip.AddrPort), busy func(family) bool, changed func(*Allocation, family, string), silent func(), onDemand bool) *relays {
	rs := &relays{}
	rs.four = newRelay(deliver, func() bool { return busy(four) }, func(a *Allocation, why string) {
		if a != nil {
			rs.six.wake()
		}
		changed(a, four, why)
	})
	rs.six = newRelay(deliver, func() bool { return busy(six) }, func(a *Allocation, why string) {
		if a != nil {
			rs.four.wake() // relays answer again
		}
		changed(a, six, why)
	})
	rs.six.family = six
	if onDemand {
		rs.four.needed = rs.awake.Load
	}
	rs.six.needed = func() bool { return rs.peers.Load() || rs.four.allocation() == nil && rs.four.hasFailed() }
	rs.four.failed = rs.six.wake
	rs.four.other = func() bool { return rs.six.allocation() != nil }
	rs.six.other = func() bool { return rs.four.allocation() != nil }
	if silent != nil {
		rs.four.silent, rs.six.silent = silent, silent
	}
	return rs
}

func (rs *relays) each(f func(*relay)) {
	f(rs.four)
	f(rs.six)
}

func (rs *relays) set(t TURN)        { rs.each(func(r *relay) { r.set(t) }) }
func (rs *relays) reopen(why string) { rs.each(func(r *relay) { r.reopen(why) }) }
func (rs *relays) check()            { rs.each((*relay).check) }
func (rs *relays) servers() TURN     { return rs.four.servers() }

// run keeps both until ctx ends.
func (rs *relays) run(ctx context.Context) {
	var both sync.WaitGroup
	rs.each(func(r *relay) {
		both.Add(1)
		go func() { defer both.Done(); r.run(ctx) }()
	})
	both.Wait()
}

// want sets whether a peer does not sleep, and whether one of these has no IPv4 address at a relay.
func (rs *relays) want(awake, six bool) {
	if rs.awake.Swap(awake) != awake {
		rs.four.wake()
	}
	if rs.peers.Swap(six) != six {
		rs.six.wake()
	}
}

// allocation returns this node's preferred allocation, IPv4 first, or nil.
func (rs *relays) allocation() *Allocation {
	if a := rs.four.allocation(); a != nil {
		return a
	}
	return rs.six.allocation()
}

// to returns the allocation that can send to a relayed address, or nil.
func (rs *relays) to(a netip.Addr) *Allocation {
	if familyOf(a) == four {
		return rs.four.allocation()
	}
	return rs.six.allocation()
}

// addresses returns this node's relayed addresses. first is the version of the first one, if there are both: a peer of an
// earlier version takes only that.
func (rs *relays) addresses(first family) (list []netip.AddrPort) {
	rs.each(func(r *relay) {
		if a := r.allocation(); a != nil {
			list = append(list, a.Address)
		}
	})
	if first == six {
		slices.Reverse(list)
	}
	return list
}

// choose returns the peer's address that this node can send to, IPv4 first, so that both sides choose the same; else the
// first of them. It is zero without any.
func (rs *relays) choose(named []netip.AddrPort) netip.AddrPort {
	for _, f := range []family{four, six} {
		for _, a := range named {
			if familyOf(a.Addr()) == f && rs.to(a.Addr()) != nil {
				return a
			}
		}
	}
	if len(named) > 0 {
		return named[0]
	}
	return netip.AddrPort{}
}

// failure returns why there is no allocation, or why a better one was not granted.
func (rs *relays) failure() error {
	if a := rs.allocation(); a != nil && familyOf(a.Address.Addr()) == six {
		return rs.six.failure()
	}
	return rs.four.failure()
}

// SendRelayed implements bind.Relay.
func (rs *relays) SendRelayed(packets [][]byte, offset int, to netip.AddrPort) error {
	a := rs.to(to.Addr())
	if a == nil {
		return errNoFamily
	}
	return a.SendRelayed(packets, offset, to)
}

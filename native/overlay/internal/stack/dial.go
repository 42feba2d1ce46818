package stack

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	DialTimeout = 10 * time.Second // for a connection into the overlay, all addresses together
	// dialAlone is how long Dial tries one address of a name before it also tries the next one. An address may not work: a
	// device has no IPv6 on its LAN, or a host has disabled IPv6. It is longer than a session takes to begin, because a
	// device may accept only one connection.
	dialAlone = time.Second
	// answersMost bounds the addresses whose answers are remembered.
	answersMost = 4096
)

var errOutside = errors.New("the address is not of the overlay")

// Dial connects to "name:port" or "address:port" in the overlay. network is "tcp" or "udp".
func (f *Forwarder) Dial(ctx context.Context, network, to string) (net.Conn, error) {
	host, portText, err := net.SplitHostPort(to)
	if err != nil {
		return nil, fmt.Errorf("the destination %.300q is not \"name:port\"", to)
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil || port == 0 {
		return nil, fmt.Errorf("the port of the destination %.300q is not between 1 and 65535", to)
	}
	ctx, cancel := context.WithTimeout(ctx, DialTimeout)
	defer cancel()
	var addresses []netip.Addr
	if a, err := netip.ParseAddr(host); err == nil {
		addresses = []netip.Addr{a.Unmap()}
	} else if addresses, err = f.resolver.Resolve(ctx, host); err != nil {
		return nil, err
	}
	outside := fmt.Errorf("the name %s has no address", host)
	addresses = slices.DeleteFunc(slices.Clone(addresses), func(a netip.Addr) bool {
		if f.inside(a) {
			return false
		}
		outside = fmt.Errorf("%s: %w", a, errOutside)
		return true
	})
	if len(addresses) == 0 {
		return nil, outside
	}
	f.answers.order(network, addresses)
	return f.dialFirst(ctx, network, to, uint16(port), addresses)
}

// dialFirst returns the first connection that is made. It tries the addresses in order, each dialAlone after the
// previous one, or as soon as that one has failed. REQUIRES: addresses is not empty.
func (f *Forwarder) dialFirst(ctx context.Context, network, to string, port uint16, addresses []netip.Addr) (net.Conn, error) {
	type result struct {
		c   net.Conn
		at  netip.Addr
		err error
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make(chan result, len(addresses))
	next, ended := 0, 0
	defer func() { // others may be made at the same moment
		late := next - ended
		go func() {
			for range late {
				if r := <-results; r.err == nil {
					r.c.Close()
				}
			}
		}()
	}()
	begin := func() {
		at := addresses[next]
		next++
		go func() {
			c, err := f.network.DialAddr(ctx, network, netip.AddrPortFrom(at, port))
			results <- result{c, at, err}
		}()
	}
	begin()
	alone := time.NewTimer(dialAlone)
	defer alone.Stop()
	for {
		select {
		case <-alone.C:
		case r := <-results:
			ended++
			if r.err == nil {
				if network == "udp" {
					return &datagrams{Conn: r.c, at: r.at, answers: &f.answers, all: addresses}, nil
				}
				f.answers.note(r.at, true)
				f.answers.forget(addresses[:next], r.at)
				return r.c, nil
			}
			if err := fmt.Errorf("%s at %s: %w", to, r.at, r.err); ended == len(addresses) || ctx.Err() != nil {
				return nil, err
			}
		}
		if next < len(addresses) {
			begin()
			alone.Reset(dialAlone)
		}
	}
}

// refusalLife is how long an address that has refused datagrams comes last; its port may have been closed only briefly.
const refusalLife = time.Minute

// reachability remembers which addresses of the overlay have answered, and which have refused datagrams.
type reachability struct {
	mu    sync.Mutex
	known map[netip.Addr]sign
	now   func() time.Time // nil: time.Now
}

// sign is the latest sign of an address.
type sign struct {
	answered bool
	at       time.Time
}

// order sorts addresses: those that have answered come first, those that have refused come last, the most recent
// refusal at the end. A lost datagram gives no sign, so UDP prefers IPv4, which more devices have.
func (a *reachability) order(network string, addresses []netip.Addr) {
	a.mu.Lock()
	defer a.mu.Unlock()
	const first, second, third, last = 0, 1, 2, 3
	rank := func(at netip.Addr) int {
		s, known := a.known[at]
		switch {
		case s.answered:
			return first
		case known && a.time().Sub(s.at) < refusalLife:
			return last
		case network == "udp" && at.Is6():
			return third
		}
		return second
	}
	slices.SortStableFunc(addresses, func(x, y netip.Addr) int {
		if r := rank(x) - rank(y); r != 0 || rank(x) != last {
			return r
		}
		return a.known[x].at.Compare(a.known[y].at)
	})
}

func (a *reachability) time() time.Time {
	if a.now != nil {
		return a.now()
	}
	return time.Now()
}

func (a *reachability) note(at netip.Addr, answered bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.known == nil || len(a.known) >= answersMost {
		a.known = map[netip.Addr]sign{}
	}
	a.known[at] = sign{answered, a.time()}
}

// forget drops the signs of addresses that failed while another one answered.
func (a *reachability) forget(tried []netip.Addr, answered netip.Addr) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, at := range tried {
		if at != answered {
			delete(a.known, at)
		}
	}
}

// datagrams is a UDP session into the overlay. Its connection is made at once, so only the first answer or refusal
// shows whether its address works.
type datagrams struct {
	net.Conn
	at       netip.Addr
	answers  *reachability
	all      []netip.Addr // of the name
	answered sync.Once
}

func (d *datagrams) Read(b []byte) (int, error) {
	n, err := d.Conn.Read(b)
	if err == nil {
		d.answered.Do(func() { d.answers.note(d.at, true) })
	}
	return n, d.refused(err)
}

func (d *datagrams) Write(b []byte) (int, error) {
	n, err := d.Conn.Write(b)
	return n, d.refused(err)
}

// isFirst is true if a new session would take the same address.
func (d *datagrams) isFirst() bool {
	addresses := slices.Clone(d.all)
	d.answers.order("udp", addresses)
	return addresses[0] == d.at
}

// refused records an ICMP error: the next session takes another address. The network stack's error has no type.
func (d *datagrams) refused(err error) error {
	if err != nil && strings.Contains(err.Error(), "refused") {
		d.answers.note(d.at, false)
	}
	return err
}

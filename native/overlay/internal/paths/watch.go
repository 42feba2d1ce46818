package paths

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// settle is how long Watch waits after a change: an address and its route come one after the other.
const settle = 30 * time.Millisecond

// Watch calls changed with words for what changed whenever the host's addresses or default routes are no longer those of
// before. It returns when ctx ends, or with an error if netlink cannot be used. ignore reports interfaces and addresses
// of the overlay itself: the overlay's own TUN comes and goes.
func Watch(ctx context.Context, ignore func(name string, a netip.Addr) bool, changed func(what string)) error {
	done := make(chan struct{})
	defer close(done)
	addresses := make(chan netlink.AddrUpdate, 64)
	links := make(chan netlink.LinkUpdate, 64)
	routes := make(chan netlink.RouteUpdate, 64)
	err := netlink.AddrSubscribe(addresses, done)
	if err == nil {
		err = netlink.LinkSubscribe(links, done)
	}
	if err == nil {
		err = netlink.RouteSubscribe(routes, done)
	}
	if err != nil {
		return fmt.Errorf("cannot watch the network: %w. A change of address is noticed by silence only", err)
	}
	last := Snapshot(ignore)
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	poll := time.NewTicker(30 * time.Second) // netlink may drop messages under load
	defer poll.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-addresses:
			timer.Reset(settle)
		case <-links:
			timer.Reset(settle)
		case <-routes:
			timer.Reset(settle)
		case <-poll.C:
			timer.Reset(0)
		case <-timer.C:
			now := Snapshot(ignore)
			if what := difference(last, now); what != "" {
				last = now
				changed(what)
			}
		}
	}
}

// Snapshot lists the host's usable addresses and default routes, sorted.
func Snapshot(ignore func(name string, a netip.Addr) bool) []string {
	var out []string
	links, err := netlink.LinkList()
	if err != nil {
		return nil
	}
	names := map[int]string{}
	for _, l := range links {
		at := l.Attrs()
		if at.RawFlags&unix.IFF_UP == 0 || at.RawFlags&unix.IFF_LOOPBACK != 0 {
			continue
		}
		addresses, err := netlink.AddrList(l, netlink.FAMILY_ALL)
		if err != nil {
			continue
		}
		names[at.Index] = at.Name
		for _, a := range addresses {
			ip, ok := netip.AddrFromSlice(a.IP)
			if !ok || ip.IsLinkLocalUnicast() || a.Flags&(unix.IFA_F_TENTATIVE|unix.IFA_F_DEPRECATED) != 0 || ignore(at.Name, ip.Unmap()) {
				continue
			}
			out = append(out, "address "+ip.Unmap().String()+" at "+at.Name)
		}
	}
	routes, err := netlink.RouteList(nil, netlink.FAMILY_ALL)
	if err == nil {
		for _, r := range routes {
			if r.Dst != nil && !r.Dst.IP.IsUnspecified() || r.Gw == nil || names[r.LinkIndex] == "" || ignore(names[r.LinkIndex], netip.Addr{}) {
				continue
			}
			out = append(out, "route by "+r.Gw.String()+" at "+names[r.LinkIndex])
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// difference names what is in one list and not in the other; it is empty if the lists are equal.
func difference(before, after []string) string {
	var out []string
	for _, a := range after {
		if !slices.Contains(before, a) {
			out = append(out, "new "+a)
		}
	}
	for _, b := range before {
		if !slices.Contains(after, b) {
			out = append(out, b+" is gone")
		}
	}
	return strings.Join(out, ", ")
}

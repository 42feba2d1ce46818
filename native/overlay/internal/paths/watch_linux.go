package paths

import (
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

func subscribe() (*subscription, error) {
	s := &subscription{notices: make(chan struct{}, 1), lost: make(chan struct{}), done: make(chan struct{})}
	addresses := make(chan netlink.AddrUpdate, 64)
	links := make(chan netlink.LinkUpdate, 64)
	routes := make(chan netlink.RouteUpdate, 64)
	err := netlink.AddrSubscribe(addresses, s.done)
	if err == nil {
		err = netlink.LinkSubscribe(links, s.done)
	}
	if err == nil {
		err = netlink.RouteSubscribe(routes, s.done)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	go follow(s, addresses)
	go follow(s, links)
	go follow(s, routes)
	return s, nil
}

// follow passes messages on until netlink closes the channel, which it does after any error of its socket.
func follow[T any](s *subscription, messages <-chan T) {
	for range messages {
		select {
		case s.notices <- struct{}{}:
		default:
		}
	}
	s.once.Do(func() { close(s.lost) })
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

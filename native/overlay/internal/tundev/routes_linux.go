package tundev

import (
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
)

// checkRoutes refuses prefixes of the overlay that overlap another route of this host: packets for the one network would go to the other. The
// default route overlaps everything and does not count.
func checkRoutes(name string, prefixes []netip.Prefix) error {
	own := 0
	if link, err := netlink.LinkByName(name); err == nil {
		own = link.Attrs().Index
	}
	routes, err := netlink.RouteList(nil, netlink.FAMILY_ALL)
	if err != nil {
		return fmt.Errorf("the host's routes cannot be read: %w", err)
	}
	for _, r := range routes {
		p, ok := prefix(r.Dst)
		if !ok || p.Bits() == 0 || r.LinkIndex == own && own != 0 {
			continue
		}
		for _, o := range prefixes {
			if o.Overlaps(p) {
				return fmt.Errorf("the overlay's network %s overlaps the route %s of this host%s. Give the overlay another prefix at the "+
					"authentication service, or remove the route", o, p, by(r.LinkIndex))
			}
		}
	}
	return nil
}

func by(index int) string {
	if link, err := netlink.LinkByIndex(index); err == nil {
		return " by " + link.Attrs().Name
	}
	return ""
}

func prefix(n *net.IPNet) (netip.Prefix, bool) {
	if n == nil {
		return netip.Prefix{}, false
	}
	a, ok := netip.AddrFromSlice(n.IP)
	bits, _ := n.Mask.Size()
	return netip.PrefixFrom(a.Unmap(), bits), ok
}

func network(p netip.Prefix) *net.IPNet {
	p = p.Masked()
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

func host(a netip.Addr) *net.IPNet { return network(netip.PrefixFrom(a, a.BitLen())) }

// source returns the node's address of a route's version.
func source(addresses []netip.Addr, p netip.Prefix) net.IP {
	for _, a := range addresses {
		if a.Is4() == p.Addr().Is4() {
			return a.AsSlice()
		}
	}
	return nil
}

func hasAddress(list []netlink.Addr, a netip.Addr) bool {
	for _, l := range list {
		if got, ok := netip.AddrFromSlice(l.IP); ok && got.Unmap() == a {
			return true
		}
	}
	return false
}

func hasRoute(list []netlink.Route, p netip.Prefix) bool {
	for _, r := range list {
		if got, ok := prefix(r.Dst); ok && got == p.Masked() {
			return true
		}
	}
	return false
}

package portmap

import (
	"net"
	"net/netip"
	"slices"
	"syscall"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Gateways lists the IPv4 default gateways of this host. ignore reports interfaces of the overlay itself.
func Gateways(ignore func(name string) bool) ([]Gateway, error) {
	routes, err := netlink.RouteList(nil, netlink.FAMILY_V4)
	if err != nil {
		return nil, err
	}
	var out []Gateway
	add := func(via net.IP, link int) {
		address, ok := netip.AddrFromSlice(via.To4())
		l, err := netlink.LinkByIndex(link)
		if !ok || err != nil || ignore(l.Attrs().Name) {
			return
		}
		inside, ok := insideAddress(l, address)
		g := Gateway{Address: address, Inside: inside, Interface: l.Attrs().Name}
		if ok && len(out) < gatewaysMost && !slices.Contains(out, g) {
			out = append(out, g)
		}
	}
	for _, r := range routes {
		if r.Dst != nil && (!r.Dst.IP.IsUnspecified() || !isDefault(r.Dst)) {
			continue
		}
		add(r.Gw, r.LinkIndex)
		for _, hop := range r.MultiPath {
			add(hop.Gw, hop.LinkIndex)
		}
	}
	return out, nil
}

func isDefault(n *net.IPNet) bool {
	ones, _ := n.Mask.Size()
	return ones == 0
}

// insideAddress returns the address of the link from which packets reach the gateway.
func insideAddress(l netlink.Link, gateway netip.Addr) (first netip.Addr, ok bool) {
	addresses, err := netlink.AddrList(l, netlink.FAMILY_V4)
	if err != nil {
		return first, false
	}
	for _, a := range addresses {
		ip, valid := netip.AddrFromSlice(a.IP.To4())
		if !valid || a.Flags&(unix.IFA_F_TENTATIVE|unix.IFA_F_DEPRECATED) != 0 {
			continue
		}
		if a.IPNet.Contains(gateway.AsSlice()) {
			return ip, true
		}
		if !first.IsValid() {
			first = ip // a gateway outside of the prefix, as with a /32
		}
	}
	return first, first.IsValid()
}

// bindToInterface keeps a socket on the gateway's interface where the kernel allows it.
func (g Gateway) bindToInterface(_, _ string, c syscall.RawConn) error {
	if g.Interface == "" {
		return nil
	}
	return c.Control(func(fd uintptr) { _ = unix.BindToDevice(int(fd), g.Interface) })
}

// multicastFrom sends the socket's multicast by the interface of the address.
func multicastFrom(socket uintptr, inside netip.Addr) {
	_ = unix.SetsockoptInet4Addr(int(socket), unix.IPPROTO_IP, unix.IP_MULTICAST_IF, inside.As4())
}

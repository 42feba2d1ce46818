package portmap

import (
	"errors"
	"net"
	"net/netip"
	"slices"
	"syscall"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// gatewaysMost bounds the gateways that get requests.
const gatewaysMost = 4

// The ports of a gateway, and the group to which it announces a new epoch (RFC 6887 §19.1, RFC 6886 §3.2.1) and listens
// for searches (UPnP Device Architecture 1.1 §1.3.2).
const (
	pcpPort      = 5351
	announcePort = 5350
	ssdpPort     = 1900
)

var (
	announceGroup = netip.AddrFrom4([4]byte{224, 0, 0, 1})
	ssdpGroup     = netip.AddrFrom4([4]byte{239, 255, 255, 250})
)

// Gateway is a default gateway, as seen from one interface.
type Gateway struct {
	Address   netip.Addr // of the gateway
	Inside    netip.Addr // of this host at that interface
	Interface string
}

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

// dial opens a UDP socket that receives only from the address. It prefers the gateway's interface, because two networks
// may use the same addresses.
func (g Gateway) dial(to netip.AddrPort) (*net.UDPConn, error) {
	d := net.Dialer{LocalAddr: net.UDPAddrFromAddrPort(netip.AddrPortFrom(g.Inside, 0)), Control: g.bindToInterface}
	c, err := d.Dial("udp4", to.String())
	if err != nil {
		return nil, err
	}
	u, ok := c.(*net.UDPConn)
	if !ok {
		_ = c.Close()
		return nil, errors.New("the socket is not a UDP socket")
	}
	return u, nil
}

// bindToInterface keeps a socket on the gateway's interface where the kernel allows it.
func (g Gateway) bindToInterface(_, _ string, c syscall.RawConn) error {
	if g.Interface == "" {
		return nil
	}
	return c.Control(func(fd uintptr) { _ = unix.BindToDevice(int(fd), g.Interface) })
}

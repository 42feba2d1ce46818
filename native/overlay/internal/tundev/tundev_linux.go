package tundev

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/tailscale/wireguard-go/tun"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

const addressTimeout = 2 * time.Second

func (o *Options) check() error {
	if o.Name == "" {
		o.Name = DefaultName
	}
	if o.MTU == 0 {
		o.MTU = DefaultMTU
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if len(o.Name) >= unix.IFNAMSIZ || strings.ContainsAny(o.Name, "/ %:\x00") || o.Name == "." || o.Name == ".." {
		return fmt.Errorf("%.40q cannot be the name of an interface; use at most %d letters and digits", o.Name, unix.IFNAMSIZ-1)
	}
	if o.MTU < 1280 || o.MTU > MaxMTU {
		return fmt.Errorf("the MTU of %d bytes is not between 1280 (the least of IPv6) and %d", o.MTU, MaxMTU)
	}
	if o.Offload == "" {
		o.Offload = "auto"
	}
	if o.Offload != "auto" && o.Offload != "on" && o.Offload != "off" {
		return fmt.Errorf("the offload setting %.20q is none of \"auto\", \"on\", \"off\"", o.Offload)
	}
	if len(o.Addresses) == 0 {
		return errors.New("the interface needs the node's virtual addresses; join a network first")
	}
	return nil
}

// Open makes or attaches to the interface.
func Open(o Options) (*Device, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if err := checkRoutes(o.Name, o.Routes); err != nil {
		return nil, err
	}
	d, err := open(&o, o.Offload != "off")
	if err != nil || o.Offload != "auto" {
		return d, err
	}
	result, err := selfTest(d.Device, &o)
	if err != nil { // packets that the kernel sends in one piece arrive damaged
		o.Log.Warn("the interface's offloads are off: the self-test failed", "interface", o.Name, "error", err)
		d.Close()
		if d, err = open(&o, false); err == nil {
			d.offload = "off (the self-test failed)"
		}
		return d, err
	}
	d.offload = result
	o.Log.Info("the interface is ready", "interface", o.Name, "offload", result)
	return d, nil
}

func open(o *Options, offload bool) (*Device, error) {
	fd, err := openFile(o.Name, offload)
	if err != nil {
		return nil, err
	}
	t, name, err := tun.CreateUnmonitoredTUNFromFD(fd)
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("the interface %s: %w", o.Name, err)
	}
	if err := configure(name, o); err != nil {
		t.Close()
		return nil, err
	}
	gro, ok := t.(tun.GRODevice)
	if !offload || !ok {
		return &Device{Device: t, name: name, offload: "off"}, nil
	}
	b, err := newBatched(gro)
	if err != nil {
		t.Close()
		return nil, fmt.Errorf("the interface %s: %w", name, err)
	}
	return &Device{Device: b, name: name, offload: "on"}, nil
}

func openFile(name string, offload bool) (int, error) {
	const path = "/dev/net/tun"
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("%s cannot be opened (%w). Load the kernel's module \"tun\", or run the node without a TUN interface", path, err)
	}
	ifr, err := unix.NewIfreq(name)
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	flags := uint16(unix.IFF_TUN | unix.IFF_NO_PI)
	if offload {
		flags |= unix.IFF_VNET_HDR
	}
	ifr.SetUint16(flags)
	err = unix.IoctlIfreq(fd, unix.TUNSETIFF, ifr)
	if err == nil {
		return fd, nil
	}
	unix.Close(fd)
	switch {
	case errors.Is(err, unix.EBUSY):
		return -1, fmt.Errorf("the interface %s is in use by another program. End that, or choose another name", name)
	case errors.Is(err, unix.EINVAL):
		return -1, fmt.Errorf("the interface %s exists and is no TUN interface. Choose another name", name)
	case errors.Is(err, unix.EPERM):
		return -1, fmt.Errorf("this user may not use the interface %s. An administrator can make it once: ip tuntap add dev %s mode tun user %d. "+
			"Or give the program the capability CAP_NET_ADMIN, or run the node without a TUN interface", name, name, os.Getuid())
	}
	return -1, fmt.Errorf("the interface %s: %w", name, err)
}

// configure sets MTU, addresses, state and routes. Without the capability, the settings of an administrator must
// suffice.
func configure(name string, o *Options) error {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return fmt.Errorf("the interface %s: %w", name, err)
	}
	if err := netlink.LinkSetMTU(link, o.MTU); err != nil {
		if !errors.Is(err, unix.EPERM) {
			return fmt.Errorf("the MTU %d of %s: %w", o.MTU, name, err)
		}
		return checkConfigured(link, o)
	}
	if err := netlink.LinkSetIP6AddrGenMode(link, 1); err != nil { // none: no link-local address, no router solicitations
		o.Log.Debug("the interface keeps its link-local address", "interface", name, "error", err)
	}
	v6 := true
	for _, a := range o.Addresses {
		addr := &netlink.Addr{IPNet: host(a)}
		if a.Is6() {
			addr.Flags = unix.IFA_F_NODAD
		}
		if err := netlink.AddrReplace(link, addr); err != nil {
			if a.Is6() && len(o.Addresses) > 1 && errors.Is(err, unix.EACCES) {
				o.Log.Warn("IPv6 is off on this host, so the overlay is reached over IPv4 only", "interface", name)
				v6 = false
				continue
			}
			return fmt.Errorf("the address %s of %s: %w", a, name, err)
		}
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return fmt.Errorf("the interface %s cannot be set up: %w", name, err)
	}
	if v6 {
		awaitAddresses(o.Addresses)
	}
	for _, p := range o.Routes {
		if p.Addr().Is6() && !v6 {
			continue
		}
		if err := netlink.RouteReplace(&netlink.Route{LinkIndex: link.Attrs().Index, Dst: network(p), Src: source(o.Addresses, p)}); err != nil {
			return fmt.Errorf("the route %s by %s: %w", p, name, err)
		}
	}
	return nil
}

// awaitAddresses waits until the kernel receives packets for the addresses: it makes the local route of an IPv6 address some milliseconds after
// the interface has come up, also without a search for duplicate addresses.
func awaitAddresses(addresses []netip.Addr) {
	local := func(a netip.Addr) bool {
		list, err := netlink.RouteGet(a.AsSlice())
		return err == nil && len(list) > 0 && list[0].Type == unix.RTN_LOCAL
	}
	for end := time.Now().Add(addressTimeout); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if !slices.ContainsFunc(addresses, func(a netip.Addr) bool { return a.Is6() && !local(a) }) {
			return
		}
	}
}

// checkConfigured returns an error with the commands that an administrator must run.
func checkConfigured(link netlink.Link, o *Options) error {
	var missing []string
	name := link.Attrs().Name
	if link.Attrs().MTU != o.MTU {
		missing = append(missing, fmt.Sprintf("ip link set %s mtu %d", name, o.MTU))
	}
	have, err := netlink.AddrList(link, netlink.FAMILY_ALL)
	if err != nil {
		return err
	}
	for _, a := range o.Addresses {
		if !hasAddress(have, a) {
			missing = append(missing, fmt.Sprintf("ip addr add %s dev %s", netip.PrefixFrom(a, a.BitLen()), name))
		}
	}
	if link.Attrs().Flags&net.FlagUp == 0 {
		missing = append(missing, "ip link set "+name+" up")
	}
	routes, err := netlink.RouteList(link, netlink.FAMILY_ALL)
	if err != nil {
		return err
	}
	for _, p := range o.Routes {
		if !hasRoute(routes, p) {
			missing = append(missing, fmt.Sprintf("ip route add %s dev %s", p, name))
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("the interface %s is not set up and this user may not do it. An administrator must run: %s", name, strings.Join(missing, "; "))
	}
	return nil
}

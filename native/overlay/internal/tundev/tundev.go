// Package tundev opens the TUN interface of a node and sets it up: addresses, routes, MTU, offloads.
//
// With CAP_NET_ADMIN it makes the interface. Without, it attaches to one that an administrator made for the user, and checks its set-up:
//
//	ip tuntap add dev seganet0 mode tun user USER
//
// Offloads (GSO and GRO by a virtio header) are most of the tunnel's throughput, but some kernels lose packets with them. A self-test sends
// packets through the interface before the tunnel uses it, and turns off what fails.
package tundev

import (
	"log/slog"
	"net/netip"

	"github.com/tailscale/wireguard-go/tun"
)

const (
	// DefaultName is the interface's name.
	DefaultName = "seganet0"
	// DefaultMTU fits LTE, PPPoE and the headers of TURN.
	DefaultMTU = 1280
	// MaxMTU leaves room for the headers of WireGuard and UDP over IPv6 in the largest IP packet.
	MaxMTU = 65535 - 80
)

// Options of Open.
type Options struct {
	Name      string         // empty: DefaultName
	Addresses []netip.Addr   // of this node
	Routes    []netip.Prefix // of the overlay
	MTU       int            // bytes; 0: DefaultMTU
	Offload   string         // "auto" (or empty): as the self-test finds; "on"; "off"
	Log       *slog.Logger   // nil: none
}

// Device is an open interface.
type Device struct {
	tun.Device
	name    string
	offload string
}

// IfName returns the interface's name.
func (d *Device) IfName() string { return d.name }

// Offload says in words which offloads are in use.
func (d *Device) Offload() string { return d.offload }

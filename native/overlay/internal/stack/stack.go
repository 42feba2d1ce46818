// Package stack is the overlay's network for programs without privilege: a TCP/IP stack inside the process (gVisor's netstack), local ports
// that lead to names of the overlay, a SOCKS5 proxy, and services that the node offers to the overlay.
//
//	program → local port or SOCKS5 → Forwarder → Network → engine
//	engine → Stack → Acceptor → program's port on the host or the device's on the LAN
//
// With a TUN interface the kernel is the Network (System), and the same Forwarder serves names.
//
// Thread safety: all methods may be called from any goroutine.
package stack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"

	"github.com/tailscale/wireguard-go/tun"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/icmp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"
)

const (
	nic = 1

	// MaxConnections bounds the connections that a Stack accepts at once, and also those of a Forwarder. A peer has a
	// quarter of them at most.
	MaxConnections = 1024
	// MaxAttempts bounds the TCP connections whose target has not been reached yet. The share of one peer must not fill it.
	MaxAttempts = MaxConnections
	// DefaultMTU fits LTE, PPPoE and the headers of TURN.
	DefaultMTU = 1280

	bufferBytes = 2 << 20 // most of a TCP connection's send and receive buffer
)

// Options of a Stack.
type Options struct {
	Addresses []netip.Addr // of this node; required
	MTU       int          // bytes; 0: DefaultMTU
	Owner     Owner        // of peers' addresses; nil: each address is a peer
	Log       *slog.Logger // nil: none
}

// Network opens connections inside the overlay.
type Network interface {
	// DialAddr connects to an address. network is "tcp" or "udp".
	DialAddr(ctx context.Context, network string, to netip.AddrPort) (net.Conn, error)
}

// Stack is a TCP/IP stack with the virtual addresses of a node and of the devices behind it.
type Stack struct {
	stack *stack.Stack
	dev   *device
	log   *slog.Logger
	limit chan struct{} // a slot for each accepted connection
	peers *shares       // of the slots
	pairs pairs         // accepted connections and sessions

	mu        sync.RWMutex
	offers    map[offer]string        // of the node's own addresses
	acceptors map[netip.Addr]Acceptor // of devices
	own       map[netip.Addr]struct{} // the node's own addresses
}

type offer struct {
	proto string
	port  uint16
}

// Acceptor returns the target, a "host:port" outside the overlay, of a connection to one of the stack's addresses. With
// ok false the connection is refused.
type Acceptor func(proto string, port uint16) (target string, ok bool)

// New makes a stack. Its owner gives Device to the engine.
func New(o Options) (*Stack, error) {
	if len(o.Addresses) == 0 {
		return nil, errors.New("the network stack needs the node's virtual addresses; join a network first")
	}
	if o.MTU == 0 {
		o.MTU = DefaultMTU
	}
	if o.MTU < 1280 || o.MTU > 65535 {
		return nil, fmt.Errorf("the MTU of %d bytes is not between 1280 (the least of IPv6) and 65535", o.MTU)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Stack{
		stack: stack.New(stack.Options{
			NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol, ipv6.NewProtocol},
			TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol, udp.NewProtocol, icmp.NewProtocol4, icmp.NewProtocol6},
			HandleLocal:        true,
		}),
		log:       o.Log,
		limit:     make(chan struct{}, MaxConnections),
		peers:     newShares(MaxConnections, o.Owner),
		offers:    map[offer]string{},
		acceptors: map[netip.Addr]Acceptor{},
		own:       map[netip.Addr]struct{}{},
	}
	s.dev = newDevice(s.stack, o.MTU)
	if err := s.configure(); err != nil {
		return nil, err
	}
	for _, a := range o.Addresses {
		if err := s.add(a); err != nil {
			return nil, err
		}
		s.own[a] = struct{}{}
	}
	s.acceptConnections()
	return s, nil
}

func (s *Stack) configure() error {
	sack := tcpip.TCPSACKEnabled(true)
	moderate := tcpip.TCPModerateReceiveBufferOption(true)
	receive := tcpip.TCPReceiveBufferSizeRangeOption{Min: tcp.MinBufferSize, Default: 256 << 10, Max: bufferBytes}
	send := tcpip.TCPSendBufferSizeRangeOption{Min: tcp.MinBufferSize, Default: 256 << 10, Max: bufferBytes}
	cubic := tcpip.CongestionControlOption("cubic")
	for _, o := range []tcpip.SettableTransportProtocolOption{&sack, &moderate, &receive, &send, &cubic} {
		if err := s.stack.SetTransportProtocolOption(tcp.ProtocolNumber, o); err != nil {
			return fmt.Errorf("the network stack refused the option %T: %s", o, err)
		}
	}
	if err := s.stack.CreateNIC(nic, s.dev.link); err != nil {
		return fmt.Errorf("the network stack refused its interface: %s", err)
	}
	s.stack.SetRouteTable([]tcpip.Route{{Destination: header.IPv4EmptySubnet, NIC: nic}, {Destination: header.IPv6EmptySubnet, NIC: nic}})
	return nil
}

// Device returns the stack's end for the engine.
func (s *Stack) Device() tun.Device { return s.dev }

// AddAddress adds the virtual address of a device. accept decides where connections to it go.
func (s *Stack) AddAddress(a netip.Addr, accept Acceptor) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.acceptors[a]; !ok {
		if err := s.add(a); err != nil {
			return err
		}
	}
	s.acceptors[a] = accept
	return nil
}

// RemoveAddress removes the address of a device. Its open connections end.
func (s *Stack) RemoveAddress(a netip.Addr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.acceptors[a]; ok {
		delete(s.acceptors, a)
		s.stack.RemoveAddress(nic, tcpip.AddrFromSlice(a.AsSlice()))
	}
}

func (s *Stack) add(a netip.Addr) error {
	if !a.IsValid() || a.Is4In6() || a.Zone() != "" {
		return fmt.Errorf("the virtual address %q is invalid", a)
	}
	err := s.stack.AddProtocolAddress(nic, tcpip.ProtocolAddress{
		Protocol: protocolOf(a), AddressWithPrefix: tcpip.AddrFromSlice(a.AsSlice()).WithPrefix()}, stack.AddressProperties{})
	if err != nil {
		return fmt.Errorf("the network stack refused the address %s: %s", a, err)
	}
	return nil
}

// DialAddr connects to an address of the overlay.
func (s *Stack) DialAddr(ctx context.Context, network string, to netip.AddrPort) (net.Conn, error) {
	switch network {
	case "tcp":
		c, err := gonet.DialContextTCP(ctx, s.stack, full(to), protocolOf(to.Addr()))
		if err != nil {
			return nil, err // not a nil pointer in an interface
		}
		s.keepAliveOf(c)
		return c, nil
	case "udp":
		remote := full(to)
		c, err := gonet.DialUDP(s.stack, nil, &remote, protocolOf(to.Addr()))
		if err != nil {
			return nil, err
		}
		return c, nil
	}
	return nil, fmt.Errorf("the overlay carries connections of \"tcp\" and \"udp\", not of %q", network)
}

// ListenTCP listens at an address of this node. It takes precedence over Offer.
func (s *Stack) ListenTCP(at netip.AddrPort) (net.Listener, error) {
	l, err := gonet.ListenTCP(s.stack, full(at), protocolOf(at.Addr()))
	if err != nil {
		return nil, err
	}
	return l, nil
}

// ListenUDP opens a socket at an address of this node.
func (s *Stack) ListenUDP(at netip.AddrPort) (net.PacketConn, error) {
	local := full(at)
	c, err := gonet.DialUDP(s.stack, &local, nil, protocolOf(at.Addr()))
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Offer makes a port of this node lead to target, a "host:port" outside the overlay. An empty target ends the offer, its
// connections and its sessions of UDP.
func (s *Stack) Offer(proto string, port uint16, target string) error {
	if proto != "tcp" && proto != "udp" || port == 0 {
		return fmt.Errorf("the offer \"%s/%d\" is none of \"tcp/<port>\", \"udp/<port>\"", proto, port)
	}
	if target == "" {
		s.mu.Lock()
		delete(s.offers, offer{proto, port})
		s.mu.Unlock()
		s.pairs.withdraw(proto, port, s.isOwn)
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, _, err := net.SplitHostPort(target); err != nil {
		return fmt.Errorf("the target %q of the offer %s/%d is not \"host:port\"", target, proto, port)
	}
	s.offers[offer{proto, port}] = target
	return nil
}

func (s *Stack) isOwn(a netip.Addr) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, ok := s.own[a]
	return ok
}

// Cut resets the accepted TCP connections of peers, so that the programs that serve them notice at once, and ends their
// sessions of UDP. It returns their number.
func (s *Stack) Cut(belongs func(peer netip.Addr) bool) int { return s.pairs.cut(belongs) }

// target returns where a connection to an address of the stack goes.
func (s *Stack) target(proto string, to netip.AddrPort) (string, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if accept := s.acceptors[to.Addr()]; accept != nil {
		return accept(proto, to.Port())
	}
	if _, ok := s.own[to.Addr()]; !ok {
		return "", false
	}
	t, ok := s.offers[offer{proto, to.Port()}]
	return t, ok
}

// Close ends all connections and the device.
func (s *Stack) Close() error {
	err := s.dev.Close()
	s.stack.Close()
	return err
}

// System is the kernel's network: with a TUN interface it leads into the overlay.
type System struct{}

// DialAddr connects by the kernel.
func (System) DialAddr(ctx context.Context, network string, to netip.AddrPort) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, network, to.String())
}

func protocolOf(a netip.Addr) tcpip.NetworkProtocolNumber {
	if a.Is4() {
		return ipv4.ProtocolNumber
	}
	return ipv6.ProtocolNumber
}

func full(a netip.AddrPort) tcpip.FullAddress {
	return tcpip.FullAddress{NIC: nic, Addr: tcpip.AddrFromSlice(a.Addr().AsSlice()), Port: a.Port()}
}

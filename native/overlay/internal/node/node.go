// Package node is the daemon of a node. It connects identity, signalling, engine, paths, policy, names, network and the
// control socket.
//
// A peer's key reaches the engine only after this node has verified the peer's certificate and, for signals, the peer's
// signature. The node services carry both and can neither read nor replace them (peers.go).
package node

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/tailscale/wireguard-go/tun"

	"seganet.internal/overlay/internal/adapter"
	"seganet.internal/overlay/internal/bind"
	"seganet.internal/overlay/internal/control"
	"seganet.internal/overlay/internal/engine"
	"seganet.internal/overlay/internal/identity"
	"seganet.internal/overlay/internal/names"
	"seganet.internal/overlay/internal/paths"
	"seganet.internal/overlay/internal/policy"
	"seganet.internal/overlay/internal/portmap"
	"seganet.internal/overlay/internal/stack"
	"seganet.internal/overlay/internal/tundev"
	"seganet.internal/overlay/internal/wire"
)

// Options configure a node.
type Options struct {
	State   string
	TUN     string // name of the interface; empty: no privilege, netstack
	MTU     int    // bytes; 0: 1,280
	Offload string // "auto", "on", "off"
	Port    uint16 // UDP; 0: the one of the last run, else any
	Buffers int    // of the engine; 0: its default
	Offers  []Offer
	// DevicesFile is the file with the table of devices behind this node; empty: none. The node reloads it when it
	// changes.
	DevicesFile string
	Forwards    []stack.Forward
	SOCKS       string // address of a SOCKS5 proxy; empty: none
	Metered     bool
	RelayOnly   bool
	// MapPort asks the default gateways to map the UDP port (portmap).
	MapPort bool
	// RevocationsEvery is the interval at which the node asks the authentication service for the revocation list while
	// the node services are out of reach. Zero means the package constant RevocationsEvery (1 min).
	RevocationsEvery time.Duration
	// HousekeepingEvery is the interval at which the node removes invalid peers and writes its cache. Zero means the
	// package constant HousekeepingEvery (30 s).
	HousekeepingEvery time.Duration
	Log               *slog.Logger
}

// Node is a running node.
type Node struct {
	o     Options
	log   *slog.Logger
	start time.Time

	instance string // of this start

	bind    *bind.Bind
	engine  *engine.Engine
	paths   atomic.Pointer[paths.Manager]
	tracker *policy.Tracker
	names   *names.Table
	stack   *stack.Stack // nil with a TUN
	device  *tundev.Device
	forward *stack.Forwarder
	expose  *stack.Forwarder // offers with a TUN; separate, so that peers cannot use up the places of forwards
	within  []netip.Prefix
	peers   directory
	redial  chan struct{} // reconnect to the node services without a pause
	// renewNow makes renewing look at the certificate at once.
	renewNow chan struct{}
	rescan   *rescanner
	patience patience
	rechecks chan struct{}   // check the connection to the node services at once
	mapper   *portmap.Mapper // nil: no router is asked

	devicesState fileState
	cached       [sha256.Size]byte   // of the cache's file as this node wrote it
	translator   *adapter.Translator // nil without a TUN or a file of devices
	renewals     sync.Mutex          // one renewal at a time
	offering     sync.Mutex          // one change of the offers at a time
	applying     sync.Mutex          // one change of the policy at a time

	changing sync.Mutex // one change of the membership at a time; guards the next two
	unsaved  bool       // the membership in force is not on disk
	roots    int64      // number of the list of roots

	mu        sync.Mutex
	member    *identity.Member
	table     adapter.Table // of devices, with their addresses
	offered   []offered
	policy    wire.Policy
	revoked   map[string]struct{}
	revision  int64 // of the revocations
	turn      wire.TURN
	dialing   context.CancelFunc // ends the attempt to reach the node services
	link      *link              // nil: the node services are out of reach
	linkError string
	twice     time.Time // when the node services last saw another program with this identity; zero: never
	waiting   map[string]chan wire.Message
	lookups   int64
	events    map[int]func(control.Event)
	eventID   int
}

// Run runs a node until ctx ends.
func Run(ctx context.Context, o Options) error {
	l, err := control.Listen(o.State) // first, so that a second node on the same folder changes nothing
	if err != nil {
		return err
	}
	defer l.Close()
	n, err := open(ctx, o)
	if err != nil {
		return err
	}
	defer n.close()
	ctx, cancel := context.WithCancel(ctx)
	var tasks sync.WaitGroup
	task := func(f func()) {
		tasks.Add(1)
		go func() { defer tasks.Done(); f() }()
	}
	defer func() { cancel(); tasks.Wait() }()
	n.loadCache()
	task(func() { _ = control.Serve(ctx, l, n, n.log) })
	task(func() { n.signalling(ctx) })
	task(func() { n.renewing(ctx) })
	task(func() { n.housekeeping(ctx) })
	task(func() { n.refreshing(ctx) })
	task(func() { n.rescan.run(ctx, n) })
	task(func() { n.askingRevocations(ctx) })
	if o.DevicesFile != "" {
		task(func() { n.watchDevices(ctx, n.devicesState) })
	}
	task(func() {
		if err := paths.Watch(ctx, n.ignored, n.networkChanged); err != nil {
			n.log.Warn("network", "error", err)
		}
	})
	if n.mapper != nil {
		task(func() { n.mapper.Run(ctx) })
	}
	n.serveNames(ctx, task)
	n.log.Info("the node runs", "name", n.self().FQDN, "mode", n.mode(), "port", n.bind.Port())
	select {
	case <-ctx.Done():
		return nil
	case <-n.engine.Done():
		return errors.New("the tunnel ended; the TUN interface was removed")
	}
}

func open(ctx context.Context, o Options) (n *Node, err error) {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	m, err := identity.LoadMember(o.State, time.Now())
	if err != nil {
		return nil, fmt.Errorf("this machine is no node yet: %w. Join a network with: seganet-overlay join", err)
	}
	n = &Node{o: o, log: o.Log, start: time.Now(), instance: newInstance(), bind: bind.New(), member: m, revoked: map[string]struct{}{},
		waiting: map[string]chan wire.Message{}, events: map[int]func(control.Event){}, tracker: policy.New(o.Log)}
	n.redial, n.renewNow, n.rescan = make(chan struct{}, 1), make(chan struct{}, 1), newRescanner()
	n.rechecks = make(chan struct{}, 1)
	n.patience.metered = o.Metered
	n.peers.init()
	n.within = []netip.Prefix{netip.PrefixFrom(m.Self.Addresses[0], 48).Masked(), identity.Pool4()}
	n.names = names.NewTable(m.Network + "." + wire.Domain)
	n.names.Ask = n.ask
	if err := n.openDevices(ctx); err != nil {
		return nil, err
	}
	if err := n.names.Set(m.FQDN, records(n.member.Self)); err != nil {
		return nil, err
	}
	device, err := n.openNetwork()
	if err != nil {
		return nil, err
	}
	if err := n.openTunnel(device); err != nil {
		return nil, err
	}
	if err := n.openOffers(); err != nil {
		n.close()
		return nil, err
	}
	if err := n.openForwards(); err != nil {
		n.close()
		return nil, err
	}
	n.applyPolicy()
	n.openMapper()
	return n, nil
}

func (n *Node) openNetwork() (tun.Device, error) {
	self := n.member.Self
	if n.o.TUN == "" {
		s, err := stack.New(stack.Options{Addresses: self.Addresses, MTU: n.o.MTU, Owner: n.owner, Log: n.log})
		if err != nil {
			return nil, err
		}
		n.stack = s
		n.forward = stack.NewForwarder(s, n.names, n.within, n.log)
		if err := adapter.Splice(s, n.table); err != nil {
			return nil, err
		}
		return s.Device(), nil
	}
	d, err := tundev.Open(tundev.Options{Name: n.o.TUN, Addresses: self.Addresses, Routes: n.within, MTU: n.o.MTU, Offload: n.o.Offload, Log: n.log})
	if err != nil {
		return nil, err
	}
	n.device = d
	n.forward = stack.NewForwarder(stack.System{}, n.names, n.within, n.log)
	n.expose = stack.NewExposer(d.IfName(), n.within, n.owner, n.log)
	if n.o.DevicesFile == "" {
		return d, nil
	}
	mtu := n.o.MTU
	if mtu == 0 {
		mtu = tundev.DefaultMTU
	}
	n.translator = adapter.NewTranslator(n.table, mtu)
	return adapter.Wrap(d, n.translator), nil
}

func (n *Node) openTunnel(device tun.Device) error {
	keys := n.member.Keys
	conf := engine.Config{PrivateKey: keys.WGPrivate(), TUN: device, Bind: n.bind, Port: n.o.Port, Buffers: n.o.Buffers, Logger: n.log,
		Inbound: func(from engine.Key, packet []byte) bool {
			p, ok := n.peers.byKey(from)
			return ok && n.inbound(p, packet)
		},
		Outbound: func(packet []byte) bool { return n.tracker.Outbound(packet) == policy.Accept },
		Control: func(from engine.Key, message []byte) {
			if m := n.paths.Load(); m != nil {
				m.Control(from, message)
			}
		},
		Sent: func(to engine.Key) {
			if m := n.paths.Load(); m != nil {
				m.Sent(to)
			}
		},
		Received: func(from engine.Key) {
			if m := n.paths.Load(); m != nil {
				m.Received(from)
			}
		},
		Wanted: func(dst netip.Addr) { go n.wanted(dst) },
	}
	if last := n.cachedPort(); conf.Port == 0 && last != 0 {
		if err := freePort(last); err == nil {
			conf.Port = last
		} else {
			n.log.Info("the UDP port of the last run is taken, so another one is used", "port", last, "reason", err)
		}
	}
	e, err := engine.New(conf)
	if err != nil {
		return err
	}
	n.engine = e
	name := ""
	if n.device != nil {
		name = n.device.IfName()
	}
	n.paths.Store(paths.New(paths.Config{Self: n.member.Self.Addresses[0], Key: keys.WGPublic(), Bind: n.bind, Tunnel: e, Signaller: n,
		Overlay: n.within, Interface: name, Loopback: n.onLoopback(), Metered: n.o.Metered, RelayOnly: n.o.RelayOnly, Logger: n.log,
		Event: n.pathChanged, RelaySilent: n.recheck}))
	return nil
}

// freePort returns an error if the UDP port is in use. It runs before the engine starts, because an engine that cannot
// open its port closes the TUN.
func freePort(port uint16) error {
	c, err := net.ListenUDP("udp4", &net.UDPAddr{Port: int(port)})
	if err != nil {
		return err
	}
	c.Close()
	c, err = net.ListenUDP("udp6", &net.UDPAddr{Port: int(port)})
	if err == nil {
		c.Close()
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		return err
	}
	return nil // a host without IPv6 has no such port
}

// inbound decides whether a packet from a peer may enter. It answers packets that the policy refuses, so that the
// caller fails at once instead of waiting.
func (n *Node) inbound(from identity.Peer, packet []byte) bool {
	v := n.tracker.Inbound(from, packet)
	if v == policy.Accept {
		return true
	}
	if r := policy.Refusal(v, packet); r != nil && n.paths.Load() != nil { // openTunnel sets paths last
		n.engine.Answer(from.WGKey, r)
	}
	return false
}

func (n *Node) openForwards() error {
	for _, f := range n.o.Forwards {
		a, err := n.forward.Forward(f.Network, f.Local, f.Remote)
		if err != nil {
			return err
		}
		n.log.Info("forward", "network", f.Network, "local", a.String(), "remote", f.Remote)
	}
	if n.o.SOCKS == "" {
		return nil
	}
	a, err := n.forward.SOCKS(n.o.SOCKS)
	if err == nil {
		n.log.Info("SOCKS5", "local", a.String())
	}
	return err
}

// serveNames serves DNS at the node's own address. If that fails, the node runs without it.
func (n *Node) serveNames(ctx context.Context, task func(func())) {
	at := netip.AddrPortFrom(n.self().Addresses[1], 53)
	packets, streams, err := listenNames(func() (net.PacketConn, error) {
		if n.stack != nil {
			return n.stack.ListenUDP(at)
		}
		return net.ListenPacket("udp", at.String())
	}, func() (net.Listener, error) {
		if n.stack != nil {
			return n.stack.ListenTCP(at)
		}
		return net.Listen("tcp", at.String())
	})
	if err != nil {
		n.log.Warn("names are not served by DNS", "error", err)
		return
	}
	task(func() { _ = names.Serve(ctx, n.names, packets, streams) })
	if n.device != nil {
		if err := names.SplitDNS(ctx, n.device.IfName(), at.Addr(), n.names.Domain()); err != nil {
			n.log.Info("the system's resolver does not know the overlay's names", "reason", err)
		}
	}
}

// listenNames opens both sockets for DNS, or none.
func listenNames(udp func() (net.PacketConn, error), tcp func() (net.Listener, error)) (net.PacketConn, net.Listener, error) {
	packets, err := udp()
	if err == nil {
		var streams net.Listener
		if streams, err = tcp(); err == nil {
			return packets, streams, nil
		}
		packets.Close()
	}
	if errors.Is(err, fs.ErrPermission) {
		err = fmt.Errorf("%w. Port 53 needs CAP_NET_BIND_SERVICE beside CAP_NET_ADMIN", err)
	}
	return nil, nil, err
}

func (n *Node) close() {
	if n.forward != nil {
		n.forward.Close()
	}
	if n.expose != nil {
		n.expose.Close()
	}
	if m := n.paths.Load(); m != nil {
		n.saveCache()
		n.saveMembership()
		m.Close()
	}
	if n.engine != nil {
		n.engine.Close()
	}
	if n.stack != nil {
		_ = n.stack.Close()
	}
}

func (n *Node) self() identity.Peer {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.member.Self
}

func (n *Node) current() *identity.Member {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.member
}

func (n *Node) mode() string {
	if n.stack != nil {
		return "netstack"
	}
	return "tun"
}

// ignored is true for the overlay's own interface and addresses.
func (n *Node) ignored(name string, a netip.Addr) bool {
	if n.device != nil && name == n.device.IfName() {
		return true
	}
	for _, p := range n.within {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// onLoopback is true if the services run on this host. Loopback addresses are then candidates, as in the demo.
func (n *Node) onLoopback() bool {
	for _, s := range n.member.Nodes {
		u, err := url.Parse(s)
		if err != nil {
			continue
		}
		if a, err := netip.ParseAddr(u.Hostname()); err == nil && a.IsLoopback() || u.Hostname() == "localhost" {
			return true
		}
	}
	return false
}

package paths_test

import (
	"context"
	"crypto/ecdh"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pion/logging"
	"github.com/pion/turn/v5"

	"seganet.internal/overlay/internal/bind"
	"seganet.internal/overlay/internal/engine"
	"seganet.internal/overlay/internal/paths"
	"seganet.internal/overlay/internal/stack"
)

// eventually fails the test if f does not become true within limit.
func eventually(t *testing.T, limit time.Duration, what string, f func() bool) time.Duration {
	t.Helper()
	start := time.Now()
	for !f() {
		if time.Since(start) > limit {
			t.Fatalf("not within %v: %s", limit, what)
		}
		time.Sleep(2 * time.Millisecond)
	}
	return time.Since(start)
}

// hub is a node service in memory. While it is down, it refuses messages.
type hub struct {
	mu    sync.Mutex
	nodes map[string]*node
	down  bool
}

func (h *hub) set(down bool) {
	h.mu.Lock()
	h.down = down
	nodes := h.nodes
	h.mu.Unlock()
	for _, n := range nodes {
		n.paths.SignallingChanged(!down)
	}
}

type hubSide struct {
	h    *hub
	from string
}

func (s hubSide) Signal(to, kind string, epoch int64, data string) error {
	s.h.mu.Lock()
	defer s.h.mu.Unlock()
	if s.h.down {
		return errors.New("the hub is down")
	}
	if n := s.h.nodes[to]; n != nil {
		n.inbox <- func() {
			if err := n.paths.Signal(s.from, kind, epoch, data); err != nil {
				n.t.Errorf("%s: signal: %v", n.name, err)
			}
		}
	}
	return nil
}

// node is a whole node without services: socket, WireGuard, network stack, paths.
type node struct {
	t      *testing.T
	name   string
	v6, v4 netip.Addr
	private,
	public [32]byte
	bind   *bind.Bind
	engine *engine.Engine
	paths  *paths.Manager
	net    *stack.Stack
	inbox  chan func()
	direct atomic.Bool // direct packets are dropped
}

func newKeys(t *testing.T) (private, public [32]byte) {
	k, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return [32]byte(k.Bytes()), [32]byte(k.PublicKey().Bytes())
}

type nodeOptions struct {
	relayOnly bool
	paths     func(*paths.Config)
}

func newNode(t *testing.T, h *hub, name string, number int, o nodeOptions) *node {
	t.Helper()
	n := &node{t: t, name: name, inbox: make(chan func(), 1024), bind: bind.New()}
	n.private, n.public = newKeys(t)
	n.v6 = netip.MustParseAddr(fmt.Sprintf("fd00:5e9a::%x", number))
	n.v4 = netip.MustParseAddr(fmt.Sprintf("198.18.0.%d", number))
	network, err := stack.New(stack.Options{Addresses: []netip.Addr{n.v6, n.v4}})
	if err != nil {
		t.Fatal(err)
	}
	n.net = network
	log := slog.New(slog.DiscardHandler)
	if testing.Verbose() {
		log = slog.New(slog.NewTextHandler(os.Stderr, nil)).With("node", name)
	}
	ready := make(chan struct{})
	n.engine, err = engine.New(engine.Config{PrivateKey: n.private, TUN: network.Device(), Bind: n.bind, Logger: log,
		Control:  func(k engine.Key, b []byte) { <-ready; n.paths.Control(k, b) },
		Sent:     func(k engine.Key) { <-ready; n.paths.Sent(k) },
		Received: func(k engine.Key) { <-ready; n.paths.Received(k) }})
	if err != nil {
		t.Fatal(err)
	}
	n.bind.SetFaults(&bind.Faults{DropSend: func(netip.AddrPort) bool { return n.direct.Load() },
		DropReceive: func(netip.AddrPort) bool { return n.direct.Load() }})
	conf := paths.Config{Self: n.v6, Key: n.public, Bind: n.bind, Tunnel: n.engine, Signaller: hubSide{h, name},
		Overlay:  []netip.Prefix{netip.MustParsePrefix("fd00:5e9a::/32"), netip.MustParsePrefix("198.18.0.0/16")},
		Loopback: true, RelayOnly: o.relayOnly, Logger: log}
	if o.paths != nil {
		o.paths(&conf)
	}
	n.paths = paths.New(conf)
	close(ready)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case f := <-n.inbox:
				f()
			case <-done:
				return
			}
		}
	}()
	h.mu.Lock()
	h.nodes[name] = n
	h.mu.Unlock()
	t.Cleanup(func() {
		h.mu.Lock()
		delete(h.nodes, name)
		h.mu.Unlock()
		n.paths.Close()
		n.engine.Close()
		close(done)
	})
	n.paths.SignallingChanged(true)
	return n
}

func (n *node) know(t *testing.T, other *node) {
	t.Helper()
	if err := n.engine.SetPeer(engine.Peer{Key: other.public, Addresses: []netip.Addr{other.v6, other.v4},
		Begins: paths.Begins(n.public, other.public)}); err != nil {
		t.Fatal(err)
	}
	n.paths.Add(other.name, other.public)
}

func (n *node) status(other *node) paths.PeerStatus {
	for _, s := range n.paths.Status() {
		if s.Name == other.name {
			return s
		}
	}
	return paths.PeerStatus{}
}

func (n *node) isDirect(other *node) bool { s := n.status(other); return s.Session && s.Why == "" }

// relayServer is a real TURN server on loopback.
type relayServer struct {
	server *turn.Server
	addr   string
	secret string
}

// relayedPair returns two nodes that use no direct path and have exchanged a packet by the relay, which serves UDP; tcp: and TCP.
func relayedPair(t *testing.T, tcp bool) (*node, *node, *relayServer) {
	t.Helper()
	a, b, _ := pair(t, nodeOptions{relayOnly: true})
	r := newRelay(t, "127.0.0.1:0", true, tcp)
	a.paths.SetTURN(r.turn(t, "udp"))
	b.paths.SetTURN(r.turn(t, "udp"))
	ping(t, a, b, patience)
	return a, b, r
}

func newRelay(t *testing.T, at string, udp, tcp bool) *relayServer {
	t.Helper()
	r := &relayServer{secret: "test secret"}
	f := logging.NewDefaultLoggerFactory()
	gen := &turn.RelayAddressGeneratorStatic{RelayAddress: net.ParseIP("127.0.0.1"), Address: "127.0.0.1"}
	conf := turn.ServerConfig{Realm: paths.Realm, LoggerFactory: f,
		AuthHandler: turn.LongTermTURNRESTAuthHandler(r.secret, f.NewLogger("turn"))}
	var l net.Listener
	var c net.PacketConn
	var err error
	// A free port of one protocol may be taken in the other: then another one.
	for range 20 {
		if l, c, err = listenBoth(at, udp, tcp); err == nil {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if l != nil {
		r.addr = l.Addr().String()
		conf.ListenerConfigs = []turn.ListenerConfig{{Listener: l, RelayAddressGenerator: gen}}
	}
	if c != nil {
		r.addr = c.LocalAddr().String()
		conf.PacketConnConfigs = []turn.PacketConnConfig{{PacketConn: c, RelayAddressGenerator: gen}}
	}
	if r.server, err = turn.NewServer(conf); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.stop)
	return r
}

// listenBoth listens with the given protocols, on one port.
func listenBoth(at string, udp, tcp bool) (l net.Listener, c net.PacketConn, err error) {
	if tcp {
		if l, err = net.Listen("tcp4", at); err != nil {
			return nil, nil, err
		}
		at = l.Addr().String()
	}
	if udp {
		if c, err = net.ListenPacket("udp4", at); err != nil {
			if l != nil {
				l.Close()
			}
			return nil, nil, err
		}
	}
	return l, c, nil
}

func (r *relayServer) stop() {
	if r.server != nil {
		_ = r.server.Close()
		r.server = nil
	}
}

func (r *relayServer) turn(t *testing.T, transports ...string) paths.TURN {
	t.Helper()
	user, password, err := turn.GenerateLongTermTURNRESTCredentials(r.secret, "node", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	out := paths.TURN{User: user, Password: password}
	for _, p := range transports {
		s, err := paths.ParseServers([]string{"turn:" + r.addr + "?transport=" + p})
		if err != nil {
			t.Fatal(err)
		}
		out.Servers = append(out.Servers, s...)
	}
	return out
}

func pair(t *testing.T, o nodeOptions) (a, b *node, h *hub) {
	t.Helper()
	h = &hub{nodes: map[string]*node{}}
	a, b = newNode(t, h, "a", 1, o), newNode(t, h, "b", 2, o)
	a.know(t, b)
	b.know(t, a)
	return a, b, h
}

func ping(t *testing.T, from, to *node, limit time.Duration) (time.Duration, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	rtt, path, err := from.paths.Ping(ctx, to.name)
	if err != nil {
		t.Fatalf("ping: %v", err)
	}
	return rtt, path
}

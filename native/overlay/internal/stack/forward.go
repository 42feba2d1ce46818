package stack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
)

// Limits of a Forwarder.
const (
	MaxForwards    = 256  // local ports
	MaxSessionsUDP = 1024 // clients of all UDP forwards
)

// Resolver turns a name of the overlay into addresses, in the order of preference.
type Resolver interface {
	Resolve(ctx context.Context, name string) ([]netip.Addr, error)
}

// Forward is a local port that leads into the overlay.
type Forward struct {
	Network string `json:"network"` // "tcp" or "udp"
	Local   string `json:"local"`
	Remote  string `json:"remote"` // "name:port"
}

// Forwarder opens connections into the overlay for local programs, which use names.
type Forwarder struct {
	network  Network
	resolver Resolver
	within   []netip.Prefix
	log      *slog.Logger
	slots    chan struct{} // TCP connections
	sessions chan struct{} // UDP clients
	pairs    pairs
	answers  reachability
	exposed  *exposed      // nil: its ports are local ones
	idle     time.Duration // of UDP sessions

	mu     sync.Mutex
	open   map[string]*listening // by "network local"
	closed bool
}

type listening struct {
	Forward
	close func()
}

// NewForwarder makes a forwarder. within are the overlay's prefixes. Other addresses are refused, so that a forward or
// the SOCKS5 proxy cannot bypass the host's network. log may be nil.
func NewForwarder(n Network, r Resolver, within []netip.Prefix, log *slog.Logger) *Forwarder {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Forwarder{network: n, resolver: r, within: within, log: log, slots: make(chan struct{}, MaxConnections),
		sessions: make(chan struct{}, MaxSessionsUDP), open: map[string]*listening{}, idle: idleUDP}
}

func (f *Forwarder) inside(a netip.Addr) bool {
	return len(f.within) == 0 || slices.ContainsFunc(f.within, func(p netip.Prefix) bool { return p.Contains(a) })
}

// Forward opens a local port that leads to remote, "name:port". It returns the local address, whose port the kernel
// chose if local has port 0. A program that reaches the port acts with the rights of this node, so local should be a
// loopback address; "*:port" is every address of the host.
func (f *Forwarder) Forward(network, local, remote string) (net.Addr, error) {
	if _, port, err := net.SplitHostPort(remote); err != nil || port == "" {
		return nil, fmt.Errorf("the destination %.300q of the forward is not \"name:port\"", remote)
	}
	switch network {
	case "tcp":
		return f.listenTCP(network, local, remote, func(c net.Conn) {
			ctx, cancel := context.WithTimeout(context.Background(), DialTimeout)
			out, err := f.Dial(ctx, "tcp", remote)
			cancel()
			if err != nil {
				f.log.Warn("a forwarded connection failed", "remote", remote, "error", err)
				reset(c)
				return
			}
			f.pairs.splice(out, c)
		})
	case "udp":
		return f.listenUDP(local, remote)
	}
	return nil, fmt.Errorf("the overlay carries \"tcp\" and \"udp\", not %.20q", network)
}

// reset makes the program see a failed connection instead of an empty one.
func reset(c net.Conn) {
	if t, ok := c.(*net.TCPConn); ok {
		t.SetLinger(0)
	}
	c.Close()
}

func (f *Forwarder) listenTCP(network, local, remote string, serve func(net.Conn)) (net.Addr, error) {
	l, err := f.exposed.listenConfig().Listen(context.Background(), "tcp", strings.Replace(local, "*", "", 1))
	if err != nil {
		return nil, fmt.Errorf("the local port %s: %w", local, err)
	}
	if err := f.add(network, l.Addr(), remote, func() { l.Close() }); err != nil {
		l.Close()
		return nil, err
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				if errors.Is(err, net.ErrClosed) {
					return
				}
				time.Sleep(50 * time.Millisecond) // out of descriptors: others must end first
				continue
			}
			select {
			case f.slots <- struct{}{}:
				go func() {
					defer func() { <-f.slots }()
					serve(c)
				}()
			default:
				f.log.Warn("a forwarded connection was refused: the limit is reached", "limit", MaxConnections)
				reset(c)
			}
		}
	}()
	return l.Addr(), nil
}

func (f *Forwarder) add(network string, at net.Addr, remote string, end func()) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return errors.New("the node is ending")
	}
	if len(f.open) >= MaxForwards {
		return fmt.Errorf("%d local ports are forwarded already; end one first", MaxForwards)
	}
	f.open[network+" "+at.String()] = &listening{Forward{network, at.String(), remote}, end}
	return nil
}

// Unforward ends a forward; its open TCP connections continue. It returns false if there is no such forward.
func (f *Forwarder) Unforward(network, local string) bool {
	f.mu.Lock()
	l := f.open[network+" "+local]
	delete(f.open, network+" "+local)
	f.mu.Unlock()
	if l == nil {
		return false
	}
	l.close()
	return true
}

// Cut resets the forwarded TCP connections to peers, so that local programs notice at once, and ends their sessions of
// UDP. It returns their number.
func (f *Forwarder) Cut(belongs func(peer netip.Addr) bool) int { return f.pairs.cut(belongs) }

// List returns the open forwards, ordered by their local address.
func (f *Forwarder) List() []Forward {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := make([]Forward, 0, len(f.open))
	for _, l := range f.open {
		list = append(list, l.Forward)
	}
	slices.SortFunc(list, func(a, b Forward) int { return strings.Compare(a.Local+a.Network, b.Local+b.Network) })
	return list
}

// Close ends all forwards.
func (f *Forwarder) Close() {
	f.mu.Lock()
	open := f.open
	f.open, f.closed = map[string]*listening{}, true
	f.mu.Unlock()
	for _, l := range open {
		l.close()
	}
}

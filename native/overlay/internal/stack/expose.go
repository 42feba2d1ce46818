package stack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// exposed is what all ports of an exposer share. Its clients are peers.
type exposed struct {
	device   string // TUN interface; empty: none
	tcp, udp *shares
}

// NewExposer makes a forwarder for Expose. Its ports accept packets only from the interface device (empty: from all).
// within are the overlay's prefixes. owner and log may be nil.
func NewExposer(device string, within []netip.Prefix, owner Owner, log *slog.Logger) *Forwarder {
	f := NewForwarder(System{}, nil, within, log)
	f.exposed = &exposed{device, newShares(MaxConnections, owner), newShares(MaxSessionsUDP, owner)}
	return f
}

// listenConfig makes sockets that are bound to the interface. Without it, a host of the LAN could send datagrams with a
// peer's address: the kernel accepts packets to the overlay's addresses on every interface, and usually does not check
// the route to their source.
func (e *exposed) listenConfig() *net.ListenConfig {
	c := &net.ListenConfig{}
	if e == nil || e.device == "" {
		return c
	}
	c.SetMultipathTCP(false) // Linux before 5.13 binds nothing then
	c.Control = func(_, _ string, socket syscall.RawConn) error {
		var bound error
		if err := socket.Control(func(fd uintptr) { bound = bindToDevice(fd, e.device) }); err != nil {
			return err
		}
		if bound != nil {
			return fmt.Errorf("it cannot be bound to the interface %s, which needs Linux 5.7 or CAP_NET_RAW: %w", e.device, bound)
		}
		return nil
	}
	return c
}

// Expose makes a port of this host's addresses in the overlay lead to target, a "host:port" of this host. It is for a
// node with a TUN interface, where the kernel takes the packets of peers. If the port of an address is in use, Expose
// skips that address: the target itself may listen at all addresses. So a port in use is an error if target has another
// port. Expose skips an address that the host does not have, for example because IPv6 is disabled, if there is another
// one. end withdraws the port and ends its connections.
//
// Connections and datagrams whose source is outside the overlay passed no policy, so they are refused.
func (f *Forwarder) Expose(network string, addresses []netip.Addr, port uint16, target string) (end func(), err error) {
	ctx, cancel := context.WithCancel(context.Background())
	var open []string
	end = func() {
		cancel()
		for _, local := range open {
			f.Unforward(network, local)
		}
		f.pairs.withdraw(network, port, func(a netip.Addr) bool { return slices.Contains(addresses, a) })
	}
	var missing error
	left := 0
	for _, a := range addresses {
		at, err := f.expose(ctx, network, netip.AddrPortFrom(a, port), target)
		switch {
		case err == nil:
			open = append(open, at.String())
		case errors.Is(err, syscall.EADDRINUSE) && strings.HasSuffix(target, ":"+strconv.Itoa(int(port))):
			left++
		case errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EAFNOSUPPORT):
			f.log.Warn("a service is not offered at an address that this host does not have", "network", network, "port", port, "address", a)
			missing = err
		default:
			end()
			return nil, err
		}
	}
	if len(open)+left == 0 && missing != nil {
		end()
		return nil, missing
	}
	return end, nil
}

func (f *Forwarder) expose(ctx context.Context, network string, at netip.AddrPort, target string) (net.Addr, error) {
	if network == "udp" {
		dial := func(ctx context.Context) (net.Conn, error) { return dialTarget(ctx, "udp", target) }
		return f.bindUDP(at.String(), target, dial)
	}
	return f.listenTCP(network, at.String(), target, func(inside net.Conn) {
		peer := addressOf(inside.RemoteAddr()).Addr()
		if !f.inside(peer) {
			reset(inside)
			return
		}
		free, ok := f.exposed.tcp.take(peer)
		if !ok {
			f.log.Warn("a connection was refused: the peer has as many as one peer may have", "peer", peer, "limit", f.exposed.tcp.each)
			reset(inside)
			return
		}
		defer free()
		out, err := dialTarget(ctx, "tcp", target)
		if err != nil {
			f.log.Warn("the target of an offered port does not answer", "port", at, "target", target, "error", err)
			reset(inside)
			return
		}
		pair := tcpPair(inside, out)
		defer f.pairs.add(pair)()
		if ctx.Err() != nil { // withdrawn while the target was dialed
			pair.end()
		}
		splice(inside, out)
	})
}

func dialTarget(ctx context.Context, network, target string) (net.Conn, error) {
	d := net.Dialer{Timeout: targetTimeout}
	return d.DialContext(ctx, network, target)
}

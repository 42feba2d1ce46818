package stack

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Expose makes a port of this host's addresses in the overlay lead to target, a "host:port" of this host. It is for a
// node with a TUN interface, where the kernel takes the packets of peers. An address whose port is taken is left to the
// program that listens there: that is the target itself, if it listens at all addresses. So a taken port is an error if
// target has another one. end withdraws the port, and ends its connections.
//
// The kernel takes packets to these addresses on every interface. Connections and datagrams whose source is outside the
// overlay, such as those of a host of the LAN or of a container, passed no policy, so they are refused.
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
	for _, a := range addresses {
		at, err := f.expose(ctx, network, netip.AddrPortFrom(a, port), target)
		if errors.Is(err, syscall.EADDRINUSE) && strings.HasSuffix(target, ":"+strconv.Itoa(int(port))) {
			continue
		}
		if err != nil {
			end()
			return nil, err
		}
		open = append(open, at.String())
	}
	return end, nil
}

func (f *Forwarder) expose(ctx context.Context, network string, at netip.AddrPort, target string) (net.Addr, error) {
	if network == "udp" {
		dial := func(ctx context.Context) (net.Conn, error) { return dialTarget(ctx, "udp", target) }
		return f.bindUDP(at.String(), target, true, dial)
	}
	return f.listenTCP(network, at.String(), target, func(inside net.Conn) {
		if !f.inside(addressOf(inside.RemoteAddr()).Addr()) {
			reset(inside)
			return
		}
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

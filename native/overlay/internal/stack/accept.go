package stack

import (
	"context"
	"net"
	"net/netip"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"
	"gvisor.dev/gvisor/pkg/waiter"
)

// targetTimeout bounds the connection attempt to an offered service or device. The peer's SYN has no answer meanwhile,
// and a reset after it.
const targetTimeout = 10 * time.Second

// acceptConnections handles the TCP and UDP packets that belong to no open socket.
func (s *Stack) acceptConnections() {
	t := tcp.NewForwarder(s.stack, 0, MaxAttempts, s.acceptTCP)
	s.stack.SetTransportProtocolHandler(tcp.ProtocolNumber, t.HandlePacket)
	s.stack.SetTransportProtocolHandler(udp.ProtocolNumber, func(id stack.TransportEndpointID, p stack.PacketBufferPtr) bool {
		return s.acceptUDP(id, p)
	})
}

func local(id stack.TransportEndpointID) netip.AddrPort {
	a, _ := netip.AddrFromSlice(id.LocalAddress.AsSlice())
	return netip.AddrPortFrom(a, id.LocalPort)
}

func remote(id stack.TransportEndpointID) netip.AddrPort {
	a, _ := netip.AddrFromSlice(id.RemoteAddress.AsSlice())
	return netip.AddrPortFrom(a, id.RemotePort)
}

// acceptTCP connects to the target first, so the peer's connection is established only if the target accepts one.
func (s *Stack) acceptTCP(r *tcp.ForwarderRequest) {
	to := local(r.ID())
	target, ok := s.target("tcp", to)
	if !ok {
		r.Complete(true)
		return
	}
	release, ok := s.acquire(remote(r.ID()).Addr())
	if !ok {
		r.Complete(true)
		return
	}
	defer release()
	out, err := dialTarget(context.Background(), "tcp", target)
	if err != nil {
		s.log.Warn("the target of an offered port does not answer", "port", to, "target", target, "error", err)
		r.Complete(true)
		return
	}
	var queue waiter.Queue
	ep, terr := r.CreateEndpoint(&queue)
	r.Complete(terr != nil)
	if terr != nil {
		out.Close()
		return
	}
	keepAlive(ep)
	in := gonet.NewTCPConn(&queue, ep)
	pair := tcpPair(in, out)
	defer s.pairs.add(pair)()
	if s.leadsElsewhere("tcp", to, target) {
		pair.end()
	}
	splice(in, out)
}

// leadsElsewhere is true if a port no longer leads to target, because it was withdrawn while the target was dialed.
func (s *Stack) leadsElsewhere(proto string, to netip.AddrPort, target string) bool {
	now, ok := s.target(proto, to)
	return !ok || now != target
}

// acceptUDP makes a session for the first datagram of a peer's address and port. It returns false if the port is not
// offered; the stack then answers with "port unreachable".
func (s *Stack) acceptUDP(id stack.TransportEndpointID, p stack.PacketBufferPtr) bool {
	to := local(id)
	target, ok := s.target("udp", to)
	if !ok {
		return false
	}
	release, ok := s.acquire(remote(id).Addr())
	if !ok {
		return false
	}
	var queue waiter.Queue
	accepted := false
	f := udp.NewForwarder(s.stack, func(r *udp.ForwarderRequest) {
		ep, err := r.CreateEndpoint(&queue)
		if err != nil {
			return
		}
		accepted = true
		in := gonet.NewUDPConn(s.stack, &queue, ep)
		go func() {
			defer release()
			out, err := net.DialTimeout("udp", target, targetTimeout)
			if err != nil {
				s.log.Warn("the target of an offered port is invalid", "target", target, "error", err)
				in.Close()
				return
			}
			end := func() { in.Close(); out.Close() }
			defer s.pairs.add(&spliced{"udp", to, remote(id), end})()
			if s.leadsElsewhere("udp", to, target) {
				end()
			}
			spliceDatagrams(in, out)
		}()
	})
	f.HandlePacket(id, p)
	if !accepted {
		release()
	}
	return true
}

// acquire takes a slot for a connection of a peer until release is called.
func (s *Stack) acquire(peer netip.Addr) (release func(), ok bool) {
	free, ok := s.peers.take(peer)
	if !ok {
		s.log.Warn("a connection was refused: the peer has as many as one peer may have", "peer", peer, "limit", s.peers.each)
		return nil, false
	}
	select {
	case s.limit <- struct{}{}:
		return func() { <-s.limit; free() }, true
	default:
		free()
		s.log.Warn("a connection was refused: the limit of open connections is reached", "limit", MaxConnections)
		return nil, false
	}
}

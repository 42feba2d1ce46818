package stack

import (
	"net"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
)

const (
	// keepIdle is the time without data after which a TCP connection of the overlay is probed, and keepInterval the time
	// between two probes. Nine without an answer end the connection. Probes count as data and keep the peer awake.
	keepIdle     = 5 * time.Minute
	keepInterval = 15 * time.Second
)

// keepAlive makes a connection detect that the other side is gone. The network stack's default idle time is two hours.
func keepAlive(ep tcpip.Endpoint) {
	idle, interval := tcpip.KeepaliveIdleOption(keepIdle), tcpip.KeepaliveIntervalOption(keepInterval)
	_ = ep.SetSockOpt(&idle)
	_ = ep.SetSockOpt(&interval)
	ep.SocketOptions().SetKeepAlive(true)
}

// keepAliveOf is keepAlive for a connection whose constructor does not return the endpoint.
func (s *Stack) keepAliveOf(c net.Conn) {
	if ep := s.endpoint(c); ep != nil {
		keepAlive(ep)
	}
}

// endpoint returns the endpoint of an open TCP connection of the stack, or nil.
func (s *Stack) endpoint(c net.Conn) tcpip.Endpoint {
	local, ok := c.LocalAddr().(*net.TCPAddr)
	remote, ok2 := c.RemoteAddr().(*net.TCPAddr)
	if !ok || !ok2 {
		return nil
	}
	from, to := local.AddrPort(), remote.AddrPort()
	id := stack.TransportEndpointID{LocalPort: from.Port(), LocalAddress: tcpip.AddrFromSlice(from.Addr().Unmap().AsSlice()),
		RemotePort: to.Port(), RemoteAddress: tcpip.AddrFromSlice(to.Addr().Unmap().AsSlice())}
	ep, _ := s.stack.FindTransportEndpoint(protocolOf(to.Addr().Unmap()), tcp.ProtocolNumber, id, nic).(tcpip.Endpoint)
	return ep
}

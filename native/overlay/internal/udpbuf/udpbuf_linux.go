// Package udpbuf gives UDP sockets room for bursts. Senders in tunnels write up to 64 packets at once, more than the
// kernel's standard buffer holds.
package udpbuf

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// Grow lets the kernel hold up to size bytes for the socket in each direction: beyond net.core.rmem_max and wmem_max if
// the process has CAP_NET_ADMIN, otherwise up to these. It takes no memory before packets wait. A socket without a
// descriptor stays as it is.
func Grow(c net.PacketConn, size int) {
	s, ok := c.(syscall.Conn)
	if !ok {
		return
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		for _, option := range []struct{ force, plain int }{{unix.SO_RCVBUFFORCE, unix.SO_RCVBUF}, {unix.SO_SNDBUFFORCE, unix.SO_SNDBUF}} {
			if unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, option.force, size) != nil {
				_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, option.plain, size)
			}
		}
	})
}

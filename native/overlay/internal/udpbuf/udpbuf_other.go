//go:build !linux

// Package udpbuf gives UDP sockets room for bursts.
package udpbuf

import "net"

// Grow asks for kernel buffers of size bytes. Where the system grants less, the socket stays as it is.
func Grow(c net.PacketConn, size int) {
	if s, ok := c.(interface {
		SetReadBuffer(int) error
		SetWriteBuffer(int) error
	}); ok {
		_ = s.SetReadBuffer(size)
		_ = s.SetWriteBuffer(size)
	}
}

//go:build !linux

package udpbatch

import (
	"net"
	"net/netip"
)

// Conn is a UDP socket.
type Conn struct {
	*net.UDPConn
	memory []byte
}

// New takes over the socket. Each Read returns one piece.
func New(c *net.UDPConn, _ int) (*Conn, error) {
	return &Conn{UDPConn: c, memory: make([]byte, slotBytes)}, nil
}

// Read waits for a datagram.
func (c *Conn) Read(pieces []Piece) (int, error) {
	n, from, err := c.ReadFromUDPAddrPort(c.memory)
	if err != nil {
		return 0, err
	}
	pieces[0] = Piece{Bytes: c.memory[:n:n], Segment: n, From: unmap(from)}
	return 1, nil
}

// Discard has no effect: one piece is small.
func (c *Conn) Discard() {}

// Write sends packets, each of which begins at offset, in their order.
func (c *Conn) Write(packets [][]byte, offset int, to netip.AddrPort, control []byte) error {
	for _, p := range packets {
		if _, _, err := c.WriteMsgUDPAddrPort(p[offset:], control, to); err != nil {
			return err
		}
	}
	return nil
}

// WriteJoined sends the datagrams of b, all but the last of which have the length segment.
func (c *Conn) WriteJoined(b []byte, segment int, to netip.AddrPort, control []byte) error {
	for len(b) > 0 {
		n := min(segment, len(b))
		if _, _, err := c.WriteMsgUDPAddrPort(b[:n], control, to); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

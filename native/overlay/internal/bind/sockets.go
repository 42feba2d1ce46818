package bind

import (
	"errors"
	"net"
	"net/netip"
	"runtime"
	"syscall"

	"github.com/tailscale/wireguard-go/conn"

	"seganet.internal/overlay/internal/udpbatch"
	"seganet.internal/overlay/internal/udpbuf"
)

const (
	// readPieces bounds the pieces that a receiver takes by one system call.
	readPieces = 16
	// socketBytes is the size of the kernel's buffers of each socket. WireGuard's own 7 MiB hold the packets of seconds when
	// the machine is busy.
	socketBytes = 2 << 20
	// samePortTries is how often a free port of IPv4 is looked for that is free for IPv6, too.
	samePortTries = 100
)

// batchSize is the number of packets that WireGuard hands over at once. Outside of Linux each one takes a system call.
var batchSize = map[bool]int{true: conn.IdealBatchSize, false: 1}[runtime.GOOS == "linux"]

// sockets are the shared port in both versions of IP. One that the system does not support is nil.
type sockets struct{ v4, v6 *udpbatch.Conn }

// openSockets opens the same port of both versions; 0 is any.
func openSockets(port uint16) (*sockets, uint16, error) {
	for try := 1; ; try++ {
		s, actual, err := openBoth(port)
		if port == 0 && errors.Is(err, syscall.EADDRINUSE) && try < samePortTries {
			continue
		}
		return s, actual, err
	}
}

func openBoth(port uint16) (s *sockets, actual uint16, err error) {
	s, actual = &sockets{}, port
	for _, each := range []struct {
		network string
		to      **udpbatch.Conn
	}{{"udp4", &s.v4}, {"udp6", &s.v6}} {
		u, err := net.ListenUDP(each.network, &net.UDPAddr{Port: int(actual)})
		if errors.Is(err, syscall.EAFNOSUPPORT) {
			continue
		}
		if err == nil {
			udpbuf.Grow(u, socketBytes)
			actual = u.LocalAddr().(*net.UDPAddr).AddrPort().Port()
			if *each.to, err = udpbatch.New(u, readPieces); err != nil {
				_ = u.Close()
			}
		}
		if err != nil {
			_ = s.close()
			return nil, 0, err
		}
	}
	if s.v4 == nil && s.v6 == nil {
		return nil, 0, syscall.EAFNOSUPPORT
	}
	return s, actual, nil
}

func (s *sockets) close() (err error) {
	for _, c := range []*udpbatch.Conn{s.v4, s.v6} {
		if c != nil {
			err = errors.Join(err, c.Close())
		}
	}
	return err
}

// send sends the packets in their order, urgent ones with urgentTOS.
func (s *sockets) send(bufs [][]byte, offset int, to netip.AddrPort) error {
	c, control := s.v4, control4
	if !to.Addr().Is4() {
		c, control = s.v6, control6
	}
	if c == nil {
		return syscall.EAFNOSUPPORT
	}
	return SendMarked(c, bufs, offset, to, control)
}

// SendMarked sends packets of WireGuard in their order. Those that Mark noted as urgent leave with the control message.
func SendMarked(c *udpbatch.Conn, bufs [][]byte, offset int, to netip.AddrPort, control []byte) error {
	for len(bufs) > 0 {
		urgent, n := Marked(bufs[0], offset), 1
		for n < len(bufs) && Marked(bufs[n], offset) == urgent {
			n++
		}
		how := control
		if !urgent {
			how = nil
		}
		if err := c.Write(bufs[:n], offset, to, how); err != nil {
			return err
		}
		bufs = bufs[n:]
	}
	return nil
}

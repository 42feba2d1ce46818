package bind

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"syscall"

	"github.com/tailscale/wireguard-go/conn"
	"golang.org/x/sys/unix"
)

const (
	// urgentTOS is the outer type of service of urgent packets: low delay (RFC 1349), which Linux queues first.
	urgentTOS = 0x10
	// dscpEF is the type of service of expedited forwarding (RFC 3246).
	dscpEF = 0xb8
	ecn    = 3 // the bits of RFC 3168
	// urgentMark is no type of a WireGuard message: a buffer for a keepalive may begin with a message that came in it.
	urgentMark = 0xa5
)

// Urgent is true if an IP packet asks for low delay: type of service 0x10 or expedited forwarding.
func Urgent(packet []byte) bool {
	if len(packet) < 2 {
		return false
	}
	tos := packet[1]
	if packet[0]>>4 == 6 {
		tos = packet[0]<<4 | packet[1]>>4
	}
	tos &^= ecn
	return tos == urgentTOS || tos == dscpEF
}

// Mark notes in a buffer of WireGuard that its packet is urgent or not. WireGuard leaves the buffer's first bytes, its
// MessageEncapsulatingTransportSize, to the Bind, and encrypts the packet in the same buffer.
func Mark(buffer []byte, urgent bool) {
	buffer[0] = 0
	if urgent {
		buffer[0] = urgentMark
	}
}

// Marked is true if Mark noted that the packet in a buffer of WireGuard is urgent. offset is where the packet begins: in
// other buffers it is 0, and they have no mark.
func Marked(buffer []byte, offset int) bool { return offset > 0 && buffer[0] == urgentMark }

// UrgentControl returns the control message for a datagram of IPv4 or IPv6 that gives it the type of service of urgent
// packets.
func UrgentControl(is4 bool) []byte {
	if is4 {
		return control4
	}
	return control6
}

// marked is a second handle of the shared port, for packets with a type of service: conn.Bind cannot set one.
type marked struct{ v4, v6 *os.File }

// openMarked finds the two sockets of the port among this process's descriptors. A socket that is not found stays nil:
// its urgent packets leave like the others.
func openMarked(port uint16) *marked {
	m := &marked{}
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return m
	}
	for _, e := range list {
		fd, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE); err != nil || kind != unix.SOCK_DGRAM {
			continue
		}
		name, err := unix.Getsockname(fd)
		if err != nil {
			continue
		}
		switch a := name.(type) {
		case *unix.SockaddrInet4:
			if a.Port == int(port) && a.Addr == [4]byte{} && m.v4 == nil {
				m.v4 = duplicate(fd)
			}
		case *unix.SockaddrInet6:
			if a.Port == int(port) && a.Addr == [16]byte{} && m.v6 == nil {
				m.v6 = duplicate(fd)
			}
		}
	}
	return m
}

func duplicate(fd int) *os.File {
	n, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	return os.NewFile(uintptr(n), "udp")
}

func (m *marked) close() {
	for _, f := range []*os.File{m.v4, m.v6} {
		if f != nil {
			_ = f.Close()
		}
	}
}

var (
	control4 = controlMessage(unix.IPPROTO_IP, unix.IP_TOS)
	control6 = controlMessage(unix.IPPROTO_IPV6, unix.IPV6_TCLASS)
)

func controlMessage(level, kind int32) []byte {
	b := make([]byte, unix.CmsgSpace(4))
	var h unix.Cmsghdr
	h.Level, h.Type = level, kind
	h.SetLen(unix.CmsgLen(4))
	n, err := binary.Encode(b, binary.NativeEndian, &h)
	if err == nil {
		binary.NativeEndian.PutUint32(b[n:], urgentTOS)
	}
	return b
}

// send sends one urgent datagram. done is false if the socket is not known.
func (m *marked) send(p []byte, to netip.AddrPort) (done bool, err error) {
	f, oob := m.v4, control4
	var dst unix.Sockaddr = &unix.SockaddrInet4{Port: int(to.Port())}
	if to.Addr().Is4() {
		dst.(*unix.SockaddrInet4).Addr = to.Addr().As4()
	} else {
		f, oob = m.v6, control6
		dst = &unix.SockaddrInet6{Port: int(to.Port()), Addr: to.Addr().As16()}
	}
	if f == nil {
		return false, nil
	}
	raw, err := f.SyscallConn()
	if err != nil {
		return false, err
	}
	werr := raw.Write(func(fd uintptr) bool {
		_, err = unix.SendmsgN(int(fd), p, oob, dst, 0)
		return err != syscall.EAGAIN
	})
	if werr != nil {
		return false, fmt.Errorf("an urgent packet was not sent: %w", werr)
	}
	return true, err
}

// sendMarked sends the packets in their order, urgent ones with urgentTOS.
func (b *Bind) sendMarked(bufs [][]byte, offset int, to *conn.StdNetEndpoint) error {
	m := b.marked.Load()
	for len(bufs) > 0 {
		n := 0
		for n < len(bufs) && (m == nil || !Marked(bufs[n], offset)) {
			n++
		}
		if n > 0 {
			if err := b.std.Send(bufs[:n], to, offset); err != nil {
				return err
			}
			bufs = bufs[n:]
			continue
		}
		done, err := m.send(bufs[0][offset:], to.AddrPort)
		if !done {
			err = b.std.Send(bufs[:1], to, offset)
		}
		if err != nil {
			return err
		}
		bufs = bufs[1:]
	}
	return nil
}

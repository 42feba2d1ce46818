package bind

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

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

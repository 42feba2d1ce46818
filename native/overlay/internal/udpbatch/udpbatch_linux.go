package udpbatch

import (
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"seganet.internal/overlay/internal/residentmem"
)

// Conn is a UDP socket.
type Conn struct {
	*net.UDPConn
	raw   syscall.RawConn
	is4   bool // an IPv4 socket
	gso   atomic.Bool
	read  reader
	calls sync.Pool // *call
}

// message is struct mmsghdr of recvmmsg(2).
type message struct {
	header unix.Msghdr
	length uint32
}

type reader struct {
	messages []message
	vectors  []unix.Iovec
	names    []unix.RawSockaddrInet6 // has room for an IPv4 address, too
	controls [][groControl]byte
	memory   []byte
	zones    map[uint32]string

	want, got uintptr // messages
	errno     syscall.Errno
	try       func(fd uintptr) bool // recvmmsg; made once, because a closure for each Read would be garbage
}

// groControl has room for the control message UDP_GRO.
const groControl = 32

// New takes over the socket. Each Read returns at most the given number of pieces.
func New(c *net.UDPConn, pieces int) (*Conn, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	b := &Conn{UDPConn: c, raw: raw}
	b.calls.New = func() any { return newCall() }
	var domain int
	cerr := raw.Control(func(fd uintptr) {
		domain, err = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_DOMAIN)
		_, gerr := unix.GetsockoptInt(int(fd), unix.IPPROTO_UDP, unix.UDP_SEGMENT)
		b.gso.Store(gerr == nil)
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_UDP, unix.UDP_GRO, 1) // without it, each piece is one datagram
	})
	if err = errors.Join(cerr, err); err != nil {
		return nil, err
	}
	b.is4 = domain == unix.AF_INET
	r := &b.read
	r.messages, r.vectors = make([]message, pieces), make([]unix.Iovec, pieces)
	r.names, r.controls = make([]unix.RawSockaddrInet6, pieces), make([][groControl]byte, pieces)
	r.memory = make([]byte, pieces*slotBytes)
	r.zones = map[uint32]string{}
	r.try = func(fd uintptr) bool {
		for {
			r.got, _, r.errno = unix.Syscall6(unix.SYS_RECVMMSG, fd, uintptr(unsafe.Pointer(&r.messages[0])), r.want, unix.MSG_DONTWAIT, 0, 0)
			if r.errno != unix.EINTR {
				return r.errno != unix.EAGAIN
			}
		}
	}
	for i := range r.messages {
		r.vectors[i].Base = &r.memory[i*slotBytes]
		r.vectors[i].SetLen(slotBytes)
		h := &r.messages[i].header
		h.Name, h.Iov, h.Control = (*byte)(unsafe.Pointer(&r.names[i])), &r.vectors[i], &r.controls[i][0]
		h.SetIovlen(1)
	}
	return b, nil
}

// Read waits for datagrams and returns them in pieces.
func (c *Conn) Read(pieces []Piece) (int, error) {
	r := &c.read
	n := min(len(pieces), len(r.messages))
	for i := range n {
		h := &r.messages[i].header
		h.Namelen = uint32(unsafe.Sizeof(r.names[i]))
		h.SetControllen(groControl)
	}
	r.want = uintptr(n)
	if err := c.raw.Read(r.try); err != nil {
		return 0, err
	}
	if r.errno != 0 {
		return 0, os.NewSyscallError("recvmmsg", r.errno)
	}
	n = int(r.got)
	for i := range n {
		m := &r.messages[i]
		length := int(m.length)
		p := Piece{Bytes: r.memory[i*slotBytes:][:length:length], Segment: length, From: r.from(&r.names[i])}
		if size := groSize(r.controls[i][:m.header.Controllen]); size > 0 && size < length {
			p.Segment = size
		}
		pieces[i] = p
	}
	return n, nil
}

// groSize returns the segment size in a control message UDP_GRO, 0 without one.
func groSize(control []byte) int {
	for len(control) >= unix.SizeofCmsghdr {
		h := (*unix.Cmsghdr)(unsafe.Pointer(&control[0]))
		end := int(h.Len)
		if end < unix.SizeofCmsghdr || end > len(control) {
			return 0
		}
		if h.Level == unix.IPPROTO_UDP && h.Type == unix.UDP_GRO && end >= unix.CmsgLen(4) {
			return int(int32(binary.NativeEndian.Uint32(control[unix.CmsgLen(0):])))
		}
		control = control[min(len(control), unix.CmsgSpace(end-unix.CmsgLen(0))):]
	}
	return 0
}

func (r *reader) from(n *unix.RawSockaddrInet6) netip.AddrPort {
	if n.Family == unix.AF_INET {
		a := (*unix.RawSockaddrInet4)(unsafe.Pointer(n))
		return netip.AddrPortFrom(netip.AddrFrom4(a.Addr), swapped(a.Port))
	}
	a := netip.AddrFrom16(n.Addr).Unmap()
	if n.Scope_id != 0 && a.IsLinkLocalUnicast() {
		a = a.WithZone(r.zone(n.Scope_id))
	}
	return netip.AddrPortFrom(a, swapped(n.Port))
}

// zone returns the name of an interface, as net.UDPAddr has it.
func (r *reader) zone(index uint32) string {
	name, ok := r.zones[index]
	if !ok {
		name = strconv.Itoa(int(index))
		if i, err := net.InterfaceByIndex(int(index)); err == nil {
			name = i.Name
		}
		if len(r.zones) < 64 {
			r.zones[index] = name
		}
	}
	return name
}

// swapped converts a port to or from network byte order.
func swapped(port uint16) uint16 {
	var b [2]byte
	binary.BigEndian.PutUint16(b[:], port)
	return binary.NativeEndian.Uint16(b[:])
}

// Discard returns the pages of the reader's memory to the system.
func (c *Conn) Discard() { residentmem.Discard([][]byte{c.read.memory}) }

// call holds the arguments of one sendmsg.
type call struct {
	header  unix.Msghdr
	vectors [segmentsMost]unix.Iovec
	control [64]byte // aligned as a unix.Cmsghdr
	four    unix.RawSockaddrInet4
	six     unix.RawSockaddrInet6
	errno   syscall.Errno
	try     func(fd uintptr) bool // made once, because a closure for each write would be garbage
}

func newCall() *call {
	s := new(call)
	s.try = func(fd uintptr) bool {
		for {
			_, _, s.errno = unix.Syscall(unix.SYS_SENDMSG, fd, uintptr(unsafe.Pointer(&s.header)), 0)
			if s.errno != unix.EINTR {
				return s.errno != unix.EAGAIN
			}
		}
	}
	return s
}

// Write sends packets, each of which begins at offset, in their order. control is a control message for all of them, such
// as one with a type of service; it may be nil.
func (c *Conn) Write(packets [][]byte, offset int, to netip.AddrPort, control []byte) error {
	s := c.calls.Get().(*call)
	used := min(len(packets), segmentsMost)
	defer func() {
		clear(s.vectors[:used])
		c.calls.Put(s)
	}()
	if err := s.address(c.is4, to); err != nil {
		return err
	}
	for len(packets) > 0 {
		n := 1
		if c.gso.Load() {
			n = run(packets, offset)
		}
		for i, p := range packets[:n] {
			p = p[offset:]
			s.vectors[i].Base = unsafe.SliceData(p)
			s.vectors[i].SetLen(len(p))
		}
		segment := 0
		if n > 1 {
			segment = len(packets[0]) - offset
		}
		err := c.send(s, n, segment, control)
		if n > 1 && c.mustSplit(err) {
			for i := range n {
				s.vectors[0] = s.vectors[i]
				if err = c.send(s, 1, 0, control); err != nil {
					break
				}
			}
		}
		if err != nil {
			return err
		}
		packets = packets[n:]
	}
	return nil
}

// WriteJoined sends the datagrams of b, all but the last of which have the length segment.
func (c *Conn) WriteJoined(b []byte, segment int, to netip.AddrPort, control []byte) error {
	s := c.calls.Get().(*call)
	defer func() {
		clear(s.vectors[:1])
		c.calls.Put(s)
	}()
	if err := s.address(c.is4, to); err != nil {
		return err
	}
	most := segment
	if c.gso.Load() {
		most *= SegmentsFit(segment)
	}
	for len(b) > 0 {
		n := min(most, len(b))
		s.vectors[0].Base = &b[0]
		s.vectors[0].SetLen(n)
		size := segment
		if n <= segment {
			size = 0
		}
		err := c.send(s, 1, size, control)
		if size > 0 && c.mustSplit(err) {
			most = segment
			continue
		}
		if err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// mustSplit is true if a write of several datagrams must be repeated as single ones. The kernel refuses a segment that is
// longer than the path's MTU (EINVAL), which a single datagram may be. EIO is from an interface that cannot make
// checksums, so the socket uses no offload from then on.
func (c *Conn) mustSplit(err error) bool {
	if errors.Is(err, unix.EIO) {
		c.gso.Store(false)
		return true
	}
	return errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EMSGSIZE)
}

func (s *call) address(is4 bool, to netip.AddrPort) error {
	h := &s.header
	if is4 {
		a := to.Addr().Unmap()
		if !a.Is4() {
			return unix.EAFNOSUPPORT
		}
		s.four = unix.RawSockaddrInet4{Family: unix.AF_INET, Port: swapped(to.Port()), Addr: a.As4()}
		h.Name, h.Namelen = (*byte)(unsafe.Pointer(&s.four)), uint32(unsafe.Sizeof(s.four))
		return nil
	}
	s.six = unix.RawSockaddrInet6{Family: unix.AF_INET6, Port: swapped(to.Port()), Addr: to.Addr().As16()}
	if zone := to.Addr().Zone(); zone != "" {
		if i, err := net.InterfaceByName(zone); err == nil {
			s.six.Scope_id = uint32(i.Index)
		} else if n, err := strconv.ParseUint(zone, 10, 32); err == nil {
			s.six.Scope_id = uint32(n)
		}
	}
	h.Name, h.Namelen = (*byte)(unsafe.Pointer(&s.six)), uint32(unsafe.Sizeof(s.six))
	return nil
}

// send sends the first vectors by one system call, as datagrams of the length segment; 0 is one datagram.
func (c *Conn) send(s *call, vectors, segment int, control []byte) error {
	h := &s.header
	h.Iov = &s.vectors[0]
	h.SetIovlen(vectors)
	length := copy(s.control[:], control)
	if segment > 0 {
		b := s.control[length:]
		m := (*unix.Cmsghdr)(unsafe.Pointer(&b[0]))
		m.Level, m.Type = unix.IPPROTO_UDP, unix.UDP_SEGMENT
		m.SetLen(unix.CmsgLen(2))
		binary.NativeEndian.PutUint16(b[unix.CmsgLen(0):], uint16(segment))
		length += unix.CmsgSpace(2)
	}
	h.Control = nil
	if length > 0 {
		h.Control = &s.control[0]
	}
	h.SetControllen(length)
	err := c.raw.Write(s.try)
	if err == nil && s.errno != 0 {
		err = os.NewSyscallError("sendmsg", s.errno)
	}
	return err
}

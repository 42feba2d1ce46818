package tundev

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/tailscale/wireguard-go/tun"
	"golang.org/x/sys/unix"
)

const (
	// headerBytes is the length of struct virtio_net_hdr, which precedes each packet of an interface with offloads.
	headerBytes = 10
	// pieceBytes is the room for what the kernel hands over at once.
	pieceBytes = headerBytes + 65535
	// batchBytes ends a batch: with that much, the system calls no longer count, and the first packet waits for the last
	// one.
	batchBytes = 64 << 10
)

// batched reads what waits in an interface with offloads at once. The library's own Read takes one packet, or what the
// kernel has joined. A node that is behind then pays its wake-ups, its queues and the write to the network for each small
// packet; with batches it pays for many at once.
//
// Thread safety: one goroutine at a time may call Read; the other methods are those of the device.
type batched struct {
	tun.GRODevice
	raw     syscall.RawConn
	buf     []byte
	waiting []byte // read, and too much for the rest of the last batch

	n     int // bytes of the last read
	err   error
	empty bool // the last read found nothing at first
	try   func(fd uintptr) bool
	once  func(fd uintptr) bool // does not wait; both are made once, because a closure for each packet would be garbage
}

func newBatched(d tun.GRODevice) (*batched, error) {
	raw, err := d.File().SyscallConn()
	if err != nil {
		return nil, err
	}
	b := &batched{GRODevice: d, raw: raw, buf: make([]byte, pieceBytes)}
	b.try = func(fd uintptr) bool {
		for {
			if b.n, b.err = unix.Read(int(fd), b.buf); b.err != unix.EINTR {
				break
			}
		}
		b.empty = b.empty || b.err == unix.EAGAIN
		return b.err != unix.EAGAIN
	}
	b.once = func(fd uintptr) bool {
		b.try(fd)
		return true
	}
	return b, nil
}

// Read implements tun.Device. If it had to wait for the first packet, it returns at once with that: a look for more would
// be a system call for each packet of a node that keeps up.
func (b *batched) Read(bufs [][]byte, sizes []int, offset int) (int, error) {
	piece := b.waiting
	b.waiting = nil
	b.empty = false
	if piece == nil {
		if err := b.wait(); err != nil {
			return 0, err
		}
		piece = b.buf[:b.n]
	}
	count, total := 0, 0
	for {
		segments, options, err := parse(piece)
		if err == nil && count > 0 && segments > len(bufs)-count {
			b.waiting = piece
			return count, nil
		}
		var n int
		if err == nil {
			n, err = tun.GSOSplit(piece[headerBytes:], options, bufs[count:], sizes[count:], offset)
		}
		count += n
		total += len(piece)
		if err != nil {
			return count, err // what came before it leaves, too
		}
		if b.empty || count == len(bufs) || total >= batchBytes {
			return count, nil
		}
		if piece = b.next(); piece == nil {
			return count, nil
		}
	}
}

// wait reads the next packet. Its errors are those of os.File.
func (b *batched) wait() error {
	switch err := b.raw.Read(b.try); {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return err
	case err != nil, errors.Is(b.err, syscall.EBADFD):
		return os.ErrClosed
	case b.err != nil:
		return &os.PathError{Op: "read", Path: b.File().Name(), Err: b.err}
	case b.n <= 0:
		return io.EOF
	}
	return nil
}

// next returns what waits in the interface, nil if nothing does or the read failed. Then the next Read returns the error.
func (b *batched) next() []byte {
	err := b.raw.Read(b.once)
	if err != nil || b.err != nil || b.n <= 0 {
		return nil
	}
	return b.buf[:b.n]
}

// parse reads the header of what the kernel has joined, and returns of how many packets it is. Virtual I/O Device (VIRTIO)
// 1.2, 5.1.6: flags, GSO type, header length, segment size, start and offset of the checksum, in the byte order of the
// machine.
func parse(piece []byte) (segments int, o tun.GSOOptions, err error) {
	if len(piece) <= headerBytes {
		return 0, o, fmt.Errorf("a packet of %d bytes is too short", len(piece))
	}
	field := func(at int) uint16 { return binary.NativeEndian.Uint16(piece[at:]) }
	packet := piece[headerBytes:]
	o = tun.GSOOptions{HdrLen: field(2), GSOSize: field(4), CsumStart: field(6), CsumOffset: field(8),
		NeedsCsum: piece[0]&unix.VIRTIO_NET_HDR_F_NEEDS_CSUM != 0}
	switch piece[1] {
	case unix.VIRTIO_NET_HDR_GSO_NONE:
		return 1, o, nil
	case unix.VIRTIO_NET_HDR_GSO_TCPV4:
		o.GSOType = tun.GSOTCPv4
	case unix.VIRTIO_NET_HDR_GSO_TCPV6:
		o.GSOType = tun.GSOTCPv6
	case unix.VIRTIO_NET_HDR_GSO_UDP_L4:
		o.GSOType = tun.GSOUDPL4
	default:
		return 0, o, fmt.Errorf("GSO type %d is not known", piece[1])
	}
	// The kernel's header length may be that of the whole first packet when it forwards, so it is computed.
	length := 8
	if o.GSOType != tun.GSOUDPL4 {
		at := int(o.CsumStart) + 12
		if at >= len(packet) {
			return 0, o, errors.New("a packet ends within its TCP header")
		}
		if length = int(packet[at]>>4) * 4; length < 20 {
			return 0, o, fmt.Errorf("a TCP header of %d bytes", length)
		}
	}
	o.HdrLen = o.CsumStart + uint16(length)
	if int(o.HdrLen) > len(packet) || o.GSOSize == 0 {
		return 0, o, errors.New("a packet ends within its header")
	}
	return max(1, (len(packet)-int(o.HdrLen)+int(o.GSOSize)-1)/int(o.GSOSize)), o, nil
}

package tundev

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/tailscale/wireguard-go/tun"
	"golang.org/x/sys/unix"

	"seganet.internal/overlay/internal/packet/craft"
	"seganet.internal/overlay/internal/stack/stacktest"
)

// fakeTUN is a device whose packets a test writes to the other end of a socket pair.
type fakeTUN struct {
	tun.GRODevice
	file *os.File
}

func (f *fakeTUN) File() *os.File { return f.file }

func newFake(t *testing.T) (b *batched, kernel *os.File) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	own, kernel := os.NewFile(uintptr(fds[0]), "tun"), os.NewFile(uintptr(fds[1]), "kernel")
	t.Cleanup(func() { own.Close(); kernel.Close() })
	if b, err = newBatched(&fakeTUN{file: own}); err != nil {
		t.Fatal(err)
	}
	return b, kernel
}

var (
	tunFrom = netip.MustParseAddrPort("198.18.0.1:1000")
	tunTo   = netip.MustParseAddrPort("198.18.0.2:2000")
)

// joined is a UDP packet of several datagrams as the kernel hands it over.
func joined(segment, count int) []byte {
	p := craft.UDP(tunFrom, tunTo, bytes.Repeat([]byte{9}, segment*count))
	h := make([]byte, headerBytes)
	h[0], h[1] = unix.VIRTIO_NET_HDR_F_NEEDS_CSUM, unix.VIRTIO_NET_HDR_GSO_UDP_L4
	for at, value := range map[int]uint16{2: 28, 4: uint16(segment), 6: 20, 8: 6} {
		binary.NativeEndian.PutUint16(h[at:], value)
	}
	return append(h, p...)
}

func plain(payload []byte) []byte {
	return append(make([]byte, headerBytes), craft.UDP(tunFrom, tunTo, payload)...)
}

func batch(count int) ([][]byte, []int) {
	bufs := make([][]byte, count)
	for i := range bufs {
		bufs[i] = make([]byte, 70000)
	}
	return bufs, make([]int, count)
}

func TestReadTakesWhatWaitsInItsOrder(t *testing.T) {
	b, kernel := newFake(t)
	for i := range 5 {
		kernel.Write(plain([]byte{byte(i)}))
	}
	kernel.Write(joined(100, 3))
	bufs, sizes := batch(128)
	n, err := b.Read(bufs, sizes, 16)
	if err != nil || n != 8 {
		t.Fatalf("%d packets, %v", n, err)
	}
	for i := range n {
		p, want := bufs[i][16:16+sizes[i]], []byte{byte(i)}
		if i >= 5 {
			want = bytes.Repeat([]byte{9}, 100)
		}
		if !craft.Valid(p) || !bytes.Equal(p[28:], want) {
			t.Errorf("packet %d is %x", i, p)
		}
	}
}

func TestReadKeepsWhatABatchHasNoRoomFor(t *testing.T) {
	b, kernel := newFake(t)
	kernel.Write(plain([]byte{1}))
	kernel.Write(joined(100, 4))
	kernel.Write(plain([]byte{2}))
	bufs, sizes := batch(4)
	for step, want := range []int{1, 4, 1} {
		if n, err := b.Read(bufs, sizes, 0); n != want || err != nil {
			t.Fatalf("read %d: %d packets, %v", step, n, err)
		}
	}
	kernel.Write(joined(100, 5))
	if _, err := b.Read(bufs, sizes, 0); !errors.Is(err, tun.ErrTooManySegments) {
		t.Errorf("more packets than any batch: %v", err)
	}
	kernel.Write(plain([]byte{3}))
	if n, err := b.Read(bufs, sizes, 0); n != 1 || err != nil {
		t.Errorf("after it: %d packets, %v", n, err)
	}
}

func TestReadEndsABatchOfManyBytes(t *testing.T) {
	b, kernel := newFake(t)
	raw, _ := kernel.SyscallConn()
	raw.Control(func(fd uintptr) { unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, 4<<20) })
	bufs, sizes := batch(128)
	for range 3 {
		if _, err := kernel.Write(joined(1200, 40)); err != nil {
			t.Skip(err)
		}
	}
	if n, err := b.Read(bufs, sizes, 0); n != 80 || err != nil {
		t.Errorf("%d packets, %v", n, err)
	}
	if n, err := b.Read(bufs, sizes, 0); n != 40 || err != nil {
		t.Errorf("%d packets, %v", n, err)
	}
}

func TestReadOutlivesPacketsThatCannotBeRead(t *testing.T) {
	b, kernel := newFake(t)
	bufs, sizes := batch(128)
	good := plain([]byte{1})
	tcp := joined(100, 2)
	tcp[1] = unix.VIRTIO_NET_HDR_GSO_TCPV4
	for name, piece := range map[string][]byte{
		"one byte":          {0},
		"a header alone":    make([]byte, headerBytes),
		"an unknown type":   append([]byte{0, 0x7f}, good[2:]...),
		"no segment size":   append(append(bytes.Clone(joined(100, 2)[:4]), 0, 0), joined(100, 2)[6:]...),
		"no IP":             append(make([]byte, headerBytes), 0, 0, 0),
		"a TCP header of 0": append(bytes.Clone(tcp[:headerBytes+32]), make([]byte, 100)...),
		"a checksum beyond": append([]byte{1, 0, 0, 0, 0, 0, 0xff, 0xff, 6, 0}, good[headerBytes:]...),
	} {
		kernel.Write(good)
		kernel.Write(piece)
		kernel.Write(good)
		got := 0
		for reads := 0; got < 2 && reads < 4; reads++ {
			n, _ := b.Read(bufs, sizes, 0)
			for i := range n {
				if bytes.Equal(bufs[i][:sizes[i]], good[headerBytes:]) {
					got++
				}
			}
		}
		if got != 2 {
			t.Errorf("%s: %d of 2 good packets", name, got)
		}
	}
}

func TestReadIsInterruptedAndEndsWithTheDevice(t *testing.T) {
	b, kernel := newFake(t)
	bufs, sizes := batch(128)
	b.File().SetReadDeadline(time.Unix(1, 0))
	if _, err := b.Read(bufs, sizes, 0); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error(err)
	}
	b.File().SetReadDeadline(time.Time{})
	kernel.Write(plain([]byte{1}))
	if n, err := b.Read(bufs, sizes, 0); n != 1 || err != nil {
		t.Error(n, err)
	}
	time.AfterFunc(10*time.Millisecond, func() { b.File().Close() })
	if _, err := b.Read(bufs, sizes, 0); !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
}

func TestABurstOfTheKernelComesAtOnce(t *testing.T) {
	if !stacktest.Namespace(t) {
		return
	}
	d, err := Open(options("on"))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	c, err := net.Dial("udp", "198.18.7.7:7")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	const count = 20
	for i := range count {
		c.Write([]byte{byte(i)})
	}
	bufs, sizes := batch(d.BatchSize())
	for at, reads := 0, 0; at < count; reads++ {
		n, err := d.Read(bufs, sizes, 0)
		if err != nil || reads > 4 {
			t.Fatalf("read %d: %v, %d datagrams so far", reads, err, at)
		}
		for i := range n {
			if p := bufs[i][:sizes[i]]; len(p) == 29 && p[28] == byte(at) && craft.Valid(p) {
				at++
			}
		}
	}
}

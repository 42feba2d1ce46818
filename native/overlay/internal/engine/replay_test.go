package engine_test

import (
	"crypto/ecdh"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tailscale/wireguard-go/tun"

	"seganet.internal/overlay/internal/bind"
	"seganet.internal/overlay/internal/busytest"
	"seganet.internal/overlay/internal/engine"
)

// wire is a TUN in memory: packets in batches, as Linux gives them.
type wire struct {
	in     chan []byte
	out    func([]byte)
	events chan tun.Event
	closed chan struct{}
	wake   chan struct{} // interrupts a Read
	once   sync.Once
}

func newWire(out func([]byte)) *wire {
	return &wire{wake: make(chan struct{}, 1), in: make(chan []byte, 4096), out: out, events: make(chan tun.Event, 1), closed: make(chan struct{})}
}

func (w *wire) File() *os.File           { return nil }
func (w *wire) MTU() (int, error)        { return 1280, nil }
func (w *wire) Name() (string, error)    { return "wire", nil }
func (w *wire) Events() <-chan tun.Event { return w.events }
func (w *wire) BatchSize() int           { return 128 }

// Interrupt implements engine.Interruptible.
func (w *wire) Interrupt() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *wire) Close() error {
	w.once.Do(func() { close(w.closed); close(w.events) })
	return nil
}

func (w *wire) Read(bufs [][]byte, sizes []int, offset int) (int, error) {
	n := 0
	select {
	case p := <-w.in:
		sizes[0] = copy(bufs[0][offset:], p)
		n = 1
	case <-w.wake:
		return 0, os.ErrDeadlineExceeded
	case <-w.closed:
		return 0, os.ErrClosed
	}
	for n < len(bufs) {
		select {
		case p := <-w.in:
			sizes[n] = copy(bufs[n][offset:], p)
			n++
		default:
			return n, nil
		}
	}
	return n, nil
}

func (w *wire) Write(bufs [][]byte, offset int) (int, error) {
	for _, b := range bufs {
		w.out(b[offset:])
	}
	return len(bufs), nil
}

// side is an engine with a numbered-packet source and sink.
type side struct {
	wire *wire
	bind *bind.Bind
	e    *engine.Engine
	v6   netip.Addr
	key  [32]byte
}

func newSide(t *testing.T, address string, out func([]byte)) *side {
	t.Helper()
	return newSideThat(t, address, out, nil)
}

// newSideThat is newSide with a function for packets to unknown addresses.
func newSideThat(t *testing.T, address string, out func([]byte), wanted func(netip.Addr)) *side {
	t.Helper()
	k, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s := &side{wire: newWire(out), bind: bind.New(), v6: netip.MustParseAddr(address), key: [32]byte(k.PublicKey().Bytes())}
	if s.e, err = engine.New(engine.Config{PrivateKey: [32]byte(k.Bytes()), TUN: s.wire, Bind: s.bind, Wanted: wanted}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.e.Close)
	return s
}

func know(t *testing.T, s, other *side, at netip.AddrPort) {
	t.Helper()
	if err := s.e.SetPeer(engine.Peer{Key: other.key, Addresses: []netip.Addr{other.v6}, Begins: string(s.key[:]) < string(other.key[:])}); err != nil {
		t.Fatal(err)
	}
	s.bind.Endpoint(other.key, false).SetPath(bind.Path{Direct: at})
}

func numbered(src, dst netip.Addr, n uint64) []byte {
	p := make([]byte, 40+8+24)
	p[0], p[6], p[7] = 6<<4, 17, 64
	binary.BigEndian.PutUint16(p[4:], uint16(len(p)-40))
	a, b := src.As16(), dst.As16()
	copy(p[8:], a[:])
	copy(p[24:], b[:])
	binary.BigEndian.PutUint64(p[48:], n)
	return p
}

// middle is a UDP hop between two sides that may copy and change what passes from a to b.
type middle struct {
	conn   *net.UDPConn
	a, b   netip.AddrPort
	mu     sync.Mutex
	kept   [][]byte // transport messages of a
	mangle func(p []byte) [][]byte
}

func newMiddle(t *testing.T, a, b *side) *middle {
	c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	_ = c.SetReadBuffer(8 << 20)
	lo := netip.MustParseAddr("127.0.0.1")
	m := &middle{conn: c, a: netip.AddrPortFrom(lo, a.bind.Port()), b: netip.AddrPortFrom(lo, b.bind.Port())}
	t.Cleanup(func() { c.Close() })
	go func() {
		buf := make([]byte, 65535)
		for {
			n, from, err := c.ReadFromUDPAddrPort(buf)
			if errors.Is(err, net.ErrClosed) || errors.Is(err, io.EOF) {
				return
			}
			p := append([]byte(nil), buf[:n]...)
			if from.Port() == m.b.Port() {
				_, _ = c.WriteToUDPAddrPort(p, m.a)
				continue
			}
			out := [][]byte{p}
			m.mu.Lock()
			if p[0] == 4 && len(p) > 32 {
				m.kept = append(m.kept, p)
				if m.mangle != nil {
					out = m.mangle(p)
				}
			}
			m.mu.Unlock()
			for _, q := range out {
				_, _ = c.WriteToUDPAddrPort(q, m.b)
			}
		}
	}()
	return m
}

func (m *middle) address() netip.AddrPort { return m.conn.LocalAddr().(*net.UDPAddr).AddrPort() }

func (m *middle) again(i int) {
	m.mu.Lock()
	p := m.kept[i]
	m.mu.Unlock()
	_, _ = m.conn.WriteToUDPAddrPort(p, m.b)
}

func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for start := time.Now(); !f(); time.Sleep(time.Millisecond) {
		if time.Since(start) > busytest.Limit(20*time.Second) {
			t.Fatalf("not within 20 s: %s", what)
		}
	}
}

// TestAReplayedPacketIsDeliveredOnce is criterion 13: the same packet again after 0, 1, 8,000 and 9,000 others, twice at
// once, and with a flipped bit.
func TestAReplayedPacketIsDeliveredOnce(t *testing.T) {
	var mu sync.Mutex
	seen := map[uint64]int{}
	var total atomic.Int64
	b := newSide(t, "fd00:5e9a::2", func(p []byte) {
		mu.Lock()
		seen[binary.BigEndian.Uint64(p[48:])]++
		mu.Unlock()
		total.Add(1)
	})
	a := newSide(t, "fd00:5e9a::1", func([]byte) {})
	m := newMiddle(t, a, b)
	know(t, a, b, m.address())
	know(t, b, a, m.address())
	next := uint64(0)
	send := func(count int) {
		for range count {
			next++
			a.wire.in <- numbered(a.v6, b.v6, next)
			if next%64 == 0 {
				eventually(t, "the packets arrive", func() bool { return total.Load() >= int64(next)-64 })
			}
		}
		eventually(t, "the packets arrive", func() bool { return total.Load() >= int64(next) })
	}
	send(1)
	for _, others := range []int{0, 1, 8000, 9000} {
		m.mu.Lock()
		last := len(m.kept) - 1
		m.mu.Unlock()
		send(others)
		for range 4 { // copies at once reach both workers
			m.again(last)
		}
		send(1) // behind the copies
	}
	m.mu.Lock()
	m.mangle = func(p []byte) [][]byte {
		q := append([]byte(nil), p...)
		q[len(q)-1] ^= 1
		return [][]byte{q, p}
	}
	m.mu.Unlock()
	send(100)
	mu.Lock()
	defer mu.Unlock()
	for n, times := range seen {
		if times != 1 {
			t.Errorf("packet %d was delivered %d times", n, times)
		}
	}
	if len(seen) != int(next) {
		t.Errorf("%d of %d packets", len(seen), next)
	}
}

// TestPacketsStayInOrder is criterion 12 on one path: 200,000 numbered packets, all workers.
func TestPacketsStayInOrder(t *testing.T) {
	var last, total, reordered atomic.Uint64
	b := newSide(t, "fd00:5e9a::2", func(p []byte) {
		n := binary.BigEndian.Uint64(p[48:])
		if n < last.Swap(n) {
			reordered.Add(1)
		}
		total.Add(1)
	})
	a := newSide(t, "fd00:5e9a::1", func([]byte) {})
	lo := netip.MustParseAddr("127.0.0.1")
	know(t, a, b, netip.AddrPortFrom(lo, b.bind.Port()))
	know(t, b, a, netip.AddrPortFrom(lo, a.bind.Port()))
	const packets = 200_000
	for n := uint64(1); n <= packets; n++ {
		a.wire.in <- numbered(a.v6, b.v6, n)
		if n%256 == 0 {
			for wait := time.Now(); total.Load()+1024 < n && time.Since(wait) < 50*time.Millisecond; {
				time.Sleep(100 * time.Microsecond)
			}
		}
	}
	eventually(t, "the last packet arrives", func() bool {
		if last.Load() < packets {
			a.wire.in <- numbered(a.v6, b.v6, packets)
		}
		return last.Load() == packets
	})
	t.Logf("%d of %d packets arrived", total.Load(), packets)
	if reordered.Load() != 0 {
		t.Errorf("%d packets out of order", reordered.Load())
	}
}

func TestAStrangersAddressAndKeyAreRefused(t *testing.T) {
	var got atomic.Int64
	b := newSide(t, "fd00:5e9a::2", func([]byte) { got.Add(1) })
	a := newSide(t, "fd00:5e9a::1", func([]byte) {})
	lo := netip.MustParseAddr("127.0.0.1")
	know(t, a, b, netip.AddrPortFrom(lo, b.bind.Port()))
	know(t, b, a, netip.AddrPortFrom(lo, a.bind.Port()))
	a.wire.in <- numbered(a.v6, b.v6, 1)
	eventually(t, "a packet", func() bool { return got.Load() == 1 })
	a.wire.in <- numbered(netip.MustParseAddr("fd00:5e9a::99"), b.v6, 2)
	eventually(t, "the spoofed packet is counted", func() bool { return b.e.Counters.Spoofed.Load() == 1 })
	stranger := newSide(t, "fd00:5e9a::3", func([]byte) {})
	if err := b.e.SetPeer(engine.Peer{Key: stranger.key, Addresses: []netip.Addr{a.v6}}); err == nil {
		t.Error("a second peer got the first one's address")
	}
	b.e.RemovePeer(a.key)
	a.wire.in <- numbered(a.v6, b.v6, 3)
	time.Sleep(100 * time.Millisecond)
	if got.Load() != 1 {
		t.Errorf("%d packets; a removed peer still sends", got.Load())
	}
}

package engine_test

import (
	"bytes"
	"crypto/ecdh"
	"crypto/rand"
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"seganet.internal/overlay/internal/bind"
	"seganet.internal/overlay/internal/engine"
)

// faulty is a TUN whose Read fails when a test wants it to.
type faulty struct {
	*wire
	errs  chan error
	reads atomic.Int32
	zero  atomic.Bool // the buffers of the last Read were zero beyond their first page
}

func (f *faulty) Interrupt() { f.errs <- os.ErrDeadlineExceeded }

func (f *faulty) Read(bufs [][]byte, sizes []int, offset int) (int, error) {
	zero := true
	page := os.Getpagesize()
	for _, b := range bufs {
		zero = zero && bytes.Equal(b[page:2*page], make([]byte, page))
		copy(b[page:], bytes.Repeat([]byte{7}, page))
	}
	f.zero.Store(zero)
	f.reads.Add(1)
	select {
	case err := <-f.errs:
		return 0, err
	case <-f.closed:
		return 0, os.ErrClosed
	}
}

func newFaulty(t *testing.T) (*faulty, *engine.Engine) {
	t.Helper()
	k, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	f := &faulty{wire: newWire(func([]byte) {}), errs: make(chan error, 16)}
	e, err := engine.New(engine.Config{PrivateKey: [32]byte(k.Bytes()), TUN: f, Bind: bind.New()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	eventually(t, "a first read", func() bool { return f.reads.Load() == 1 })
	return f, e
}

func TestAPacketThatCannotBeReadDoesNotEndTheDevice(t *testing.T) {
	f, e := newFaulty(t)
	for range 3 {
		f.errs <- errors.New("length of packet (0) < GSO HdrLen (40)")
	}
	eventually(t, "further reads", func() bool { return f.reads.Load() == 4 })
	if n := e.Counters.BadReads.Load(); n != 3 {
		t.Errorf("%d packets are counted", n)
	}
	f.errs <- &fs.PathError{Op: "read", Path: "/dev/net/tun", Err: syscall.EIO}
	select {
	case <-e.Done():
	case <-time.After(20 * time.Second):
		t.Error("the device outlives its interface")
	}
}

func TestReleaseFreesTheBuffersOfTheTUN(t *testing.T) {
	f, e := newFaulty(t)
	f.errs <- os.ErrDeadlineExceeded // not by Release: the buffers keep their content
	eventually(t, "a second read", func() bool { return f.reads.Load() == 2 })
	if f.zero.Load() {
		t.Error("the buffers were given back without Release")
	}
	e.Release()
	eventually(t, "a read with empty buffers", func() bool { return f.reads.Load() == 3 && f.zero.Load() })
	if n := e.Counters.BadReads.Load(); n != 0 {
		t.Errorf("%d bad reads", n)
	}
}

// TestDataFlowsWhileBuffersAreReleased sends numbered packets through two engines that release all the time.
func TestDataFlowsWhileBuffersAreReleased(t *testing.T) {
	const packets = 2000
	var got, damaged atomic.Int64
	lo := netip.MustParseAddr("127.0.0.1")
	b := newSide(t, "fd00:5e9a::2", func(p []byte) {
		if !bytes.Equal(p[64:], payload) {
			damaged.Add(1)
		}
		got.Add(1)
	})
	a := newSide(t, "fd00:5e9a::1", func([]byte) {})
	know(t, a, b, netip.AddrPortFrom(lo, b.bind.Port()))
	know(t, b, a, netip.AddrPortFrom(lo, a.bind.Port()))
	a.wire.in <- append(numbered(a.v6, b.v6, 0)[:64], payload...)
	eventually(t, "a session", func() bool { return got.Load() == 1 })
	end, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-end:
				return
			case <-time.After(20 * time.Millisecond):
				a.e.Release()
				b.e.Release()
			}
		}
	}()
	defer func() { close(end); <-done }()
	for n := range packets {
		a.wire.in <- append(numbered(a.v6, b.v6, uint64(n))[:64], payload...)
		if n%50 == 0 {
			time.Sleep(time.Millisecond) // a full queue drops
		}
	}
	eventually(t, "most packets arrive", func() bool { return got.Load() > packets/2 })
	if damaged.Load() > 0 {
		t.Errorf("%d of %d packets are damaged", damaged.Load(), got.Load())
	}
}

var payload = []byte("12345678")

package bind

import (
	"bytes"
	"errors"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/tailscale/wireguard-go/conn"

	"seganet.internal/overlay/internal/busytest"
	"seganet.internal/overlay/internal/udpbatch"
)

var wait = busytest.Limit(30 * time.Second)

// receiver runs a ReceiveFunc as WireGuard does, on buffers that are full of other bytes.
type receiver struct {
	bufs [][]byte
	got  chan int // sizes of what arrives
	end  chan error
}

func receive(fn conn.ReceiveFunc, count int) *receiver {
	r := &receiver{bufs: make([][]byte, count), got: make(chan int, 64), end: make(chan error, 1)}
	for i := range r.bufs {
		r.bufs[i] = bytes.Repeat([]byte{7}, 65535)
	}
	go func() {
		sizes, eps := make([]int, count), make([]conn.Endpoint, count)
		for {
			n, err := fn(r.bufs, sizes, eps)
			if err != nil {
				r.end <- err
				return
			}
			for _, size := range sizes[:n] {
				r.got <- size
			}
		}
	}()
	return r
}

// next returns the size of the next datagram that is not Release's own.
func (r *receiver) next(t *testing.T) int {
	t.Helper()
	for {
		select {
		case n := <-r.got:
			if n > 1 {
				return n
			}
		case <-time.After(wait):
			t.Fatal("nothing arrives")
		}
	}
}

func TestReleaseFreesTheBuffersOfReceivers(t *testing.T) {
	b := New()
	fns, port, err := b.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	var list []*receiver
	for _, fn := range fns {
		list = append(list, receive(fn, b.BatchSize()))
	}
	b.Release()
	send := func(size int) {
		c, err := net.Dial("udp4", netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), port).String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := c.Write(make([]byte, size)); err != nil {
			t.Fatal(err)
		}
		b.DeliverRelayed(make([]byte, size), netip.MustParseAddrPort("192.0.2.1:1"))
	}
	send(100)
	if n := list[0].next(t); n != 100 {
		t.Errorf("%d bytes by the port", n)
	}
	if n := list[len(list)-1].next(t); n != 100 {
		t.Errorf("%d bytes by the relay", n)
	}
	// The receivers own their buffers until they end.
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	for i, r := range list {
		select {
		case err := <-r.end:
			if !errors.Is(err, net.ErrClosed) {
				t.Error(err)
			}
		case <-time.After(wait):
			t.Fatal("a receiver does not end")
		}
		if i == 1 && len(list) == 3 { // IPv6: only Release's own datagram came, where there is IPv6
			if n := len(r.got); n == 0 {
				continue
			}
		}
		page := os.Getpagesize()
		for at, buf := range r.bufs[1 : len(r.bufs)-2] {
			if middle := buf[page : 2*page]; !bytes.Equal(middle, make([]byte, page)) {
				t.Fatalf("receiver %d: buffer %d was not given back", i, at+1)
			}
		}
	}
}

// failing is a socket whose first receptions fail: more than WireGuard tolerates.
type failing struct{ failures int }

func (f *failing) Discard() {}

func (f *failing) Read(pieces []udpbatch.Piece) (int, error) {
	if f.failures > 0 {
		f.failures--
		return 0, &net.OpError{Op: "read", Err: os.NewSyscallError("recvmmsg", errNoMemory{})}
	}
	if f.failures--; f.failures == -1 {
		pieces[0] = udpbatch.Piece{Bytes: make([]byte, 100), Segment: 100, From: netip.MustParseAddrPort("192.0.2.1:1")}
		return 1, nil
	}
	return 0, net.ErrClosed
}

type errNoMemory struct{}

func (errNoMemory) Error() string { return "no memory" }

func TestAReceiverOutlivesErrorsOfItsSocket(t *testing.T) {
	b := New()
	f := &failing{failures: 12}
	r := receive(b.receiveDirect(f), 1)
	if n := r.next(t); n != 100 {
		t.Errorf("%d bytes", n)
	}
	if err := <-r.end; !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
	if n := b.Counters.Unreceived.Load(); n != 12 {
		t.Errorf("%d failures are counted", n)
	}
}

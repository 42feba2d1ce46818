package stack

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"seganet.internal/overlay/internal/stack/stacktest"
)

var (
	addrA = []netip.Addr{netip.MustParseAddr("fd00:1::1"), netip.MustParseAddr("198.18.0.1")}
	addrB = []netip.Addr{netip.MustParseAddr("fd00:1::2"), netip.MustParseAddr("198.18.0.2")}
	inB   = []netip.Prefix{netip.MustParsePrefix("fd00:1::/48"), netip.MustParsePrefix("198.18.0.0/16")}
)

type names map[string][]netip.Addr

func (n names) Resolve(_ context.Context, name string) ([]netip.Addr, error) {
	if a, ok := n[name]; ok {
		return a, nil
	}
	return nil, errors.New("no node has this name")
}

// pair makes two nodes without privilege that are connected, and a forwarder of the first.
func pair(t testing.TB) (a, b *Stack, f *Forwarder) {
	t.Helper()
	make := func(addresses []netip.Addr) *Stack {
		s, err := New(Options{Addresses: addresses})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	a, b = make(addrA), make(addrB)
	stacktest.Join(a.Device(), b.Device(), nil)
	f = NewForwarder(a, names{"hub": addrB, "hub4": addrB[1:], "lost": {netip.MustParseAddr("192.0.2.1")}}, inB, nil)
	t.Cleanup(f.Close)
	return a, b, f
}

// echoTCP is a service of the host: it returns what it gets, and half-closes at the end.
func echoTCP(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { io.Copy(c, c); c.Close() }()
		}
	}()
	return l.Addr().String()
}

func echoUDP(t testing.TB) string {
	t.Helper()
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	go func() {
		buf := make([]byte, 65536)
		for {
			n, from, err := c.ReadFrom(buf)
			if err != nil {
				return
			}
			c.WriteTo(buf[:n], from)
		}
	}()
	return c.LocalAddr().String()
}

// exchange sends data, ends its direction, and compares what comes back.
func exchange(t *testing.T, c net.Conn, bytesOut int) {
	t.Helper()
	defer c.Close()
	c.SetDeadline(time.Now().Add(60 * time.Second))
	data := bytes.Repeat([]byte("0123456789abcdef"), bytesOut/16)
	go func() {
		c.Write(data)
		c.(interface{ CloseWrite() error }).CloseWrite()
	}()
	h := sha256.New()
	n, err := io.Copy(h, c)
	want := sha256.Sum256(data)
	if err != nil || !bytes.Equal(h.Sum(nil), want[:]) {
		t.Fatalf("%d of %d bytes came back: %v", n, len(data), err)
	}
}

func TestForwardToAnOfferedService(t *testing.T) {
	_, b, f := pair(t)
	if err := b.Offer("tcp", 1883, echoTCP(t)); err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{"hub:1883", "hub4:1883", "198.18.0.2:1883", "[fd00:1::2]:1883"} {
		at, err := f.Forward("tcp", "127.0.0.1:0", to)
		if err != nil {
			t.Fatal(err)
		}
		c, err := net.Dial("tcp", at.String())
		if err != nil {
			t.Fatal(err)
		}
		exchange(t, c, 1<<20)
		if !f.Unforward("tcp", at.String()) || f.Unforward("tcp", at.String()) {
			t.Fatal("a forward did not end once")
		}
		if _, err := net.Dial("tcp", at.String()); err == nil {
			t.Fatal("the local port is still open")
		}
	}
}

func TestForwardDatagrams(t *testing.T) {
	_, b, f := pair(t)
	if err := b.Offer("udp", 5683, echoUDP(t)); err != nil {
		t.Fatal(err)
	}
	at, err := f.Forward("udp", "127.0.0.1:0", "hub:5683")
	if err != nil {
		t.Fatal(err)
	}
	for client := range 3 {
		c, err := net.Dial("udp", at.String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for i, size := range []int{0, 1, 1200, 4000, MaxDatagram} { // larger ones are fragmented inside the tunnel
			want := bytes.Repeat([]byte{byte(client), byte(i)}, size/2+1)[:size]
			c.Write(want)
			c.SetReadDeadline(time.Now().Add(30 * time.Second))
			got := make([]byte, 65536)
			n, err := c.Read(got)
			if err != nil || !bytes.Equal(got[:n], want) {
				t.Fatalf("client %d, %d bytes: %d bytes came back, %v", client, size, n, err)
			}
		}
	}
	if list := f.List(); len(list) != 1 || list[0] != (Forward{"udp", at.String(), "hub:5683"}) {
		t.Fatalf("%v", list)
	}
}

func TestUnofferedPortsAreRefused(t *testing.T) {
	_, b, f := pair(t)
	closed, _ := net.Listen("tcp", "127.0.0.1:0")
	closed.Close()
	b.Offer("tcp", 2, closed.Addr().String())
	b.Offer("tcp", 3, echoTCP(t))
	b.Offer("tcp", 3, "")
	for _, port := range []int{1, 2, 3} {
		start := time.Now()
		if _, err := f.Dial(t.Context(), "tcp", fmt.Sprintf("hub:%d", port)); err == nil || !strings.Contains(err.Error(), "refused") {
			t.Errorf("port %d: %v", port, err)
		}
		if d := time.Since(start); d > DialTimeout/2 {
			t.Errorf("port %d was refused after %v", port, d)
		}
	}
	for _, to := range []string{"lost:1", "127.0.0.1:22", "192.168.0.1:80", "[::1]:22", "[::ffff:127.0.0.1]:22", "nobody:1", "hub", "hub:0", "hub:65536", ""} {
		if c, err := f.Dial(t.Context(), "tcp", to); err == nil {
			c.Close()
			t.Errorf("%q was dialed", to)
		}
	}
	if err := b.Offer("sctp", 1, "127.0.0.1:1"); err == nil {
		t.Error("an offer of SCTP")
	}
}

func TestListenerOfTheStack(t *testing.T) {
	a, b, _ := pair(t)
	l, err := b.ListenTCP(netip.AddrPortFrom(addrB[0], 53))
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		c, err := l.Accept()
		if err == nil {
			io.Copy(c, c)
			c.Close()
		}
	}()
	c, err := a.DialAddr(t.Context(), "tcp", netip.AddrPortFrom(addrB[0], 53))
	if err != nil {
		t.Fatal(err)
	}
	exchange(t, c, 1<<16)
	p, err := b.ListenUDP(netip.AddrPortFrom(addrB[1], 53))
	if err != nil {
		t.Fatal(err)
	}
	u, err := a.DialAddr(t.Context(), "udp", netip.AddrPortFrom(addrB[1], 53))
	if err != nil {
		t.Fatal(err)
	}
	u.Write([]byte("q"))
	buf := make([]byte, 9)
	if n, _, err := p.ReadFrom(buf); err != nil || string(buf[:n]) != "q" {
		t.Fatalf("%q %v", buf[:n], err)
	}
}

func TestSpliceEndsIdleDatagrams(t *testing.T) {
	a1, a2 := net.Pipe()
	b1, b2 := net.Pipe()
	defer a1.Close()
	defer b2.Close()
	done := make(chan struct{})
	go func() { spliceDatagramsFor(a2, b1, 50*time.Millisecond); close(done) }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("the session did not end")
	}
}

func TestOptions(t *testing.T) {
	for _, o := range []Options{{}, {Addresses: addrA, MTU: 1279}, {Addresses: addrA, MTU: 65536}, {Addresses: []netip.Addr{{}}},
		{Addresses: []netip.Addr{netip.MustParseAddr("::ffff:1.2.3.4")}}, {Addresses: []netip.Addr{addrA[0], addrA[0]}}} {
		if s, err := New(o); err == nil {
			s.Close()
			t.Errorf("%+v was accepted", o)
		}
	}
}

// BenchmarkForward measures a forwarded TCP connection through two stacks, without encryption.
func BenchmarkForward(b *testing.B) {
	_, hub, f := pair(b)
	l, _ := net.Listen("tcp", "127.0.0.1:0")
	defer l.Close()
	got := make(chan int64)
	go func() {
		c, _ := l.Accept()
		n, _ := io.Copy(io.Discard, c)
		got <- n
	}()
	hub.Offer("tcp", 1, l.Addr().String())
	at, err := f.Forward("tcp", "127.0.0.1:0", "hub:1")
	if err != nil {
		b.Fatal(err)
	}
	c, err := net.Dial("tcp", at.String())
	if err != nil {
		b.Fatal(err)
	}
	block := make([]byte, 64<<10)
	b.SetBytes(int64(len(block)))
	for b.Loop() {
		c.Write(block)
	}
	c.Close()
	<-got
}

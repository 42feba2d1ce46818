package stack

import (
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
)

func anyPeer(netip.Addr) bool { return true }

// until waits for a condition.
func until(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !f(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no %s", what)
		}
	}
}

// A peer that half-closes its connection and then resets it leaves an endpoint without a remote address, for as long as
// the target is silent.
func TestConnectionsThatAPeerResetAreCut(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	a, b, _ := pair(t)
	if err := b.Offer("tcp", 7, l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	c, err := a.DialAddr(t.Context(), "tcp", netip.AddrPortFrom(addrB[0], 7))
	if err != nil {
		t.Fatal(err)
	}
	target, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { target.Close() })
	if err := c.(*gonet.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	target.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := target.Read(make([]byte, 1)); err != io.EOF {
		t.Fatal(err)
	}
	a.stack.Close() // resets its connections
	until(t, "reset", func() bool {
		b.pairs.mu.Lock()
		defer b.pairs.mu.Unlock()
		for inside := range b.pairs.open {
			return inside.RemoteAddr() == nil
		}
		return false
	})
	if n := b.Cut(anyPeer); n != 1 {
		t.Errorf("%d connections were cut", n)
	}
	until(t, "end of the target's connection", func() bool {
		_, err := target.Write([]byte("x"))
		return err != nil
	})
}

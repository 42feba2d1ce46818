package stack

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"

	"seganet.internal/overlay/internal/busytest"
)

func anyPeer(netip.Addr) bool { return true }

// until waits for a condition.
func until(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(busytest.Limit(10 * time.Second)); !f(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no %s", what)
		}
	}
}

// A peer that half-closes its connection and then resets it leaves an endpoint without a remote address while the
// target is silent.
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
	until(t, "reset", func() bool { return b.stack.Stats().TCP.ResetsReceived.Value() > 0 })
	if n := b.Cut(anyPeer); n != 1 {
		t.Errorf("%d connections were cut", n)
	}
	until(t, "end of the target's connection", func() bool {
		_, err := target.Write([]byte("x"))
		return err != nil
	})
}

// answers is true if a session of UDP returns a datagram.
func answers(t *testing.T, c net.Conn) bool {
	t.Helper()
	c.SetDeadline(time.Now().Add(busytest.Limit(500 * time.Millisecond)))
	if _, err := c.Write([]byte("record")); err != nil {
		return false
	}
	n, err := c.Read(make([]byte, 16))
	return err == nil && n == 6
}

// open makes a connection of TCP and a session of UDP by dial, and returns functions that report their end.
func open(t *testing.T, dial func(network string) (net.Conn, error)) (tcpEnds, udpAnswers func() bool) {
	t.Helper()
	c, err := dial("tcp")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if !answers(t, c) {
		t.Fatal("no answer by TCP")
	}
	d, err := dial("udp")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	if !answers(t, d) {
		t.Fatal("no answer by UDP")
	}
	return func() bool {
		c.SetDeadline(time.Now().Add(5 * time.Second))
		_, err := c.Read(make([]byte, 1))
		var late net.Error
		return err != nil && !(errors.As(err, &late) && late.Timeout())
	}, func() bool { return answers(t, d) }
}

func TestAWithdrawnOfferEndsItsConnections(t *testing.T) {
	a, b, _ := pair(t)
	for _, network := range []string{"tcp", "udp"} {
		target := echoTCP(t)
		if network == "udp" {
			target = echoUDP(t)
		}
		if err := b.Offer(network, 7, target); err != nil {
			t.Fatal(err)
		}
	}
	tcpEnds, udpAnswers := open(t, func(network string) (net.Conn, error) {
		return a.DialAddr(t.Context(), network, netip.AddrPortFrom(addrB[1], 7))
	})
	for _, network := range []string{"tcp", "udp"} {
		if err := b.Offer(network, 7, ""); err != nil {
			t.Fatal(err)
		}
	}
	if !tcpEnds() {
		t.Error("a connection goes on")
	}
	if udpAnswers() {
		t.Error("a session of UDP goes on")
	}
	until(t, "end of the pairs", func() bool { return b.pairs.count() == 0 })
}

func TestAnExposedPortEndsItsConnections(t *testing.T) {
	f := NewExposer("", nil, nil, nil)
	t.Cleanup(f.Close)
	port := freePort(t)
	endTCP, err := f.Expose("tcp", atLoopback, port, echoTCP(t))
	if err != nil {
		t.Fatal(err)
	}
	endUDP, err := f.Expose("udp", atLoopback, port, echoUDP(t))
	if err != nil {
		t.Fatal(err)
	}
	tcpEnds, udpAnswers := open(t, func(network string) (net.Conn, error) {
		return net.Dial(network, netip.AddrPortFrom(atLoopback[1], port).String())
	})
	if n := f.pairs.count(); n != 2 {
		t.Errorf("%d pairs", n)
	}
	endTCP()
	endUDP()
	if !tcpEnds() {
		t.Error("a connection goes on")
	}
	if udpAnswers() {
		t.Error("a session of UDP goes on")
	}
	until(t, "end of the pairs", func() bool { return f.pairs.count() == 0 })
}

func TestSessionsOfUDPWithAPeerAreCut(t *testing.T) {
	_, b, f := pair(t)
	if err := b.Offer("udp", 7, echoUDP(t)); err != nil {
		t.Fatal(err)
	}
	at, err := f.Forward("udp", "127.0.0.1:0", "hub:7")
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("udp", at.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if !answers(t, c) {
		t.Fatal("no answer")
	}
	if n := b.Cut(func(peer netip.Addr) bool { return slices.Contains(addrA, peer) }); n != 1 {
		t.Errorf("%d sessions of the receiver were cut", n)
	}
	if n := f.Cut(func(peer netip.Addr) bool { return slices.Contains(addrB, peer) }); n != 1 {
		t.Errorf("%d sessions of the sender were cut", n)
	}
	until(t, "end of the pairs", func() bool { return b.pairs.count()+f.pairs.count() == 0 })
	if !answers(t, c) {
		t.Error("the next datagram began no session")
	}
}

func (p *pairs) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.open)
}

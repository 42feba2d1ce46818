package stack

import (
	"net"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tailscale/wireguard-go/tun"
	"gvisor.dev/gvisor/pkg/tcpip"

	"seganet.internal/overlay/internal/busytest"
	"seganet.internal/overlay/internal/stack/stacktest"
)

// without6 makes two nodes between which IPv6 is lost, and a forwarder of the first.
func without6(t *testing.T) (b *Stack, f *Forwarder) {
	t.Helper()
	var stacks []*Stack
	for _, addresses := range [][]netip.Addr{addrA, addrB} {
		s, err := New(Options{Addresses: addresses})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		stacks = append(stacks, s)
	}
	stacktest.Join(stacks[0].Device(), stacks[1].Device(), func(_ tun.Device, packet []byte) bool { return packet[0]>>4 == 6 })
	f = NewForwarder(stacks[0], names{"hub": addrB}, inB, nil)
	t.Cleanup(f.Close)
	return stacks[1], f
}

func TestAnAddressWithoutAnAnswerCostsTheOtherOneLittle(t *testing.T) {
	b, f := without6(t)
	if err := b.Offer("tcp", 1883, echoTCP(t)); err != nil {
		t.Fatal(err)
	}
	for i, limit := range []time.Duration{DialTimeout / 2, dialAlone} { // the second time, the address is known
		start := time.Now()
		c, err := f.Dial(t.Context(), "tcp", "hub:1883")
		if err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); d > busytest.Limit(limit) {
			t.Errorf("connection %d took %v", i+1, d)
		}
		exchange(t, c, 1<<10)
	}
}

// askUntilAnswered sends a datagram until an answer comes, as a client of CoAP does.
func askUntilAnswered(t *testing.T, at net.Addr) {
	t.Helper()
	c, err := net.Dial("udp", at.String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	buf := make([]byte, 16)
	for start := time.Now(); time.Since(start) < 20*time.Second; {
		c.Write([]byte("question"))
		c.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
		if n, err := c.Read(buf); err == nil && string(buf[:n]) == "question" {
			return
		}
	}
	t.Fatal("no answer")
}

func TestDatagramsTakeTheAddressThatAnswers(t *testing.T) {
	b, f := without6(t)
	if err := b.Offer("udp", 5683, echoUDP(t)); err != nil {
		t.Fatal(err)
	}
	at, err := f.Forward("udp", "127.0.0.1:0", "hub:5683")
	if err != nil {
		t.Fatal(err)
	}
	askUntilAnswered(t, at)
}

func TestDatagramsLeaveAnAddressThatRefuses(t *testing.T) {
	a, b, _ := pair(t)
	target := echoUDP(t)
	device := []netip.Addr{netip.MustParseAddr("fd00:1::9"), netip.MustParseAddr("198.18.0.9")}
	for _, each := range device { // on the LAN it has IPv6 only
		if err := b.AddAddress(each, func(string, uint16) (string, bool) { return target, each.Is6() }); err != nil {
			t.Fatal(err)
		}
	}
	f := NewForwarder(a, names{"meter": device}, inB, nil)
	t.Cleanup(f.Close)
	at, err := f.Forward("udp", "127.0.0.1:0", "meter:5683")
	if err != nil {
		t.Fatal(err)
	}
	askUntilAnswered(t, at)
}

func TestAnAddressThatRefusedIsTriedAgain(t *testing.T) {
	now := time.Now()
	a := reachability{now: func() time.Time { now = now.Add(time.Second); return now }}
	six, four := addrB[0], addrB[1]
	first := func(network string) netip.Addr {
		list := []netip.Addr{six, four}
		a.order(network, list)
		return list[0]
	}
	for i, step := range []struct {
		change   func()
		udp, tcp netip.Addr
	}{
		{func() {}, four, six},
		{func() { a.note(four, false) }, six, six},
		{func() { a.note(six, false) }, four, four},
		{func() { a.note(four, false) }, six, six},
		{func() { a.note(four, true) }, four, four},
		{func() { a.forget([]netip.Addr{six, four}, four); a.note(six, true); a.note(four, false) }, six, six},
		{func() { now = now.Add(refusalLife) }, six, six},
		{func() { a.forget([]netip.Addr{six}, four) }, four, six},
	} {
		step.change()
		if u, c := first("udp"), first("tcp"); u != step.udp || c != step.tcp {
			t.Errorf("step %d: %v by UDP, %v by TCP", i, u, c)
		}
	}
}

// After a port was closed briefly, a client must not stay with an address whose datagrams are lost without a sign.
func TestASessionWithoutAnAnswerEndsWhenAnotherAddressIsBetter(t *testing.T) {
	b, f := without6(t)
	if err := b.Offer("udp", 5683, echoUDP(t)); err != nil {
		t.Fatal(err)
	}
	var later atomic.Int64
	f.answers.now = func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
	f.idle = 300 * time.Millisecond
	f.answers.note(addrB[1], false) // IPv4 has refused
	at, err := f.Forward("udp", "127.0.0.1:0", "hub:5683")
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("udp", at.String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ask := func(d time.Duration) bool {
		for start := time.Now(); time.Since(start) < d; {
			c.Write([]byte("question"))
			c.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
			if _, err := c.Read(make([]byte, 16)); err == nil {
				return true
			}
		}
		return false
	}
	if ask(time.Second) {
		t.Fatal("an answer by IPv6")
	}
	later.Store(int64(refusalLife))
	if !ask(20 * time.Second) {
		t.Fatal("no answer after the refusal has expired")
	}
}

// reversed is a connection as the other side sees it.
type reversed struct{ net.Conn }

func (r reversed) LocalAddr() net.Addr  { return r.Conn.RemoteAddr() }
func (r reversed) RemoteAddr() net.Addr { return r.Conn.LocalAddr() }

func TestConnectionsOfBothSidesAreProbedWhenTheyAreSilent(t *testing.T) {
	a, b, _ := pair(t)
	if err := b.Offer("tcp", 1883, echoTCP(t)); err != nil {
		t.Fatal(err)
	}
	for _, at := range addrB {
		c, err := a.DialAddr(t.Context(), "tcp", netip.AddrPortFrom(at, 1883))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := c.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		for name, ep := range map[string]tcpip.Endpoint{"dialed": a.endpoint(c), "accepted": b.endpoint(reversed{c})} {
			if ep == nil {
				t.Fatalf("%s: no endpoint", name)
			}
			var idle tcpip.KeepaliveIdleOption
			if err := ep.GetSockOpt(&idle); err != nil || time.Duration(idle) != keepIdle || !ep.SocketOptions().GetKeepAlive() {
				t.Errorf("%s by %v: probed after %v: %v, %v", name, at, time.Duration(idle), ep.SocketOptions().GetKeepAlive(), err)
			}
		}
	}
}

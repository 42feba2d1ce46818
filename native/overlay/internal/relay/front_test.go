package relay

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/pion/turn/v5"

	"seganet.internal/overlay/internal/udpbatch"
)

// channelOf sends over the library's connection until its channel to the address is active, and returns its number.
func channelOf(t *testing.T, from net.PacketConn, to net.Addr) uint16 {
	t.Helper()
	c := from.(interface {
		FindChannelNumberByAddr(net.Addr) (uint16, bool)
		IsChannelActive(uint16) bool
	})
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if _, err := from.WriteTo([]byte("open"), to); err != nil {
			t.Fatal(err)
		}
		if number, ok := c.FindChannelNumberByAddr(to); ok && c.IsChannelActive(number) {
			return number
		}
	}
	t.Fatal("no channel")
	return 0
}

// drain reads the packets "open" of channelOf, and returns the next other one.
func drain(t *testing.T, c net.PacketConn) (string, net.Addr) {
	t.Helper()
	b := make([]byte, 2000)
	for {
		_ = c.SetReadDeadline(time.Now().Add(20 * time.Second))
		n, from, err := c.ReadFrom(b)
		if err != nil {
			t.Fatal(err)
		}
		if text := string(b[:n]); text != "open" {
			return text, from
		}
	}
}

func TestPacketsOfChannelsCrossTheRelayInBothDirections(t *testing.T) {
	s, at := start(t)
	a, aClient := granted(t, at, "a")
	b, bClient := granted(t, at, "b")
	numberA := channelOf(t, a, b.LocalAddr())
	front := s.fronts[at]
	aNode := local(t, aClient)
	if _, ok := s.allocations.outlet(front, aNode, numberA); ok {
		t.Error("a's packets take the short way although b has no channel for a")
	}
	if err := own(bClient); err != nil { // the permission for addresses of this machine
		t.Fatal(err)
	}
	if _, err := a.WriteTo([]byte("by the long way"), b.LocalAddr()); err != nil {
		t.Fatal(err)
	}
	if text, from := drain(t, b); text != "by the long way" || from.String() != a.LocalAddr().String() {
		t.Errorf("%q from %v", text, from)
	}
	numberB := channelOf(t, b, a.LocalAddr())
	o, ok := s.allocations.outlet(front, aNode, numberA)
	if !ok || o.number != numberB || o.node != local(t, bClient) {
		t.Fatalf("a's packets leave to %v in channel %x, %v; b's is %x", o.node, o.number, ok, numberB)
	}
	for i, pair := range [][2]net.PacketConn{{a, b}, {b, a}} {
		for size := range 9 { // 8 sizes of padding
			want := fmt.Sprint(i) + string(bytes.Repeat([]byte("x"), size))
			if _, err := pair[0].WriteTo([]byte(want), pair[1].LocalAddr()); err != nil {
				t.Fatal(err)
			}
			if text, from := drain(t, pair[1]); text != want || from.String() != pair[0].LocalAddr().String() {
				t.Errorf("%q from %v, want %q", text, from, want)
			}
		}
	}
	if _, ok := s.allocations.outlet(front, netip.MustParseAddrPort("127.0.0.1:1"), numberA); ok {
		t.Error("a stranger uses the channel")
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		_, ok := s.allocations.outlet(front, aNode, numberA)
		if !ok {
			break
		}
		if time.Now().After(end) {
			t.Fatal("packets go to a node that has given its address back")
		}
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(20 * time.Second); s.Allocations() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("an allocation stays")
		}
	}
	s.allocations.mu.RLock()
	defer s.allocations.mu.RUnlock()
	if n := len(s.allocations.fast) + len(s.allocations.addresses); n > 0 {
		t.Errorf("%d entries stay", n)
	}
}

// local returns the address that the relay sees of a client on this machine.
func local(t *testing.T, c *turn.Client) netip.AddrPort {
	t.Helper()
	a, err := c.SendBindingRequestTo(c.TURNServerAddr())
	if err != nil {
		t.Fatal(err)
	}
	return unmap(a.(*net.UDPAddr).AddrPort())
}

func TestAJoinedPieceIsForwardedAsFarAsItsChannelGoes(t *testing.T) {
	list := newAllocations(8, 8, nil)
	socket := func() *net.UDPConn {
		c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	at := func(c *net.UDPConn) netip.AddrPort { return unmap(c.LocalAddr().(*net.UDPAddr).AddrPort()) }
	nodeA, nodeB, sendA := socket(), socket(), socket()
	f, err := newFront(socket(), list)
	if err != nil {
		t.Fatal(err)
	}
	relayedA, relayedB := netip.MustParseAddrPort("192.0.2.1:1001"), netip.MustParseAddrPort("192.0.2.1:1002")
	for user, relayed := range map[string]netip.AddrPort{"a": relayedA, "b": relayedB} {
		if _, err := list.add(user, relayed.String(), socket()); err != nil {
			t.Fatal(err)
		}
	}
	list.bound(f, at(nodeA), relayedA.String(), relayedB, 0x4001)
	list.bound(f, at(nodeB), relayedB.String(), relayedA, 0x4abc)
	message := func(number uint16, length, size int) []byte {
		b := bytes.Repeat([]byte{7}, channelHeader+size)
		binary.BigEndian.PutUint16(b, number)
		binary.BigEndian.PutUint16(b[2:], uint16(length))
		return b
	}
	good := message(0x4001, 100, 100)
	for name, c := range map[string]struct {
		rest []byte // after two good ones
		left int
	}{
		"another channel":    {message(0x4002, 100, 100), 104},
		"STUN":               {append([]byte{0, 1}, make([]byte, 102)...), 104},
		"a length too long":  {message(0x4001, 101, 100), 104},
		"too much padding":   {message(0x4001, 96, 100), 104},
		"half a header":      {[]byte{0x40, 0x01}, 2},
		"a shorter last one": {message(0x4001, 10, 10), 0},
		"nothing":            {nil, 0},
	} {
		b := append(append(bytes.Clone(good), good...), c.rest...)
		p := udpbatch.Piece{Bytes: b, Segment: len(good), From: at(nodeA)}
		f.forward(&p)
		if len(p.Bytes) != c.left {
			t.Errorf("%s: %d bytes are left to the library, not %d", name, len(p.Bytes), c.left)
		}
		want := 2
		if c.left == 0 && c.rest != nil {
			want++
		}
		got := make([]byte, 2000)
		for i := range want {
			_ = nodeB.SetReadDeadline(time.Now().Add(20 * time.Second))
			n, err := nodeB.Read(got)
			if err != nil || n < channelHeader || binary.BigEndian.Uint16(got) != 0x4abc {
				t.Fatalf("%s: datagram %d: %d bytes, %v", name, i, n, err)
			}
		}
	}
	p := udpbatch.Piece{Bytes: bytes.Clone(good), Segment: len(good), From: at(sendA)}
	if f.forward(&p); len(p.Bytes) != len(good) {
		t.Error("a stranger's packet is forwarded")
	}
	list.unbound(f, at(nodeB), relayedB.String(), relayedA, 0x4abc)
	p = udpbatch.Piece{Bytes: bytes.Clone(good), Segment: len(good), From: at(nodeA)}
	if f.forward(&p); len(p.Bytes) != len(good) {
		t.Error("a packet is forwarded to a node without a channel for its sender")
	}
}

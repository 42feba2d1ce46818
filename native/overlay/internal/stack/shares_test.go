package stack

import (
	"errors"
	"net"
	"net/netip"
	"syscall"
	"testing"
)

func TestAPeerTakesAShareOfTheConnections(t *testing.T) {
	a, b, _ := pair(t)
	if err := b.Offer("tcp", 7, echoTCP(t)); err != nil {
		t.Fatal(err)
	}
	dial := func(to netip.Addr) (net.Conn, error) { // a's address of the same version is the source, and a peer of its own
		return a.DialAddr(t.Context(), "tcp", netip.AddrPortFrom(to, 7))
	}
	var open []net.Conn
	for i := range MaxConnections / 4 {
		c, err := dial(addrB[1])
		if err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
		open = append(open, c)
	}
	if c, err := dial(addrB[1]); err == nil {
		c.Close()
		t.Error("a peer has more than its share")
	}
	c, err := dial(addrB[0])
	if err != nil {
		t.Fatalf("another peer: %v", err)
	}
	defer c.Close()
	if !answers(t, c) {
		t.Error("another peer gets no answer")
	}
	for _, c := range open {
		c.Close()
	}
	until(t, "free places", func() bool {
		c, err := dial(addrB[1])
		if err == nil {
			c.Close()
		}
		return err == nil
	})
}

func TestAPeerTakesAShareOfAnExposedPort(t *testing.T) {
	node := netip.MustParsePrefix("127.0.1.0/24") // its addresses are of one peer
	owner := func(a netip.Addr) (key [32]byte) {
		if node.Contains(a) {
			key[0] = 1
		}
		return key
	}
	f := NewExposer("", nil, owner, nil)
	t.Cleanup(f.Close)
	port := freePort(t)
	for network, target := range map[string]string{"tcp": echoTCP(t), "udp": echoUDP(t)} {
		if _, err := f.Expose(network, atLoopback, port, target); err != nil {
			t.Fatal(err)
		}
		served := func(from netip.Addr) bool {
			d := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0))}
			if network == "udp" {
				d.LocalAddr = net.UDPAddrFromAddrPort(netip.AddrPortFrom(from, 0))
			}
			c, err := d.Dial(network, netip.AddrPortFrom(atLoopback[0], port).String())
			if errors.Is(err, syscall.ECONNRESET) {
				return false // it was closed before the dial ended
			}
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Close() })
			return answers(t, c)
		}
		for i := range MaxConnections / 4 {
			if !served(netip.AddrFrom4([4]byte{127, 0, 1, byte(i)})) {
				t.Fatalf("%s: place %d is refused", network, i)
			}
		}
		if served(netip.MustParseAddr("127.0.1.9")) {
			t.Errorf("%s: a peer has more than its share", network)
		}
		if !served(netip.MustParseAddr("127.0.0.9")) {
			t.Errorf("%s: another peer is refused", network)
		}
	}
}

package stack

import (
	"net"
	"net/netip"
	"strconv"
	"testing"
	"time"
)

// exposed are loopback addresses in place of those of a TUN interface.
var exposed = []netip.Addr{netip.MustParseAddr("127.0.0.2"), netip.MustParseAddr("127.0.0.3")}

// freePort returns a port that is free at all addresses.
func freePort(t *testing.T) uint16 {
	t.Helper()
	l, err := net.Listen("tcp4", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return uint16(l.Addr().(*net.TCPAddr).Port)
}

func TestExposedPortsLeadToTheirTarget(t *testing.T) {
	f := NewForwarder(System{}, names{}, nil, nil)
	t.Cleanup(f.Close)
	port := freePort(t)
	end, err := f.Expose("tcp", exposed, port, echoTCP(t))
	if err != nil {
		t.Fatal(err)
	}
	endUDP, err := f.Expose("udp", exposed, port, echoUDP(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range exposed {
		c, err := net.Dial("tcp", netip.AddrPortFrom(a, port).String())
		if err != nil {
			t.Fatal(err)
		}
		exchange(t, c, 4096)
		d, err := net.Dial("udp", netip.AddrPortFrom(a, port).String())
		if err != nil {
			t.Fatal(err)
		}
		d.SetDeadline(time.Now().Add(5 * time.Second))
		buf := make([]byte, 16)
		if _, err := d.Write([]byte("record")); err != nil {
			t.Fatal(err)
		}
		if n, err := d.Read(buf); err != nil || string(buf[:n]) != "record" {
			t.Fatalf("%q, %v", buf[:n], err)
		}
		d.Close()
	}
	if n := len(f.List()); n != 4 {
		t.Errorf("%d ports", n)
	}
	end()
	endUDP()
	if n := len(f.List()); n != 0 {
		t.Errorf("%d ports are left", n)
	}
	if c, err := net.Dial("tcp", netip.AddrPortFrom(exposed[0], port).String()); err == nil {
		c.Close()
		t.Error("a withdrawn port was reached")
	}
}

func TestAnExposedPortIsLeftToTheProgramThatHasIt(t *testing.T) {
	l, err := net.Listen("tcp4", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	port := uint16(l.Addr().(*net.TCPAddr).Port)
	f := NewForwarder(System{}, names{}, nil, nil)
	t.Cleanup(f.Close)
	end, err := f.Expose("tcp", exposed, port, "127.0.0.1:"+strconv.Itoa(int(port)))
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	if n := len(f.List()); n != 0 {
		t.Errorf("%d ports of the program were taken", n)
	}
	// A target with another port is not that program.
	if _, err := f.Expose("tcp", exposed, port, "127.0.0.1:1"); err == nil {
		t.Error("a port of another program was offered")
	}
	// An address that is not this host's is an error, and leaves no port behind.
	if _, err := f.Expose("tcp", append(exposed[:1:1], netip.MustParseAddr("192.0.2.1")), freePort(t), "127.0.0.1:1"); err == nil {
		t.Error("a port at an address of others")
	}
	if n := len(f.List()); n != 0 {
		t.Errorf("%d ports are left", n)
	}
}

func TestAnExposedPortServesTheOverlayAlone(t *testing.T) {
	within := []netip.Prefix{netip.MustParsePrefix("127.0.0.2/31")}
	f := NewForwarder(System{}, names{}, within, nil)
	t.Cleanup(f.Close)
	port := freePort(t)
	for network, target := range map[string]string{"tcp": echoTCP(t), "udp": echoUDP(t)} {
		if _, err := f.Expose(network, exposed, port, target); err != nil {
			t.Fatal(err)
		}
		for from, isServed := range map[string]bool{"127.0.0.1": false, "127.0.0.3": true} {
			d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
			if network == "udp" {
				d.LocalAddr = &net.UDPAddr{IP: net.ParseIP(from)}
			}
			c, err := d.Dial(network, netip.AddrPortFrom(exposed[0], port).String())
			if err == nil {
				t.Cleanup(func() { c.Close() })
			}
			if served := err == nil && answers(t, c); served != isServed {
				t.Errorf("%s from %s: served %v, %v", network, from, served, err)
			}
		}
	}
}

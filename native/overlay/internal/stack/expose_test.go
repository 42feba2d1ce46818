package stack

import (
	"errors"
	"net"
	"net/netip"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// atLoopback are loopback addresses in place of those of a TUN interface.
var atLoopback = []netip.Addr{netip.MustParseAddr("127.0.0.2"), netip.MustParseAddr("127.0.0.3")}

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
	f := NewExposer("", nil, nil, nil)
	t.Cleanup(f.Close)
	port := freePort(t)
	end, err := f.Expose("tcp", atLoopback, port, echoTCP(t))
	if err != nil {
		t.Fatal(err)
	}
	endUDP, err := f.Expose("udp", atLoopback, port, echoUDP(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range atLoopback {
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
	if c, err := net.Dial("tcp", netip.AddrPortFrom(atLoopback[0], port).String()); err == nil {
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
	f := NewExposer("", nil, nil, nil)
	t.Cleanup(f.Close)
	end, err := f.Expose("tcp", atLoopback, port, "127.0.0.1:"+strconv.Itoa(int(port)))
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	if n := len(f.List()); n != 0 {
		t.Errorf("%d ports of the program were taken", n)
	}
	// A target with another port is not that program.
	if _, err := f.Expose("tcp", atLoopback, port, "127.0.0.1:1"); err == nil {
		t.Error("a port of another program was offered")
	}
	if n := len(f.List()); n != 0 {
		t.Errorf("%d ports are left", n)
	}
}

func TestAnAddressThatTheHostDoesNotHaveIsSkipped(t *testing.T) {
	f := NewExposer("", nil, nil, nil)
	t.Cleanup(f.Close)
	others := []netip.Addr{netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("192.0.2.1")}
	for _, network := range []string{"tcp", "udp"} {
		end, err := f.Expose(network, []netip.Addr{others[0], atLoopback[0]}, freePort(t), "127.0.0.1:1")
		if err != nil {
			t.Errorf("%s: %v", network, err)
			continue
		}
		if n := len(f.List()); n != 1 {
			t.Errorf("%s: %d ports", network, n)
		}
		end()
		if _, err := f.Expose(network, others, freePort(t), "127.0.0.1:1"); !errors.Is(err, syscall.EADDRNOTAVAIL) {
			t.Errorf("%s at addresses of others alone: %v", network, err)
		}
		if n := len(f.List()); n != 0 {
			t.Errorf("%s: %d ports are left", network, n)
		}
	}
}

func TestAnExposedPortServesOnlyTheOverlay(t *testing.T) {
	within := []netip.Prefix{netip.MustParsePrefix("127.0.0.2/31")}
	f := NewExposer("", within, nil, nil)
	t.Cleanup(f.Close)
	port := freePort(t)
	for network, target := range map[string]string{"tcp": echoTCP(t), "udp": echoUDP(t)} {
		if _, err := f.Expose(network, atLoopback, port, target); err != nil {
			t.Fatal(err)
		}
		for from, isServed := range map[string]bool{"127.0.0.1": false, "127.0.0.3": true} {
			d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
			if network == "udp" {
				d.LocalAddr = &net.UDPAddr{IP: net.ParseIP(from)}
			}
			c, err := d.Dial(network, netip.AddrPortFrom(atLoopback[0], port).String())
			if err == nil {
				t.Cleanup(func() { c.Close() })
			}
			if served := err == nil && answers(t, c); served != isServed {
				t.Errorf("%s from %s: served %v, %v", network, from, served, err)
			}
		}
	}
}

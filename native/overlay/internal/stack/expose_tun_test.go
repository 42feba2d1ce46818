package stack

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"seganet.internal/overlay/internal/packet/craft"
	"seganet.internal/overlay/internal/stack/stacktest"
	"seganet.internal/overlay/internal/tundev"
)

// newHost makes a host of the LAN: another network that is connected by the interfaces lan0, here, and lan1. The returned
// function runs f there.
func newHost(t *testing.T) (there func(f func())) {
	t.Helper()
	work, done, thread := make(chan func()), make(chan struct{}), make(chan int)
	t.Cleanup(func() { close(work) })
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			t.Error(err)
		}
		thread <- unix.Gettid()
		for f := range work {
			f()
			done <- struct{}{}
		}
	}()
	stacktest.IP(t, "link add lan0 type veth peer name lan1")
	stacktest.IP(t, fmt.Sprintf("link set lan1 netns %d", <-thread))
	return func(f func()) { work <- f; <-done }
}

// Packets of a LAN host that uses the address of a peer passed no policy.
func TestAHostOfTheLANCannotPoseAsAPeer(t *testing.T) {
	if !stacktest.Namespace(t) {
		return
	}
	d, err := tundev.Open(tundev.Options{Name: "ov0", Addresses: addrB, Routes: inB, Offload: "off"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	lan := []netip.Addr{netip.MustParseAddr("fd00:2::2"), netip.MustParseAddr("10.0.0.2")}
	there := newHost(t)
	stacktest.IP(t, "addr add 10.0.0.1/24 dev lan0")
	stacktest.IP(t, "addr add fd00:2::1/64 dev lan0 nodad")
	stacktest.IP(t, "link set lan0 up")
	for _, name := range []string{"all", "lan0"} {
		if err := os.WriteFile("/proc/sys/net/ipv4/conf/"+name+"/rp_filter", []byte("0"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	there(func() {
		for _, args := range []string{"addr add 10.0.0.2/24 dev lan1", "addr add fd00:2::2/64 dev lan1 nodad", "link set lan1 up",
			"addr add 198.18.0.1/32 dev lan1", "addr add fd00:1::1/128 dev lan1 nodad", "route add 198.18.0.2 via 10.0.0.1", "route add fd00:1::2 via fd00:2::1"} {
			stacktest.IP(t, args)
		}
	})
	target, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { target.Close() })
	f := NewExposer(d.IfName(), inB, nil, nil)
	t.Cleanup(f.Close)
	for _, network := range []string{"tcp", "udp"} {
		if _, err := f.Expose(network, addrB, 5683, target.LocalAddr().String()); err != nil {
			t.Fatal(err)
		}
	}
	arrived := func() (texts []string) {
		buf := make([]byte, 64)
		for {
			_ = target.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
			n, _, err := target.ReadFrom(buf)
			if err != nil {
				return texts
			}
			texts = append(texts, string(buf[:n]))
		}
	}
	for i, to := range addrB {
		there(func() {
			c, err := net.DialUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(addrA[i], 4000)), net.UDPAddrFromAddrPort(netip.AddrPortFrom(to, 5683)))
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			for range 3 {
				_, _ = c.Write([]byte("forged"))
				time.Sleep(20 * time.Millisecond)
			}
		})
		const room = 16
		p := append(make([]byte, room), craft.UDP(netip.AddrPortFrom(addrA[i], 4001), netip.AddrPortFrom(to, 5683), []byte("of a peer"))...)
		if _, err := d.Write([][]byte{p}, room); err != nil {
			t.Fatal(err)
		}
		if got := arrived(); !slices.Equal(got, []string{"of a peer"}) {
			t.Errorf("%s got %q", to, got)
		}
		there(func() { // with the host's own address, as an answer to a peer's goes into the overlay
			d := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(lan[i], 0)), Timeout: 5 * time.Second}
			c, err := d.Dial("tcp", netip.AddrPortFrom(to, 5683).String())
			if err == nil {
				c.Close()
			}
			if !errors.Is(err, syscall.ECONNREFUSED) {
				t.Errorf("the host's connection to %s: %v", to, err)
			}
		})
	}
}

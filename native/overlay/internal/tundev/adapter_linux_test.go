package tundev

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"seganet.internal/overlay/internal/adapter"
	"seganet.internal/overlay/internal/stack"
	"seganet.internal/overlay/internal/stack/stacktest"
)

const (
	devices    = 10
	devicePort = 502
)

func lan(i int) netip.Addr     { return netip.AddrFrom4([4]byte{192, 168, 50, byte(10 + i)}) }
func lan6(i int) netip.Addr    { return netip.MustParseAddr(fmt.Sprintf("2001:db8:50::%x", 10+i)) }
func virtual(i int) netip.Addr { return netip.AddrFrom4([4]byte{198, 18, 1, byte(10 + i)}) }
func virtual6(i int) netip.Addr {
	return netip.MustParseAddr(fmt.Sprintf("fd00:1::1:%x", 10+i))
}

// TestDevicesBehindTUN is criterion 19 with a TUN: ten ordinary devices on a LAN of their own, by TCP and UDP, IPv4 and IPv6, both ways, through
// real kernels. The far end of the overlay is a network stack.
func TestDevicesBehindTUN(t *testing.T) {
	if !stacktest.Namespace(t) {
		return
	}
	// The LAN: a process in another namespace has all devices' addresses.
	lanSide := exec.Command("/proc/self/exe", "-test.run=^TestDevicesProcess$", "-test.v")
	lanSide.Env = append(os.Environ(), "SEGANET_TEST_DEVICES=1")
	lanSide.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	lanSide.Stderr = os.Stderr
	end, err := lanSide.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := lanSide.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { end.Close(); lanSide.Wait() }()
	stacktest.IP(t, "link add lan0 type veth peer name dev0")
	stacktest.IP(t, fmt.Sprintf("link set dev0 netns %d", lanSide.Process.Pid))
	stacktest.IP(t, "addr add 192.168.50.1/24 dev lan0")
	stacktest.IP(t, "addr add 2001:db8:50::1/64 dev lan0 nodad")
	stacktest.IP(t, "link set lan0 up")
	for _, f := range []string{"ipv4/ip_forward", "ipv6/conf/all/forwarding"} {
		if err := os.WriteFile("/proc/sys/net/"+f, []byte("1"), 0o644); err != nil {
			t.Skip("forwarding cannot be turned on here: ", err)
		}
	}

	d, err := Open(options("auto"))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	t.Log("offloads: ", d.Offload())
	var table adapter.Table
	for i := range devices {
		table = append(table, adapter.Device{Name: fmt.Sprintf("d%d", i), LAN: lan(i), LAN6: lan6(i), Addr4: virtual(i), Addr6: virtual6(i)})
	}
	tr := adapter.NewTranslator(table, DefaultMTU)
	hub4, hub6 := netip.MustParseAddr("198.18.0.2"), netip.MustParseAddr("fd00:1::2")
	hub, err := stack.New(stack.Options{Addresses: []netip.Addr{hub6, hub4}})
	if err != nil {
		t.Fatal(err)
	}
	defer hub.Close()
	l4, err := hub.ListenTCP(netip.AddrPortFrom(hub4, 8883))
	if err != nil {
		t.Fatal(err)
	}
	l6, err := hub.ListenTCP(netip.AddrPortFrom(hub6, 8883))
	if err != nil {
		t.Fatal(err)
	}
	from := make(chan string, 2*devices)
	for _, l := range []net.Listener{l4, l6} {
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				go func() {
					defer c.Close()
					text, _ := io.ReadAll(c) // 100,000 bytes: several segments, GSO on the way
					if len(text) == 100000 {
						from <- c.RemoteAddr().(*net.TCPAddr).AddrPort().Addr().String()
					}
				}()
			}
		}()
	}
	stacktest.Join(adapter.Wrap(d, tr), hub.Device(), nil)

	rtt := map[int][]time.Duration{}
	for i := range devices {
		for _, a := range []netip.Addr{virtual(i), virtual6(i)} {
			for _, network := range []string{"tcp", "udp"} {
				// The devices' process sets itself up meanwhile: the first dial is repeated.
				text := exchangeUntil(t, hub, network, netip.AddrPortFrom(a, devicePort))
				want := lan(i)
				if a.Is6() {
					want = lan6(i)
				}
				if text != want.String()+" got hello" {
					t.Fatalf("%s by %s: %q", a, network, text)
				}
			}
		}
	}
	for n := range 200 { // round trips to one device and to all in turn
		for _, i := range []int{0, n % devices} {
			count := 1
			if i != 0 {
				count = devices
			}
			start := time.Now()
			if _, err := exchange(hub, "udp", netip.AddrPortFrom(virtual(i), devicePort)); err == nil {
				rtt[count] = append(rtt[count], time.Since(start))
			}
		}
	}
	slices.Sort(rtt[1])
	slices.Sort(rtt[devices])
	t.Logf("round trip p50: one device %v, ten devices %v", rtt[1][len(rtt[1])/2], rtt[devices][len(rtt[devices])/2])

	// Both ways: each device connects to the broker at the hub, which sees the device's virtual address.
	fmt.Fprintf(end, "%s\n%s\n", netip.AddrPortFrom(hub4, 8883), netip.AddrPortFrom(hub6, 8883))
	seen := map[string]bool{}
	deadline := time.After(60 * time.Second)
	for len(seen) < 2*devices {
		select {
		case a := <-from:
			seen[a] = true
		case <-deadline:
			t.Fatalf("%d of %d connections of devices arrived: %v", len(seen), 2*devices, seen)
		}
	}
	for i := range devices {
		if !seen[virtual(i).String()] || !seen[virtual6(i).String()] {
			t.Errorf("device %d did not come by its virtual addresses: %v", i, seen)
		}
	}
}

func exchangeUntil(t *testing.T, s *stack.Stack, network string, to netip.AddrPort) string {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		text, err := exchange(s, network, to)
		if err == nil {
			return text
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s by %s: %v", to, network, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func exchange(s *stack.Stack, network string, to netip.AddrPort) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	c, err := s.DialAddr(ctx, network, to)
	if err != nil {
		return "", err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(2 * time.Second))
	if _, err := io.WriteString(c, "hello"); err != nil {
		return "", err
	}
	buf := make([]byte, 100)
	n, err := c.Read(buf)
	return string(buf[:n]), err
}

// TestDevicesProcess is the LAN's side of TestDevicesBehindTUN: it answers at every device's addresses, and connects from each of them to the
// addresses that it reads from its standard input. It ends with its standard input.
func TestDevicesProcess(t *testing.T) {
	if os.Getenv("SEGANET_TEST_DEVICES") == "" {
		t.Skip("a part of TestDevicesBehindTUN")
	}
	for range 2000 {
		if _, err := netlink.LinkByName("dev0"); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	stacktest.IP(t, "link set dev0 up")
	for i := range devices {
		stacktest.IP(t, fmt.Sprintf("addr add %s/24 dev dev0", lan(i)))
		stacktest.IP(t, fmt.Sprintf("addr add %s/64 dev dev0 nodad", lan6(i)))
	}
	stacktest.IP(t, "route add 198.18.0.0/16 via 192.168.50.1")
	stacktest.IP(t, "route add fd00:1::/48 via 2001:db8:50::1")
	for i := range devices {
		for _, a := range []netip.Addr{lan(i), lan6(i)} {
			serveDevice(t, a)
		}
	}
	text := make([]byte, 1000)
	n, _ := os.Stdin.Read(text)
	for _, to := range strings.Fields(string(text[:n])) {
		for i := range devices {
			a := lan(i)
			if to[0] == '[' {
				a = lan6(i)
			}
			d := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(a, 0)), Timeout: 10 * time.Second}
			c, err := d.Dial("tcp", to)
			if err != nil {
				t.Errorf("%s to %s: %v", a, to, err)
				continue
			}
			c.Write(make([]byte, 100000))
			c.Close()
		}
	}
	os.Stdin.Read(text)
}

func serveDevice(t *testing.T, a netip.Addr) {
	at := netip.AddrPortFrom(a, devicePort).String()
	l, err := net.Listen("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	p, err := net.ListenPacket("udp", at)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				buf := make([]byte, 100)
				n, _ := c.Read(buf)
				fmt.Fprintf(c, "%s got %s", a, buf[:n])
			}()
		}
	}()
	go func() {
		buf := make([]byte, 100)
		for {
			n, from, err := p.ReadFrom(buf)
			if err != nil {
				return
			}
			p.WriteTo(fmt.Appendf(nil, "%s got %s", a, buf[:n]), from)
		}
	}()
}

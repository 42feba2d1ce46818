package tundev

import (
	"bytes"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tailscale/wireguard-go/tun"
	"github.com/vishvananda/netlink"

	"seganet.internal/overlay/internal/packet/craft"
	"seganet.internal/overlay/internal/stack/stacktest"
)

var (
	own    = []netip.Addr{netip.MustParseAddr("fd00:1::1"), netip.MustParseAddr("198.18.0.1")}
	routes = []netip.Prefix{netip.MustParsePrefix("fd00:1::/48"), netip.MustParsePrefix("198.18.0.0/16")}
)

func options(offload string) Options {
	return Options{Name: "ov0", Addresses: own, Routes: routes, Offload: offload}
}

func TestOpen(t *testing.T) {
	if !stacktest.Namespace(t) {
		return
	}
	for _, offload := range []string{"auto", "on", "off"} {
		o := options(offload)
		var text bytes.Buffer
		o.Log = slog.New(slog.NewTextHandler(&text, nil))
		d, err := Open(o)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %s\n%s", offload, d.Offload(), text.String())
		if mtu, _ := d.MTU(); mtu != DefaultMTU || d.IfName() != "ov0" {
			t.Errorf("MTU %d of %s", mtu, d.IfName())
		}
		if offload == "auto" && !strings.HasPrefix(d.Offload(), "on") || offload == "off" && d.BatchSize() != 1 {
			t.Errorf("%s: %s, batches of %d", offload, d.Offload(), d.BatchSize())
		}
		link, _ := netlink.LinkByName("ov0")
		have, _ := netlink.AddrList(link, netlink.FAMILY_ALL)
		list, _ := netlink.RouteList(link, netlink.FAMILY_ALL)
		for i := range own {
			if !hasAddress(have, own[i]) || !hasRoute(list, routes[i]) {
				t.Errorf("%s or %s is missing: %v %v", own[i], routes[i], have, list)
			}
		}
		answer(t, d, netip.MustParseAddrPort("198.18.7.7:7"))
		answer(t, d, netip.MustParseAddrPort("[fd00:1::7]:7"))
		if _, err := Open(o); err == nil || !strings.Contains(err.Error(), "in use") {
			t.Errorf("a second program: %v", err)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

// answer checks that a datagram of the kernel comes out of the device and that the answer reaches the program.
func answer(t *testing.T, d tun.Device, peer netip.AddrPort) {
	t.Helper()
	c, err := net.Dial("udp", peer.String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.Write([]byte("question"))
	bufs, sizes := make([][]byte, d.BatchSize()), make([]int, d.BatchSize())
	for i := range bufs {
		bufs[i] = make([]byte, 2000)
	}
	for {
		n, err := d.Read(bufs, sizes, 0)
		if err != nil {
			t.Fatal(err)
		}
		if n == 1 && craft.Valid(bufs[0][:sizes[0]]) && bytes.HasSuffix(bufs[0][:sizes[0]], []byte("question")) {
			break
		}
	}
	if err := write(d, craft.UDP(peer, c.LocalAddr().(*net.UDPAddr).AddrPort(), []byte("answer"))); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 100)
	c.SetReadDeadline(time.Now().Add(20 * time.Second))
	if n, err := c.Read(buf); err != nil || string(buf[:n]) != "answer" {
		t.Fatalf("%q %v", buf[:n], err)
	}
}

func TestRefusesAnOverlap(t *testing.T) {
	if !stacktest.Namespace(t) {
		return
	}
	stacktest.IP(t, "link add lan0 type veth peer name lan1")
	stacktest.IP(t, "link set lan0 up")
	for _, route := range []string{"198.18.0.0/15", "198.18.5.0/24", "198.18.0.9/32"} {
		stacktest.IP(t, "route add "+route+" dev lan0")
		if d, err := Open(options("off")); err == nil {
			d.Close()
			t.Errorf("%s was accepted", route)
		} else if !strings.Contains(err.Error(), route) && !strings.Contains(err.Error(), "198.18.0.9") || !strings.Contains(err.Error(), "lan0") {
			t.Errorf("%s: %v", route, err)
		}
		stacktest.IP(t, "route del "+route+" dev lan0")
	}
	stacktest.IP(t, "route add default dev lan0")
	d, err := Open(options("off"))
	if err != nil {
		t.Fatalf("with a default route: %v", err)
	}
	d.Close()
	stacktest.IP(t, "link add ov1 type veth peer name ov2")
	o := options("off")
	o.Name = "ov1"
	if _, err := Open(o); err == nil || !strings.Contains(err.Error(), "no TUN") {
		t.Errorf("another kind of interface: %v", err)
	}
}

// TestAttach opens an interface that an administrator made, in a process without privilege.
func TestAttach(t *testing.T) {
	if !stacktest.Namespace(t) {
		return
	}
	const user = 65534
	unprivileged := func() (string, error) {
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestAttachUnprivileged$", "-test.v")
		cmd.Env = append(os.Environ(), "SEGANET_TEST_ATTACH=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
		cmd.Dir = "/"
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if err := os.Chmod("/dev/net/tun", 0o666); err != nil { // as every distribution has it
		t.Skip("the device node cannot be opened to users: ", err)
	}
	defer os.Chmod("/dev/net/tun", 0o600)
	out, err := unprivileged()
	if err == nil || !strings.Contains(out, "ip tuntap add dev ov0 mode tun user 65534") {
		t.Fatalf("without an interface: %s", out)
	}
	stacktest.IP(t, fmt.Sprintf("tuntap add dev ov0 mode tun user %d", user))
	out, err = unprivileged()
	if err == nil || !strings.Contains(out, "ip link set ov0 mtu 1280; ip addr add fd00:1::1/128 dev ov0") {
		t.Fatalf("without a set-up: %s", out)
	}
	stacktest.IP(t, "link set ov0 mtu 1280")
	for i := range own {
		stacktest.IP(t, fmt.Sprintf("addr add %s dev ov0", own[i]))
	}
	stacktest.IP(t, "link set ov0 up")
	for i := range routes {
		stacktest.IP(t, fmt.Sprintf("route add %s dev ov0", routes[i]))
	}
	if out, err = unprivileged(); err != nil {
		t.Fatalf("%s %v", out, err)
	}
}

// TestAttachUnprivileged is the part of TestAttach in the process without privilege.
func TestAttachUnprivileged(t *testing.T) {
	if os.Getenv("SEGANET_TEST_ATTACH") == "" {
		t.Skip("a part of TestAttach")
	}
	d, err := Open(options("auto"))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	answer(t, d, netip.MustParseAddrPort("198.18.7.7:7"))
}

func TestOptions(t *testing.T) {
	for _, o := range []Options{{}, {Name: "a/b", Addresses: own}, {Name: "abcdefghijklmnop", Addresses: own}, {Addresses: own, MTU: 1279},
		{Addresses: own, MTU: MaxMTU + 1}, {Addresses: own, Offload: "maybe"}} {
		if err := o.check(); err == nil {
			t.Errorf("%+v was accepted", o)
		}
	}
}

// damaged is an interface whose offloads lose packets that arrive in one piece.
type damaged struct {
	tun.Device
	tcpOff, udpOff bool
}

func (d *damaged) DisableUDPGRO() { d.udpOff = true }
func (d *damaged) DisableTCPGRO() { d.tcpOff = true }
func (d *damaged) Write(bufs [][]byte, offset int) (int, error) {
	if len(bufs) > 1 && (bufs[0][offset+9] == 17 && !d.udpOff || bufs[0][offset+9] == 6 && !d.tcpOff) {
		return len(bufs), nil
	}
	return d.Device.Write(bufs, offset)
}

func TestSelfTestTurnsOffWhatFails(t *testing.T) {
	if !stacktest.Namespace(t) {
		return
	}
	o := options("on")
	if err := o.check(); err != nil {
		t.Fatal(err)
	}
	real, err := open(&o, true)
	if err != nil {
		t.Fatal(err)
	}
	defer real.Close()
	d := &damaged{Device: real.Device}
	result, err := selfTest(d, &o)
	if err != nil || !d.tcpOff || !d.udpOff || result != "on without UDP GRO without TCP GRO" {
		t.Fatalf("%q %v %+v", result, err, d)
	}
	stacktest.IP(t, "route add blackhole 198.18.255.254")
	if result, err := selfTest(&damaged{Device: real.Device}, &o); err != nil || !strings.Contains(result, "on") {
		t.Fatalf("undecided: %q %v", result, err)
	}
}

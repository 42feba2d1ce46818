package adapter

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tailscale/wireguard-go/tun"

	"seganet.internal/overlay/internal/identity"
	"seganet.internal/overlay/internal/packet"
	"seganet.internal/overlay/internal/packet/craft"
	"seganet.internal/overlay/internal/policy"
	"seganet.internal/overlay/internal/stack"
	"seganet.internal/overlay/internal/stack/stacktest"
	"seganet.internal/overlay/internal/wire"
)

const two = `{"devices":[{"name":"pump","lan":"192.168.1.7","lan6":"2001:db8::7","ports":["tcp/502","icmp"]},{"name":"lamp","lan":"192.168.1.8","ports":["udp/5683"],"groups":["lamps"]}]}`

var assigned = []wire.Device{
	{Name: "lamp", Addr4: netip.MustParseAddr("198.18.0.8"), Addr6: netip.MustParseAddr("fd00:1::8")},
	{Name: "pump", Addr4: netip.MustParseAddr("198.18.0.7"), Addr6: netip.MustParseAddr("fd00:1::7")},
}

func bound(t *testing.T) Table {
	t.Helper()
	table, err := ParseTable([]byte(two))
	if err != nil {
		t.Fatal(err)
	}
	table, err = table.Bind(assigned)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestParseTable(t *testing.T) {
	table := bound(t)
	if !slices.Equal(table.Names(), []string{"pump", "lamp"}) || table[0].Addr4 != assigned[1].Addr4 {
		t.Fatalf("%+v", table)
	}
	targets := table.Targets(false)
	if targets[1].Addresses[0] != assigned[0].Addr6 || targets[1].Groups[0] != "lamps" || targets[0].Ports[0] != "tcp/502" {
		t.Fatalf("%+v", targets)
	}
	if targets = table.Targets(true); len(targets) != 3 || len(targets[0].Addresses) != 2 || !slices.Equal(targets[1].Addresses, []netip.Addr{assigned[0].Addr4}) ||
		!slices.Equal(targets[2].Addresses, []netip.Addr{assigned[0].Addr6}) || len(targets[2].Ports) != 0 {
		t.Fatalf("behind a translator: %+v", targets)
	}
	if _, err := table.Bind(assigned[:1]); err == nil || !strings.Contains(err.Error(), "pump") {
		t.Error(err)
	}
	if part := table.Bound(assigned[:1]); len(part) != 1 || part[0].Name != "lamp" || part[0].Addr4 != assigned[0].Addr4 {
		t.Errorf("%+v", part)
	}
	row := func(s string) string { return `{"devices":[` + s + `]}` }
	many := strings.TrimSuffix(strings.Repeat(`{"name":"a","lan":"10.0.0.1","ports":[]},`, wire.MaxDevices+1), ",")
	for what, text := range map[string]string{
		"nothing":            ``,
		"no object":          `[]`,
		"unknown field":      row(`{"name":"a","lan":"10.0.0.1","ports":[],"x":1}`),
		"no address":         row(`{"name":"a","ports":[]}`),
		"no name":            row(`{"lan":"10.0.0.1","ports":[]}`),
		"name with a dot":    row(`{"name":"a.b","lan":"10.0.0.1","ports":[]}`),
		"host name":          row(`{"name":"a","lan":"plc","ports":[]}`),
		"link-local":         row(`{"name":"a","lan":"fe80::1","ports":[]}`),
		"multicast":          row(`{"name":"a","lan":"224.0.0.1","ports":[]}`),
		"mapped":             row(`{"name":"a","lan":"::ffff:10.0.0.1","ports":[]}`),
		"port":               row(`{"name":"a","lan":"10.0.0.1","ports":["tcp"]}`),
		"group":              row(`{"name":"a","lan":"10.0.0.1","ports":[],"groups":["a b"]}`),
		"second address":     row(`{"name":"a","lan":"10.0.0.1","lan6":"10.0.0.2","ports":[]}`),
		"two with one name":  row(`{"name":"a","lan":"10.0.0.1","ports":[]},{"name":"a","lan":"10.0.0.2","ports":[]}`),
		"two with one place": row(`{"name":"a","lan":"10.0.0.1","ports":[]},{"name":"b","lan":"10.0.0.1","ports":[]}`),
		"too many":           row(many),
		"too large":          row(`{"name":"a","lan":"10.0.0.1","ports":[]}`) + strings.Repeat(" ", MaxTableBytes),
	} {
		if _, err := ParseTable([]byte(text)); err == nil {
			t.Errorf("%s was accepted", what)
		}
	}
}

func TestAWrongKeyOfATableNamesTheRightOnes(t *testing.T) {
	_, err := ParseTable([]byte(`{"devices":[{"name":"pump","address":"192.168.1.7"}]}`))
	if err == nil {
		t.Fatal("it is accepted")
	}
	for _, key := range []string{`"address"`, `"devices"`, `"name"`, `"lan"`, `"ports"`, `"lan6"`, `"groups"`} {
		if !strings.Contains(err.Error(), key) {
			t.Errorf("%v does not name %s", err, key)
		}
	}
	if _, err := ParseTable([]byte(form[len("Write "):strings.Index(form, ";")])); err != nil {
		t.Errorf("the example is wrong: %v", err)
	}
}

func TestTranslate(t *testing.T) {
	table := bound(t)
	tr := NewTranslator(table, 1280)
	far := map[bool]netip.Addr{true: netip.MustParseAddr("198.18.3.3"), false: netip.MustParseAddr("fd00:1::33")}
	for _, c := range []struct{ lan, virtual netip.Addr }{
		{table[0].LAN, table[0].Addr4}, {table[0].LAN6, table[0].Addr6}, {table[1].LAN, table[1].Addr4},
	} {
		peer := netip.AddrPortFrom(far[c.lan.Is4()], 5000)
		in := craft.UDP(peer, netip.AddrPortFrom(c.virtual, 502), []byte("in"))
		tr.ToLAN(in)
		if want := craft.UDP(peer, netip.AddrPortFrom(c.lan, 502), []byte("in")); !bytes.Equal(in, want) {
			t.Errorf("%s: % x", c.virtual, in)
		}
		out := craft.TCP(netip.AddrPortFrom(c.lan, 502), peer, packet.SYN|packet.ACK, []byte{2, 4, 5, 0xb4}, nil)
		tr.FromLAN(out)
		var info packet.Info
		if packet.Parse(out, &info) != nil || info.Source != c.virtual || !craft.Valid(out) {
			t.Errorf("%s: %+v", c.lan, info)
		}
		if mss := int(out[info.Transport+22])<<8 | int(out[info.Transport+23]); mss > 1240 {
			t.Errorf("%s: MSS %d", c.lan, mss)
		}
	}
	for _, b := range [][]byte{nil, {0x45}, {0x60}, craft.UDP(netip.MustParseAddrPort("10.0.0.1:1"), netip.MustParseAddrPort("10.0.0.2:1"), nil)} {
		before := bytes.Clone(b)
		tr.ToLAN(b)
		tr.FromLAN(b)
		if !bytes.Equal(b, before) {
			t.Errorf("a packet of no device was changed: % x", b)
		}
	}
	tr.Set(nil)
	b := craft.UDP(netip.AddrPortFrom(table[0].LAN, 1), netip.MustParseAddrPort("198.18.3.3:1"), nil)
	if tr.FromLAN(b); netip.AddrFrom4([4]byte(b[12:16])) != table[0].LAN {
		t.Error("a removed device is translated")
	}
}

// channelTUN is a TUN interface for tests: what the engine writes comes out of out.
type channelTUN struct {
	in, out chan []byte
}

func (c *channelTUN) File() *os.File           { return nil }
func (c *channelTUN) Name() (string, error)    { return "test", nil }
func (c *channelTUN) MTU() (int, error)        { return 1280, nil }
func (c *channelTUN) Events() <-chan tun.Event { return nil }
func (c *channelTUN) BatchSize() int           { return 4 }
func (c *channelTUN) Close() error             { close(c.in); return nil }
func (c *channelTUN) Read(bufs [][]byte, sizes []int, offset int) (int, error) {
	b, ok := <-c.in
	if !ok {
		return 0, os.ErrClosed
	}
	sizes[0] = copy(bufs[0][offset:], b)
	return 1, nil
}
func (c *channelTUN) Write(bufs [][]byte, offset int) (int, error) {
	for _, b := range bufs {
		c.out <- bytes.Clone(b[offset:])
	}
	return len(bufs), nil
}

func TestWrap(t *testing.T) {
	table := bound(t)
	inner := &channelTUN{make(chan []byte, 1), make(chan []byte, 1)}
	w := Wrap(inner, NewTranslator(table, 1280))
	far := netip.MustParseAddrPort("198.18.3.3:9")
	w.Write([][]byte{append(make([]byte, 16), craft.UDP(far, netip.AddrPortFrom(table[0].Addr4, 1), nil)...)}, 16)
	if b := <-inner.out; !bytes.Equal(b, craft.UDP(far, netip.AddrPortFrom(table[0].LAN, 1), nil)) {
		t.Errorf("% x", b)
	}
	inner.in <- craft.UDP(netip.AddrPortFrom(table[0].LAN, 1), far, nil)
	bufs, sizes := [][]byte{make([]byte, 2000)}, make([]int, 1)
	if n, err := w.Read(bufs, sizes, 16); n != 1 || err != nil || !bytes.Equal(bufs[0][16:16+sizes[0]], craft.UDP(netip.AddrPortFrom(table[0].Addr4, 1), far, nil)) {
		t.Errorf("%d %v % x", n, err, bufs[0][16:16+sizes[0]])
	}
}

// TestDevicesWithoutPrivilege is criterion 19 without a TUN: ten devices behind one gateway, TCP and UDP, both ways, by the packet filter.
func TestDevicesWithoutPrivilege(t *testing.T) {
	const count = 10
	var table Table
	var certificate []identity.PeerDevice
	for i := range count { // each device has a loopback address of its own
		lan := netip.AddrFrom4([4]byte{127, 0, 7, byte(i + 1)})
		port := device(t, lan)
		d := Device{Name: fmt.Sprintf("d%d", i), LAN: lan, Ports: []string{fmt.Sprintf("tcp/%d", port), fmt.Sprintf("udp/%d", port)},
			Addr4: netip.AddrFrom4([4]byte{198, 18, 1, byte(i + 1)}), Addr6: netip.MustParseAddr(fmt.Sprintf("fd00:1::1:%x", i+1))}
		table = append(table, d)
		certificate = append(certificate, identity.PeerDevice{FQDN: d.Name, Addresses: []netip.Addr{d.Addr6, d.Addr4}})
	}
	addresses := func(i int) []netip.Addr {
		return []netip.Addr{netip.MustParseAddr(fmt.Sprintf("fd00:1::%x", i)), netip.AddrFrom4([4]byte{198, 18, 0, byte(i)})}
	}
	self := identity.Peer{FQDN: "gw.p.seganet.internal", Name: wire.Name{Node: "gw", Network: "p"}, Addresses: addresses(1), Devices: certificate, WGKey: [32]byte{1}}
	peer := identity.Peer{FQDN: "hub.p.seganet.internal", Name: wire.Name{Node: "hub", Network: "p"}, Addresses: addresses(2), WGKey: [32]byte{2}, Groups: []string{"hubs"}}
	filter := policy.New(nil)
	if err := filter.Update(wire.Policy{Allow: []wire.Rule{{From: "group:hubs", To: "node:gw", Ports: []string{"tcp/*", "udp/*"}}}}, self, nil); err != nil {
		t.Fatal(err)
	}
	if err := filter.SetDevices(table.Targets(false)); err != nil {
		t.Fatal(err)
	}
	gateway, err := stack.New(stack.Options{Addresses: self.Addresses})
	if err != nil {
		t.Fatal(err)
	}
	defer gateway.Close()
	hub, err := stack.New(stack.Options{Addresses: peer.Addresses})
	if err != nil {
		t.Fatal(err)
	}
	defer hub.Close()
	if err := Splice(gateway, table); err != nil {
		t.Fatal(err)
	}
	stacktest.Join(gateway.Device(), hub.Device(), func(from tun.Device, b []byte) bool {
		if from == gateway.Device() {
			return filter.Outbound(b) != policy.Accept
		}
		return filter.Inbound(peer, b) != policy.Accept
	})
	for _, d := range table {
		port, err := wire.ParsePorts(d.Ports[0])
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range []netip.Addr{d.Addr6, d.Addr4} {
			for _, network := range []string{"tcp", "udp"} {
				c, err := hub.DialAddr(t.Context(), network, netip.AddrPortFrom(a, port.First))
				if err != nil {
					t.Fatalf("%s by %s: %v", a, network, err)
				}
				c.SetDeadline(time.Now().Add(30 * time.Second))
				io.WriteString(c, "hello")
				buf := make([]byte, 100)
				n, err := c.Read(buf)
				if want := d.LAN.String() + " got hello"; err != nil || string(buf[:n]) != want {
					t.Fatalf("%s by %s: %q %v", a, network, buf[:n], err)
				}
				c.Close()
			}
		}
	}
	in, _ := filter.Counters()
	for _, v := range []policy.Verdict{policy.NotOffered, policy.NotAllowed, policy.Spoofed} {
		if in[v.String()] != 0 {
			t.Errorf("%q: %d", v, in[v.String()])
		}
	}
	Unsplice(gateway, table[:1])
	if err := Splice(gateway, table[:1]); err != nil {
		t.Errorf("a device cannot come back: %v", err)
	}
}

// device answers on one TCP and UDP port of an address.
func device(t *testing.T, at netip.Addr) uint16 {
	t.Helper()
	l, err := net.Listen("tcp", netip.AddrPortFrom(at, 0).String())
	if err != nil {
		t.Fatal(err)
	}
	p, err := net.ListenPacket("udp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close(); p.Close() })
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
				fmt.Fprintf(c, "%s got %s", at, buf[:n])
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
			p.WriteTo(fmt.Appendf(nil, "%s got %s", at, buf[:n]), from)
		}
	}()
	return l.Addr().(*net.TCPAddr).AddrPort().Port()
}

func FuzzParseTable(f *testing.F) {
	f.Add([]byte(two))
	f.Add([]byte(`{"devices":[]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		table, err := ParseTable(b)
		if err == nil && table.Validate() != nil {
			t.Fatal("an invalid table was accepted")
		}
	})
}

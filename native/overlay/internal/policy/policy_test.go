package policy

import (
	"bytes"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"time"

	"seganet.internal/overlay/internal/identity"
	"seganet.internal/overlay/internal/packet"
	"seganet.internal/overlay/internal/packet/craft"
	"seganet.internal/overlay/internal/wire"
)

var (
	self4, self6 = netip.MustParseAddr("198.18.0.1"), netip.MustParseAddr("fd00:1::1")
	peer4, peer6 = netip.MustParseAddr("198.18.0.2"), netip.MustParseAddr("fd00:1::2")
	pump4        = netip.MustParseAddr("198.18.0.9") // a device behind the peer
	meter4       = netip.MustParseAddr("198.18.0.77")
)

func node(name string, key byte, groups []string, addresses ...netip.Addr) identity.Peer {
	return identity.Peer{FQDN: name + ".plant.seganet.internal", Name: wire.Name{Node: name, Network: "plant"}, Addresses: addresses, WGKey: [32]byte{key},
		Groups: groups, Serial: name}
}

var (
	hub     = node("hub", 1, []string{"hubs"}, self6, self4)
	gateway = func() identity.Peer {
		p := node("hall-3", 2, []string{"gateways"}, peer6, peer4)
		p.Devices = []identity.PeerDevice{{FQDN: "pump.hall-3.plant.seganet.internal", Addresses: []netip.Addr{pump4}}}
		return p
	}()
	office = node("office", 3, []string{"people"}, netip.MustParseAddr("fd00:1::3"), netip.MustParseAddr("198.18.0.3"))
	broker = []wire.Service{{Name: "broker", Proto: "tcp", Port: 8883}, {Name: "coap", Proto: "udp", Port: 5683}, {Name: "ssh", Proto: "tcp", Port: 22}}
	allow  = wire.Policy{Version: 1, Allow: []wire.Rule{
		{From: "group:gateways", To: "group:hubs", Ports: []string{"tcp/8883", "udp/5683", "tcp/9999", "icmp"}},
		{From: "node:hall-3", To: "group:meters", Ports: []string{"tcp/500-510"}},
	}}
)

type clock struct{ at time.Duration }

func tracker(t testing.TB, p wire.Policy) (*Tracker, *clock) {
	t.Helper()
	c := &clock{at: time.Hour}
	tr := New(nil)
	tr.now = func() time.Duration { return c.at }
	if err := tr.Update(p, hub, broker); err != nil {
		t.Fatal(err)
	}
	return tr, c
}

func port(a netip.Addr, p uint16) netip.AddrPort { return netip.AddrPortFrom(a, p) }

func tcpTo(from netip.Addr, to netip.Addr, p uint16) []byte {
	return craft.TCP(port(from, 40000), port(to, p), packet.SYN, nil, nil)
}

func TestNewFlows(t *testing.T) {
	other := netip.MustParseAddr("198.18.5.5")
	for _, c := range []struct {
		name string
		from identity.Peer
		b    []byte
		want Verdict
	}{
		{"allowed TCP over IPv4", gateway, tcpTo(peer4, self4, 8883), Accept},
		{"allowed TCP over IPv6", gateway, tcpTo(peer6, self6, 8883), Accept},
		{"allowed UDP", gateway, craft.UDP(port(peer6, 1), port(self6, 5683), []byte("x")), Accept},
		{"allowed echo", gateway, craft.Echo(peer4, self4, false, 7, nil), Accept},
		{"device behind the peer", gateway, tcpTo(pump4, self4, 8883), Accept},
		{"port that is offered and not allowed", gateway, tcpTo(peer4, self4, 22), NotAllowed},
		{"port that is allowed and not offered", gateway, tcpTo(peer4, self4, 9999), NotOffered},
		{"TCP where UDP is offered", gateway, tcpTo(peer4, self4, 5683), NotOffered},
		{"node of another group", office, tcpTo(office.Addresses[1], self4, 8883), NotAllowed},
		{"echo from another group", office, craft.Echo(office.Addresses[1], self4, false, 7, nil), NotAllowed},
		{"source of another peer", office, tcpTo(peer4, self4, 8883), Spoofed},
		{"source of this node", gateway, tcpTo(self4, self4, 8883), Spoofed},
		{"source outside the overlay", gateway, tcpTo(netip.MustParseAddr("192.0.2.1"), self4, 8883), Spoofed},
		{"destination elsewhere", gateway, tcpTo(peer4, other, 8883), Elsewhere},
		{"device that is not there", gateway, tcpTo(peer4, meter4, 502), Elsewhere},
		{"answer that nobody asked for", gateway, craft.Echo(peer4, self4, true, 7, nil), Unsolicited},
		{"ICMP redirect", gateway, craft.ICMP(peer4, self4, 5, 0, 0, make([]byte, 28)), Protocol},
		{"ICMP error about nothing", gateway, craft.ICMP(peer4, self4, 3, 3, 0, tcpTo(self4, peer4, 1)), Unsolicited},
		{"GRE", gateway, craft.IP(peer4, self4, 47, make([]byte, 8)), Protocol},
		{"cut off", gateway, tcpTo(peer4, self4, 8883)[:30], Malformed},
		{"empty", gateway, nil, Malformed},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr, _ := tracker(t, allow)
			if got := tr.Inbound(c.from, c.b); got != c.want {
				t.Fatalf("got %v, want %v", got, c.want)
			}
			in, _ := tr.Counters()
			if in[c.want.String()] != 1 {
				t.Fatalf("the counter of %q is %d", c.want, in[c.want.String()])
			}
		})
	}
}

func TestRefusesEverythingWithoutAPolicy(t *testing.T) {
	tr := New(nil)
	if got := tr.Inbound(gateway, tcpTo(peer4, self4, 8883)); got != Elsewhere {
		t.Fatal(got)
	}
	tr, _ = tracker(t, wire.Policy{})
	if got := tr.Inbound(gateway, tcpTo(peer4, self4, 8883)); got != NotAllowed {
		t.Fatal(got)
	}
}

func TestDevicesHaveTheirOwnGroupsAndPorts(t *testing.T) {
	tr, _ := tracker(t, allow)
	devices := []Target{{Name: "meter", Addresses: []netip.Addr{meter4}, Groups: []string{"meters"}, Ports: []string{"tcp/502"}}}
	if err := tr.SetDevices(devices); err != nil {
		t.Fatal(err)
	}
	for p, want := range map[uint16]Verdict{502: Accept, 503: NotOffered, 8883: NotOffered} {
		if got := tr.Inbound(gateway, tcpTo(peer4, meter4, p)); got != want {
			t.Errorf("port %d: got %v, want %v", p, got, want)
		}
	}
	if got := tr.Inbound(office, tcpTo(office.Addresses[1], meter4, 502)); got != NotAllowed {
		t.Errorf("a node that no rule names: %v", got)
	}
	devices[0].Groups = []string{"lamps"}
	if err := tr.SetDevices(devices); err != nil {
		t.Fatal(err)
	}
	if got := tr.Inbound(gateway, craft.TCP(port(peer4, 3), port(meter4, 502), packet.SYN, nil, nil)); got != NotAllowed {
		t.Errorf("a device of another group: %v", got)
	}
	devices[0].Addresses = []netip.Addr{self4}
	if err := tr.SetDevices(devices); err == nil {
		t.Error("a device took the node's own address")
	}
}

func TestAnswersPass(t *testing.T) {
	tr, _ := tracker(t, wire.Policy{})
	pairs := map[string][2][]byte{
		"tcp":  {tcpTo(self4, peer4, 1883), craft.TCP(port(peer4, 1883), port(self4, 40000), packet.SYN|packet.ACK, nil, nil)},
		"udp":  {craft.UDP(port(self6, 9), port(peer6, 53), nil), craft.UDP(port(peer6, 53), port(self6, 9), nil)},
		"echo": {craft.Echo(self6, peer6, false, 5, nil), craft.Echo(peer6, self6, true, 5, nil)},
	}
	for name, p := range pairs {
		if got := tr.Inbound(gateway, p[1]); got == Accept {
			t.Errorf("%s: the answer passed before the question", name)
		}
		if got := tr.Outbound(p[0]); got != Accept {
			t.Errorf("%s: question: %v", name, got)
		}
		if got := tr.Inbound(gateway, p[1]); got != Accept {
			t.Errorf("%s: answer: %v", name, got)
		}
	}
	if got := tr.Inbound(gateway, craft.Echo(peer6, self6, false, 5, nil)); got != NotAllowed {
		t.Errorf("a request passed as the answer to a request: %v", got)
	}
	tooBig := craft.ICMP(peer4, self4, 3, 4, 1280, tcpTo(self4, peer4, 1883)[:28])
	if got := tr.Inbound(gateway, tooBig); got != Accept {
		t.Errorf("ICMP error about an open flow: %v", got)
	}
}

func TestOutboundSource(t *testing.T) {
	tr, _ := tracker(t, allow)
	if got := tr.Outbound(tcpTo(netip.MustParseAddr("192.168.1.5"), peer4, 80)); got != Spoofed {
		t.Error(got)
	}
	if got := tr.Outbound(craft.UDP(port(self6, 1), port(netip.MustParseAddr("ff02::2"), 1), nil)); got != Elsewhere {
		t.Error(got)
	}
}

func TestNewPolicyEndsOpenFlows(t *testing.T) {
	for name, change := range map[string]func(*Tracker) error{
		"rule removed":         func(tr *Tracker) error { return tr.Update(wire.Policy{Version: 2}, hub, broker) },
		"offer removed":        func(tr *Tracker) error { return tr.Update(allow, hub, nil) },
		"groups taken from it": func(tr *Tracker) error { gateway.Serial, gateway.Groups = "2", nil; return nil },
	} {
		t.Run(name, func(t *testing.T) {
			before := gateway
			defer func() { gateway = before }()
			tr, c := tracker(t, allow)
			syn := tcpTo(peer4, self4, 8883)
			data := craft.TCP(port(peer4, 40000), port(self4, 8883), packet.ACK, nil, []byte("x"))
			answer := craft.TCP(port(self4, 8883), port(peer4, 40000), packet.ACK, nil, []byte("x"))
			for i, v := range []Verdict{tr.Inbound(gateway, syn), tr.Outbound(answer), tr.Inbound(gateway, data)} {
				if v != Accept {
					t.Fatalf("packet %d: %v", i, v)
				}
			}
			if err := change(tr); err != nil {
				t.Fatal(err)
			}
			if v := tr.Inbound(gateway, data); v == Accept {
				t.Fatal("the flow went on")
			}
			// The host's retransmission must not open the flow from inside.
			if v := tr.Outbound(answer); v == Accept {
				t.Fatal("the answer passed")
			}
			if v := tr.Inbound(gateway, data); v == Accept {
				t.Fatal("the flow came back")
			}
			if err := tr.Update(allow, hub, broker); err != nil {
				t.Fatal(err)
			}
			gateway = before
			if v := tr.Inbound(gateway, data); v != Accept {
				t.Fatalf("allowed again: %v", v)
			}
			c.at += idleTCP - time.Second
			if v := tr.Outbound(answer); v != Accept {
				t.Fatalf("an idle connection: %v", v)
			}
		})
	}
}

func TestAnInvalidPolicyLeavesTheOldOne(t *testing.T) {
	tr, _ := tracker(t, allow)
	if err := tr.Update(wire.Policy{Allow: []wire.Rule{{From: "everybody", To: "*", Ports: []string{"icmp"}}}}, hub, broker); err == nil {
		t.Fatal("accepted")
	}
	if got := tr.Inbound(gateway, tcpTo(peer4, self4, 8883)); got != Accept {
		t.Fatal(got)
	}
}

func TestFragments(t *testing.T) {
	for _, a := range [][2]netip.Addr{{peer4, self4}, {peer6, self6}} {
		tr, c := tracker(t, allow)
		whole := craft.UDP(port(a[0], 1), port(a[1], 5683), make([]byte, 3000))
		parts := craft.Fragments(whole, 77, 1024)
		if got := tr.Inbound(gateway, parts[1]); got != Fragment {
			t.Errorf("a fragment that overtook its first: %v", got)
		}
		for i, p := range parts {
			if got := tr.Inbound(gateway, p); got != Accept {
				t.Errorf("fragment %d: %v", i, got)
			}
		}
		c.at += fragmentLife + time.Second
		if got := tr.Inbound(gateway, parts[2]); got != Fragment {
			t.Errorf("a late fragment: %v", got)
		}
		refused := craft.Fragments(craft.UDP(port(a[0], 1), port(a[1], 99), make([]byte, 3000)), 78, 1024)
		for i, want := range []Verdict{NotOffered, Fragment, Fragment} {
			if got := tr.Inbound(gateway, refused[i]); got != want {
				t.Errorf("fragment %d of a refused datagram: %v", i, got)
			}
		}
		tiny := craft.Fragments(craft.TCP(port(a[0], 1), port(a[1], 8883), packet.SYN, nil, make([]byte, 100)), 79, 8)
		if got := tr.Inbound(gateway, tiny[0]); got != Malformed {
			t.Errorf("a tiny first fragment: %v", got)
		}
	}
}

func TestOneLineOfLogASecond(t *testing.T) {
	var text bytes.Buffer
	tr := New(slog.New(slog.NewTextHandler(&text, nil)))
	for range 1000 {
		tr.Inbound(gateway, tcpTo(peer4, self4, 22))
	}
	if n := strings.Count(text.String(), "\n"); n < 1 || n > 3 {
		t.Fatalf("%d lines", n)
	}
}

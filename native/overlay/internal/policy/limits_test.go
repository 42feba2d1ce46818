package policy

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"seganet.internal/overlay/internal/identity"
	"seganet.internal/overlay/internal/packet/craft"
	"seganet.internal/overlay/internal/wire"
)

// anybody is a policy that allows the packets of these tests.
var anybody = wire.Policy{Allow: []wire.Rule{{From: "*", To: "*", Ports: []string{"udp/5683"}}}}

// crowd returns peers, each with an address of its own.
func crowd(n int) (peers []identity.Peer) {
	for i := range n {
		peers = append(peers, node(fmt.Sprintf("n%d", i), byte(10+i), nil, netip.AddrFrom16([16]byte{0xfd, 15: byte(100 + i)}), netip.AddrFrom4([4]byte{198, 18, 1, byte(i)})))
	}
	return peers
}

func TestFragmentsAreBoundedByTheirSender(t *testing.T) {
	tr, c := tracker(t, anybody)
	first := func(from, to netip.Addr, id int) []byte {
		return craft.Fragments(craft.UDP(port(from, 5683), port(to, 5683), make([]byte, 3000)), uint32(id), 1024)[0]
	}
	peers := crowd(MaxFragments/MaxFragmentsEach + 1)
	for i, p := range peers {
		for id := range MaxFragmentsEach {
			want := Accept
			if i == len(peers)-1 { // all together take the whole table
				want = TableFull
			}
			if got := tr.Inbound(p, first(p.Addresses[1], self4, id)); got != want {
				t.Fatalf("datagram %d of peer %d: %v", id, i, got)
			}
		}
		if got := tr.Inbound(p, first(p.Addresses[0], self6, MaxFragmentsEach)); got != TableFull {
			t.Fatalf("one datagram more of peer %d: %v", i, got)
		}
	}
	c.at += fragmentLife + time.Second
	if got := tr.Inbound(office, first(office.Addresses[1], self4, 1)); got != Accept {
		t.Errorf("old datagrams still take room: %v", got)
	}
	if len(tr.parts.seen) != 1 || tr.parts.all != 1 {
		t.Errorf("%d senders, %d datagrams", len(tr.parts.seen), tr.parts.all)
	}
}

func TestADeviceTakesAShareOfTheTable(t *testing.T) {
	tr, _ := tracker(t, anybody)
	var devices []Target
	for i := range 10 {
		devices = append(devices, Target{Name: fmt.Sprintf("d%d", i), Addresses: []netip.Addr{netip.AddrFrom4([4]byte{198, 18, 2, byte(i)})}})
	}
	if err := tr.SetDevices(devices); err != nil {
		t.Fatal(err)
	}
	begin := func(from netip.Addr, n int) (accepted int) {
		b := craft.UDP(port(from, 1), port(peer4, 1), nil)
		b[20], b[21] = 1, 1
		for i := range n {
			b[22], b[23] = byte(i>>8), byte(i)
			if tr.Outbound(b) == Accept {
				accepted++
			}
		}
		return accepted
	}
	if n := begin(devices[0].Addresses[0], 20000); n != MaxFlowsDevice {
		t.Errorf("%d flows of one device", n)
	}
	if err := tr.Update(anybody, hub, broker); err != nil { // another policy gives the device no second share
		t.Fatal(err)
	}
	b := craft.UDP(port(devices[0].Addresses[0], 2), port(peer4, 1), nil)
	if got := tr.Outbound(b); got != TableFull {
		t.Errorf("one flow more of that device: %v", got)
	}
	for _, d := range devices[1:] {
		begin(d.Addresses[0], 10000)
	}
	if n := tr.Flows(); n != MaxFlowsOthers {
		t.Errorf("%d flows of devices", n)
	}
	if n := begin(self4, 10000); n != MaxFlows-MaxFlowsOthers {
		t.Errorf("%d flows of this node beside those of devices", n)
	}
}

func TestTableIsBounded(t *testing.T) {
	tr, c := tracker(t, wire.Policy{Allow: []wire.Rule{{From: "*", To: "*", Ports: []string{"udp/5683"}}}})
	count := func(p identity.Peer, n int) (accepted, full int) {
		b := craft.UDP(port(p.Addresses[1], 1), port(self4, 5683), nil)
		for i := range n {
			b[20], b[21] = byte(i>>8), byte(i) // source port
			switch tr.Inbound(p, b) {
			case Accept:
				accepted++
			case TableFull:
				full++
			}
		}
		return accepted, full
	}
	if a, f := count(gateway, 20000); a != MaxFlowsPeer || f != 20000-MaxFlowsPeer {
		t.Fatalf("one peer: %d accepted, %d refused", a, f)
	}
	for i := range 4 {
		p := node("n"+string(rune('a'+i)), byte(10+i), nil, netip.MustParseAddr("fd00:1::ff"), netip.AddrFrom4([4]byte{198, 18, 1, byte(i)}))
		count(p, 20000)
	}
	if n := tr.Flows(); n != MaxFlowsInbound {
		t.Fatalf("%d flows of peers", n)
	}
	out := craft.UDP(port(self4, 1), port(peer4, 1), nil)
	passed := 0
	for i := range 20000 {
		out[20], out[21] = 1, 1
		out[22], out[23] = byte(i>>8), byte(i)
		if tr.Outbound(out) == Accept {
			passed++
		}
	}
	if passed != MaxFlows-MaxFlowsInbound || tr.Flows() != MaxFlows {
		t.Fatalf("%d flows of this node, %d in all", passed, tr.Flows())
	}
	c.at += idleUDP + time.Second
	if v := tr.Inbound(gateway, craft.UDP(port(peer4, 60000), port(self4, 5683), nil)); v != Accept {
		t.Fatalf("ended flows still take room: %v", v)
	}
	if n := tr.Flows(); n != 1 {
		t.Fatalf("%d flows are left", n)
	}
}

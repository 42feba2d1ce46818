package policy

import (
	"sync"
	"testing"

	"seganet.internal/overlay/internal/packet"
	"seganet.internal/overlay/internal/packet/craft"
)

func TestConcurrentUse(t *testing.T) {
	tr := New(nil)
	if err := tr.Update(allow, hub, broker); err != nil {
		t.Fatal(err)
	}
	var done sync.WaitGroup
	for g := range 4 {
		done.Go(func() {
			for i := range 5000 {
				from := port(peer4, uint16(i))
				tr.Inbound(gateway, craft.TCP(from, port(self4, 8883), packet.SYN, nil, nil))
				tr.Outbound(craft.TCP(port(self4, 8883), from, packet.ACK, nil, nil))
				if g == 0 && i%100 == 0 {
					tr.Update(allow, hub, broker)
				}
			}
		})
	}
	done.Wait()
	if n := tr.Flows(); n != 5000 {
		t.Fatalf("%d flows", n)
	}
}

func FuzzInbound(f *testing.F) {
	for _, b := range [][]byte{tcpTo(peer4, self4, 8883), craft.Echo(peer6, self6, false, 1, nil), nil,
		craft.ICMP(peer4, self4, 3, 3, 0, tcpTo(self4, peer4, 1)), craft.Fragments(craft.UDP(port(peer6, 1), port(self6, 5683), make([]byte, 99)), 1, 64)[0]} {
		f.Add(b)
	}
	tr, _ := tracker(f, allow)
	f.Fuzz(func(t *testing.T, b []byte) {
		tr.Outbound(b)
		if tr.Inbound(gateway, b) == Accept {
			var info packet.Info
			if packet.Parse(b, &info) != nil || info.Source != peer4 && info.Source != peer6 && info.Source != pump4 {
				t.Fatal("a packet with a foreign source passed")
			}
		}
	})
}

func BenchmarkInboundKnownFlow(b *testing.B) {
	tr := New(nil)
	tr.Update(allow, hub, broker)
	p := craft.TCP(port(peer4, 1), port(self4, 8883), packet.ACK, nil, make([]byte, 1200))
	b.ReportAllocs()
	for b.Loop() {
		tr.Inbound(gateway, p)
	}
}

func BenchmarkInboundOf10000Flows(b *testing.B) {
	tr := New(nil)
	tr.Update(allow, hub, broker)
	var ps [][]byte
	for i := range 10000 {
		ps = append(ps, craft.TCP(port(peer4, uint16(i)), port(self4, 8883), packet.ACK, nil, nil))
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		tr.Inbound(gateway, ps[i%len(ps)])
		i++
	}
}

func BenchmarkRefused(b *testing.B) {
	tr := New(nil)
	tr.Update(allow, hub, broker)
	p := tcpTo(peer4, self4, 22)
	b.ReportAllocs()
	for b.Loop() {
		tr.Inbound(gateway, p)
	}
}

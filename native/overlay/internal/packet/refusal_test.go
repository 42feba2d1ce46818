package packet_test

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"testing"

	"seganet.internal/overlay/internal/packet"
	"seganet.internal/overlay/internal/packet/craft"
)

func TestRefusal(t *testing.T) {
	for _, ends := range [][2]netip.Addr{{lan4, far4}, {lan6, far6}} {
		from, to := port(ends[0], 40000), port(ends[1], 1883)
		for name, c := range map[string]struct {
			packet   []byte
			flags    uint8
			seq, ack uint32
		}{
			"a SYN":           {craft.Segment(from, to, 1000, 0, packet.SYN, nil, nil), packet.RST | packet.ACK, 0, 1001},
			"data":            {craft.Segment(from, to, 1000, 2000, packet.ACK, nil, []byte("hello")), packet.RST, 2000, 0},
			"data and FIN":    {craft.Segment(from, to, 1000, 0, packet.FIN, nil, []byte("hello")), packet.RST | packet.ACK, 0, 1006},
			"a SYN's options": {craft.Segment(from, to, 1<<32-1, 0, packet.SYN, []byte{2, 4, 5, 0}, nil), packet.RST | packet.ACK, 0, 0},
		} {
			var info, back packet.Info
			if err := packet.Parse(c.packet, &info); err != nil {
				t.Fatal(err)
			}
			r := packet.Refusal(c.packet, &info, false)
			if err := packet.Parse(r, &back); err != nil || !craft.Valid(r) || back.End != len(r) {
				t.Fatalf("%s: % x: %v", name, r, err)
			}
			h := r[back.Transport:]
			if back.Source != to.Addr() || back.Destination != from.Addr() || back.SourcePort != to.Port() || back.DestinationPort != from.Port() ||
				back.TCPFlags != c.flags || binary.BigEndian.Uint32(h[4:]) != c.seq || binary.BigEndian.Uint32(h[8:]) != c.ack {
				t.Errorf("%s: %+v, % x", name, back, h)
			}
			if packet.Refusal(r, &back, false) != nil {
				t.Errorf("%s: a reset is answered", name)
			}
		}
		for _, prohibited := range []bool{false, true} {
			for _, size := range []int{0, 1, 1200} {
				p := craft.UDP(from, to, make([]byte, size))
				var info, back, quoted packet.Info
				packet.Parse(p, &info)
				r := packet.Refusal(p, &info, prohibited)
				if err := packet.Parse(r, &back); err != nil || !craft.Valid(r) || !back.ICMPError() || len(r) > 512 {
					t.Fatalf("%d bytes: % x: %v", size, r, err)
				}
				q := r[back.Transport+8:]
				if packet.ParseQuoted(q, &quoted) != nil || quoted.Source != from.Addr() || quoted.DestinationPort != to.Port() || !bytes.HasPrefix(p, q) {
					t.Errorf("%d bytes: %+v", size, quoted)
				}
			}
		}
	}
}

func TestSomePacketsAreNotAnswered(t *testing.T) {
	for _, p := range [][]byte{craft.Echo(lan4, far4, false, 1, nil), craft.Fragments(craft.UDP(port(lan4, 1), port(far4, 2), make([]byte, 100)), 3, 32)[0]} {
		var info packet.Info
		if err := packet.Parse(p, &info); err != nil {
			t.Fatal(err)
		}
		if r := packet.Refusal(p, &info, false); r != nil {
			t.Errorf("% x is answered by % x", p, r)
		}
	}
}

package packet_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"testing"

	"seganet.internal/overlay/internal/packet"
	"seganet.internal/overlay/internal/packet/craft"
)

var (
	lan4, virtual4, far4 = netip.MustParseAddr("192.168.1.7"), netip.MustParseAddr("198.18.0.77"), netip.MustParseAddr("198.18.3.4")
	lan6, virtual6, far6 = netip.MustParseAddr("2001:db8::7"), netip.MustParseAddr("fd00:1::77"), netip.MustParseAddr("fd00:1::99")
)

func port(a netip.Addr, p uint16) netip.AddrPort { return netip.AddrPortFrom(a, p) }

// pairs are the packets before and after the translation of their source, as the reference builds them.
func pairs(from, to, far netip.Addr, payload []byte, r *rand.Rand) map[string][2][]byte {
	a, b := uint16(r.Uint32()), uint16(r.Uint32())
	id := uint16(r.Uint32())
	both := func(build func(netip.Addr) []byte) [2][]byte { return [2][]byte{build(from), build(to)} }
	unreachable := uint8(3)
	if from.Is6() {
		unreachable = 1
	}
	quote := func(build func(netip.Addr) []byte) [2][]byte {
		return both(func(s netip.Addr) []byte { return craft.ICMP(s, far, unreachable, 3, 0, build(s)) })
	}
	udp := func(s netip.Addr) []byte { return craft.UDP(port(far, a), port(s, b), payload) }
	tcp := func(s netip.Addr) []byte { return craft.TCP(port(far, a), port(s, b), packet.ACK, nil, payload) }
	echo := func(s netip.Addr) []byte { return craft.Echo(far, s, false, id, payload) }
	return map[string][2][]byte{
		"tcp":               both(func(s netip.Addr) []byte { return craft.TCP(port(s, a), port(far, b), packet.ACK, nil, payload) }),
		"udp":               both(func(s netip.Addr) []byte { return craft.UDP(port(s, a), port(far, b), payload) }),
		"echo request":      both(func(s netip.Addr) []byte { return craft.Echo(s, far, false, id, payload) }),
		"echo reply":        both(func(s netip.Addr) []byte { return craft.Echo(s, far, true, id, payload) }),
		"error about TCP":   quote(tcp),
		"error about UDP":   quote(udp),
		"error about echo":  quote(echo),
		"error, cut quoted": quote(func(s netip.Addr) []byte { b := udp(s); return b[:min(len(b), len(b)-len(payload))] }),
	}
}

func TestRewriteEqualsTheReference(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	for _, a := range [][3]netip.Addr{{lan4, virtual4, far4}, {lan6, virtual6, far6}} {
		for range 100 {
			payload := make([]byte, r.IntN(1200))
			for i := range payload {
				payload[i] = byte(r.Uint32())
			}
			for name, p := range pairs(a[0], a[1], a[2], payload, r) {
				check(t, name+" outbound", p[0], p[1], packet.Change{Source: a[1]})
				check(t, name+" back", p[1], p[0], packet.Change{Source: a[0]})
			}
			// The other direction: the destination is translated.
			in := craft.TCP(port(a[2], 5), port(a[1], 6), packet.SYN, nil, payload)
			check(t, "inbound", in, craft.TCP(port(a[2], 5), port(a[0], 6), packet.SYN, nil, payload), packet.Change{Destination: a[0]})
			check(t, "both", in, craft.TCP(port(a[0], 5), port(a[0], 6), packet.SYN, nil, payload), packet.Change{Source: a[0], Destination: a[0]})
		}
	}
}

func check(t *testing.T, name string, before, after []byte, c packet.Change) {
	t.Helper()
	var info packet.Info
	got := bytes.Clone(before)
	if err := packet.Parse(got, &info); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	packet.Rewrite(got, &info, c)
	if !craft.Valid(got) {
		t.Fatalf("%s: invalid checksum\n% x", name, got)
	}
	// Two spellings of zero are equal in ones' complement; everything else must be the reference's bytes.
	if !bytes.Equal(got, after) {
		diff := 0
		for i := range got {
			if got[i] != after[i] {
				diff++
			}
		}
		if diff > 2 {
			t.Fatalf("%s:\ngot  % x\nwant % x", name, got, after)
		}
	}
}

func TestRewriteFragments(t *testing.T) {
	for _, a := range [][3]netip.Addr{{lan4, virtual4, far4}, {lan6, virtual6, far6}} {
		for name, whole := range map[string][]byte{
			"udp":  craft.UDP(port(a[0], 1), port(a[2], 2), bytes.Repeat([]byte("abc"), 1000)),
			"tcp":  craft.TCP(port(a[0], 1), port(a[2], 2), packet.ACK, nil, bytes.Repeat([]byte("abc"), 1000)),
			"echo": craft.Echo(a[0], a[2], false, 1, bytes.Repeat([]byte("abc"), 1000)),
		} {
			parts := craft.Fragments(whole, 9, 1024)
			for i, p := range parts {
				var info packet.Info
				if err := packet.Parse(p, &info); err != nil {
					t.Fatalf("%s, fragment %d: %v", name, i, err)
				}
				if !info.Fragment || info.Later != (i > 0) || info.FragmentID != 9 {
					t.Fatalf("%s, fragment %d: %+v", name, i, info)
				}
				packet.Rewrite(p, &info, packet.Change{Source: a[1]})
			}
			if joined := craft.Join(parts); !craft.Valid(joined) {
				t.Fatalf("%s: the joined datagram has an invalid checksum", name)
			}
		}
	}
}

func TestUDPWithoutChecksumStaysWithoutOne(t *testing.T) {
	b := craft.UDP(port(lan4, 1), port(far4, 2), []byte("x"))
	b[26], b[27] = 0, 0
	var info packet.Info
	if err := packet.Parse(b, &info); err != nil {
		t.Fatal(err)
	}
	packet.Rewrite(b, &info, packet.Change{Source: virtual4})
	if b[26] != 0 || b[27] != 0 {
		t.Fatalf("the checksum became %x", b[26:28])
	}
}

func TestParseRefuses(t *testing.T) {
	edit := func(b []byte, at int, v ...byte) []byte { copy(b[at:], v); return b }
	tcp4 := func() []byte { return craft.TCP(port(far4, 1), port(lan4, 2), packet.SYN, nil, nil) }
	tcp6 := func() []byte { return craft.TCP(port(far6, 1), port(lan6, 2), packet.SYN, nil, nil) }
	extension := func(kinds ...byte) []byte {
		var body []byte
		for i := range kinds {
			next := byte(6)
			if i+1 < len(kinds) {
				next = kinds[i+1]
			}
			body = append(body, next, 0, 0, 1, 0, 0, 0, 0)
		}
		return craft.IP(far6, lan6, kinds[0], append(body, tcp6()[40:]...))
	}
	for name, c := range map[string]struct {
		b    []byte
		want error
	}{
		"empty":                      {nil, packet.ErrShort},
		"version 5":                  {[]byte{0x50}, packet.ErrVersion},
		"half a header, IPv4":        {tcp4()[:19], packet.ErrShort},
		"half a header, IPv6":        {tcp6()[:39], packet.ErrShort},
		"header of 16 bytes":         {edit(tcp4(), 0, 0x44), packet.ErrHeader},
		"length beyond the end":      {edit(tcp4(), 2, 0xff, 0xff), packet.ErrLength},
		"length under the header":    {edit(tcp4(), 2, 0, 19), packet.ErrHeader},
		"payload beyond the end":     {edit(tcp6(), 4, 0xff, 0xff), packet.ErrLength},
		"TCP header cut off":         {edit(tcp4(), 2, 0, 30), packet.ErrShort},
		"TCP data offset of 16":      {edit(tcp4(), 32, 0x40), packet.ErrHeader},
		"TCP data offset past end":   {edit(tcp4(), 32, 0xf0), packet.ErrShort},
		"UDP length of 7":            {edit(craft.UDP(port(far4, 1), port(lan4, 2), nil), 24, 0, 7), packet.ErrHeader},
		"UDP length past the end":    {edit(craft.UDP(port(far4, 1), port(lan4, 2), nil), 24, 0, 9), packet.ErrLength},
		"ICMPv6 in IPv4":             {craft.IP(far4, lan4, 58, make([]byte, 8)), packet.ErrHeader},
		"IPv4-mapped source":         {craft.IP(netip.MustParseAddr("::ffff:1.2.3.4"), lan6, 59, nil), packet.ErrHeader},
		"nine extension headers":     {extension(0, 60, 60, 60, 60, 60, 60, 60, 60), packet.ErrExtension},
		"source routing":             {extension(43), packet.ErrRouting},
		"two fragment headers":       {extension(44, 44), packet.ErrHeader},
		"second fragment at 8 bytes": {edit(tcp4(), 6, 0, 1), packet.ErrTiny},
	} {
		var info packet.Info
		if err := packet.Parse(c.b, &info); err != c.want {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	var info packet.Info
	if err := packet.Parse(extension(0, 60, 60), &info); err != nil || info.DestinationPort != 2 || info.Transport != 64 {
		t.Errorf("three extension headers: %v %+v", err, info)
	}
}

func TestClampMSS(t *testing.T) {
	for _, c := range []struct {
		options []byte
		want    uint16 // 0: unchanged
	}{
		{[]byte{2, 4, 0x05, 0xb4}, 1240},
		{[]byte{2, 4, 0x01, 0x00}, 0},
		{[]byte{1, 2, 4, 0x05, 0xb4, 0, 0, 0}, 1240}, // at an odd byte
		{[]byte{3, 3, 7, 2, 4, 0x05, 0xb4, 0}, 1240},
		{[]byte{2, 9, 0, 0}, 0},
		{[]byte{0, 2, 4, 0x05}, 0},
		{nil, 0},
	} {
		b := craft.TCP(port(far4, 1), port(lan4, 2), packet.SYN, c.options, nil)
		var info packet.Info
		if err := packet.Parse(b, &info); err != nil {
			t.Fatal(err)
		}
		if changed := packet.ClampMSS(b, &info, 1280); changed != (c.want != 0) {
			t.Errorf("% x: changed %v", c.options, changed)
		}
		if !craft.Valid(b) {
			t.Errorf("% x: invalid checksum", c.options)
		}
		if i := bytes.Index(b[40:], []byte{2, 4}); c.want != 0 && binary.BigEndian.Uint16(b[40+i+2:]) != c.want {
			t.Errorf("% x became % x", c.options, b[40:])
		}
	}
	b := craft.TCP(port(far6, 1), port(lan6, 2), packet.SYN, []byte{2, 4, 0x05, 0xb4}, nil)
	var info packet.Info
	packet.Parse(b, &info)
	if !packet.ClampMSS(b, &info, 1280) || binary.BigEndian.Uint16(b[62:]) != 1220 || !craft.Valid(b) {
		t.Errorf("IPv6: % x", b)
	}
}

func FuzzParse(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, a := range [][3]netip.Addr{{lan4, virtual4, far4}, {lan6, virtual6, far6}} {
		for _, p := range pairs(a[0], a[1], a[2], []byte("payload"), r) {
			f.Add(p[0])
		}
		for _, p := range craft.Fragments(craft.UDP(port(a[0], 1), port(a[2], 2), make([]byte, 100)), 3, 32) {
			f.Add(p)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var info, quoted packet.Info
		packet.ParseQuoted(b, &quoted)
		if packet.Parse(b, &info) != nil {
			return
		}
		if info.Transport > info.End || info.End > len(b) {
			t.Fatalf("offsets %d, %d of %d", info.Transport, info.End, len(b))
		}
		if r := packet.Refusal(b, &info, true); r != nil {
			var answer packet.Info
			if err := packet.Parse(r, &answer); err != nil || answer.Source != info.Destination || answer.Destination != info.Source {
				t.Fatalf("the refusal % x: %+v, %v", r, answer, err)
			}
		}
		packet.ClampMSS(b, &info, 1280)
		before := bytes.Clone(b)
		c, back := packet.Change{Source: virtual4, Destination: lan4}, packet.Change{Source: info.Source, Destination: info.Destination}
		if info.Source.Is6() {
			c = packet.Change{Source: virtual6, Destination: lan6}
		}
		packet.Rewrite(b, &info, c)
		if packet.Parse(b, &info) != nil || info.Source != c.Source || info.Destination != c.Destination {
			t.Fatalf("after the translation: %+v", info)
		}
		packet.Rewrite(b, &info, back)
		if len(b) != len(before) {
			t.Fatal("the length changed")
		}
	})
}

func BenchmarkRewrite(b *testing.B) {
	p := craft.TCP(port(lan4, 1), port(far4, 2), packet.ACK, nil, make([]byte, 1200))
	var info packet.Info
	b.ReportAllocs()
	for b.Loop() {
		packet.Parse(p, &info)
		packet.Rewrite(p, &info, packet.Change{Source: lan4})
	}
}

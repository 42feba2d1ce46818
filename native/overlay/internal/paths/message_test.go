package paths

import (
	"bytes"
	"net/netip"
	"testing"
	"time"

	"seganet.internal/overlay/internal/wire"
)

func TestControlMessagesSurviveEncodingAndDecoding(t *testing.T) {
	c, err := decodeControl(encodeReport(report{true, 30 * time.Millisecond}))
	if err != nil || c.report == nil || !c.report.direct || c.report.age != 30*time.Millisecond {
		t.Errorf("report: %+v, %v", c, err)
	}
	c, err = decodeControl(encodeEcho(controlReply, 7))
	if err != nil || c.reply == nil || *c.reply != 7 {
		t.Errorf("reply: %+v, %v", c, err)
	}
	b, err := encodeTunnelled(tunnelled{wire.SignalOffer, 5, "{}"})
	if err != nil {
		t.Fatal(err)
	}
	c, err = decodeControl(b)
	if err != nil || c.signal == nil || c.signal.Epoch != 5 {
		t.Errorf("signal: %+v, %v", c, err)
	}
}

// FuzzControl feeds messages from inside a session: a peer may be hostile.
func FuzzControl(f *testing.F) {
	f.Add(encodeReport(report{true, time.Second}))
	f.Add(encodeEcho(controlEcho, 1))
	f.Add([]byte{1, 4, '{', '}'})
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := decodeControl(b)
		if err != nil {
			return
		}
		if c.report != nil && !bytes.Equal(encodeReport(*c.report), b) {
			t.Fatalf("%x has two encodings", b)
		}
	})
}

// FuzzOffer feeds signals that a verified peer may send.
func FuzzParseServers(f *testing.F) {
	for _, s := range []string{"turn:relay.example:3478?transport=udp", "turns:[2001:db8::1]:443", "stun:a", "turn:", "turn:a:99999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		list, err := ParseServers([]string{s})
		if err != nil {
			return
		}
		if len(list) != 1 || list[0].Host == "" || list[0].Port < 1 || list[0].Port > 65535 {
			t.Fatalf("%q passed: %+v", s, list)
		}
	})
}

func FuzzOffer(f *testing.F) {
	f.Add([]byte(`{"user":"abcd","password":"0123456789012345678901","relays":["192.0.2.1:5000"],"nat":"same"}`))
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if o, err := decodeOffer(b); err == nil && (len(o.User) < 4 || len(o.Relays) > 0 && o.Relays[0].Port() == 0) {
			t.Fatalf("%+v", o)
		}
	})
}

func TestReasonsInWords(t *testing.T) {
	for _, c := range []struct {
		s    situation
		want string
	}{
		{situation{direct: true}, ""},
		{situation{idle: true}, "no data for minutes; the next packet connects"},
		{situation{offline: true, signalling: true}, "the peer is not connected to the node service"},
		{situation{}, "the node service is out of reach"},
		{situation{answered: true, local: NATBlocked, signalling: true}, "UDP is blocked on this side"},
		{situation{answered: true, remote: NATBlocked, signalling: true}, "UDP is blocked on the peer's side"},
		{situation{answered: true, local: NATSymmetric, remote: NATSymmetric, searching: true}, "both sides are behind a symmetric NAT"},
		{situation{answered: true, unproven: true, signalling: true}, "path checks pass, but data does not"},
		{situation{searching: true, signalling: true}, "the peer does not answer"},
		{situation{answered: true, searching: true, signalling: true}, "looking for a direct path"},
		{situation{answered: true, noCommonVersions: true, signalling: true}, "the two sides have no IP version in common"},
	} {
		if got := reason(c.s); got != c.want {
			t.Errorf("%+v: %q, want %q", c.s, got, c.want)
		}
	}
}

func TestClassifyNAT(t *testing.T) {
	a, b := netip.MustParseAddrPort("192.0.2.1:5000"), netip.MustParseAddrPort("192.0.2.1:5001")
	host := []netip.Addr{netip.MustParseAddr("192.168.1.2")}
	for _, c := range []struct {
		first, second netip.AddrPort
		host          []netip.Addr
		want          NAT
	}{
		{netip.AddrPort{}, netip.AddrPort{}, host, NATBlocked},
		{a, b, host, NATSymmetric},
		{a, a, host, NATSame},
		{a, a, []netip.Addr{a.Addr()}, NATNone},
		{a, netip.AddrPort{}, host, NATUnknown},
	} {
		if got := classify(c.first, c.second, c.host); got != c.want {
			t.Errorf("%v %v: %q, want %q", c.first, c.second, got, c.want)
		}
	}
}

func TestParseServers(t *testing.T) {
	got, err := ParseServers([]string{"turn:192.0.2.1:3478?transport=udp", "turn:r.example:3478?transport=tcp", "turns:r.example:443?transport=tcp"})
	if err != nil || len(got) != 3 || got[0].Transport != TransportUDP || got[1].Transport != TransportTCP || got[2].Transport != TransportTLS {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []string{"", "stun:r:1", "turns:r.example:443?transport=udp", "http://r"} {
		if _, err := ParseServers([]string{bad}); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func TestRelayURLs(t *testing.T) {
	for u, want := range map[string]Server{
		"turn:relay.example:3478?transport=udp": {"relay.example", 3478, TransportUDP},
		"turn:10.77.0.2?transport=tcp":          {"10.77.0.2", 3478, TransportTCP},
		"turns:[2001:db8::1]:443?transport=tcp": {"2001:db8::1", 443, TransportTLS},
		"turns:relay.example":                   {"relay.example", 5349, TransportTLS},
		"turn:[]1:":                             {},
		"turn:[::1":                             {},
		"turn:a:0":                              {},
		"turn:a:65536":                          {},
		"turn::3478":                            {},
		"turn:2001:db8::1":                      {},
		"turn:a:1?transport=sctp":               {},
		"stun:a:1":                              {},
		"":                                      {},
	} {
		list, err := ParseServers([]string{u})
		if (err == nil) != (want.Host != "") || err == nil && list[0] != want {
			t.Errorf("%q: %v, %v", u, list, err)
		}
	}
}

func TestOffersInsideTheSessionAreBounded(t *testing.T) {
	var b bucket
	admitted := func(from, to time.Duration) (n int) {
		for at := from; at < to; at += 10 * time.Millisecond {
			if b.admit(int64(at)) {
				n++
			}
		}
		return n
	}
	hour := time.Hour
	if n := admitted(hour, hour+time.Second); n != offersAtOnce {
		t.Errorf("%d offers at once", n)
	}
	if n := admitted(hour+time.Second, hour+11*time.Second); n != 10 {
		t.Errorf("%d offers in the next 10 s", n)
	}
	if n := admitted(2*hour, 2*hour+500*time.Millisecond); n != offersAtOnce {
		t.Errorf("%d offers after a pause", n)
	}
}

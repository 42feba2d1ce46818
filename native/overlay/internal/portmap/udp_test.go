package portmap

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"seganet.internal/overlay/internal/busytest"
)

var outside = netip.MustParseAddrPort("203.0.113.7:50000")

func TestMapsByPCPRenewsAndRemovesTheMapping(t *testing.T) {
	r := newUDPRouter(t, func(b []byte) [][]byte { return [][]byte{pcpAnswerTo(b, outside, 1, 7)} })
	m := start(t, func(c *Config) { c.server = r.address() })
	m.expect(t, outside)
	s := m.Status()
	if len(s.Mappings) != 1 || s.Mappings[0].Protocol != "PCP" || !strings.HasPrefix(s.Text, "the router 127.0.0.1 maps 203.0.113.7:50000 to UDP port 41641 here by PCP until ") {
		t.Errorf("%+v", s)
	}
	begun := time.Now()
	eventually(t, "a renewal", func() bool { return len(r.requests()) >= 2 })
	if d := time.Since(begun); d < 300*time.Millisecond || d > busytest.Limit(900*time.Millisecond) {
		t.Errorf("a lifetime of 1 s was renewed after %v", d)
	}
	m.stop()
	m.expect(t)
	all := r.requests()
	first, second, last := all[0], all[1], all[len(all)-1]
	if !bytes.Equal(first[24:36], second[24:36]) || !bytes.Equal(first[24:36], last[24:36]) {
		t.Error("the nonce changes")
	}
	if suggested := binary.BigEndian.Uint16(second[42:]); suggested != outside.Port() {
		t.Errorf("the renewal suggests port %d", suggested)
	}
	if binary.BigEndian.Uint32(first[4:]) != lifetimeAsked || binary.BigEndian.Uint32(last[4:]) != 0 {
		t.Error("wrong lifetimes")
	}
}

func TestAMappingEndsWithItsLifetimeWhenTheRouterFallsSilent(t *testing.T) {
	var isSilent atomic.Bool
	r := newUDPRouter(t, func(b []byte) [][]byte {
		if isSilent.Load() {
			return nil
		}
		return [][]byte{pcpAnswerTo(b, outside, 3, 7)}
	})
	m := start(t, func(c *Config) { c.server = r.address() })
	m.expect(t, outside)
	isSilent.Store(true)
	begun := time.Now()
	eventually(t, "a renewal that fails", func() bool { return len(r.requests()) >= 1+2*len(resend) })
	if len(m.changes) != 0 {
		t.Error("the mapping is given up before its end")
	}
	m.expect(t)
	if d := time.Since(begun); d < 2500*time.Millisecond {
		t.Errorf("a lifetime of 3 s ended after %v", d)
	}
	if text := m.Status().Text; !strings.HasPrefix(text, "the router 127.0.0.1 maps no port (") {
		t.Error(text)
	}
}

func TestTheNonceIsTheSameAfterARestart(t *testing.T) {
	nonce := func(secret string) [12]byte {
		return newWorker(&Config{Port: 1, Secret: []byte(secret)}, here, nil).nonce()
	}
	first, again, other := nonce("a"), nonce("a"), nonce("b")
	if first != again || first == other {
		t.Error("the nonce does not follow the secret")
	}
	if first, again := nonce(""), nonce(""); first == again {
		t.Error("without a secret, nonces are the same")
	}
}

func TestMapsByNATPMPWhereThereIsNoPCP(t *testing.T) {
	r := newUDPRouter(t, natpmpAnswers(outside, 3600, 7))
	m := start(t, func(c *Config) { c.server = r.address() })
	m.expect(t, outside)
	if s := m.Status(); s.Mappings[0].Protocol != "NAT-PMP" {
		t.Errorf("%+v", s)
	}
	m.stop()
	m.expect(t)
	all := r.requests()
	if last := all[len(all)-1]; last[1] != natpmpMapUDP || !bytes.Equal(last[6:], make([]byte, 6)) {
		t.Errorf("the mapping is not removed: %v", last)
	}
}

func TestRefusesWhatALyingRouterAnswers(t *testing.T) {
	edit := func(f func([]byte) []byte) func([]byte) [][]byte {
		return func(b []byte) [][]byte {
			if b[0] != pcpVersion {
				return nil
			}
			return [][]byte{f(pcpAnswerTo(b, outside, 3600, 1))}
		}
	}
	set := func(i int, v ...byte) func([]byte) [][]byte {
		return edit(func(b []byte) []byte { copy(b[i:], v); return b })
	}
	address := func(text string) func([]byte) [][]byte {
		a := netip.MustParseAddr(text).As16()
		return set(44, a[:]...)
	}
	pmp := func(at string, lifetime uint32) func([]byte) [][]byte {
		return natpmpAnswers(netip.MustParseAddrPort(at), lifetime, 1)
	}
	for name, answer := range map[string]func([]byte) [][]byte{
		"nothing":                   silent,
		"an empty datagram":         edit(func([]byte) []byte { return nil }),
		"one byte":                  edit(func(b []byte) []byte { return b[:1] }),
		"a part":                    edit(func(b []byte) []byte { return b[:40] }),
		"too much":                  edit(func(b []byte) []byte { return append(b, make([]byte, answerMost)...) }),
		"the request":               func(b []byte) [][]byte { return [][]byte{b} },
		"another nonce":             set(24, 1, 2, 3),
		"another protocol":          set(36, 6),
		"another port":              set(40, 1, 2),
		"a refusal":                 set(3, 2),
		"an unknown result":         set(3, 200),
		"a lifetime of 0":           set(4, 0, 0, 0, 0),
		"port 0":                    set(42, 0, 0),
		"0.0.0.0":                   address("0.0.0.0"),
		"this network":              address("0.1.2.3"),
		"loopback":                  address("127.0.0.1"),
		"multicast":                 address("224.0.0.1"),
		"broadcast":                 address("255.255.255.255"),
		"a reserved address":        address("240.0.0.1"),
		"a link-local address":      address("169.254.1.1"),
		"IPv6":                      address("2001:db8::1"),
		"NAT-PMP with loopback":     pmp("127.0.0.1:1", 3600),
		"NAT-PMP without lifetime":  pmp("203.0.113.7:1", 0),
		"NAT-PMP with port 0":       pmp("203.0.113.7:0", 3600),
		"many wrong answers":        func(b []byte) [][]byte { return make([][]byte, 2*answersMost) },
		"NAT-PMP with another port": func(b []byte) [][]byte { return [][]byte{{0, 129, 0, 0, 0, 0, 0, 1, 9, 9, 9, 9, 0, 0, 9, 9}} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newUDPRouter(t, answer)
			m := start(t, func(c *Config) { c.server = r.address() })
			t.Log(m.refused(t))
		})
	}
}

func TestSaysWhyThereIsNoMapping(t *testing.T) {
	r := newUDPRouter(t, func(b []byte) [][]byte {
		if b[0] != pcpVersion {
			return nil
		}
		a := pcpAnswerTo(b, outside, 3600, 1)
		a[3] = 2
		return [][]byte{a}
	})
	m := start(t, func(c *Config) { c.server = r.address() })
	if got := m.refused(t); got != "the router 127.0.0.1 maps no port (PCP: not authorized; NAT-PMP: no answer; UPnP: no answer)" {
		t.Error(got)
	}
}

func TestASilentRouterGetsFewPackets(t *testing.T) {
	r := newUDPRouter(t, silent)
	search := newUDPRouter(t, silent)
	m := start(t, func(c *Config) {
		c.server, c.group = r.address(), search.address()
		c.retryFirst = 500 * time.Millisecond
	})
	m.refused(t)
	first := len(r.requests())
	if searches := len(search.requests()); first != 2*len(resend) || searches != 2*searchCopies {
		t.Errorf("%d requests, %d searches", first, searches)
	}
	time.Sleep(200 * time.Millisecond)
	if now := len(r.requests()); now != first {
		t.Errorf("%d requests during the pause", now-first)
	}
	eventually(t, "the router is asked again", func() bool { return len(r.requests()) > first })
}

func TestAsksAgainAfterAnEpochJump(t *testing.T) {
	var port atomic.Uint32
	port.Store(50000)
	answer := func(b []byte) [][]byte {
		return [][]byte{pcpAnswerTo(b, netip.AddrPortFrom(outside.Addr(), uint16(port.Load())), 3600, 5000)}
	}
	r := newUDPRouter(t, answer)
	group := closedPort(t)
	m := start(t, func(c *Config) { c.server, c.announcements = r.address(), group })
	m.expect(t, outside)
	announce := func(from *udpRouter, epoch uint32) {
		b := make([]byte, pcpHeader)
		b[0], b[1] = pcpVersion, pcpResponse
		binary.BigEndian.PutUint32(b[8:], epoch)
		if _, err := from.conn.WriteToUDPAddrPort(b, group); err != nil {
			t.Fatal(err)
		}
	}
	port.Store(50001)
	announce(newUDPRouter(t, silent), 0) // not the router
	announce(r, 5000)
	if n := len(r.requests()); n != 1 {
		t.Fatalf("%d requests without a jump", n)
	}
	announce(r, 0)
	m.expect(t, netip.AddrPortFrom(outside.Addr(), 50001))
	port.Store(50002)
	_, _ = r.conn.WriteToUDPAddrPort([]byte{0, 128, 0, 0, 0, 0, 19, 136, 203, 0, 113, 8}, group) // another outside address
	m.expect(t, netip.AddrPortFrom(outside.Addr(), 50002))
}

func TestKnowsAnEpochJump(t *testing.T) {
	for _, c := range []struct {
		name            string
		seconds, server int // since the first answer, which had 1000 s
		pcp, natpmp     bool
	}{
		{"the same clock", 100, 1100, true, true},
		{"a little late", 100, 1094, true, true},
		{"at once", 0, 1000, true, true},
		{"one second back", 0, 999, true, true},
		{"two seconds back", 0, 998, false, true},
		{"started again", 100, 50, false, false},
		{"a slow clock", 1600, 2450, false, true},
		{"too slow", 1600, 2300, false, false},
		{"a jump forward", 100, 2000, false, true},
	} {
		begun := time.Now()
		p, n := epoch{}, epoch{}
		p.valid(1000, begun)
		n.validNATPMP(1000, begun)
		now := begun.Add(time.Duration(c.seconds) * time.Second)
		if got := p.valid(uint32(c.server), now); got != c.pcp {
			t.Errorf("%s: PCP: %v", c.name, got)
		}
		if got := n.validNATPMP(uint32(c.server), now); got != c.natpmp {
			t.Errorf("%s: NAT-PMP: %v", c.name, got)
		}
	}
}

func TestFollowsTheGateways(t *testing.T) {
	r := newUDPRouter(t, func(b []byte) [][]byte { return [][]byte{pcpAnswerTo(b, outside, 3600, 7)} })
	var there atomic.Bool
	m := start(t, func(c *Config) {
		c.server = r.address()
		c.Gateways = func() ([]Gateway, error) {
			if there.Load() {
				return []Gateway{here}, nil
			}
			return nil, nil
		}
	})
	eventually(t, "no gateway", func() bool { return m.Status().Text == "there is no default gateway to ask for a mapping" })
	for range 3 {
		there.Store(true)
		m.Refresh()
		m.expect(t, outside)
		there.Store(false)
		m.Refresh()
		m.expect(t)
	}
	there.Store(true)
	m.Refresh()
	m.expect(t, outside)
	n := len(r.requests())
	m.Refresh()
	eventually(t, "the router is asked again", func() bool { return len(r.requests()) > n })
}

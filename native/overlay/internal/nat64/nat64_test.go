package nat64

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"
	"time"
)

// The examples of RFC 6052, section 2.4.
var examples = map[string]string{
	"2001:db8::/32":              "2001:db8:c000:221::",
	"2001:db8:100::/40":          "2001:db8:1c0:2:21::",
	"2001:db8:122::/48":          "2001:db8:122:c000:2:2100::",
	"2001:db8:122:300::/56":      "2001:db8:122:3c0:0:221::",
	"2001:db8:122:344::/64":      "2001:db8:122:344:c0:2:2100::",
	"2001:db8:122:344::/96":      "2001:db8:122:344::192.0.2.33",
	"64:ff9b::/96":               "64:ff9b::192.0.2.33",
	"2001:db8:122:344:8000::/65": "",
	"::ffff:0:0/96":              "",
}

func TestAnAddressIsWrittenIntoAPrefix(t *testing.T) {
	for prefix, want := range examples {
		got, ok := Map(netip.MustParsePrefix(prefix), netip.MustParseAddr("192.0.2.33"))
		if ok != (want != "") || ok && got != netip.MustParseAddr(want) {
			t.Errorf("%s: %v", prefix, got)
		}
	}
	if a, ok := Map(wellKnown, netip.MustParseAddr("192.168.1.2")); ok {
		t.Errorf("a private address is in the well-known prefix: %v", a)
	}
	if a, ok := Map(wellKnown, netip.MustParseAddr("2001:db8::1")); ok {
		t.Errorf("an IPv6 address is mapped: %v", a)
	}
}

func TestThePrefixOfAnAnswer(t *testing.T) {
	for prefix, want := range examples {
		p := netip.MustParsePrefix(prefix)
		for _, k := range known {
			a, ok := Map(p, k)
			if !ok {
				continue
			}
			if got, ok := PrefixOf(a); want != "" && (!ok || got != p) {
				t.Errorf("%s: %v, %t", prefix, got, ok)
			}
		}
	}
	for _, text := range []string{"::", "::1", "192.0.0.170", "::ffff:192.0.0.170", "2001:db8::192.0.0.172", "fe80::192.0.0.170%eth0",
		"2001:db8:c000:aa::192.0.0.170", // written twice
		"2001:db8:122:344:1c0:0:aa00:0", // the byte between is not zero
	} {
		if p, ok := PrefixOf(netip.MustParseAddr(text)); ok {
			t.Errorf("%s: %v", text, p)
		}
	}
}

func FuzzPrefixOf(f *testing.F) {
	for _, text := range []string{"64:ff9b::192.0.0.170", "2001:db8:c000:aa::", "::"} {
		b := netip.MustParseAddr(text).As16()
		f.Add(b[:])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		a, ok := netip.AddrFromSlice(b)
		if !ok {
			return
		}
		p, ok := PrefixOf(a)
		if !ok {
			return
		}
		for _, k := range known {
			if m, ok := Map(p, k); ok && m == a {
				return
			}
		}
		// Bits behind the address are not a part of it.
		if !p.Contains(a) {
			t.Errorf("%v is not in %v", a, p)
		}
	})
}

func finder(answer func() ([]netip.Addr, error)) (*Finder, *int) {
	asked := 0
	return &Finder{HasRoute: func(netip.Addr) bool { return false }, Lookup: func(_ context.Context, name string) ([]netip.Addr, error) {
		if name != knownName {
			return nil, errors.New("another name")
		}
		asked++
		return answer()
	}}, &asked
}

func TestAHostWithoutIPv4UsesTheNAT64OfItsNetwork(t *testing.T) {
	relay := netip.MustParseAddr("203.0.113.7")
	answer := []netip.Addr{netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("64:ff9b::192.0.0.170")}
	var failure error
	f, asked := finder(func() ([]netip.Addr, error) { return answer, failure })
	if p, ok := f.Known(); ok {
		t.Errorf("%v is known before a question", p)
	}
	for range 3 {
		if got := f.Reach(t.Context(), relay); got != netip.MustParseAddr("64:ff9b::203.0.113.7") {
			t.Errorf("it reaches %v", got)
		}
	}
	if p, ok := f.Known(); !ok || p != wellKnown || *asked != 1 {
		t.Errorf("%v, %d questions", p, *asked)
	}
	for _, own := range []string{"2001:db8::7", "127.0.0.1", "10.0.0.1"} { // the last one is private
		if a := netip.MustParseAddr(own); f.Reach(t.Context(), a) != a {
			t.Errorf("%v is mapped", a)
		}
	}
	f.Forget()
	answer = nil
	for range 3 {
		if got := f.Reach(t.Context(), relay); got != relay {
			t.Errorf("in a network without NAT64 it reaches %v", got)
		}
	}
	if *asked != 2 {
		t.Errorf("%d questions", *asked)
	}
	f.Forget()
	failure = errors.New("no such name")
	if got := f.Reach(t.Context(), relay); got != relay {
		t.Errorf("without an answer it reaches %v", got)
	}
	f.HasRoute = func(netip.Addr) bool { return true }
	failure, answer = nil, []netip.Addr{netip.MustParseAddr("64:ff9b::192.0.0.170")}
	f.Forget()
	if got := f.Reach(t.Context(), relay); got != relay {
		t.Errorf("a host with IPv4 reaches %v", got)
	}
}

func TestAnAnswerOfThePreviousNetworkDoesNotCount(t *testing.T) {
	var f *Finder
	f, _ = finder(func() ([]netip.Addr, error) {
		f.Forget() // the network changes meanwhile
		return []netip.Addr{netip.MustParseAddr("64:ff9b::192.0.0.170")}, nil
	})
	if p, ok := f.Prefix(t.Context()); ok {
		t.Errorf("%v", p)
	}
	if p, ok := f.Known(); ok {
		t.Errorf("%v is known", p)
	}
}

func TestAResolverThatDoesNotAnswerDelaysNobodyForLong(t *testing.T) {
	f := &Finder{HasRoute: func(netip.Addr) bool { return false }, Lookup: func(ctx context.Context, _ string) ([]netip.Addr, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	if p, ok := f.Prefix(ctx); ok || time.Since(start) > askLimit {
		t.Errorf("%v after %v", p, time.Since(start))
	}
}

func TestTheSystemSaysWhetherThereIsARoute(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	f := &Finder{}
	if !f.hasRoute(netip.MustParseAddr("127.0.0.1")) {
		t.Error("there is no route to loopback")
	}
	c, err := f.Dialer(&net.Dialer{})(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
}

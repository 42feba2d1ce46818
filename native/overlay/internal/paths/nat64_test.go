package paths

import (
	"context"
	"net/netip"
	"testing"

	"github.com/pion/ice/v4"

	"seganet.internal/overlay/internal/nat64"
)

// behindNAT64 makes the program believe that the host has IPv6 only and that its network has a NAT64.
func behindNAT64(t *testing.T) {
	t.Helper()
	before := nat64.Default
	t.Cleanup(func() { nat64.Default = before })
	nat64.Default = &nat64.Finder{HasRoute: func(netip.Addr) bool { return false }, Lookup: func(context.Context, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("2001:db8:64::192.0.0.170")}, nil
	}}
}

func TestARelayWithIPv4OnlyIsReachedThroughTheNAT64(t *testing.T) {
	behindNAT64(t)
	for host, want := range map[string]string{"203.0.113.7": "[2001:db8:64::cb00:7107]:3478", "2001:db8::7": "[2001:db8::7]:3478", "127.0.0.1": "127.0.0.1:3478"} {
		at, err := Server{Host: host, Port: 3478, Transport: TransportUDP}.resolve(t.Context(), 0)
		if err != nil || at.String() != want {
			t.Errorf("%s: %v, %v", host, at, err)
		}
	}
}

func TestACandidateIsReachedThroughTheNAT64(t *testing.T) {
	behindNAT64(t)
	if _, ok := nat64.Default.Prefix(t.Context()); !ok {
		t.Fatal("the prefix is unknown")
	}
	given, err := ice.UnmarshalCandidate("1 1 udp 1694498815 203.0.113.9 7001 typ srflx raddr 0.0.0.0 rport 7001")
	if err != nil {
		t.Fatal(err)
	}
	c, err := translated(given, nat64.Default.ReachNow(netip.MustParseAddr(given.Address())))
	if err != nil {
		t.Fatal(err)
	}
	if c.Address() != "2001:db8:64::cb00:7109" || c.Port() != 7001 || !c.NetworkType().IsIPv6() || c.Priority() != given.Priority() {
		t.Errorf("%s", c.Marshal())
	}
}

package serve

import (
	"net"
	"net/netip"
	"testing"
)

func TestAClientHasAnIPv6NetworkOf64Bits(t *testing.T) {
	for from, want := range map[string]string{
		"192.0.2.1": "192.0.2.1/32", "::ffff:192.0.2.1": "192.0.2.1/32", "2001:db8:1:2:3::4": "2001:db8:1:2::/64",
	} {
		if got := clientOf(&net.TCPAddr{IP: net.ParseIP(from), Port: 1}); got != netip.MustParsePrefix(want) {
			t.Errorf("%s is of the client %s", from, got)
		}
	}
	if got := clientOf(&net.TCPAddr{IP: net.ParseIP("fe80::1"), Port: 1, Zone: "eth0"}); got != netip.MustParsePrefix("fe80::/64") {
		t.Errorf("a link-local address is of the client %s", got)
	}
	if got := clientOf(&net.UnixAddr{Name: "x"}); got.IsValid() {
		t.Error(got)
	}
}

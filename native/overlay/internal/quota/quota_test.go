package quota

import (
	"net"
	"net/netip"
	"testing"
)

func TestAClientHasAnIPv6NetworkOf64Bits(t *testing.T) {
	for from, want := range map[string]string{
		"192.0.2.1": "192.0.2.1/32", "::ffff:192.0.2.1": "192.0.2.1/32", "2001:db8:1:2:3::4": "2001:db8:1:2::/64",
	} {
		if got := ClientOf(net.JoinHostPort(from, "1")); got != netip.MustParsePrefix(want) {
			t.Errorf("%s is of the client %s", from, got)
		}
	}
	if got := ClientOf("[fe80::1%eth0]:1"); got != netip.MustParsePrefix("fe80::/64") {
		t.Errorf("a link-local address is of the client %s", got)
	}
	if got := ClientOf("@x"); got.IsValid() {
		t.Error(got)
	}
}

func TestOneClientLeavesQuotaToOthers(t *testing.T) {
	p := New(3, 2)
	take := func(from string, want bool) (leave func()) {
		t.Helper()
		leave, ok := p.Take(from)
		if ok != want {
			t.Errorf("%s gets a place: %v", from, ok)
		}
		return leave
	}
	first := take("192.0.2.1:1", true)
	take("192.0.2.1:2", true)
	take("192.0.2.1:3", false)
	take("192.0.2.2:1", true)
	take("192.0.2.3:1", false)
	first()
	take("192.0.2.2:1", true)
	take("192.0.2.1:4", false)
}

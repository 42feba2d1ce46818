package paths_test

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pion/logging"
	"github.com/pion/turn/v5"

	"seganet.internal/overlay/internal/paths"
	"seganet.internal/overlay/internal/relay"
)

const familySecret = "0123456789abcdef0123456789abcdef"

// familyRelay is a relay on loopback, with addresses of one IP version or both. Its URLs are one of each. It is the overlay's
// own one; another server takes its place beside a second relay, as two of them on one host do not reach each other.
func familyRelay(t *testing.T, own bool, public ...string) map[string]string {
	t.Helper()
	o := relay.Options{Secret: familySecret, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}}
	urls := map[string]string{}
	for _, p := range public {
		o.Public = append(o.Public, netip.MustParseAddr(p))
		c, err := net.ListenPacket("udp", net.JoinHostPort(p, "0"))
		if err != nil {
			t.Skipf("SKIPPED: no socket at %s: %v", p, err)
		}
		o.Packets = append(o.Packets, c)
		urls[p] = "turn:" + c.LocalAddr().String() + "?transport=udp"
	}
	var s io.Closer
	var err error
	if own {
		s, err = relay.New(o)
	} else {
		f := logging.NewDefaultLoggerFactory()
		conf := turn.ServerConfig{Realm: paths.Realm, LoggerFactory: f, StrictAddressFamily: slices.Contains(public, v4),
			AuthHandler: turn.LongTermTURNRESTAuthHandler(familySecret, f.NewLogger("turn"))}
		for _, c := range o.Packets {
			conf.PacketConnConfigs = append(conf.PacketConnConfigs, turn.PacketConnConfig{PacketConn: c, RelayAddressGenerator: loopbacks(public)})
		}
		s, err = turn.NewServer(conf)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return urls
}

// loopbacks gives relayed addresses of loopback.
type loopbacks []string

func (loopbacks) Validate() error { return nil }

func (l loopbacks) AllocatePacketConn(c turn.AllocateListenerConfig) (net.PacketConn, net.Addr, error) {
	at := map[string]string{"udp4": v4, "udp6": v6}[c.Network]
	if !slices.Contains(l, at) {
		return nil, nil, errors.New("no address of this version")
	}
	conn, err := net.ListenPacket(c.Network, net.JoinHostPort(at, "0"))
	if err != nil {
		return nil, nil, err
	}
	return conn, conn.LocalAddr(), nil
}

func (loopbacks) AllocateListener(turn.AllocateListenerConfig) (net.Listener, net.Addr, error) {
	return nil, nil, errors.ErrUnsupported
}

func (loopbacks) AllocateConn(turn.AllocateConnConfig) (net.Conn, error) {
	return nil, errors.ErrUnsupported
}

// reaches gives a node the only relays that it can reach.
func reaches(t *testing.T, n *node, urls ...string) {
	t.Helper()
	servers, err := paths.ParseServers(urls)
	if err != nil {
		t.Fatal(err)
	}
	user, password, err := turn.GenerateLongTermTURNRESTCredentials(familySecret, n.name, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	n.paths.SetTURN(paths.TURN{Servers: servers, User: user, Password: password})
}

const v4, v6 = "127.0.0.1", "::1"

func TestNodesOfDifferentIPVersionsConnectByTheRelay(t *testing.T) {
	for name, c := range map[string]struct {
		a, b    []string // versions by which the nodes reach the relay
		b6      bool     // b reaches another relay, which has IPv6 only
		relayed []string // versions of the address by which a sends
	}{
		"IPv4 with IPv6":                                   {a: []string{v4}, b: []string{v6}, relayed: []string{v4}},
		"IPv6 with IPv6":                                   {a: []string{v6}, b: []string{v6}, relayed: []string{v4}},
		"dual stack with IPv6":                             {a: []string{v6, v4}, b: []string{v6}, relayed: []string{v4}},
		"dual stack with IPv4":                             {a: []string{v6, v4}, b: []string{v4}, relayed: []string{v4}},
		"IPv4 with a node whose relay has IPv6 only":       {a: []string{v4}, b: []string{v6}, b6: true, relayed: []string{v6}},
		"both whose relay has IPv6 only":                   {a: nil, b: []string{v6}, b6: true, relayed: []string{v6}},
		"dual stack with a node whose relay has IPv6 only": {a: []string{v6, v4}, b: []string{v6}, b6: true, relayed: []string{v6}},
	} {
		t.Run(name, func(t *testing.T) {
			both := familyRelay(t, !c.b6, v4, v6)
			other := both
			if c.b6 {
				other = familyRelay(t, false, v6)
			}
			a, b, _ := pair(t, nodeOptions{relayOnly: true})
			var urls []string
			for _, v := range c.a {
				urls = append(urls, both[v])
			}
			if c.a == nil {
				urls = append(urls, other[v6])
			}
			reaches(t, a, urls...)
			urls = nil
			for _, v := range c.b {
				urls = append(urls, other[v])
			}
			reaches(t, b, urls...)
			if _, path := ping(t, a, b, patience); path != "relay" {
				t.Errorf("path %q", path)
			}
			ping(t, b, a, patience)
			s := a.status(b)
			if s.Blocked || s.RxRelay == 0 {
				t.Errorf("%+v", s)
			}
			n := a.paths.Node()
			if at := n.RelayAddress + " " + n.RelayAddress6; !slices.ContainsFunc(c.relayed, func(v string) bool { return strings.Contains(at, v) }) {
				t.Errorf("relayed addresses %s", at)
			}
		})
	}
}

// A relay sends from an address of one IP version only to that version. Status explains it.
func TestStatusSaysThatNoPacketPasses(t *testing.T) {
	four, six := familyRelay(t, true, v4), familyRelay(t, true, v6)
	a, b, _ := pair(t, nodeOptions{relayOnly: true})
	reaches(t, a, four[v4])
	reaches(t, b, six[v6])
	a.paths.Sent(b.public)
	eventually(t, patience, "status says that nothing passes", func() bool { return a.status(b).Blocked && b.status(a).Blocked })
	if why := a.status(b).Why; !strings.Contains(why, "different IP versions") {
		t.Errorf("why: %q", why)
	}
}

// The second address is for peers that have no other.
func TestAnIPv6AddressIsOpenedForAPeerThatHasNoOther(t *testing.T) {
	both, six := familyRelay(t, false, v4, v6), familyRelay(t, false, v6)
	a, b, _ := pair(t, nodeOptions{relayOnly: true})
	reaches(t, a, both[v4], both[v6])
	eventually(t, patience, "an address", a.paths.HasRelay)
	reaches(t, b, six[v6])
	ping(t, a, b, patience)
	if n := a.paths.Node(); !strings.HasPrefix(n.RelayAddress, v4) || !strings.HasPrefix(n.RelayAddress6, "["+v6) {
		t.Errorf("%+v", n)
	}
	reaches(t, b, both[v6]) // b moves to the other relay
	ping(t, a, b, patience)
	eventually(t, patience, "b is reached by IPv4", func() bool { return strings.HasPrefix(b.paths.Node().RelayAddress, v4) })
	ping(t, b, a, patience)
}

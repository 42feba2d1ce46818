package relay

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/pion/logging"
	"github.com/pion/turn/v5"

	"seganet.internal/overlay/internal/busytest"
)

const testSecret = "0123456789abcdef0123456789abcdef"

var loopback = []netip.Addr{netip.MustParseAddr("127.0.0.1")}

// listen opens a port of both protocols. A free one of UDP may be in use by a connection of another test's TCP.
func listen() (udp net.PacketConn, tcp net.Listener, err error) {
	for range 20 {
		if udp, err = net.ListenPacket("udp4", "127.0.0.1:0"); err != nil {
			return nil, nil, err
		}
		if tcp, err = net.Listen("tcp4", udp.LocalAddr().String()); err == nil {
			return udp, tcp, nil
		}
		udp.Close()
	}
	return nil, nil, err
}

func start(t *testing.T, allow ...netip.Prefix) (*Server, string) {
	t.Helper()
	udp, tcp, err := listen()
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Options{Packets: []net.PacketConn{udp}, Listeners: []net.Listener{tcp}, Public: loopback, Secret: testSecret, Allow: allow})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, udp.LocalAddr().String()
}

func user(node string, life time.Duration) string {
	return fmt.Sprintf("%d:%s", time.Now().Add(life).Unix(), node)
}

// allocate opens a relayed address by UDP.
func allocate(t *testing.T, at, user, password string) (net.PacketConn, *turn.Client, error) {
	t.Helper()
	sock, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sock.Close() })
	c, err := turn.NewClient(&turn.ClientConfig{TURNServerAddr: at, Conn: sock, Username: user, Password: password, Realm: Realm, LoggerFactory: logging.NewDefaultLoggerFactory(), RTO: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	if err := c.Listen(); err != nil {
		t.Fatal(err)
	}
	pc, err := c.Allocate()
	return pc, c, err
}

func TestCredentials(t *testing.T) {
	_, at := start(t)
	good := user("a", time.Hour)
	for name, c := range map[string][2]string{
		"another secret":     {good, Password("another", good)},
		"no password":        {good, ""},
		"an expired user":    {user("a", -time.Second), Password(testSecret, user("a", -time.Second))},
		"a user for a year":  {user("a", 365*24*time.Hour), Password(testSecret, user("a", 365*24*time.Hour))},
		"no expiry":          {"a", Password(testSecret, "a")},
		"no node":            {user("", time.Hour), Password(testSecret, user("", time.Hour))},
		"an expiry of words": {"soon:a", Password(testSecret, "soon:a")},
		"a long user":        {user(strings.Repeat("a", maxUserBytes), time.Hour), Password(testSecret, user(strings.Repeat("a", maxUserBytes), time.Hour))},
	} {
		if pc, _, err := allocate(t, at, c[0], c[1]); err == nil {
			pc.Close()
			t.Errorf("%s is accepted", name)
		}
	}
	if _, _, err := allocate(t, at, good, Password(testSecret, good)); err != nil {
		t.Error(err)
	}
	// The library's own generator, which the node service uses, agrees.
	u, p, err := turn.GenerateLongTermTURNRESTCredentials(testSecret, "a", time.Hour)
	if err != nil || p != Password(testSecret, u) {
		t.Error(u, p, err)
	}
}

// granted opens a relayed address of a node, which must succeed.
func granted(t *testing.T, at, node string) (net.PacketConn, *turn.Client) {
	t.Helper()
	u := user(node, time.Hour)
	pc, c, err := allocate(t, at, u, Password(testSecret, u))
	if err != nil {
		t.Fatalf("node %s: %v", node, err)
	}
	return pc, c
}

// own sends a request that only the owner of a relayed address may send.
func own(c *turn.Client) error {
	return c.CreatePermission(&net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9})
}

func TestANodeThatCannotReleaseItsAddressesGetsAnotherOne(t *testing.T) {
	s, at := start(t)
	other, otherClient := granted(t, at, "b")
	defer other.Close()
	asking, askingClient := granted(t, at, "a")
	sending, sendingClient := granted(t, at, "a")
	var last *turn.Client
	for i := range 3 * allocationsEach { // a network that changes as often: none of these is closed
		if err := own(askingClient); err != nil {
			t.Fatalf("after %d others, the address of a node that asks is gone: %v", i, err)
		}
		if _, err := sending.WriteTo([]byte("x"), asking.LocalAddr()); err != nil {
			t.Fatal(err)
		}
		_, last = granted(t, at, "a")
	}
	for name, c := range map[string]*turn.Client{"asks": askingClient, "sends": sendingClient, "came last": last, "is another node": otherClient} {
		if err := own(c); err != nil {
			t.Errorf("the address of the one that %s: %v", name, err)
		}
	}
	if n := s.Allocations(); n > allocationsEach+1 {
		t.Errorf("%d allocations, of which one is another node's", n)
	}
}

func TestAReleasedAllocationNoLongerCounts(t *testing.T) {
	s, at := start(t)
	pc, _ := granted(t, at, "a")
	if n := s.Allocations(); n != 1 {
		t.Fatalf("%d allocations", n)
	}
	pc.Close()
	for deadline := time.Now().Add(20 * time.Second); s.Allocations() > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("a closed allocation still counts")
		}
	}
	if l := s.allocations; len(l.nodes)+len(l.relayed)+len(l.clients) > 0 {
		t.Errorf("%d nodes, %d relayed addresses and %d clients are left", len(l.nodes), len(l.relayed), len(l.clients))
	}
}

func TestAllNodesTogetherHaveALimit(t *testing.T) {
	l := newAllocations(2, 3, nil)
	open := func(node string) *allocation {
		c, err := net.ListenPacket("udp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		p, err := l.add(node, c.LocalAddr().String(), c)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	first, second := open("a"), open("a")
	first.touch()
	third := open("b")
	if _, ok := l.room("b"); ok {
		t.Error("a fourth address of all nodes is granted")
	}
	if ended, ok := l.room("a"); !ok || ended != second { // instead of an own one
		t.Errorf("%v, %t", ended, ok)
	}
	if ended, ok := l.room("b"); !ok || ended != nil {
		t.Errorf("%v, %t", ended, ok)
	}
	first.Close()
	first.Close()
	third.Close()
	if n := l.count(); n != 0 {
		t.Errorf("%d are left", n)
	}
}

func TestPrivateAddressesAreNotReached(t *testing.T) {
	s := &Server{opts: Options{Public: []netip.Addr{netip.MustParseAddr("203.0.113.7"), netip.MustParseAddr("10.0.0.5")}, Allow: []netip.Prefix{netip.MustParsePrefix("192.168.5.0/24")}}}
	for ip, want := range map[string]bool{
		"203.0.113.7": true, "10.0.0.5": true, "192.168.5.9": true, "8.8.8.8": true, "2001:4860::1": true,
		"127.0.0.1": false, "::1": false, "10.0.0.6": false, "192.168.6.1": false, "172.16.0.1": false, "169.254.169.254": false, "fe80::1": false, "fd00::1": false,
		"100.64.0.1": false, "0.0.0.0": false, "::": false, "224.0.0.1": false, "ff02::1": false, "255.255.255.255": false, "::ffff:127.0.0.1": false,
		"198.18.0.1": false, "198.18.255.254": false, "::ffff:198.18.0.1": false, "198.19.0.1": false, "198.20.0.1": true, "0.1.2.3": false, "192.0.0.8": false, "192.0.1.1": true,
		"240.0.0.1": false, "64:ff9b::a00:1": false, "64:ff9b:1::a00:1": false, "2002:a00:1::1": false,
	} {
		if got := s.permit(nil, net.ParseIP(ip)); got != want {
			t.Errorf("%s: %t", ip, got)
		}
	}
	_, at := start(t)
	u := user("a", time.Hour)
	_, c, err := allocate(t, at, u, Password(testSecret, u))
	if err != nil {
		t.Fatal(err)
	}
	if c.CreatePermission(&net.UDPAddr{IP: net.IPv4(10, 1, 2, 3), Port: 80}) == nil {
		t.Error("a private address is permitted")
	}
}

// A firewall in front of the relay's host does not protect the host's other services from the relay: a resolver, SNMP,
// CoAP.
func TestOtherPortsOfTheRelaysHostAreNotReached(t *testing.T) {
	_, at := start(t, netip.MustParsePrefix("0.0.0.0/0"))
	service, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer service.Close()
	got := make(chan string, 16)
	go func() {
		b := make([]byte, 1500)
		for {
			n, _, err := service.ReadFrom(b)
			if err != nil {
				return
			}
			got <- string(b[:n])
		}
	}()
	mallory, _ := granted(t, at, "mallory")
	friend, _ := granted(t, at, "friend")
	if _, err := friend.WriteTo([]byte("open"), mallory.LocalAddr()); err != nil {
		t.Fatal(err)
	}
	for range 3 { // the first ones by Send indication, then by a channel
		if _, err := mallory.WriteTo([]byte("hello"), service.LocalAddr()); err != nil {
			t.Fatal("refused:", err)
		}
		if _, err := mallory.WriteTo([]byte("to a relayed address"), friend.LocalAddr()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
	b := make([]byte, 1500)
	_ = friend.SetReadDeadline(time.Now().Add(10 * time.Second))
	if n, _, err := friend.ReadFrom(b); err != nil || string(b[:n]) != "to a relayed address" {
		t.Fatalf("%q, %v", b[:n], err) // what was sent before it has been relayed or refused by now
	}
	select {
	case text := <-got:
		t.Errorf("a port of the host that is no relayed address got %q", text)
	default:
	}
}

// The relay uses some addresses of its host. The others, including allowed private ones, lead to the host itself.
func TestOtherAddressesOfTheRelaysHostAreNotPermitted(t *testing.T) {
	own := netip.MustParseAddr("192.168.5.9")
	s := &Server{opts: Options{Public: []netip.Addr{netip.MustParseAddr("203.0.113.7")}, Allow: []netip.Prefix{netip.MustParsePrefix("192.168.5.0/24")}}, host: &host{}}
	s.host.known.Store(&hostAddresses{read: time.Now(), set: map[netip.Addr]struct{}{own: {}, netip.MustParseAddr("203.0.113.7"): {}}})
	for ip, want := range map[string]bool{"192.168.5.9": false, "192.168.5.10": true, "203.0.113.7": true, "203.0.113.8": true} {
		if got := s.permit(nil, net.ParseIP(ip)); got != want {
			t.Errorf("%s: %t", ip, got)
		}
	}
}

func TestTheAllocationOfARevokedNodeEndsAtOnce(t *testing.T) {
	s, at := start(t)
	u := user("a#01ab", time.Hour)
	_, gone, err := allocate(t, at, u, Password(testSecret, u))
	if err != nil {
		t.Fatal(err)
	}
	_, stays := granted(t, at, "a#02cd") // the same node with a newer certificate
	_, other := granted(t, at, "b")
	s.Revoke(map[string]struct{}{"01ab": {}})
	for start := time.Now(); own(gone) == nil || s.Allocations() != 2; time.Sleep(5 * time.Millisecond) {
		if time.Since(start) > busytest.Limit(10*time.Second) {
			t.Fatal("the allocation of the revoked node is still there")
		}
	}
	if err := errors.Join(own(stays), own(other)); err != nil {
		t.Error(err)
	}
	if _, _, err := allocate(t, at, u, Password(testSecret, u)); err == nil {
		t.Error("the revoked node gets another one")
	}
}

func TestTheOverlayIsNotReachedThroughTheRelay(t *testing.T) {
	s := &Server{opts: Options{Public: []netip.Addr{netip.MustParseAddr("198.18.0.1")}, Overlay: netip.MustParsePrefix("fd01:203:405::/48"),
		Allow: []netip.Prefix{netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("fd00::/8")}}}
	for ip, want := range map[string]bool{
		"198.18.0.1": false, "198.18.0.2": false, "::ffff:198.18.0.2": false, "fd01:203:405::2": false,
		"198.19.0.1": true, "fd01:203:406::2": true, // what the operator allowed
	} {
		if got := s.permit(nil, net.ParseIP(ip)); got != want {
			t.Errorf("%s: %t", ip, got)
		}
	}
}

func TestRubbishDoesNotStopTheRelay(t *testing.T) {
	s, at := start(t)
	udp, err := net.Dial("udp4", at)
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	for i := range 2000 {
		_, _ = udp.Write([]byte(strings.Repeat(string(rune(i)), i%1500)))
	}
	tcp, err := net.Dial("tcp4", at)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = tcp.Write([]byte("GET / HTTP/1.1\r\n\r\n"))
	defer tcp.Close()
	u := user("a", time.Hour)
	if _, _, err := allocate(t, at, u, Password(testSecret, u)); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// Credentials come from the node services: relayed sessions outlive an outage of these.
func TestAnAllocationContinuesWithExpiredCredentials(t *testing.T) {
	udp, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var later atomic.Int64
	s, err := New(Options{Packets: []net.PacketConn{udp}, Public: loopback, Secret: testSecret,
		Now: func() time.Time { return time.Now().Add(time.Duration(later.Load())) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	at, u := udp.LocalAddr().String(), user("a", time.Hour)
	_, c, err := allocate(t, at, u, Password(testSecret, u))
	if err != nil {
		t.Fatal(err)
	}
	later.Store(int64(24 * time.Hour))
	if err := own(c); err != nil {
		t.Errorf("23 h after the credentials' end: %v", err)
	}
	if pc, _, err := allocate(t, at, u, Password(testSecret, u)); err == nil {
		pc.Close()
		t.Error("expired credentials get another allocation")
	}
	later.Store(int64(26 * time.Hour))
	if own(c) == nil {
		t.Error("credentials that expired a day ago are accepted")
	}
}

// The relay may run on another machine than the node services, whose clock differs.
func TestCredentialsOfServicesWhoseClockIsAheadAreAccepted(t *testing.T) {
	udp, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Options{Packets: []net.PacketConn{udp}, Public: loopback, Secret: testSecret})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	for _, x := range []struct {
		ahead time.Duration
		ok    bool
	}{{50 * time.Minute, true}, {70 * time.Minute, false}} {
		u := user("a", time.Hour+x.ahead)
		if _, _, err := allocate(t, udp.LocalAddr().String(), u, Password(testSecret, u)); (err == nil) != x.ok {
			t.Errorf("services that are %v ahead: %v", x.ahead, err)
		}
	}
}

// limited listens on a free port of 127.0.0.1 and returns what it accepts.
func limited(t *testing.T, all, each int, first, idle time.Duration) (*limitListener, <-chan net.Conn) {
	t.Helper()
	inner, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := newLimitListener(inner, all, each, first, idle)
	t.Cleanup(func() { l.Close() })
	accepted := make(chan net.Conn, 10)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- c
		}
	}()
	return l, accepted
}

func TestOneClientDoesNotTakeAllConnections(t *testing.T) {
	l, accepted := limited(t, 10, 1, 50*time.Millisecond, time.Minute)
	dial := func(from string) net.Conn {
		t.Helper()
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		c, err := d.Dial("tcp4", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	dial("127.0.0.1")
	one := <-accepted
	over := dial("127.0.0.1")
	_ = over.SetReadDeadline(time.Now().Add(20 * time.Second))
	if _, err := over.Read(make([]byte, 1)); !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a connection over the client's share: %v", err)
	}
	for start := time.Now(); l.refused.Count() != 1; time.Sleep(time.Millisecond) {
		if time.Since(start) > busytest.Limit(20*time.Second) {
			t.Fatalf("%d refusals are counted", l.refused.Count())
		}
	}
	dial("127.0.0.2")
	<-accepted
	if _, err := one.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a connection without a first byte: %v", err)
	}
	one.Close()
	one.Close()
	dial("127.0.0.1")
	<-accepted
	l.closeAll()
}

func TestConnectionsAreBounded(t *testing.T) {
	l, accepted := limited(t, 2, 2, time.Minute, 50*time.Millisecond)
	dial := func() net.Conn {
		c, err := net.Dial("tcp4", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	talks := dial()
	_, _ = talks.Write([]byte{1})
	first := <-accepted
	if n, err := first.Read(make([]byte, 1)); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	dial()
	<-accepted
	over := dial()
	_ = over.SetReadDeadline(time.Now().Add(20 * time.Second))
	if _, err := over.Read(make([]byte, 1)); err == nil {
		t.Error("the third connection is served")
	}
	if _, err := first.Read(make([]byte, 1)); err == nil {
		t.Error("an idle connection lives on")
	}
	first.Close()
	dial()
	<-accepted
	l.closeAll()
	if n := len(l.open); n != 0 {
		t.Errorf("%d connections are open", n)
	}
}

// Package relay is the tunnel relay service: a TURN server (RFC 8656) over UDP, TCP and TLS with credentials of the
// TURN REST scheme, for pairs of nodes without a direct path. It forwards WireGuard packets and cannot read them. For
// higher loads, coturn with use-auth-secret can replace it.
//
// Thread safety: Server is safe for concurrent use.
package relay

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // the TURN REST scheme prescribes HMAC-SHA1
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pion/logging"
	"github.com/pion/stun/v4"
	"github.com/pion/turn/v5"

	"seganet.internal/overlay/internal/identity"
	"seganet.internal/overlay/internal/udpbuf"
)

const (
	// Realm is the TURN realm.
	Realm = "seganet"

	allocationsEach  = 8                   // relayed addresses of one node; one more replaces the least recently used
	maxAllocations   = 4096                // of all nodes
	maxConns         = 4096                // TCP connections, and as many by TLS
	maxConnsEach     = 256                 // of these, from one IPv4 address or IPv6 /64, which may be a plant's NAT
	maxLife          = time.Hour           // credentials that claim to live longer, plus slack, are refused
	lifeSlack        = identity.ClockSlack // the node services' clock may be ahead of the relay's
	clockReportEvery = time.Minute         // minimum time between two log lines of reportClock
	expiredGrace     = 24 * time.Hour      // an allocation with expired credentials continues for this long
	tcpFirst         = 10 * time.Second    // a TCP connection without a first byte is closed
	tcpIdle          = 15 * time.Minute    // a TCP connection that is silent for this long is closed
	maxUserBytes     = 300
	bufferBytes      = 1 << 20 // kernel buffer of a relayed address, in each direction
)

// Options configure a Server.
type Options struct {
	Packets   []net.PacketConn // UDP sockets
	Listeners []net.Listener   // TCP and TLS
	Public    []netip.Addr     // the relay's own addresses as nodes see them: one IPv4, one IPv6, or both
	Secret    string           // shared with the node services
	Allow     []netip.Prefix   // addresses that may be relayed to besides public ones and the relay's own
	Overlay   netip.Prefix     // the network's IPv6 prefix, which is never relayed to; zero: unknown
	Now       func() time.Time // nil: time.Now
}

// Server is a running relay.
type Server struct {
	opts          Options
	turn          *turn.Server
	lists         []*limitListener
	allocations   *allocations
	host          *host
	fronts        map[string]*front // by local address
	clockReported atomic.Int64      // when reportClock last logged, Unix nanoseconds
}

// New starts a relay on the sockets, which it owns from then on.
func New(o Options) (*Server, error) {
	if o.Secret == "" {
		return nil, errors.New("the relay has no secret. Give the one that the node services use")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Server{opts: o, host: &host{public: o.Public}, fronts: map[string]*front{}}
	s.allocations = newAllocations(allocationsEach, maxAllocations, s.host)
	gen := &generator{allocations: s.allocations}
	for _, a := range o.Public {
		if a.Is4() {
			gen.four = a
		} else {
			gen.six = a
		}
	}
	if len(o.Public) == 0 {
		return nil, errors.New("the relay does not know its public address. Give it: --relay-address <ip>")
	}
	// A request without an IP version means IPv4 (RFC 8656, section 7.2), whichever version carries it, so that all
	// pairs of nodes have one version in common. A relay without an IPv4 address grants the version that carries the
	// request.
	conf := turn.ServerConfig{Realm: Realm, LoggerFactory: quiet{}, AuthHandler: s.authenticate, QuotaHandler: s.quota, StrictAddressFamily: gen.four.IsValid(),
		EventHandler: turn.EventHandler{
			OnAllocationCreated: func(from, relay net.Addr, _, _, _ string, relayed net.Addr, _ int) {
				s.allocations.created(client(from, relay), relayed.String())
			},
			OnChannelCreated: func(from, at net.Addr, _, _, _ string, relayed, peer net.Addr, number uint16) {
				s.channelEvent(from, at, peer, func(f *front, node, peer netip.AddrPort) {
					s.allocations.bound(f, node, relayed.String(), peer, number)
				})
			},
			OnChannelDeleted: func(from, at net.Addr, _, _, _ string, relayed, peer net.Addr, number uint16) {
				s.channelEvent(from, at, peer, func(f *front, node, peer netip.AddrPort) {
					s.allocations.unbound(f, node, relayed.String(), peer, number)
				})
			},
			OnAuth: func(from, relay net.Addr, _, _, _, _ string, proved bool) {
				if proved {
					s.allocations.seen(client(from, relay))
				}
			},
		}}
	for _, p := range o.Packets {
		if u, ok := p.(*net.UDPConn); ok {
			f, err := newFront(u, s.allocations)
			if err != nil {
				return nil, fmt.Errorf("the relay's UDP socket: %w", err)
			}
			s.fronts[u.LocalAddr().String()] = f
			p = f
		}
		conf.PacketConnConfigs = append(conf.PacketConnConfigs, turn.PacketConnConfig{PacketConn: p, RelayAddressGenerator: gen, PermissionHandler: s.permit})
	}
	for _, l := range o.Listeners {
		limited := newLimitListener(l, maxConns, maxConnsEach, tcpFirst, tcpIdle)
		s.lists = append(s.lists, limited)
		conf.ListenerConfigs = append(conf.ListenerConfigs, turn.ListenerConfig{Listener: limited, RelayAddressGenerator: gen, PermissionHandler: s.permit})
	}
	var err error
	s.turn, err = turn.NewServer(conf)
	return s, err
}

// Close ends all allocations and connections.
func (s *Server) Close() error {
	err := s.turn.Close()
	for _, l := range s.lists {
		l.closeAll()
	}
	return err
}

// Allocations returns the number of relayed addresses in use.
func (s *Server) Allocations() int { return s.allocations.count() }

// Refused returns the number of TCP and TLS connections that were over a limit.
func (s *Server) Refused() (count uint64) {
	for _, l := range s.lists {
		count += l.refused.Count()
	}
	return count
}

// Revoke replaces the set of revoked serial numbers. It ends the allocations of their nodes at once.
func (s *Server) Revoke(serials map[string]struct{}) {
	for _, ended := range s.allocations.revoke(serials) {
		slog.Info("the relay ended an allocation of a revoked node", "node", ended.node, "ended", ended.relayed)
	}
}

// split separates the node part of the credentials, "<FQDN>#<serial number of its certificate>". Services of an earlier
// version give the FQDN only.
func split(user string) (node, serial string) {
	node, serial, _ = strings.Cut(user, "#")
	return node, serial
}

// authenticate checks the user name "<expiry>:<node>", whose password is its HMAC. It returns the node, for which the
// quota is counted.
//
// A node gets new credentials from the node services. While those are down, its allocation must continue, so expired
// credentials stay valid for expiredGrace, except for a new allocation.
func (s *Server) authenticate(ra *turn.RequestAttributes) (string, []byte, bool) {
	expiry, node, ok := strings.Cut(ra.Username, ":")
	if !ok || node == "" || len(ra.Username) > maxUserBytes {
		return "", nil, false
	}
	at, err := strconv.ParseInt(expiry, 10, 64)
	left := time.Unix(at, 0).Sub(s.opts.Now())
	grace := expiredGrace
	if ra.Method == stun.MethodAllocate {
		grace = 0
	}
	if _, serial := split(node); err != nil || s.allocations.isRevoked(serial) {
		return "", nil, false
	}
	if left < -grace || left > maxLife+lifeSlack {
		s.reportClock(node, left)
		return "", nil, false
	}
	return node, turn.GenerateAuthKey(ra.Username, ra.Realm, Password(s.opts.Secret, ra.Username)), true
}

// reportClock logs that credentials were refused for their time, at most once per clockReportEvery. The sender is not
// authenticated, so the log's node may be false.
func (s *Server) reportClock(node string, left time.Duration) {
	now, last := s.opts.Now().UnixNano(), s.clockReported.Load()
	if between := time.Duration(now - last); between >= 0 && between < clockReportEvery || !s.clockReported.CompareAndSwap(last, now) {
		return
	}
	slog.Warn("the relay refuses credentials whose time is not valid. Compare its clock with that of the node services",
		"node", node, "left", left.Round(time.Second), "most", maxLife)
}

// Password returns the password of a user by the TURN REST scheme.
func Password(secret, user string) string {
	mac := hmac.New(sha1.New, []byte(secret))
	mac.Write([]byte(user))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// quota decides whether a node may have one more relayed address. At the node's limit it ends the least recently used
// one.
func (s *Server) quota(user, _ string, from net.Addr) bool {
	node, _ := split(user)
	ended, ok := s.allocations.room(node)
	if !ok {
		slog.Warn("the relay refuses an allocation, because the quota of all nodes is used up", "node", node, "from", from.String())
	}
	if ended != nil {
		slog.Info("a new allocation of a node replaces its least recently used one", "node", node, "from", from.String(), "ended", ended.relayed)
	}
	return ok
}

// permit decides where packets may be relayed to: the relay's own addresses (another node's allocation), public unicast
// addresses, and those of Allow. Otherwise a node could reach the relay's private network, for example a cloud's
// metadata service. Regardless of Allow, permit refuses the other addresses of the relay's host, and allocation.WriteTo
// refuses all ports of the relay's own addresses except those of allocations: a firewall in front of the host does not
// filter traffic between the host's own programs.
//
// It also refuses addresses inside the overlay, regardless of Allow. If the relay's host is a node with a TUN
// interface, packets relayed to them would bypass the policy: peers would take them for that node's own.
func (s *Server) permit(_ net.Addr, ip net.IP) bool {
	a, ok := netip.AddrFromSlice(ip)
	if !ok {
		return false
	}
	a = a.Unmap()
	if identity.Pool4().Contains(a) || s.opts.Overlay.Contains(a) {
		return false
	}
	if s.host.has(a) && !slices.Contains(s.opts.Public, a) {
		return false
	}
	contains := func(p netip.Prefix) bool { return p.Contains(a) }
	if slices.Contains(s.opts.Public, a) || slices.ContainsFunc(s.opts.Allow, contains) {
		return true
	}
	return a.IsGlobalUnicast() && !a.IsPrivate() && !slices.ContainsFunc(special, contains)
}

// special lists prefixes outside the public Internet (RFC 6890), and IPv6 prefixes that map to IPv4 addresses, which
// may be private.
var special = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"), // shared by carriers
	netip.MustParsePrefix("192.0.0.0/24"),  // protocol assignments
	netip.MustParsePrefix("198.18.0.0/15"), // benchmarks; its lower half is the overlay's pool
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("64:ff9b::/96"),   // NAT64
	netip.MustParsePrefix("64:ff9b:1::/48"), // NAT64, local (RFC 8215)
	netip.MustParsePrefix("2002::/16"),      // 6to4
}

// generator opens the relayed sockets. It refuses TCP allocations (RFC 6062), which the overlay does not use.
type generator struct {
	four, six   netip.Addr
	allocations *allocations
}

func (g *generator) Validate() error { return nil }

var errNoTCP = errors.New("the relay has no TCP allocations")

func (g *generator) AllocateListener(turn.AllocateListenerConfig) (net.Listener, net.Addr, error) {
	return nil, nil, errNoTCP
}
func (g *generator) AllocateConn(turn.AllocateConnConfig) (net.Conn, error) { return nil, errNoTCP }

func (g *generator) AllocatePacketConn(c turn.AllocateListenerConfig) (net.PacketConn, net.Addr, error) {
	public, listen := g.four, "0.0.0.0"
	if c.Network == "udp6" {
		public, listen = g.six, "::"
	}
	if !public.IsValid() {
		return nil, nil, fmt.Errorf("the relay has no address for %s", c.Network)
	}
	if public.IsLoopback() { // a demo or test: listen on loopback only
		listen = public.String()
	}
	conn, err := net.ListenPacket(c.Network, net.JoinHostPort(listen, strconv.Itoa(c.RequestedPort)))
	if err != nil {
		return nil, nil, err
	}
	udpbuf.Grow(conn, bufferBytes)
	port := conn.LocalAddr().(*net.UDPAddr).Port
	relayed := net.UDPAddrFromAddrPort(netip.AddrPortFrom(public, uint16(port)))
	p, err := g.allocations.add(c.UserID, relayed.String(), conn)
	if err != nil {
		_ = conn.Close()
		return nil, nil, err
	}
	return p, relayed, nil
}

// quiet logs the library's warnings and errors at debug level, because each malformed packet from any sender causes
// one.
type quiet struct{}

func (quiet) NewLogger(string) logging.LeveledLogger { return quiet{} }
func (quiet) Trace(string)                           {}
func (quiet) Tracef(string, ...any)                  {}
func (quiet) Debug(string)                           {}
func (quiet) Debugf(string, ...any)                  {}
func (quiet) Info(string)                            {}
func (quiet) Infof(string, ...any)                   {}
func (quiet) Warn(m string)                          { slog.Debug("relay: " + m) }
func (quiet) Warnf(f string, a ...any)               { slog.Debug("relay: " + fmt.Sprintf(f, a...)) }
func (quiet) Error(m string)                         { slog.Debug("relay: " + m) }
func (quiet) Errorf(f string, a ...any)              { slog.Debug("relay: " + fmt.Sprintf(f, a...)) }

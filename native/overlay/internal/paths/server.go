package paths

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// Server is a relay (TURN, RFC 8656) and how to reach it.
type Server struct {
	Host      string
	Port      int
	Transport Transport
}

// Transport is how this node reaches a relay. The relay always sends UDP to the other side.
type Transport string

// The transports, best first.
const (
	TransportUDP Transport = "udp"
	TransportTCP Transport = "tcp"
	TransportTLS Transport = "tls"
)

// TURN is what the node service says about relays.
type TURN struct {
	Servers  []Server
	User     string
	Password string
	Expires  time.Time   // zero: never
	TLS      *tls.Config // for TransportTLS; nil: the system's roots
}

// ServersMost bounds the relays of one TURN.
const ServersMost = 16

// ParseServers reads URLs of RFC 7065, such as turn:relay.example:3478?transport=udp and turns:relay.example:443.
func ParseServers(urls []string) ([]Server, error) {
	if len(urls) > ServersMost {
		return nil, fmt.Errorf("there are %d relays, the limit is %d", len(urls), ServersMost)
	}
	var out []Server
	for _, u := range urls {
		s, err := parseServer(u)
		if err != nil {
			return nil, fmt.Errorf("relay %.300q: %w", u, err)
		}
		out = append(out, s)
	}
	return out, nil
}

var errServer = errors.New("write turn:host:port?transport=udp, the same with tcp, or turns:host:port?transport=tcp")

// parseServer reads one URL. pion's parser does not end for some texts, such as "turn:[]1:" (stun v4.0.1).
func parseServer(u string) (s Server, err error) {
	scheme, rest, _ := strings.Cut(u, ":")
	at, query, _ := strings.Cut(rest, "?")
	port := "3478"
	switch scheme + "?" + query {
	case "turn?", "turn?transport=udp":
		s.Transport = TransportUDP
	case "turn?transport=tcp":
		s.Transport = TransportTCP
	case "turns?", "turns?transport=tcp":
		s.Transport, port = TransportTLS, "5349"
	default:
		return s, errServer
	}
	s.Host = at
	if i := strings.LastIndexByte(at, ':'); i > strings.LastIndexByte(at, ']') {
		s.Host, port = at[:i], at[i+1:]
	}
	if n := len(s.Host); n > 2 && s.Host[0] == '[' && s.Host[n-1] == ']' {
		s.Host = s.Host[1 : n-1]
		if a, err := netip.ParseAddr(s.Host); err != nil || !a.Is6() {
			return s, errServer
		}
	} else if strings.ContainsAny(s.Host, "[]:/@%") {
		return s, errServer
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil || number == 0 || s.Host == "" {
		return s, errServer
	}
	s.Port = int(number)
	return s, nil
}

// Address returns host:port.
func (s Server) Address() string { return net.JoinHostPort(s.Host, strconv.Itoa(s.Port)) }

// String returns the server as status shows it.
func (s Server) String() string { return s.Address() + " by " + string(s.Transport) }

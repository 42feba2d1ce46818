package paths

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/pion/stun/v4"
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
		p, err := stun.ParseURI(u)
		if err != nil {
			return nil, fmt.Errorf("relay %q: %w", u, err)
		}
		s := Server{Host: p.Host, Port: p.Port}
		switch {
		case p.Scheme == stun.SchemeTypeTURN && p.Proto == stun.ProtoTypeUDP:
			s.Transport = TransportUDP
		case p.Scheme == stun.SchemeTypeTURN && p.Proto == stun.ProtoTypeTCP:
			s.Transport = TransportTCP
		case p.Scheme == stun.SchemeTypeTURNS && p.Proto == stun.ProtoTypeTCP:
			s.Transport = TransportTLS
		default:
			return nil, fmt.Errorf("relay %q: use turn: with udp or tcp, or turns: with tcp", u)
		}
		if s.Host == "" || s.Port <= 0 || s.Port > 65535 {
			return nil, fmt.Errorf("relay %q: %w", u, errors.New("host or port is missing"))
		}
		out = append(out, s)
	}
	return out, nil
}

// Address returns host:port.
func (s Server) Address() string { return net.JoinHostPort(s.Host, strconv.Itoa(s.Port)) }

// String returns the server as status shows it.
func (s Server) String() string { return s.Address() + " by " + string(s.Transport) }

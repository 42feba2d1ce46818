package node

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	"seganet.internal/overlay/internal/wire"
)

// Offer is a service that this node offers to the overlay.
type Offer struct {
	Name   string
	Proto  string // "tcp" or "udp"
	Port   uint16 // in the overlay
	Target string // host:port that it leads to without a TUN
}

// ParseOffer reads name=proto/port or name=proto/port@host:port, such as broker=tcp/1883@127.0.0.1:1883. Without a
// target the service is the same port of this host.
func ParseOffer(s string) (Offer, error) {
	name, rest, ok := strings.Cut(s, "=")
	if !ok {
		return Offer{}, fmt.Errorf("%q is no offer. Write name=tcp/1883@127.0.0.1:1883", s)
	}
	if err := wire.CheckLabel("the service", name); err != nil {
		return Offer{}, err
	}
	where, target, _ := strings.Cut(rest, "@")
	proto, number, _ := strings.Cut(where, "/")
	port, err := strconv.ParseUint(number, 10, 16)
	if proto != "tcp" && proto != "udp" || err != nil || port == 0 {
		return Offer{}, fmt.Errorf("%q: write tcp/<port> or udp/<port> behind the name", s)
	}
	if target == "" {
		target = net.JoinHostPort("127.0.0.1", number)
	}
	if _, p, err := net.SplitHostPort(target); err != nil || p == "" {
		return Offer{}, fmt.Errorf("%q: the target %q is no host:port", s, target)
	}
	return Offer{Name: name, Proto: proto, Port: uint16(port), Target: target}, nil
}

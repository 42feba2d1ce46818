package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// hubAt6 is the services' address if they have one of each IP version. The prefix is for documentation (RFC 3849), so the
// relay takes it for a public one.
const hubAt6 = "2001:db8:77::1"

// kind6 is a host with IPv6: it stands in the bridge's network behind a firewall of its own, and its IPv4, if it has that,
// behind a NAT.
type kind6 struct {
	six, blocked bool
	four         string // kind of the NAT; empty: no IPv4
	nat64        bool   // the host has IPv6 only, and no way out but a NAT64, which is such a NAT
}

var kinds6 = map[string]kind6{
	"six":     {six: true},
	"dual":    {six: true, four: "port"},
	"dualsym": {six: true, four: "symmetric"},
	"dualtcp": {six: true, four: "noudp", blocked: true}, // no UDP by either version
	"sixtcp":  {six: true, blocked: true},
	"nat64":   {four: "port", nat64: true},
	"sym64":   {four: "symmetric", nat64: true},
}

// four is the kind of a host's NAT; empty: it has no IPv4.
func four(kind string) string {
	if k, ok := kinds6[kind]; ok {
		return k.four
	}
	return kind
}

func isBlocked(kind string) bool { return kind == "noudp" || kinds6[kind].blocked }

func (l *lab) hub6() error {
	if !l.dual {
		return nil
	}
	return l.ip("hub", "addr add "+hubAt6+"/64 dev pub nodad")
}

// side6 makes a host with IPv6 at eth6, and IPv4 at eth0 behind a NAT.
func (l *lab) side6(host string, number int, k kind6) error {
	if k.four != "" {
		if err := l.side(host, number, k.four); err != nil {
			return err
		}
	}
	outwards := ""
	if k.blocked {
		outwards = "oif eth6 meta l4proto udp drop"
	}
	err := errors.Join(run("ip", "link", "add", "eth6", "netns", l.ns(host), "type", "veth", "peer", "name", "p6"+host, "netns", l.ns("net")),
		l.ip("net", "link set p6"+host+" master br0 up"), l.ip(host, "addr add 2001:db8:77::1"+strconv.Itoa(number)+"/64 dev eth6 nodad"),
		l.ip(host, "link set eth6 up"))
	if err != nil {
		return err
	}
	c := l.in(host, "nft", "-f", "-")
	c.Stdin = strings.NewReader(fmt.Sprintf(`table ip6 t {
  chain inwards { type filter hook input priority 0; iif eth6 meta l4proto { tcp, udp } ct state new drop
  }
  chain outwards { type filter hook output priority 0; %s
  }
}`, outwards))
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("nft: %w: %s", err, out)
	}
	return nil
}

// Package policy decides which packets pass between the tunnel and the node. The receiver enforces the network's
// policy: it refuses what no rule allows, even if the sender allowed it. Connection tracking passes the answers to
// flows that this node began.
//
// An inbound flow passes if its source address belongs to the peer's certificate, its destination is this node or a device behind it, the
// destination offers the port, and a rule of the policy allows the peer to reach it. Everything else is refused and counted by reason.
//
// Fragments: the first is judged by its ports, and later ones pass if the first passed within 30 s. A later fragment that overtakes its first
// is refused, and so is a first fragment without the whole transport header (RFC 3128).
//
// Thread safety: all methods may be called from any goroutine.
package policy

import (
	"fmt"
	"net/netip"
	"sync/atomic"

	"seganet.internal/overlay/internal/identity"
	"seganet.internal/overlay/internal/packet"
	"seganet.internal/overlay/internal/wire"
)

// Limits of a Tracker.
const (
	MaxFlows         = 65536 // tracked flows in all
	MaxFlowsOthers   = 57344 // begun by peers and devices; the rest is reserved for flows that this node begins
	MaxFlowsInbound  = 49152 // begun by peers
	MaxFlowsPeer     = 16384 // begun by one peer
	MaxFlowsDevice   = 8192  // begun by one device behind this node
	MaxFragments     = 16384 // datagrams whose later fragments are expected, in all
	MaxFragmentsEach = 1024  // of one peer, of one device, of this node
)

// Verdict is the decision about one packet: Accept, or the reason why it is refused.
type Verdict uint8

// Verdicts. Their names are the labels of the counters.
const (
	Accept      Verdict = iota
	Malformed           // its headers contradict each other
	Spoofed             // its source address does not belong to its sender
	Elsewhere           // its destination is neither this node nor a device behind it
	NotOffered          // the destination does not offer the port
	NotAllowed          // no rule allows the sender to reach the port
	Protocol            // neither TCP, UDP nor an ICMP message that the overlay carries
	Unsolicited         // an answer or error that belongs to no flow
	Fragment            // a fragment whose first part did not pass
	TableFull           // too many flows
	verdicts
)

var verdictNames = [verdicts]string{"accepted", "malformed", "spoofed source", "not for this node", "port not offered", "not allowed by the policy",
	"protocol not carried", "unsolicited", "fragment without its first part", "too many flows"}

func (v Verdict) String() string {
	if v < verdicts {
		return verdictNames[v]
	}
	return "unknown"
}

// Refusal returns the packet that reports to the sender of b at once why it gets no answer, or nil. It answers only
// refusals of the policy, so a sender with false addresses learns nothing.
func Refusal(v Verdict, b []byte) []byte {
	var info packet.Info
	if v != NotOffered && v != NotAllowed || packet.Parse(b, &info) != nil {
		return nil
	}
	return packet.Refusal(b, &info, v == NotAllowed)
}

// Filter judges every packet of a node.
type Filter interface {
	Inbound(from identity.Peer, packet []byte) Verdict
	Outbound(packet []byte) Verdict
	Update(p wire.Policy, self identity.Peer, offered []wire.Service) error
}

// Target is a destination behind this node: an ordinary device.
type Target struct {
	Name      string
	Addresses []netip.Addr // virtual
	Groups    []string     // empty: those of the node
	Ports     []string     // what it offers, as in a rule: "tcp/502", "udp/*", "icmp"
}

// rules is the policy compiled for this node. It is immutable; each flow records the rules that allowed it.
type rules struct {
	targets map[netip.Addr]*target
}

type target struct {
	name    string
	device  *device // nil: this node
	offered []wire.Ports
	allow   []rule // those whose destination is this target
}

// device has the counters of a device behind this node.
type device struct{ flows atomic.Int64 }

type rule struct {
	from  wire.Selector
	ports []wire.Ports
}

// compile compiles the policy. known has the counters of devices by name; compile adds those of new ones.
func compile(p wire.Policy, self identity.Peer, offered []wire.Service, devices []Target, known map[string]*device) (*rules, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	r := &rules{targets: map[netip.Addr]*target{}}
	node := &target{name: self.FQDN, offered: []wire.Ports{{Proto: "icmp"}}}
	for _, s := range offered {
		node.offered = append(node.offered, wire.Ports{Proto: s.Proto, First: s.Port, Last: s.Port})
	}
	if err := node.compile(p, self.Name.Node, self.Groups); err != nil {
		return nil, err
	}
	for _, a := range self.Addresses {
		r.targets[a] = node
	}
	for _, d := range devices {
		t := &target{name: d.Name, device: known[d.Name]}
		if t.device == nil {
			t.device = &device{}
			known[d.Name] = t.device
		}
		for _, s := range d.Ports {
			ports, err := wire.ParsePorts(s)
			if err != nil {
				return nil, fmt.Errorf("device %q: %w", d.Name, err)
			}
			t.offered = append(t.offered, ports)
		}
		groups := d.Groups
		if len(groups) == 0 {
			groups = self.Groups
		}
		if err := t.compile(p, self.Name.Node, groups); err != nil {
			return nil, err
		}
		for _, a := range d.Addresses {
			if r.targets[a] != nil {
				return nil, fmt.Errorf("the address %s of the device %q is that of %s", a, d.Name, r.targets[a].name)
			}
			r.targets[a] = t
		}
	}
	return r, nil
}

func (t *target) compile(p wire.Policy, node string, groups []string) error {
	for _, from := range p.Allow {
		to, err := wire.ParseSelector(from.To)
		if err != nil {
			return err
		}
		if !to.Matches(node, groups) {
			continue
		}
		var r rule
		if r.from, err = wire.ParseSelector(from.From); err != nil {
			return err
		}
		for _, s := range from.Ports {
			ports, err := wire.ParsePorts(s)
			if err != nil {
				return err
			}
			r.ports = append(r.ports, ports)
		}
		t.allow = append(t.allow, r)
	}
	return nil
}

// judge decides about a new flow from a peer.
func (t *target) judge(from *source, info *packet.Info) Verdict {
	proto := "icmp"
	switch info.Protocol {
	case packet.TCP:
		proto = "tcp"
	case packet.UDP:
		proto = "udp"
	}
	if !contains(t.offered, proto, info.DestinationPort) {
		return NotOffered
	}
	for i := range t.allow {
		r := &t.allow[i]
		if contains(r.ports, proto, info.DestinationPort) && r.from.Matches(from.node, from.groups) {
			return Accept
		}
	}
	return NotAllowed
}

func contains(list []wire.Ports, proto string, port uint16) bool {
	for _, p := range list {
		if p.Proto == proto && (proto == "icmp" || p.First <= port && port <= p.Last) {
			return true
		}
	}
	return false
}

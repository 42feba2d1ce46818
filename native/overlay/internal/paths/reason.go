package paths

import "net/netip"

// NAT is the kind of NAT between a node's UDP port and the outside, as far as the node knows.
type NAT string

// The kinds of NAT, by mapping (RFC 4787 §4.1). A node cannot detect the filtering.
const (
	NATUnknown   NAT = ""          // not found out yet
	NATNone      NAT = "none"      // the outside address is one of the host's
	NATSame      NAT = "same"      // one outside address for all destinations
	NATSymmetric NAT = "symmetric" // another outside address for each destination
	NATBlocked   NAT = "blocked"   // UDP does not get out
)

// classify compares the outside addresses that two destinations saw.
func classify(first, second netip.AddrPort, host []netip.Addr) NAT {
	switch {
	case !first.IsValid():
		return NATBlocked
	case second.IsValid() && first != second:
		return NATSymmetric
	}
	for _, a := range host {
		if a == first.Addr() {
			return NATNone
		}
	}
	if !second.IsValid() {
		return NATUnknown
	}
	return NATSame
}

// situation is the input of reason.
type situation struct {
	direct           bool // the path now
	relayOnly        bool // the configuration forbids direct paths
	local, remote    NAT
	answered         bool // the peer has answered this round
	searching        bool // a round runs
	unproven         bool // ICE found a pair, authenticated data does not pass
	lost             bool // a direct path fell silent
	signalling       bool // the node service is reached
	offline          bool // the node service says that the peer is not connected
	established      bool // there is a session
	idle             bool // dropped after minutes without data
	blocked          bool // nothing passes; see peer.blocked
	noCommonRelay    bool // the peer has no address at a relay that this node's can send to
	noCommonVersions bool // all candidates of one side are IPv4, all of the other IPv6
}

// reason explains why the peer has no direct path. It is empty if the peer has one.
func reason(s situation) string {
	switch {
	case s.direct:
		return ""
	case s.blocked && s.noCommonRelay:
		return "the relayed addresses of the two sides have different IP versions. Give the relays an address of each: --relay-address"
	case s.idle:
		return "no data for minutes; the next packet connects"
	case !s.answered && !s.established && s.offline:
		return "the peer is not connected to the node service"
	case !s.answered && !s.established && !s.signalling:
		return "the node service is out of reach"
	case s.relayOnly:
		return "this node is configured to use the relay only"
	case s.local == NATBlocked && s.remote == NATBlocked:
		return "UDP is blocked on both sides"
	case s.local == NATBlocked:
		return "UDP is blocked on this side"
	case s.remote == NATBlocked:
		return "UDP is blocked on the peer's side"
	case s.searching && !s.answered:
		return "the peer does not answer"
	case s.unproven:
		return "path checks pass, but data does not"
	case s.local == NATSymmetric && s.remote == NATSymmetric:
		return "both sides are behind a symmetric NAT"
	case s.noCommonVersions:
		return "the two sides have no IP version in common"
	case s.searching && s.lost:
		return "the direct path fell silent; looking for another one"
	case s.searching:
		return "looking for a direct path"
	case s.local == NATSymmetric:
		return "this side is behind a symmetric NAT and the peer's NAT lets only known ports in"
	case s.remote == NATSymmetric:
		return "the peer is behind a symmetric NAT and this side's NAT lets only known ports in"
	case !s.signalling:
		return "the node service is out of reach"
	case s.lost:
		return "the direct path fell silent and no other one was found"
	}
	return "no pair of addresses reaches the other side; a firewall may drop UDP"
}

package node

import (
	"context"
	"fmt"
	"time"

	"seganet.internal/overlay/internal/paths"
)

// Finding is one check of doctor.
type Finding struct {
	OK     bool   `json:"ok"`
	What   string `json:"what"`
	Remedy string `json:"remedy,omitempty"`
}

// Doctor implements control.Node. It checks what a user can repair.
func (n *Node) Doctor(context.Context) any {
	s := n.status()
	var out []Finding
	add := func(ok bool, what, remedy string) {
		f := Finding{OK: ok, What: what}
		if !ok {
			f.Remedy = remedy
		}
		out = append(out, f)
	}
	left := time.Until(s.CertificateExpires)
	add(left > 24*time.Hour, fmt.Sprintf("the certificate of %s is valid for %.1f days", s.FQDN, left.Hours()/24),
		"The renewal fails; check that the authentication service can be reached.")
	if !s.UsedTwice.IsZero() {
		add(false, "this node alone uses its identity", "Another program did at "+s.UsedTwice.Local().Format(time.DateTime)+". If it was stolen, revoke the node and join again with new keys.")
	}
	add(s.Node.Signalling, "the node services answer", "They do not: "+s.ServicesError+". Sessions go on, new ones need them.")
	if s.Node.RelayResting && s.Node.RelayAddress == "" {
		add(true, "no relay is open: this node is metered, and no peer is awake", "")
	} else {
		add(s.Node.RelayAddress != "", "a relay is open: "+s.Node.Relay, "No relay answers: "+s.Node.RelayError)
	}
	if f := udpFinding(s.Node.NAT, s.Node.RelayAddress != "", len(s.PortMapping.Mappings) > 0); f.What != "" {
		out = append(out, f)
	}
	add(true, "port mapping: "+s.PortMapping.Text, "")
	if n.device != nil {
		add(true, "TUN interface "+s.Interface+": "+s.Offload, "")
	}
	for _, p := range s.Peers {
		if f := peerFinding(p); f.What != "" {
			out = append(out, f)
		}
	}
	return map[string]any{"findings": out}
}

// peerFinding reports whether packets reach a peer. A relayed path is not a failure, because often nothing can be done
// about it.
func peerFinding(p Peer) Finding {
	switch {
	case p.Blocked:
		return Finding{What: "packets pass to the peer " + p.FQDN, Remedy: "They do not. Status says: " + p.Reason + "."}
	case p.Path == "relay":
		return Finding{OK: true, What: "the peer " + p.FQDN + " is reached by the relay: " + p.Reason}
	}
	return Finding{}
}

// udpFinding reports whether UDP works. Without a relay that is unknown, because the relay is what reports the outside
// address.
func udpFinding(nat paths.NAT, relay, mapped bool) Finding {
	switch {
	case nat == paths.NATBlocked:
		return Finding{What: "UDP passes to the outside", Remedy: "It does not; everything goes by the relay over TCP. Ask for UDP to the relay's port."}
	case !relay:
		return Finding{}
	case nat == paths.NATUnknown:
		return Finding{OK: true, What: "whether UDP passes is not known yet"}
	case nat == paths.NATSymmetric && mapped:
		return Finding{OK: true, What: "UDP passes; the NAT here is symmetric, and the mapped port lets peers in"}
	case nat == paths.NATSymmetric:
		return Finding{OK: true, What: "UDP passes; the NAT here is symmetric, so peers behind strict NATs are relayed"}
	}
	return Finding{OK: true, What: "UDP passes"}
}

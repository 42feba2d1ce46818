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

// Doctor implements control.Node: it checks what a user can mend.
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
	add(s.Node.Signalling, "the node services answer", "They do not: "+s.ServicesError+". Sessions go on, new ones need them.")
	add(s.Node.RelayAddress != "", "a relay is open: "+s.Node.Relay, "No relay answers: "+s.Node.RelayError)
	switch s.Node.NAT {
	case paths.NATBlocked:
		add(false, "UDP passes to the outside", "It does not; everything goes by the relay over TCP. Ask for UDP to the relay's port.")
	case paths.NATSymmetric:
		if len(s.PortMapping.Mappings) > 0 {
			add(true, "UDP passes; the NAT here is symmetric, and the mapped port lets peers in", "")
			break
		}
		add(true, "UDP passes; the NAT here is symmetric, so peers behind strict NATs are relayed", "")
	default:
		add(true, "UDP passes", "")
	}
	add(true, "port mapping: "+s.PortMapping.Text, "")
	if n.device != nil {
		add(true, "TUN interface "+s.Interface+": "+s.Offload, "")
	}
	for _, p := range s.Peers {
		if !p.Sleeping && p.Path != "direct" {
			add(false, "peer "+p.FQDN+" is reached directly", "It is not: "+p.Reason+".")
		}
	}
	return map[string]any{"findings": out}
}

package auth

import (
	"fmt"
	"slices"

	"go.etcd.io/bbolt"

	"seganet.internal/overlay/internal/policy"
	"seganet.internal/overlay/internal/wire"
)

// Check tells which rules let one side reach the other. The receiver enforces the policy, and must also offer the port,
// which this service does not know.
func (s *Service) Check(q wire.PolicyQuestion) (a wire.PolicyAnswer, err error) {
	if err := q.Validate(); err != nil {
		return a, invalid(err)
	}
	p := q.Policy
	if p == nil {
		now, err := s.Policy()
		if err != nil {
			return a, err
		}
		p = &now
	}
	a.Rules = []wire.NumberRule{}
	var sides [2]policy.Side
	for i, text := range []string{q.From, q.To} {
		side, revoked, err := s.side(text)
		if err != nil {
			return a, err
		}
		if revoked {
			a.Text = fmt.Sprintf("No: the node %s is revoked.", side.Node)
			return a, nil
		}
		sides[i] = side
	}
	var ports *wire.Ports
	at := "any port"
	if q.Port != "" {
		given, err := wire.ParsePorts(q.Port)
		if err != nil {
			return a, invalid(err)
		}
		ports, at = &given, q.Port
	}
	for _, n := range policy.Explain(*p, sides[0], sides[1], ports) {
		a.Rules = append(a.Rules, wire.NumberRule{Number: n, Rule: p.Allow[n-1]})
	}
	if a.Allowed = len(a.Rules) > 0; a.Allowed {
		a.Text = fmt.Sprintf("Yes: %s may reach %s at %s, if %s offers it.", q.From, q.To, at, q.To)
		if q.Port == "" {
			a.Text = fmt.Sprintf("Yes: %s may reach %s at the ports of these rules, if %s offers them.", q.From, q.To, q.To)
		}
		return a, nil
	}
	a.Text = fmt.Sprintf("No: none of the %d rules lets %s reach %s at %s.", len(p.Allow), q.From, q.To, at)
	return a, nil
}

// side resolves a side of a question. A device is judged by its node's name and groups.
func (s *Service) side(text string) (side policy.Side, revoked bool, err error) {
	group, name, err := wire.ParseSide(text)
	if err != nil {
		return side, false, invalid(err)
	}
	if group != "" {
		return policy.Side{Groups: []string{group}}, false, nil
	}
	unknown := &wire.Error{Code: wire.CodeUnknown, Text: fmt.Sprintf("There is no node or device %q in the network %s. List the nodes: seganet-overlay nodes", text, s.network)}
	if name.Network != "" && name.Network != s.network {
		return side, false, unknown
	}
	var n *nodeRecord
	err = s.db.View(func(tx *bbolt.Tx) error {
		n, err = readNode(tx, name.Node)
		return err
	})
	if err != nil {
		return side, false, err
	}
	if n == nil || name.Device != "" && !slices.ContainsFunc(n.Devices, func(d deviceRecord) bool { return d.Name == name.Device }) {
		return side, false, unknown
	}
	return policy.Side{Node: n.Name, Groups: n.Groups}, !n.Revoked.IsZero(), nil
}

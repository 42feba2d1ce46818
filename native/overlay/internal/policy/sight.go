package policy

import (
	"slices"

	"seganet.internal/overlay/internal/wire"
)

// Side is a node in the form that Sight is evaluated on.
type Side struct {
	Node   string   // first label of its name
	Groups []string // of its certificate
	// Devices are the groups of the devices behind it, which it claims without proof. AnyDevice: they are unknown.
	Devices   []string
	AnyDevice bool
}

// Sight determines which nodes may know of each other: one of them may reach the other, or a device behind it, at any port. With
// the zero value, no node may know of another one.
//
// Thread safety: it does not change.
type Sight struct{ rules []pairRule }

type pairRule struct{ from, to wire.Selector }

// NewSight compiles a valid policy.
func NewSight(p wire.Policy) *Sight {
	s := &Sight{}
	for _, r := range p.Allow {
		from, err1 := wire.ParseSelector(r.From)
		to, err2 := wire.ParseSelector(r.To)
		if pair := (pairRule{from, to}); err1 == nil && err2 == nil && !slices.Contains(s.rules, pair) {
			s.rules = append(s.rules, pair)
		}
	}
	return s
}

// Reach is true if a rule lets one node reach the other, according to their certificates.
func (s *Sight) Reach(from, to Side) bool {
	return slices.ContainsFunc(s.rules, func(r pairRule) bool {
		return r.from.Matches(from.Node, from.Groups) && r.to.Matches(to.Node, to.Groups)
	})
}

// ReachDevice is true if a rule lets one node reach a device behind the other, according to the groups that the other
// claims for its devices.
func (s *Sight) ReachDevice(from, to Side) bool {
	if !to.AnyDevice && len(to.Devices) == 0 {
		return false
	}
	return slices.ContainsFunc(s.rules, func(r pairRule) bool {
		return r.from.Matches(from.Node, from.Groups) && r.to.Kind == wire.SelectGroup && (to.AnyDevice || slices.Contains(to.Devices, r.to.Name))
	})
}

// Both is true if the certificates alone let the two know of each other.
func (s *Sight) Both(a, b Side) bool { return s.Reach(a, b) || s.Reach(b, a) }

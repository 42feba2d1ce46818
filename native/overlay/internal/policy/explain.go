package policy

import "seganet.internal/overlay/internal/wire"

// Explain returns the numbers, from 1, of the rules that let one node reach the other at all of the ports, or at any port
// if ports is nil.
func Explain(p wire.Policy, from, to Side, ports *wire.Ports) (rules []int) {
	for i, r := range p.Allow {
		source, err1 := wire.ParseSelector(r.From)
		target, err2 := wire.ParseSelector(r.To)
		if err1 != nil || err2 != nil || !source.Matches(from.Node, from.Groups) || !target.Matches(to.Node, to.Groups) {
			continue
		}
		for _, s := range r.Ports {
			if has, err := wire.ParsePorts(s); err == nil && (ports == nil || covers(has, *ports)) {
				rules = append(rules, i+1)
				break
			}
		}
	}
	return rules
}

func covers(has, wanted wire.Ports) bool {
	return has.Proto == wanted.Proto && has.First <= wanted.First && wanted.Last <= has.Last
}

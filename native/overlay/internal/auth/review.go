package auth

import "seganet.internal/overlay/internal/wire"

// Review checks the text of a policy, and finds the nodes that each of its rules selects.
func (s *Service) Review(text string) (wire.PolicyReview, error) {
	r := wire.PolicyReview{Problems: []wire.PolicyProblem{}, Rules: []wire.RuleReach{}}
	p, lines, problems := wire.ParsePolicy(text)
	if len(problems) > 0 {
		r.Problems = problems
		return r, nil
	}
	nodes, err := s.Nodes()
	if err != nil {
		return r, err
	}
	var all []string
	byGroup, byName := map[string][]string{}, map[string][]string{}
	for _, n := range nodes {
		if !n.Revoked.IsZero() {
			continue
		}
		all = append(all, n.Name)
		byName[n.Name] = []string{n.Name}
		for _, g := range n.Groups {
			byGroup[g] = append(byGroup[g], n.Name)
		}
	}
	matched := func(text string) wire.Matched {
		names := all
		switch sel, _ := wire.ParseSelector(text); sel.Kind {
		case wire.SelectGroup:
			names = byGroup[sel.Name]
		case wire.SelectNode:
			names = byName[sel.Name]
		}
		return wire.Matched{Count: len(names), Names: append([]string{}, names[:min(len(names), wire.MaxNames)]...)}
	}
	for i, rule := range p.Allow {
		r.Rules = append(r.Rules, wire.RuleReach{NumberRule: wire.NumberRule{Number: i + 1, Rule: rule}, Line: lines[i],
			Sources: matched(rule.From), Targets: matched(rule.To)})
	}
	return r, nil
}

package wire

import (
	"fmt"
	"strconv"
	"strings"
)

// Policy says who may reach what. What no rule allows is denied. The receiver enforces it.
type Policy struct {
	Version int64  `json:"version"` // grows with each change; nodes ignore older versions
	Allow   []Rule `json:"allow"`
}

// Rule allows the nodes of From to open flows to the ports of the nodes of To.
type Rule struct {
	From  string   `json:"from"`  // "group:g", "node:name", "*"
	To    string   `json:"to"`    // the same
	Ports []string `json:"ports"` // "tcp/8883", "udp/5683", "tcp/9000-9010", "tcp/*", "icmp"
}

// Validate checks every selector and port.
func (p *Policy) Validate() error {
	if p.Version < 0 {
		return fmt.Errorf("the policy's version %d is negative", p.Version)
	}
	if len(p.Allow) > MaxRules {
		return fmt.Errorf("the policy has %d rules, the limit is %d", len(p.Allow), MaxRules)
	}
	for i, r := range p.Allow {
		if err := r.validate(); err != nil {
			return fmt.Errorf("rule %d of the policy: %w", i+1, err)
		}
	}
	return nil
}

func (r Rule) validate() error {
	for _, s := range []string{r.From, r.To} {
		if _, err := ParseSelector(s); err != nil {
			return err
		}
	}
	if len(r.Ports) == 0 || len(r.Ports) > MaxPorts {
		return fmt.Errorf("it has %d ports; use 1 to %d, for example \"tcp/8883\"", len(r.Ports), MaxPorts)
	}
	for _, s := range r.Ports {
		if _, err := ParsePorts(s); err != nil {
			return err
		}
	}
	return nil
}

// SelectorKind is what a selector compares.
type SelectorKind int

const (
	SelectAll   SelectorKind = iota // "*"
	SelectGroup                     // "group:<name>"
	SelectNode                      // "node:<name>"
)

// Selector is a parsed side of a rule.
type Selector struct {
	Kind SelectorKind
	Name string // empty for SelectAll
}

// ParseSelector reads "*", "group:<name>" or "node:<name>".
func ParseSelector(s string) (Selector, error) {
	if s == "*" {
		return Selector{}, nil
	}
	kind, name, _ := strings.Cut(s, ":")
	sel := Selector{Name: name}
	switch kind {
	case "group":
		sel.Kind = SelectGroup
	case "node":
		sel.Kind = SelectNode
	default:
		return Selector{}, fmt.Errorf("the selector %.80q is none of \"*\", \"group:<name>\", \"node:<name>\"", s)
	}
	return sel, CheckLabel("the "+kind, name)
}

// Matches is true if a node with this name (its first label) and these groups is selected.
func (s Selector) Matches(node string, groups []string) bool {
	switch s.Kind {
	case SelectAll:
		return true
	case SelectNode:
		return s.Name == node
	}
	for _, g := range groups {
		if g == s.Name {
			return true
		}
	}
	return false
}

// Ports is a parsed port range. First and Last are 0 for ICMP.
type Ports struct {
	Proto       string // "tcp", "udp", "icmp"
	First, Last uint16
}

// ParsePorts reads "tcp/8883", "udp/5000-5010", "tcp/*" or "icmp".
func ParsePorts(s string) (Ports, error) {
	if s == "icmp" {
		return Ports{Proto: s}, nil
	}
	bad := fmt.Errorf("the port %.80q is none of \"tcp/<port>\", \"udp/<port>\", \"tcp/<first>-<last>\", \"tcp/*\", \"icmp\"", s)
	proto, rest, ok := strings.Cut(s, "/")
	if !ok || proto != "tcp" && proto != "udp" {
		return Ports{}, bad
	}
	if rest == "*" {
		return Ports{Proto: proto, First: 1, Last: 65535}, nil
	}
	first, last, isRange := strings.Cut(rest, "-")
	if !isRange {
		last = first
	}
	a, errA := parsePort(first)
	b, errB := parsePort(last)
	if errA != nil || errB != nil || a > b {
		return Ports{}, bad
	}
	return Ports{Proto: proto, First: a, Last: b}, nil
}

func parsePort(s string) (uint16, error) {
	v, err := strconv.ParseUint(s, 10, 16)
	if err != nil || v == 0 || strconv.FormatUint(v, 10) != s { // the last refuses "+1" and "08"
		return 0, fmt.Errorf("%q is not a port", s)
	}
	return uint16(v), nil
}

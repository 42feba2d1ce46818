package wire

import (
	"errors"
	"fmt"
	"strings"
)

// PolicyQuestion asks which rules let From reach To: POST /v1/policy/check on the administration socket. A side is the
// name of a node ("hall-3"), of a device behind one ("pump.hall-3"), or a group ("group:hubs").
type PolicyQuestion struct {
	From   string  `json:"from"`
	To     string  `json:"to"`
	Port   string  `json:"port,omitempty"`   // as in a rule; empty: any
	Policy *Policy `json:"policy,omitempty"` // nil: the one in force
}

// Validate checks the forms.
func (q *PolicyQuestion) Validate() error {
	for _, side := range []string{q.From, q.To} {
		if _, _, err := ParseSide(side); err != nil {
			return err
		}
	}
	var err error
	if q.Port != "" {
		_, err = ParsePorts(q.Port)
	}
	if q.Policy != nil {
		err = errors.Join(err, q.Policy.Validate())
	}
	return err
}

// ParseSide reads a side of a question: a group, or the name of a node or device, with or without the network's domain.
func ParseSide(s string) (group string, name Name, err error) {
	if g, ok := strings.CutPrefix(s, "group:"); ok {
		return g, name, CheckLabel("the group", g)
	}
	if strings.HasSuffix(s, "."+Domain) {
		name, err = ParseFQDN(s)
		return "", name, err
	}
	device, node, isDevice := strings.Cut(s, ".")
	if !isDevice {
		device, node = "", s
	} else if err = CheckLabel("the device's name", device); err != nil {
		return "", name, err
	}
	if err = CheckLabel("the node's name", node); err != nil {
		err = fmt.Errorf("%w. A side is the name of a node, <device>.<node>, or group:<name>", err)
	}
	return "", Name{Node: node, Device: device}, err
}

// PolicyAnswer answers a PolicyQuestion.
type PolicyAnswer struct {
	Allowed bool         `json:"allowed"`
	Rules   []NumberRule `json:"rules"` // that allow it
	Text    string       `json:"text"`  // a sentence
}

// NumberRule is a rule with its number in the policy, from 1.
type NumberRule struct {
	Number int `json:"number"`
	Rule
}

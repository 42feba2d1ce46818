package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// PolicyProblem is a fault of a policy's text.
type PolicyProblem struct {
	Line int    `json:"line"` // from 1
	Text string `json:"text"`
}

func (p PolicyProblem) Error() string { return fmt.Sprintf("line %d: %s", p.Line, p.Text) }

// ParsePolicy reads the JSON text of a policy. It returns the line on which each rule begins, and all problems; the policy
// is valid if there are none.
func ParsePolicy(text string) (p Policy, lines []int, problems []PolicyProblem) {
	line := func(offset int64) int { return 1 + strings.Count(text[:min(max(0, int(offset)), len(text))], "\n") }
	fault := func(line int, err error) {
		said := err.Error()
		if len(said) > MaxTextBytes {
			said = strings.ToValidUTF8(said[:MaxTextBytes-3], "") + "..."
		}
		problems = append(problems, PolicyProblem{line, said})
	}
	if len(text) > MaxPolicyBytes {
		fault(1, fmt.Errorf("the policy has %d bytes, the limit is %d", len(text), MaxPolicyBytes))
		return p, nil, problems
	}
	if err := checkShape([]byte(text)); err != nil {
		at := int64(len(text))
		if shape := (*shapeError)(nil); errors.As(err, &shape) {
			at = shape.offset
		}
		fault(line(at), err)
		return p, nil, problems
	}
	if !json.Valid([]byte(text)) { // the one fault that the shape does not have
		fault(line(int64(len(text))), errors.New("the message is not valid JSON: it ends within its object"))
		return p, nil, problems
	}
	p.Allow = []Rule{}
	d := json.NewDecoder(strings.NewReader(text))
	skip := func() { _, _ = d.Token() } // the shape is checked
	for skip(); d.More(); {
		key, _ := d.Token()
		switch strings.ToLower(key.(string)) {
		case "version":
			if err := d.Decode(&p.Version); err != nil {
				fault(line(d.InputOffset()), errors.New("\"version\" is a whole number"))
			} else if p.Version < 0 {
				fault(line(d.InputOffset()), fmt.Errorf("the version %d is negative", p.Version))
			}
		case "allow":
			var list json.RawMessage
			_ = d.Decode(&list)
			begin := d.InputOffset() - int64(len(list))
			if string(list) == "null" {
				continue
			}
			if list[0] != '[' {
				fault(line(begin), errors.New("\"allow\" is a list of rules"))
				continue
			}
			rules := json.NewDecoder(bytes.NewReader(list))
			_, _ = rules.Token()
			for number := 1; rules.More(); number++ {
				var raw json.RawMessage
				_ = rules.Decode(&raw)
				at := line(begin + rules.InputOffset() - int64(len(raw)))
				if number > MaxRules {
					fault(at, fmt.Errorf("the policy has more than %d rules", MaxRules))
					break
				}
				r, err := parseRule(raw)
				if err != nil {
					fault(at, fmt.Errorf("rule %d: %w", number, err))
				}
				p.Allow, lines = append(p.Allow, r), append(lines, at)
			}
		default:
			fault(line(d.InputOffset()), fmt.Errorf("a policy has no member %.80q; it has \"version\" and \"allow\"", key))
			var other json.RawMessage
			_ = d.Decode(&other)
		}
	}
	return p, lines, problems
}

func parseRule(raw []byte) (r Rule, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return r, fmt.Errorf("it is not like {\"from\":\"group:a\",\"to\":\"node:b\",\"ports\":[\"tcp/8883\"]}: %w", err)
	}
	return r, r.validate()
}

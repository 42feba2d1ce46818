package wire

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

const rule = `{"from":"group:a","to":"node:b","ports":["tcp/1"]}`

func TestEachProblemOfAPolicyHasItsLine(t *testing.T) {
	for text, want := range map[string][]string{
		`{"version":0,"allow":[` + rule + `]}`: nil,
		`{"Allow":[]}`:                         nil,
		`{"allow":null}`:                       nil,
		"":                                     {"1 not a JSON object"},
		"[]":                                   {"1 not a JSON object"},
		"{\n\"allow\":[\n" + rule + "\n" + rule + "]}": {"4 not valid JSON"},
		"{\n\"allow\":[]":               {"2 not valid JSON"},
		"{\"allow\":[],\n\"ALLOW\":[]}": {"2 appears twice"},
		"{\"allow\":[]} {}":             {"1 bytes after"},
		"{\n\"allow\":{}}":              {"2 list of rules"},
		"{\n\"version\":\"x\",\n\"deny\":[1,[2]],\"allow\":[]}": {"2 whole number", "3 no member"},
		"{\"version\":-1}": {"1 negative"},
		"{\"allow\":[\n" + rule + ",\n7,\n\n{\"from\":\"x\"},{\"fro\":\"*\"}\n]}": {"3 rule 2", "5 rule 3", "5 rule 4"},
		"{\"allow\":[\xff]}":     {"1 UTF-8"},
		strings.Repeat("[", 100): {"1 not a JSON object"},
		`{"allow":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + "}": {"1 nested"},
		strings.Repeat(" ", MaxPolicyBytes+1):                                   {"1 the limit is 16384"},
		`{"` + strings.Repeat("x", 5000) + `":0}`:                               {"1 no member"},
	} {
		p, lines, problems := ParsePolicy(text)
		var got []string
		for _, problem := range problems {
			if len(problem.Text) > MaxTextBytes {
				t.Errorf("%d bytes of a problem", len(problem.Text))
			}
			got = append(got, fmt.Sprint(problem.Line, " ", problem.Text))
		}
		if !slices.EqualFunc(got, want, func(a, b string) bool {
			line, words, _ := strings.Cut(b, " ")
			return strings.HasPrefix(a, line+" ") && strings.Contains(a, words)
		}) {
			t.Errorf("%.60q: %q, not %q", text, got, want)
		}
		if len(problems) == 0 && (p.Validate() != nil || len(lines) != len(p.Allow)) {
			t.Errorf("%.60q: %v %v", text, p, lines)
		}
	}
	many := `{"allow":[` + strings.TrimSuffix(strings.Repeat(`{},`, MaxRules+1), ",") + `]}`
	if _, _, problems := ParsePolicy(many); len(problems) != MaxRules+1 || !strings.Contains(problems[MaxRules].Text, "more than 256 rules") {
		t.Errorf("%d problems", len(problems))
	}
}

func FuzzParsePolicy(f *testing.F) {
	f.Add(`{"version":0,"allow":[` + rule + `]}`)
	f.Add("{\"allow\":[\n{},1]}")
	f.Fuzz(func(t *testing.T, text string) {
		p, lines, problems := ParsePolicy(text)
		if len(problems) == 0 && (p.Validate() != nil || len(lines) != len(p.Allow)) {
			t.Errorf("accepted: %v %v", p, lines)
		}
		if len(problems) > MaxRules+4 {
			t.Errorf("%d problems", len(problems))
		}
	})
}

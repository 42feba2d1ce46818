package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"seganet.internal/overlay/internal/wire"
)

// runPolicyCheck answers "hall-3 hub tcp/8883", and the same with an arrow, in one or several arguments.
func runPolicyCheck(ctx context.Context, args []string, out io.Writer) error {
	f := flags("policy check", out)
	a := adminFlags(f)
	file := f.String("file", "", "JSON `file` of a policy to try, in place of the one in force; - reads the standard input")
	asJSON := f.Bool("json", false, "print JSON")
	if err := parse(f, args, 4, out); err != nil {
		return err
	}
	words := strings.Fields(strings.Join(f.Args(), " "))
	words = slices.DeleteFunc(words, func(w string) bool { return w == "->" })
	if len(words) < 2 || len(words) > 3 {
		return usage("name who, what, and a port if it matters: seganet-overlay policy check hall-3 hub tcp/8883")
	}
	q := wire.PolicyQuestion{From: words[0], To: words[1]}
	if len(words) == 3 {
		q.Port = words[2]
	}
	if *file != "" {
		_, p, err := readPolicy(*file)
		if err != nil {
			return err
		}
		q.Policy = &p
	}
	if err := q.Validate(); err != nil {
		return usage("%v", err)
	}
	answer, err := a.client().CheckPolicy(ctx, q)
	if err != nil {
		return a.explain(err)
	}
	if *asJSON {
		err = printJSON(out, answer)
	} else {
		err = printAnswer(out, answer)
	}
	if err == nil && !answer.Allowed {
		err = errors.New("not allowed")
	}
	return err
}

func printAnswer(out io.Writer, a wire.PolicyAnswer) error {
	fmt.Fprintln(out, a.Text)
	t := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	for _, r := range a.Rules {
		fmt.Fprintf(t, "  rule %d\t%s -> %s\t%s\n", r.Number, r.From, r.To, strings.Join(r.Ports, " "))
	}
	return t.Flush()
}

// readPolicy reads a policy from a file or the standard input ("-"): its text, and what that means.
func readPolicy(file string) (text string, p wire.Policy, err error) {
	b, err := readSmall(file, wire.MaxPolicyBytes)
	if err != nil {
		return "", p, wrongConfig(err)
	}
	p, _, problems := wire.ParsePolicy(string(b))
	if len(problems) > 0 {
		return "", p, wrongConfig(fmt.Errorf("%s: %w", file, problems[0]))
	}
	return string(b), p, nil
}

package command

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"seganet.internal/overlay/internal/audit"
)

func runAudit(_ context.Context, args []string, out io.Writer) error {
	f := flags("audit", out)
	state := stateFlag(f)
	node := f.String("node", "", "only of this `node`")
	last := f.Int("last", 100, "at most this `number` of entries, the newest")
	asJSON := f.Bool("json", false, "print JSON lines")
	if err := parse(f, args, 0, out); err != nil {
		return err
	}
	if *last < 1 {
		return usage("--last: %d: write a number from 1", *last)
	}
	list, err := audit.Read(*state, *node, *last)
	if err != nil {
		return wrongConfig(fmt.Errorf("the audit log cannot be read: %w. Run this command as the user of the services", err))
	}
	if *asJSON {
		lines := json.NewEncoder(out)
		for _, e := range list {
			if err := lines.Encode(e); err != nil {
				return err
			}
		}
		return nil
	}
	if len(list) == 0 {
		fmt.Fprintf(out, "There are no entries in %s. The authentication service writes them; name its folder with --state.\n", *state)
		return nil
	}
	t := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	for _, e := range list {
		text := e.Text
		if e.LeftOut > 0 {
			text += fmt.Sprintf(" (%d refusals before it were not recorded)", e.LeftOut)
		}
		if e.By != "" {
			text = strings.TrimSpace(text + " (by " + e.By + ")")
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", e.Time.Local().Format(time.DateTime), e.Event, e.Node, e.From, e.Version, text)
	}
	return t.Flush()
}

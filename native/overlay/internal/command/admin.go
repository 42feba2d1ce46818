package command

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"seganet.internal/overlay/internal/auth"
	"seganet.internal/overlay/internal/authclient"
	"seganet.internal/overlay/internal/wire"
)

// admin is the administration socket that a command uses.
type admin struct{ state, socket *string }

// adminFlags adds --state and --admin.
func adminFlags(f *flag.FlagSet) admin {
	return admin{stateFlag(f), f.String("admin", "", "`socket` of the administration, if serve has this option, too ("+auth.AdminSocket+" in the state folder)")}
}

func (a admin) path() string {
	if *a.socket != "" {
		return *a.socket
	}
	return filepath.Join(*a.state, auth.AdminSocket)
}

func (a admin) client() *authclient.Client { return authclient.NewAdmin(a.path()) }

// by names the user who runs the command, for the audit log.
func by() string {
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return u.Username
}

// explain adds a remedy if no service answers on the socket.
func (a admin) explain(err error) error {
	if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("no authentication service answers on %s. Start it (seganet-overlay serve), or name its folder with --state or its socket with --admin", a.path())
	}
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("the services run as another user. Run this command as that user: %w", err)
	}
	return err
}

func runInvite(ctx context.Context, args []string, out io.Writer) error {
	f := flags("invite", out)
	a := adminFlags(f)
	name := f.String("name", "", "`name` of the node")
	var groups words
	f.Var(&groups, "group", "`group` of the node; may be given several times")
	life := f.Duration("life", time.Hour, "how long the token is valid")
	asJSON := f.Bool("json", false, "print JSON")
	if err := parse(f, args, 0, out); err != nil {
		return err
	}
	r := wire.InviteRequest{Name: *name, Groups: groups, LifetimeSeconds: int64(*life / time.Second), By: by()}
	if err := r.Validate(); err != nil {
		return usage("%v. Run: seganet-overlay invite --help", err)
	}
	i, err := a.client().Invite(ctx, r)
	if err != nil {
		return a.explain(err)
	}
	if *asJSON {
		return printJSON(out, i)
	}
	urls := i.Auth
	if len(urls) == 0 {
		urls = []string{"https://<host of the services>"}
	}
	fmt.Fprintf(out, "The node %s can join once, until %s. Run on it:\n\nseganet-overlay join --url %s --root %s --token %s\n",
		i.Name, i.Expires.Local().Format(time.DateTime), strings.Join(urls, " --url "), i.Root, i.Token)
	return nil
}

func runRevoke(ctx context.Context, args []string, out io.Writer) error {
	f := flags("revoke", out)
	a := adminFlags(f)
	reason := f.String("reason", "", "`text` for the list of nodes")
	if err := parse(f, args, 1, out); err != nil {
		return err
	}
	r := wire.RevokeRequest{Name: f.Arg(0), Reason: *reason, By: by()}
	if err := r.Validate(); err != nil {
		return usage("%v. Run: seganet-overlay revoke --help", err)
	}
	if err := a.client().Revoke(ctx, r); err != nil {
		return a.explain(err)
	}
	fmt.Fprintf(out, "The node %s is revoked.\n", r.Name)
	return nil
}

func runResume(ctx context.Context, args []string, out io.Writer) error {
	f := flags("resume", out)
	a := adminFlags(f)
	if err := parse(f, args, 1, out); err != nil {
		return err
	}
	r := wire.ResumeRequest{Name: f.Arg(0), By: by()}
	if err := r.Validate(); err != nil {
		return usage("%v. Run: seganet-overlay resume --help", err)
	}
	if err := a.client().Resume(ctx, r); err != nil {
		return a.explain(err)
	}
	fmt.Fprintf(out, "The node %s is resumed. If two programs still use its identity, it is suspended again.\n", r.Name)
	return nil
}

func runNodes(ctx context.Context, args []string, out io.Writer) error {
	f := flags("nodes", out)
	a := adminFlags(f)
	asJSON := f.Bool("json", false, "print JSON")
	if err := parse(f, args, 0, out); err != nil {
		return err
	}
	list, err := a.client().Nodes(ctx)
	if err != nil {
		return a.explain(err)
	}
	if *asJSON {
		return printJSON(out, list)
	}
	if len(list) == 0 {
		fmt.Fprintln(out, "No node has joined. Invite one: seganet-overlay invite --name <name>")
		return nil
	}
	t := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "NAME\tIPv6\tIPv4\tGROUPS\tDEVICES\tJOINED BY\tCERTIFICATE\tSEEN\tFROM\tVERSION")
	for _, n := range list {
		state := "until " + n.Expires.Local().Format(time.DateTime)
		switch {
		case !n.Revoked.IsZero():
			state = strings.TrimSuffix("revoked "+n.Revoked.Local().Format(time.DateTime)+": "+n.Reason, ": ")
		case !n.Suspended.IsZero():
			state = "suspended " + n.Suspended.Local().Format(time.DateTime)
		case time.Now().After(n.Expires):
			state = "expired " + n.Expires.Local().Format(time.DateTime)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\n", n.FQDN, n.Addresses[0], n.Addresses[1], strings.Join(n.Groups, " "), len(n.Devices), n.By, state,
			seen(n), n.From, programVersion(n))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, n := range list {
		if n.Twice.IsZero() || !n.Revoked.IsZero() {
			continue
		}
		fmt.Fprintf(out, "\nWARNING: two programs use the identity of %s, from %s (%s). If it was stolen: seganet-overlay revoke --reason stolen %s\n",
			n.Name, strings.Join(n.TwiceFrom, " and "), n.Twice.Local().Format(time.DateTime), n.Name)
		if !n.Suspended.IsZero() {
			fmt.Fprintf(out, "If it was copied by mistake, delete the copy, then: seganet-overlay resume %s\n", n.Name)
		}
	}
	return nil
}

// seen describes when a node was connected to the node services.
func seen(n wire.NodeInfo) string {
	switch {
	case n.Online:
		return "online since " + n.Seen.Local().Format(time.DateTime)
	case n.Seen.IsZero():
		return "never"
	}
	return n.Seen.Local().Format(time.DateTime)
}

// programVersion returns the version of a node's program. Nodes of an early version do not report it.
func programVersion(n wire.NodeInfo) string {
	if n.Version == "" && !n.Seen.IsZero() {
		return "unknown"
	}
	return n.Version
}

func runInvitations(ctx context.Context, args []string, out io.Writer) error {
	f := flags("invitations", out)
	a := adminFlags(f)
	withdraw := f.String("withdraw", "", "`id` of an invitation to end")
	asJSON := f.Bool("json", false, "print JSON")
	if err := parse(f, args, 0, out); err != nil {
		return err
	}
	if *withdraw != "" {
		if err := a.client().Withdraw(ctx, wire.WithdrawRequest{ID: *withdraw, By: by()}); err != nil {
			return a.explain(err)
		}
		fmt.Fprintln(out, "The invitation is withdrawn.")
		return nil
	}
	list, err := a.client().Invitations(ctx)
	if err != nil {
		return a.explain(err)
	}
	if *asJSON {
		return printJSON(out, list)
	}
	if len(list.Open) == 0 {
		fmt.Fprintln(out, "There is no open invitation.")
		return nil
	}
	t := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "ID\tNAME\tGROUPS\tUNTIL")
	for _, i := range list.Open {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", i.ID, i.Name, strings.Join(i.Groups, " "), i.Expires.Local().Format(time.DateTime))
	}
	if list.More > 0 {
		fmt.Fprintf(t, "and %d more\n", list.More)
	}
	return t.Flush()
}

func runPolicy(ctx context.Context, args []string, out io.Writer) error {
	f := flags("policy", out)
	a := adminFlags(f)
	set := f.String("set", "", "JSON `file` of the new policy; - reads the standard input")
	if err := parse(f, args, 0, out); err != nil {
		return err
	}
	if *set == "" {
		p, err := a.client().Policy(ctx)
		if err != nil {
			return a.explain(err)
		}
		return printJSON(out, p)
	}
	text, _, err := readPolicy(*set)
	if err != nil {
		return err
	}
	p, err := a.client().SetPolicy(ctx, wire.PolicyText{Text: text, By: by()})
	if err != nil {
		return a.explain(err)
	}
	fmt.Fprintf(out, "The policy has the version %d and %d rules.\n", p.Version, len(p.Allow))
	return nil
}

func runRotate(ctx context.Context, args []string, out io.Writer) error {
	f := flags("rotate", out)
	a := adminFlags(f)
	now := f.Bool("now", false, "sign with the new CA at once; a node that has not connected since then learns of it at its next renewal")
	if err := parse(f, args, 0, out); err != nil {
		return err
	}
	if err := a.client().Rotate(ctx, wire.RotateRequest{Now: *now, By: by()}); err != nil {
		return a.explain(err)
	}
	if *now {
		fmt.Fprintln(out, "The new CA signs from now on. The old root leaves when its last certificate has expired.")
	} else {
		fmt.Fprintln(out, "Nodes learn the new root now. The new CA signs in 7 days, and the old root leaves 7 days after that.")
	}
	return nil
}

func printJSON(out io.Writer, v any) error {
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// readSmall reads a file, or the standard input for "-", and refuses more than max bytes.
func readSmall(path string, max int) ([]byte, error) {
	in := io.Reader(os.Stdin)
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		in = file
	}
	text, err := io.ReadAll(io.LimitReader(in, int64(max)+1))
	if err == nil && len(text) > max {
		err = fmt.Errorf("%s has more than %d bytes", path, max)
	}
	return text, err
}

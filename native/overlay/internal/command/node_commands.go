package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"seganet.internal/overlay/internal/control"
	"seganet.internal/overlay/internal/node"
)

// nodeCommands are the commands of a node.
func nodeCommands() []Command {
	return []Command{
		{"node", "run this machine's node", "seganet-overlay node --offer broker=tcp/1883@127.0.0.1:1883 --socks 127.0.0.1:1080", runNode},
		{"status", "show the node and its peers, and why a peer is relayed", "seganet-overlay status", runStatus},
		{"ping", "measure the round trip to a peer inside the tunnel", "seganet-overlay ping hub", runPing},
		{"doctor", "check what stands in the way of direct paths", "seganet-overlay doctor", runDoctor},
	}
}

const answerLimit = 10 * time.Second

// askNode sends one request to the node of the state folder.
func askNode(state, method string, params, result any) error {
	c, err := control.Connect(state)
	if err != nil {
		return err
	}
	defer c.Close()
	return c.Ask(method, params, result, answerLimit)
}

func runStatus(_ context.Context, args []string, out io.Writer) error {
	f := flags("status", out)
	state := stateFlag(f)
	asJSON := f.Bool("json", false, "print JSON")
	if err := parse(f, args, 0, out); err != nil {
		return err
	}
	var s node.Status
	if err := askNode(*state, "status", map[string]bool{"changes": true}, &s); err != nil {
		return err
	}
	if *asJSON {
		return printJSON(out, s)
	}
	fmt.Fprintf(out, "%s (%s) since %s, UDP port %d\n", s.FQDN, s.Mode, time.Duration(s.UptimeSeconds)*time.Second, s.Node.Port)
	for _, a := range s.Addresses {
		fmt.Fprintf(out, "  %s\n", a)
	}
	relay := "no relay"
	if s.Node.RelayResting {
		relay = "no relay while no peer is awake"
	}
	if s.Node.Relay != "" {
		relay = "relay " + s.Node.Relay + " as " + s.Node.RelayAddress
		if s.Node.RelayAddress6 != "" {
			relay += " and " + s.Node.RelayAddress6
		}
	}
	services := "node services reached"
	if !s.Node.Signalling {
		services = "node services out of reach: " + s.ServicesError
	}
	fmt.Fprintf(out, "  %s, %s, certificate until %s\n", services, relay, s.CertificateExpires.Local().Format(time.DateTime))
	if !s.UsedTwice.IsZero() {
		fmt.Fprintf(out, "  WARNING: another program used this node's identity at %s. If it was stolen, revoke the node\n", s.UsedTwice.Local().Format(time.DateTime))
	}
	fmt.Fprintf(out, "  port mapping: %s\n", s.PortMapping.Text)
	for _, o := range s.Services {
		fmt.Fprintf(out, "  offers %s at %s/%d\n", o.Name, o.Proto, o.Port)
	}
	if len(s.Peers) == 0 {
		fmt.Fprintln(out, "No peer is known yet. A name or an address of the overlay makes one known: seganet-overlay ping <name>")
	}
	for _, p := range s.Peers {
		fmt.Fprintf(out, "%-24s %s", p.Name, p.Via)
		if p.RTT != nil {
			fmt.Fprintf(out, ", %.2f ms", *p.RTT)
		}
		if p.Offline {
			fmt.Fprint(out, ", not connected to the services")
		}
		if p.HeardAgo != nil {
			fmt.Fprintf(out, ", heard %s ago", time.Duration(*p.HeardAgo)*time.Second)
		}
		if p.Blocked {
			fmt.Fprintf(out, ", %s", p.Reason)
		} else if p.Reason != "" {
			fmt.Fprintf(out, ", not direct: %s", p.Reason)
		}
		fmt.Fprintf(out, "\n%-24s direct %d B in, %d B out; relay %d B in, %d B out\n", "", p.BytesDirect.In, p.BytesDirect.Out, p.BytesRelay.In, p.BytesRelay.Out)
		for _, c := range p.Changes {
			fmt.Fprintf(out, "%-24s %s %s: %s\n", "", c.Time.Local().Format(time.TimeOnly), c.Path, c.Why)
		}
	}
	return nil
}

func runPing(ctx context.Context, args []string, out io.Writer) error {
	f := flags("ping", out)
	state := stateFlag(f)
	count := f.Int("count", 4, "`number` of pings")
	every := f.Duration("every", time.Second, "pause between pings")
	if err := parse(f, args, 1, out); err != nil {
		return err
	}
	if f.NArg() != 1 || *count < 1 {
		return usage("the peer's name is missing. Example: seganet-overlay ping hub")
	}
	c, err := control.Connect(*state)
	if err != nil {
		return err
	}
	defer c.Close()
	var failed error
	answered := 0
	for i := range *count {
		if i > 0 {
			select {
			case <-ctx.Done():
			case <-time.After(*every):
			}
		}
		if ctx.Err() != nil {
			break
		}
		var r struct {
			Name string  `json:"name"`
			RTT  float64 `json:"rttMs"`
			Path string  `json:"path"`
		}
		if err := c.Ask("ping", map[string]string{"name": f.Arg(0)}, &r, answerLimit); err != nil {
			failed = err
			fmt.Fprintln(out, err)
			continue
		}
		answered++
		fmt.Fprintf(out, "%s: %.2f ms, %s\n", r.Name, r.RTT, r.Path)
	}
	switch {
	case answered > 0:
		return nil
	case failed == nil:
		return errors.New("no ping was sent")
	}
	return failed
}

func runDoctor(_ context.Context, args []string, out io.Writer) error {
	f := flags("doctor", out)
	state := stateFlag(f)
	if err := parse(f, args, 0, out); err != nil {
		return err
	}
	var r struct {
		Findings []node.Finding `json:"findings"`
	}
	if err := askNode(*state, "doctor", nil, &r); err != nil {
		return err
	}
	bad := 0
	for _, x := range r.Findings {
		if x.OK {
			fmt.Fprintf(out, "ok    %s\n", x.What)
			continue
		}
		bad++
		fmt.Fprintf(out, "fails %s\n      %s\n", x.What, x.Remedy)
	}
	if bad > 0 {
		return errors.New("there are findings")
	}
	return nil
}

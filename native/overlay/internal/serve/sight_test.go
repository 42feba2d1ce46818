package serve_test

import (
	"testing"
	"time"

	"seganet.internal/overlay/internal/identity"
	"seganet.internal/overlay/internal/nodes"
	"seganet.internal/overlay/internal/serve"
	"seganet.internal/overlay/internal/servetest"
	"seganet.internal/overlay/internal/wire"
)

// hidden is true if a node learns nothing of another one: by name, by address, or by an offer to it.
func hidden(t *testing.T, from *servetest.Node, other *identity.Member) bool {
	t.Helper()
	unknown := 0
	from.Say(&wire.Lookup{ID: "name", Name: other.FQDN})
	from.Say(&wire.Lookup{ID: "address", Address: other.Addresses[1]})
	from.Say(&wire.Signal{To: other.FQDN, Type: wire.SignalOffer, Epoch: 1, Data: "x"})
	from.Say(&wire.Lookup{ID: "last", Name: from.FQDN})
	for {
		switch m := servetest.Await[wire.Message](from).(type) {
		case *wire.Error:
			if m.Code == wire.CodeUnknown || m.Code == wire.CodeOffline {
				unknown++
			}
			if m.ID == "last" {
				t.Fatal("a node does not know itself")
			}
		case *wire.Found:
			if m.ID == "last" {
				return unknown == 3
			}
		}
	}
}

func rule(from, to string) wire.Rule { return wire.Rule{From: from, To: to, Ports: []string{"tcp/1"}} }

func TestThePolicyHidesNodes(t *testing.T) {
	r := servetest.Start(t, servetest.Config(t))
	servetest.SetPolicy(t, r)
	join := func(name, group string, devices ...string) *identity.Member {
		return servetest.Join(t, r, name, []string{group}, devices...)
	}
	gateway := servetest.Connect(t, join("hall-3", "gateways"), wire.Hello{})
	hub := servetest.Connect(t, join("hub", "hubs"), wire.Hello{})
	other := servetest.Connect(t, join("hall-4", "gateways"), wire.Hello{})
	all := []*servetest.Node{gateway, hub, other}
	know := func(what string, pairs ...*servetest.Node) {
		t.Helper()
		for _, a := range all {
			for _, b := range all {
				if a == b {
					continue
				}
				want := true
				for i := 0; i < len(pairs); i += 2 {
					if a == pairs[i] && b == pairs[i+1] || b == pairs[i] && a == pairs[i+1] {
						want = false
					}
				}
				if got := hidden(t, a, b.Member); got != want {
					t.Errorf("%s: %s is hidden from %s: %t", what, b.Name, a.Name, got)
				}
			}
		}
	}
	know("an empty policy")
	servetest.SetPolicy(t, r, rule("group:gateways", "group:hubs"))
	for _, n := range all {
		servetest.Await[*wire.PolicyUpdate](n)
	}
	know("gateways to hubs", gateway, hub, other, hub)
	servetest.SetPolicy(t, r, rule("node:hub", "node:hall-3"))
	for _, n := range all {
		servetest.Await[*wire.PolicyUpdate](n)
	}
	know("the hub to one gateway", hub, gateway)

	// hall-4 watched the hub before. It is no longer notified that the hub is gone and back.
	hub.Close()
	servetest.Await[*wire.Gone](gateway)
	servetest.Connect(t, hub.Member, wire.Hello{})
	servetest.Await[*wire.Found](gateway)
	other.Say(&wire.Ping{})
	for pong := false; !pong; {
		switch m := servetest.Await[wire.Message](other).(type) {
		case *wire.Found, *wire.Gone:
			t.Fatalf("%+v", m)
		case *wire.Pong:
			pong = true
		}
	}
}

// The groups of devices are a claim of their node. The claim makes the node visible to nodes that may reach such a
// group. It does not make them visible to the node before they have asked for it.
func TestANodeDoesNotFindOthersByGroupsThatItClaims(t *testing.T) {
	r := servetest.Start(t, servetest.Config(t))
	servetest.SetPolicy(t, r, rule("group:masters", "group:plcs"))
	master := servetest.ConnectAs(t, servetest.Join(t, r, "master", []string{"masters"}), wire.Hello{}, nodes.Greeting{Instance: "1"})
	cell := servetest.ConnectAs(t, servetest.Join(t, r, "cell", []string{"cells"}, "plc"), wire.Hello{}, nodes.Greeting{Instance: "2", DeviceGroups: []string{"plcs"}})
	bare := servetest.ConnectAs(t, servetest.Join(t, r, "bare", []string{"cells"}, "plc"), wire.Hello{}, nodes.Greeting{Instance: "3"})
	old := servetest.Connect(t, servetest.Join(t, r, "old", []string{"cells"}, "plc"), wire.Hello{})
	if !hidden(t, cell, master.Member) {
		t.Error("the master is shown to a node that claims a group")
	}
	if hidden(t, master, cell.Member) {
		t.Error("a node with a device of the group is hidden from the master")
	}
	servetest.Await[*wire.Signal](cell)
	if hidden(t, cell, master.Member) {
		t.Error("the node cannot answer the master")
	}
	if !hidden(t, master, bare.Member) {
		t.Error("a node without a device of the group is shown")
	}
	if hidden(t, master, old.Member) {
		t.Error("a node of an earlier version, whose devices' groups are not known, is hidden")
	}
}

// listed returns a row of the list of nodes once it is as wanted.
func listed(t *testing.T, r *serve.Running, name string, wanted func(wire.NodeInfo) bool) (last wire.NodeInfo) {
	t.Helper()
	for start := time.Now(); time.Since(start) < servetest.Wait; time.Sleep(20 * time.Millisecond) {
		list, err := r.Auth.Nodes()
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range list {
			if n.Name == name {
				if last = n; wanted(n) {
					return n
				}
			}
		}
	}
	t.Fatalf("the list of nodes: %+v", last)
	return last
}

func TestTheListOfNodesSaysWhoIsConnected(t *testing.T) {
	auth, others := servetest.Split(t, 1)
	servetest.Start(t, others[0])
	joined := servetest.Join(t, auth, "a", nil)
	if n := listed(t, auth, "a", func(n wire.NodeInfo) bool { return !n.Online }); !n.Seen.IsZero() {
		t.Errorf("before its first connection: %+v", n)
	}
	a := servetest.ConnectAs(t, joined, wire.Hello{}, nodes.Greeting{Instance: "1", Version: "1.2.3"})
	n := listed(t, auth, "a", func(n wire.NodeInfo) bool { return n.Online })
	if n.From != "127.0.0.1" || n.Version != "1.2.3" || time.Since(n.Seen) > time.Minute || !n.Twice.IsZero() {
		t.Errorf("%+v", n)
	}
	a.Close()
	listed(t, auth, "a", func(n wire.NodeInfo) bool { return !n.Online && time.Since(n.Seen) < time.Minute })
}

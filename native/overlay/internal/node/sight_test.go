package node_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"seganet.internal/overlay/internal/servetest"
	"seganet.internal/overlay/internal/wire"
)

func TestTheNarrowerPolicyEndsTheSessionOnBothSides(t *testing.T) {
	r, _, hub, gateway := network(t)
	h, _ := run(t, hub, offerEcho(t))
	g, _ := run(t, gateway, nil)
	var p struct{ Path string }
	eventually(t, "a ping", func() bool { return g.Ask("ping", map[string]string{"name": "hub"}, &p, 5*time.Second) == nil })
	if len(status(t, h).Peers) != 1 {
		t.Fatal("the hub has no peer")
	}
	servetest.SetPolicy(t, r)
	eventually(t, "neither side has a peer", func() bool { return len(status(t, h).Peers)+len(status(t, g).Peers) == 0 })
	for _, c := range []struct {
		ask  func(string, any, any, time.Duration) error
		name string
	}{{g.Ask, "hub"}, {h.Ask, "hall-3"}} {
		if err := c.ask("ping", map[string]string{"name": c.name}, &p, 5*time.Second); err == nil || !strings.Contains(err.Error(), "no node or device has this name") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if len(status(t, h).Peers)+len(status(t, g).Peers) != 0 {
		t.Error("a peer is known")
	}
	servetest.SetPolicy(t, r, wire.Rule{From: "node:hub", To: "node:hall-3", Ports: []string{"icmp"}})
	eventually(t, "a ping by the new policy", func() bool { return h.Ask("ping", map[string]string{"name": "hall-3"}, &p, 5*time.Second) == nil })
}

// Two copies of a state folder run. Both, and the list of nodes, report it. The copies replace each other at the node
// services.
func TestACopiedIdentityIsReported(t *testing.T) {
	r, _, _, gateway := network(t)
	stolen := t.TempDir()
	files, err := filepath.Glob(filepath.Join(gateway, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err == nil {
			err = os.WriteFile(filepath.Join(stolen, filepath.Base(f)), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	a, stop := run(t, gateway, nil)
	eventually(t, "the services", func() bool { return status(t, a).Node.Signalling })
	stop()
	a, _ = run(t, gateway, nil)
	eventually(t, "the services", func() bool { return status(t, a).Node.Signalling })
	if r.Nodes.UsedTwice() != 0 {
		t.Fatal("a start counts as a copy")
	}
	b, _ := run(t, stolen, nil)
	eventually(t, "the copies say so", func() bool { return !status(t, a).UsedTwice.IsZero() && !status(t, b).UsedTwice.IsZero() })
	eventually(t, "the list of nodes says so", func() bool {
		list, err := r.Auth.Nodes()
		return err == nil && slices.ContainsFunc(list, func(n wire.NodeInfo) bool { return n.Name == "hall-3" && !n.Twice.IsZero() && n.Version != "" })
	})
}

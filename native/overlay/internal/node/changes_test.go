package node_test

import (
	"testing"
	"time"

	"seganet.internal/overlay/internal/auth"
	"seganet.internal/overlay/internal/control"
	"seganet.internal/overlay/internal/node"
	"seganet.internal/overlay/internal/servetest"
	"seganet.internal/overlay/internal/stack"
	"seganet.internal/overlay/internal/wire"
)

func pinged(g *control.Client, name string) func() bool {
	return func() bool {
		return g.Ask("ping", map[string]string{"name": name}, &struct{}{}, 9*time.Second) == nil
	}
}

func forwardTo(t *testing.T, g *control.Client, remote string) string {
	t.Helper()
	var f struct{ Local string }
	if err := g.Ask("forward", map[string]string{"network": "tcp", "local": "127.0.0.1:0", "remote": remote}, &f, 5*time.Second); err != nil {
		t.Fatal(err)
	}
	return f.Local
}

func TestARefusedPortAnswersAtOnce(t *testing.T) {
	r, _, hub, gateway := network(t)
	run(t, hub, offerEcho(t))
	g, _ := run(t, gateway, nil)
	eventually(t, "a ping", pinged(g, "hub"))
	if _, err := r.Auth.SetPolicy(wire.Policy{Allow: []wire.Rule{{From: "group:gateways", To: "group:hubs", Ports: []string{"tcp/8"}}}}, auth.PolicyChange{}); err != nil {
		t.Fatal(err)
	}
	for name, remote := range map[string]string{"what the policy allows and no service offers": "hub:8", "what is offered and not allowed": "hub:7"} {
		var d time.Duration
		eventually(t, name+" is refused", func() bool {
			at, start := forwardTo(t, g, remote), time.Now()
			err := echo(at)
			d = time.Since(start)
			return err != nil
		})
		t.Logf("%s: refused after %v", name, d)
		if d > stack.DialTimeout/2 {
			t.Errorf("%s: refused after %v", name, d)
		}
	}
}

func TestRevocationsAreRequestedWhileTheNodeServicesAreDown(t *testing.T) {
	r, others := servetest.Split(t, 1)
	services := servetest.Start(t, others[0])
	hub := servetest.Save(t, servetest.Join(t, r, "hub", nil))
	gateway := servetest.Save(t, servetest.Join(t, r, "hall-3", nil))
	h, _ := run(t, hub, func(o *node.Options) { o.RevocationsEvery = 50 * time.Millisecond })
	g, _ := run(t, gateway, nil)
	eventually(t, "a ping", pinged(g, "hub"))
	services.Close()
	eventually(t, "the hub is without node services", func() bool { return !status(t, h).Node.Signalling })
	if n := len(status(t, h).Peers); n != 1 {
		t.Fatalf("the hub has %d peers", n)
	}
	if err := r.Auth.Revoke(wire.RevokeRequest{Name: "hall-3", Reason: "stolen"}); err != nil {
		t.Fatal(err)
	}
	t.Logf("cut off after %v", eventually(t, "the hub drops the revoked node", func() bool { return len(status(t, h).Peers) == 0 }))
}

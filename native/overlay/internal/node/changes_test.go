package node_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
	if _, err := r.Auth.SetPolicy(wire.Policy{Allow: []wire.Rule{{From: "group:gateways", To: "group:hubs", Ports: []string{"tcp/8"}}}}); err != nil {
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

func TestARevocationIsAskedForWhileTheNodeServicesAreDown(t *testing.T) {
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

func TestANewDeviceOfTheFileIsReachedByName(t *testing.T) {
	r := servetest.Start(t, servetest.Config(t))
	if _, err := r.Auth.SetPolicy(wire.Policy{Allow: []wire.Rule{{From: "*", To: "*", Ports: []string{"tcp/*"}}}}); err != nil {
		t.Fatal(err)
	}
	hub := servetest.Save(t, servetest.Join(t, r, "hub", nil))
	gateway := servetest.Save(t, servetest.Join(t, r, "hall-3", nil))
	port := echoServer(t)
	_, port, _ = strings.Cut(port, ":")
	file := filepath.Join(t.TempDir(), "devices.json")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	device := func(name string) string {
		return `{"name":"` + name + `","lan":"127.0.0.1","ports":["tcp/` + port + `"]}`
	}
	write(`{"devices":[` + device("pump") + `]}`)
	run(t, gateway, func(o *node.Options) { o.DevicesFile = file })
	h, _ := run(t, hub, nil)
	reached := func(name string) func() bool {
		at := forwardTo(t, h, name+".hall-3:"+port)
		return func() bool { return echo(at) == nil }
	}
	eventually(t, "the device of the start answers", reached("pump"))
	write(`{"devices":[{"name":"fan","lan":"127.0.0.1","ports":["nonsense"]}]}`)
	write(`{"devices":[` + device("fan") + `]}`)
	t.Logf("reached %v after the change", eventually(t, "the new device answers", reached("fan")))
	if reached("pump")() {
		t.Error("the device that left the file answers still")
	}
}

func TestARenewalThatFailsLeavesTheTableInForce(t *testing.T) {
	r, others := servetest.Split(t, 1)
	servetest.Start(t, others[0])
	gateway := servetest.Save(t, servetest.Join(t, r, "hall-3", nil, "pump"))
	file := filepath.Join(t.TempDir(), "devices.json")
	if err := os.WriteFile(file, []byte(`{"devices":[{"name":"pump","lan":"127.0.0.1"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	r.Close()
	g, stop := run(t, gateway, func(o *node.Options) { o.DevicesFile = file })
	if s := status(t, g); !strings.HasPrefix(s.FQDN, "hall-3.") {
		t.Errorf("%+v", s)
	}
	stop()
	if err := os.WriteFile(file, []byte(`{"devices":[{"name":"fan","lan":"127.0.0.1"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	err := node.Run(t.Context(), node.Options{State: gateway, DevicesFile: file})
	if err == nil || !strings.Contains(err.Error(), "authentication service") {
		t.Errorf("a device without an address: %v", err)
	}
}

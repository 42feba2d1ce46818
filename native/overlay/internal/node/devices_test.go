package node_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"seganet.internal/overlay/internal/auth"
	"seganet.internal/overlay/internal/control"
	"seganet.internal/overlay/internal/identity"
	"seganet.internal/overlay/internal/node"
	"seganet.internal/overlay/internal/serve"
	"seganet.internal/overlay/internal/servetest"
	"seganet.internal/overlay/internal/wire"
)

// plant is a network with a hub and a gateway, whose table of devices is a file.
type plant struct {
	t            *testing.T
	services     *serve.Running
	config       serve.Config
	hub, gateway string
	file         string
	port         string // of every device
}

func newPlant(t *testing.T, devices ...string) *plant {
	t.Helper()
	hold, err := net.Listen("tcp", "127.0.0.1:0") // the services start again at the same port
	if err != nil {
		t.Fatal(err)
	}
	p := &plant{t: t, config: servetest.Config(t), file: filepath.Join(t.TempDir(), "devices.json")}
	p.config.Listen = hold.Addr().String()
	hold.Close()
	p.services = servetest.Start(t, p.config)
	if _, err := p.services.Auth.SetPolicy(wire.Policy{Allow: []wire.Rule{{From: "*", To: "*", Ports: []string{"tcp/*"}}}}, auth.PolicyChange{}); err != nil {
		t.Fatal(err)
	}
	p.hub = servetest.Save(t, servetest.Join(t, p.services, "hub", nil))
	p.gateway = servetest.Save(t, servetest.Join(t, p.services, "hall-3", nil, devices...))
	l, err := net.Listen("tcp4", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go serveEcho(l)
	_, p.port, _ = net.SplitHostPort(l.Addr().String())
	return p
}

// table writes the file.
func (p *plant) table(names ...string) {
	p.t.Helper()
	rows := []string{}
	for i, name := range names {
		rows = append(rows, fmt.Sprintf(`{"name":"%s","lan":"127.0.0.%d","ports":["tcp/%s"]}`, name, i+1, p.port))
	}
	p.text(`{"devices":[` + strings.Join(rows, ",") + `]}`)
}

func (p *plant) text(text string) {
	p.t.Helper()
	if err := os.WriteFile(p.file, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func (p *plant) devices(o *node.Options) { o.DevicesFile = p.file }

func (p *plant) reached(c *control.Client, name string) func() bool {
	at := forwardTo(p.t, c, name+".hall-3:"+p.port)
	return func() bool { return echo(at) == nil }
}

func TestANewDeviceOfTheFileIsReachedByName(t *testing.T) {
	p := newPlant(t)
	p.table("pump")
	run(t, p.gateway, p.devices)
	h, _ := run(t, p.hub, nil)
	eventually(t, "the device of the start answers", p.reached(h, "pump"))
	p.text(`{"devices":[{"name":"fan","lan":"127.0.0.1","ports":["nonsense"]}]}`)
	p.table("fan")
	t.Logf("reached %v after the change", eventually(t, "the new device answers", p.reached(h, "fan")))
	if p.reached(h, "pump")() {
		t.Error("the device that left the file answers still")
	}
}

func TestANodeStartsWithTheDevicesOfItsCertificate(t *testing.T) {
	p := newPlant(t, "pump")
	p.services.Close()
	for _, names := range [][]string{{"pump"}, {"pump", "fan"}, {"fan"}, {}} {
		p.table(names...)
		_, stop := run(t, p.gateway, p.devices)
		stop()
	}
	p.table("pump", "fan")
	run(t, p.gateway, p.devices)
	servetest.Start(t, p.config)
	h, _ := run(t, p.hub, nil)
	eventually(t, "the device of the certificate answers", p.reached(h, "pump"))
	reached, start := p.reached(h, "fan"), time.Now()
	for ; !reached(); time.Sleep(100 * time.Millisecond) {
		if time.Since(start) > time.Minute+servetest.Wait { // the first attempt may have come too early
			t.Fatal("the table was not tried again")
		}
	}
}

func TestARenewalCountsThoughItCannotBeSaved(t *testing.T) {
	p := newPlant(t, "pump")
	p.table("pump")
	run(t, p.gateway, func(o *node.Options) { o.DevicesFile, o.HousekeepingEvery = p.file, 50*time.Millisecond })
	file := filepath.Join(p.gateway, identity.MembershipFile)
	blocked := filepath.Join(file, "not empty") // root may write everywhere, but replace no folder that is not empty
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(blocked, 0o700); err != nil {
		t.Fatal(err)
	}
	p.table("pump", "fan")
	h, _ := run(t, p.hub, nil)
	eventually(t, "the new device answers", p.reached(h, "fan"))
	if err := os.RemoveAll(file); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the membership is saved", func() bool {
		m, err := identity.LoadMember(p.gateway, time.Now())
		return err == nil && len(m.Devices) == 2
	})
}

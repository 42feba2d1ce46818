package node_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"seganet.internal/overlay/internal/auth"
	"seganet.internal/overlay/internal/node"
	"seganet.internal/overlay/internal/servetest"
	"seganet.internal/overlay/internal/stack"
	"seganet.internal/overlay/internal/stack/stacktest"
	"seganet.internal/overlay/internal/wire"
)

// Names lead to IPv6 first; the translator has no IPv6 address for this device.
func TestADeviceWithIPv4OnlyIsReachedAtOnceByName(t *testing.T) {
	if !stacktest.Namespace(t) {
		return
	}
	const lan, port = "192.0.2.7", "502"
	if out, err := exec.Command("ip", "address", "add", lan+"/32", "dev", "lo").CombinedOutput(); err != nil {
		t.Fatalf("%s %v", out, err)
	}
	serveDevice(t, net.JoinHostPort(lan, port))
	r := servetest.Start(t, servetest.Config(t))
	if _, err := r.Auth.SetPolicy(wire.Policy{Allow: []wire.Rule{{From: "*", To: "*", Ports: []string{"tcp/*", "udp/*"}}}}, auth.PolicyChange{}); err != nil {
		t.Fatal(err)
	}
	hub := servetest.Save(t, servetest.Join(t, r, "hub", nil))
	gateway := servetest.Save(t, servetest.Join(t, r, "hall-3", nil))
	file := filepath.Join(t.TempDir(), "devices.json")
	if err := os.WriteFile(file, []byte(`{"devices":[{"name":"pump","lan":"`+lan+`","ports":["tcp/502","udp/502"]}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, gateway, func(o *node.Options) { o.TUN, o.DevicesFile = "ov0", file })
	h, _ := run(t, hub, nil)
	eventually(t, "a ping", pinged(h, "hall-3"))
	at, start := forwardTo(t, h, "pump.hall-3:"+port), time.Now()
	if err := echo(at); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(start); d > stack.DialTimeout/2 {
		t.Errorf("the device answered after %v", d)
	}
	var f struct{ Local string }
	if err := h.Ask("forward", map[string]string{"network": "udp", "local": "127.0.0.1:0", "remote": "pump.hall-3:" + port}, &f, 5*time.Second); err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("udp", f.Local)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	eventually(t, "a datagram comes back", func() bool {
		_, _ = c.Write([]byte("question"))
		_ = c.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
		n, err := c.Read(make([]byte, 16))
		return err == nil && n == len("question")
	})
}

// serveDevice answers by TCP and UDP as an ordinary device does.
func serveDevice(t *testing.T, at string) {
	t.Helper()
	l, err := net.Listen("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	p, err := net.ListenPacket("udp", at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close(); p.Close() })
	go serveEcho(l)
	go func() {
		buf := make([]byte, 2048)
		for {
			n, from, err := p.ReadFrom(buf)
			if err != nil {
				return
			}
			_, _ = p.WriteTo(buf[:n], from)
		}
	}()
}

package node_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"seganet.internal/overlay/internal/auth"
	"seganet.internal/overlay/internal/busytest"
	"seganet.internal/overlay/internal/control"
	"seganet.internal/overlay/internal/node"
	"seganet.internal/overlay/internal/serve"
	"seganet.internal/overlay/internal/servetest"
	"seganet.internal/overlay/internal/wire"
)

// run starts a node on its own state folder and returns a client of its control socket and a function that ends it.
func run(t *testing.T, dir string, change func(*node.Options)) (*control.Client, func()) {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	if testing.Verbose() {
		log = slog.New(slog.NewTextHandler(os.Stderr, nil)).With("node", filepath.Base(dir))
	}
	o := node.Options{State: dir, Log: log}
	if change != nil {
		change(&o)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- node.Run(ctx, o) }()
	stopped := false
	stop := func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the node ended: %v", err)
		}
	}
	t.Cleanup(stop)
	var c *control.Client
	eventually(t, "the control socket answers", func() bool {
		var err error
		c, err = control.Connect(dir)
		return err == nil
	})
	t.Cleanup(c.Close)
	return c, stop
}

func eventually(t *testing.T, what string, f func() bool) time.Duration {
	t.Helper()
	start := time.Now()
	for !f() {
		if time.Since(start) > servetest.Wait {
			t.Fatalf("not within %v: %s", servetest.Wait, what)
		}
		time.Sleep(10 * time.Millisecond)
	}
	return time.Since(start)
}

func status(t *testing.T, c *control.Client) (s node.Status) {
	t.Helper()
	if err := c.Ask("status", map[string]bool{"changes": true}, &s, 5*time.Second); err != nil {
		t.Fatal(err)
	}
	return s
}

// echoServer is a program on the host that a node offers.
func echoServer(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go serveEcho(l)
	return l.Addr().String()
}

func serveEcho(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() { _, _ = io.Copy(c, c); c.Close() }()
	}
}

func network(t *testing.T) (r *serve.Running, c serve.Config, hub, gateway string) {
	t.Helper()
	c = servetest.Config(t)
	r = servetest.Start(t, c)
	if _, err := r.Auth.SetPolicy(wire.Policy{Allow: []wire.Rule{{From: "group:gateways", To: "group:hubs", Ports: []string{"tcp/7"}}}}, auth.PolicyChange{}); err != nil {
		t.Fatal(err)
	}
	hub = servetest.Save(t, servetest.Join(t, r, "hub", []string{"hubs"}))
	gateway = servetest.Save(t, servetest.Join(t, r, "hall-3", []string{"gateways"}))
	return r, c, hub, gateway
}

func offerEcho(t *testing.T) func(*node.Options) {
	f, err := node.ParseOffer("echo=tcp/7@" + echoServer(t))
	if err != nil {
		t.Fatal(err)
	}
	return func(o *node.Options) { o.Offers = []node.Offer{f} }
}

func echo(addr string) error {
	c, err := net.DialTimeout("tcp", addr, 3*time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := c.Write([]byte("record\n")); err != nil {
		return err
	}
	_, err = bufio.NewReader(c).ReadString('\n')
	return err
}

func TestARecordReachesTheOtherNodeByNameWithoutPrivilege(t *testing.T) {
	_, _, hub, gateway := network(t)
	h, stop := run(t, hub, offerEcho(t))
	start := time.Now()
	g, _ := run(t, gateway, nil)
	var f struct{ Local string }
	if err := g.Ask("forward", map[string]string{"network": "tcp", "local": "127.0.0.1:0", "remote": "hub:7"}, &f, 5*time.Second); err != nil {
		t.Fatal(err)
	}
	eventually(t, "an echo by name", func() bool { return echo(f.Local) == nil })
	t.Logf("first record %v after the node's start", time.Since(start))
	eventually(t, "a direct path", func() bool {
		for _, p := range status(t, g).Peers {
			if p.Name == "hub" && p.Path == "direct" && p.Reason == "" {
				return true
			}
		}
		return false
	})
	var p struct {
		Name string
		RTT  float64 `json:"rttMs"`
		Path string
	}
	if err := g.Ask("ping", map[string]string{"name": "hub"}, &p, 5*time.Second); err != nil || p.Name != "hub.plant.seganet.internal" {
		t.Fatalf("ping: %+v, %v", p, err)
	}
	// The policy lets gateways reach hubs, not the other way round.
	if err := h.Ask("forward", map[string]string{"network": "tcp", "local": "127.0.0.1:0", "remote": "hall-3:7"}, &f, 5*time.Second); err != nil {
		t.Fatal(err)
	}
	if err := echo(f.Local); err == nil {
		t.Error("the hub reached the gateway against the policy")
	}
	if p := status(t, g).Peers[0]; p.Offline || p.HeardAgo == nil || *p.HeardAgo > 30 {
		t.Errorf("a connected peer: %+v", p)
	}
	stop()
	eventually(t, "the status says that the hub has left", func() bool { return status(t, g).Peers[0].Offline })
}

func TestARevokedNodeIsCutOffWithinASecond(t *testing.T) {
	r, _, hub, gateway := network(t)
	h, _ := run(t, hub, offerEcho(t))
	g, _ := run(t, gateway, nil)
	eventually(t, "a ping", func() bool {
		return g.Ask("ping", map[string]string{"name": "hub"}, &struct{}{}, busytest.Limit(9*time.Second)) == nil
	})
	if n := len(status(t, h).Peers); n != 1 {
		t.Fatalf("the hub has %d peers", n)
	}
	if err := r.Auth.Revoke(wire.RevokeRequest{Name: "hall-3", Reason: "stolen"}); err != nil {
		t.Fatal(err)
	}
	d := eventually(t, "the hub drops the revoked node", func() bool { return len(status(t, h).Peers) == 0 })
	t.Logf("cut off after %v", d)
	if d > busytest.Limit(time.Second) {
		t.Errorf("cut off after %v", d)
	}
}

func TestARestartedNodeComesBackWhileTheServicesAreDown(t *testing.T) {
	r, _, hub, gateway := network(t)
	run(t, hub, offerEcho(t))
	g, stop := run(t, gateway, nil)
	eventually(t, "a direct path", func() bool {
		_ = g.Ask("ping", map[string]string{"name": "hub"}, &struct{}{}, busytest.Limit(9*time.Second))
		p := status(t, g).Peers
		return len(p) == 1 && p[0].Path == "direct"
	})
	r.Close()
	eventually(t, "a ping without services", func() bool {
		return g.Ask("ping", map[string]string{"name": "hub"}, &struct{}{}, busytest.Limit(9*time.Second)) == nil
	})
	stop()
	g, _ = run(t, gateway, nil)
	d := eventually(t, "a ping after the restart", func() bool {
		return g.Ask("ping", map[string]string{"name": "hub"}, &struct{}{}, busytest.Limit(9*time.Second)) == nil
	})
	t.Logf("back after %v", d)
	if s := status(t, g); s.Node.Signalling {
		t.Error("the services answer")
	}
}

// isDirect is true if the path to the node's only peer is a proven direct one.
func isDirect(t *testing.T, c *control.Client) bool {
	p := status(t, c).Peers
	return len(p) == 1 && p[0].Path == "direct" && p[0].Reason == ""
}

// The side that has just started has no path to the other one: it answers to the source of the first message.
func TestARestartedNodeIsReachedWhileTheServicesAreDown(t *testing.T) {
	for name, both := range map[string]bool{"the hub restarts": false, "both restart": true} {
		t.Run(name, func(t *testing.T) {
			r, _, hub, gateway := network(t)
			h, stopHub := run(t, hub, offerEcho(t))
			g, stop := run(t, gateway, nil)
			eventually(t, "a ping", pinged(g, "hub"))
			eventually(t, "direct paths", func() bool { return isDirect(t, g) && isDirect(t, h) })
			r.Close()
			eventually(t, "both are without services", func() bool { return !status(t, g).Node.Signalling && !status(t, h).Node.Signalling })
			stopHub()
			if both {
				stop()
			}
			h, _ = run(t, hub, offerEcho(t))
			if both {
				g, _ = run(t, gateway, nil)
			}
			t.Logf("reached after %v", eventually(t, "a ping of the restarted hub", pinged(g, "hub")))
			eventually(t, "direct paths again", func() bool { return isDirect(t, g) && isDirect(t, h) })
		})
	}
}

func TestTheControlSocketIsTheOwnersOnly(t *testing.T) {
	_, _, hub, _ := network(t)
	run(t, hub, nil)
	st, err := os.Stat(filepath.Join(hub, control.SocketFile))
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Fatalf("mode %v, %v", st.Mode(), err)
	}
	if err := node.Run(context.Background(), node.Options{State: hub, Log: slog.New(slog.DiscardHandler)}); err == nil {
		t.Error("a second node runs on the same state folder")
	}
	c, err := net.Dial("unix", filepath.Join(hub, control.SocketFile))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte(`{"id":1,"method":"nonsense"}` + "\n")); err != nil {
		t.Fatal(err)
	}
	var a struct {
		Error struct{ Text string }
	}
	if err := json.NewDecoder(c).Decode(&a); err != nil || !strings.Contains(a.Error.Text, "unknown") {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestParseOffer(t *testing.T) {
	for s, want := range map[string]node.Offer{
		"broker=tcp/1883":                  {Name: "broker", Proto: "tcp", Port: 1883, Target: "127.0.0.1:1883"},
		"coap=udp/5683@192.168.1.4:5000":   {Name: "coap", Proto: "udp", Port: 5683, Target: "192.168.1.4:5000"},
		"web=tcp/80@[fd00::1]:8080":        {Name: "web", Proto: "tcp", Port: 80, Target: "[fd00::1]:8080"},
		"broker":                           {},
		"=tcp/1":                           {},
		"a=icmp/1":                         {},
		"a=tcp/0":                          {},
		"a=tcp/65536":                      {},
		"a=tcp/1@nowhere":                  {},
		"Broker With Spaces=tcp/1883@x:10": {},
	} {
		got, err := node.ParseOffer(s)
		if got != want || (err == nil) != (want.Name != "") {
			t.Errorf("%q: %+v, %v", s, got, err)
		}
	}
}

func TestANodeStartsThoughItsLastPortIsTaken(t *testing.T) {
	_, _, hub, _ := network(t)
	h, stop := run(t, hub, nil)
	last := status(t, h).Node.Port
	stop()
	taken, err := net.ListenUDP("udp4", &net.UDPAddr{Port: int(last)})
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	h, _ = run(t, hub, nil)
	if port := status(t, h).Node.Port; port == 0 || port == last {
		t.Errorf("UDP port %d after %d, which is taken", port, last)
	}
}

// The device's node answers for it.
func TestAPingOfADeviceIsAnsweredByItsNode(t *testing.T) {
	_, _, hub, gateway := network(t)
	run(t, hub, nil)
	g, _ := run(t, gateway, nil)
	var r struct{ Name string }
	eventually(t, "the hub answers", func() bool {
		return g.Ask("ping", map[string]string{"name": "pump.hub"}, &r, 5*time.Second) == nil
	})
	if r.Name != "hub.plant.seganet.internal" {
		t.Errorf("%q answers", r.Name)
	}
}

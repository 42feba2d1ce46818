package serve_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"seganet.internal/overlay/internal/auth"
	"seganet.internal/overlay/internal/authclient"
	"seganet.internal/overlay/internal/busytest"
	"seganet.internal/overlay/internal/identity"
	"seganet.internal/overlay/internal/nodes"
	"seganet.internal/overlay/internal/serve"
	"seganet.internal/overlay/internal/servetest"
	"seganet.internal/overlay/internal/wire"
)

func TestTwoNodesFindEachOtherAndSignal(t *testing.T) {
	r := servetest.Start(t, servetest.Config(t))
	a := servetest.Connect(t, servetest.Join(t, r, "a", []string{"gateways"}), wire.Hello{})
	b := servetest.Connect(t, servetest.Join(t, r, "b", []string{"hubs"}, "pump", "fan"),
		wire.Hello{Services: []wire.Service{{Name: "broker", Proto: "tcp", Port: 8883}}, Devices: []wire.Device{{Name: "pump"}}})
	for _, q := range []*wire.Lookup{{ID: "1", Name: b.FQDN}, {ID: "2", Name: "pump." + b.FQDN}, {ID: "3", Address: b.Addresses[0]}, {ID: "4", Address: b.Addresses[1]}, {ID: "5", Address: b.Devices[0].Addr4}} {
		a.Say(q)
		found := servetest.Await[*wire.Found](a)
		peer, err := identity.Verify(found.Certificate, a.Roots, nil, time.Now())
		if err != nil || found.ID != q.ID || peer.FQDN != b.FQDN || peer.WGKey != b.Keys.WGPublic() || !found.Online {
			t.Fatalf("%+v: %+v %v", q, found, err)
		}
		if len(found.Devices) != 1 || found.Devices[0] != b.Devices[0] || found.Services[0].Port != 8883 || len(peer.Devices) != 2 {
			t.Errorf("%+v", found)
		}
	}
	a.Say(&wire.Lookup{ID: "6", Name: "nobody.plant.seganet.internal"})
	if e := servetest.Await[*wire.Error](a); e.ID != "6" || e.Code != wire.CodeUnknown {
		t.Errorf("%+v", e)
	}
	data := `{"user":"abcd"}`
	a.Say(&wire.Signal{To: b.FQDN, Type: wire.SignalOffer, Epoch: 1, Data: data, Signature: a.Keys.SignSignal(a.FQDN, b.FQDN, wire.SignalOffer, 1, data)})
	s := servetest.Await[*wire.Signal](b)
	peer, err := identity.Verify(s.Certificate, b.Roots, nil, time.Now())
	if err != nil || s.From != a.FQDN || peer.FQDN != a.FQDN || !identity.CheckSignal(peer, b.FQDN, s.Type, s.Epoch, s.Data, s.Signature) {
		t.Fatalf("%+v %v", s, err)
	}
	a.Say(&wire.Ping{})
	servetest.Await[*wire.Pong](a)
	b.Close()
	if g := servetest.Await[*wire.Gone](a); g.Name != b.FQDN {
		t.Error(g)
	}
	a.Say(&wire.Signal{To: b.FQDN, Type: wire.SignalOffer, Epoch: 2})
	if e := servetest.Await[*wire.Error](a); e.Code != wire.CodeOffline {
		t.Errorf("%+v", e)
	}
	servetest.Connect(t, b.Member, wire.Hello{})
	if f := servetest.Await[*wire.Found](a); f.ID != "" || f.Name != b.FQDN || !f.Online {
		t.Errorf("%+v", f)
	}
}

// Criterion 14: the node is cut off everywhere within a second.
func TestARevocationReachesEveryNodeWithinASecond(t *testing.T) {
	r := servetest.Start(t, servetest.Config(t))
	var all []*servetest.Node
	for _, name := range []string{"a", "b", "c"} {
		all = append(all, servetest.Connect(t, servetest.Join(t, r, name, nil), wire.Hello{}))
	}
	stolen := servetest.Connect(t, servetest.Join(t, r, "stolen", nil), wire.Hello{})
	start := time.Now()
	if err := r.Auth.Revoke(wire.RevokeRequest{Name: "stolen"}); err != nil {
		t.Fatal(err)
	}
	for _, n := range append(all, stolen) {
		var list wire.Revocations
		if err := identity.Open(identity.DocRevocations, servetest.Await[*wire.Revoked](n).List, n.Roots, time.Now(), &list); err != nil {
			t.Fatal(err)
		}
		set := list.Set()
		if _, err := identity.Verify(stolen.Certificate, n.Roots, func(s string) bool { _, yes := set[s]; return yes }, time.Now()); err == nil {
			t.Errorf("%s still accepts the revoked node", n.FQDN)
		}
	}
	if d := time.Since(start); d > busytest.Limit(time.Second) {
		t.Errorf("the revocation took %s", d)
	}
	ctx, cancel := context.WithTimeout(context.Background(), servetest.Wait)
	defer cancel()
	if _, err := stolen.Receive(ctx); websocket.CloseStatus(err) != websocket.StatusPolicyViolation {
		t.Errorf("the revoked node's connection: %v", err)
	}
	if _, err := nodes.Dial(ctx, stolen.Nodes[0], stolen.ClientTLS(), nodes.Greeting{}); err == nil || !strings.Contains(err.Error(), "revoked") {
		t.Errorf("the revoked node connects again: %v", err)
	}
	if _, err := authclient.New(stolen.Auth, stolen.ClientTLS()).Renew(ctx, stolen.Keys, nil); !isCode(err, wire.CodeDenied) {
		t.Errorf("the revoked node renews: %v", err)
	}
	all[0].Say(&wire.Lookup{ID: "1", Name: stolen.FQDN})
	if e := servetest.Await[*wire.Error](all[0]); e.Code != wire.CodeUnknown {
		t.Errorf("%+v", e)
	}
	// A client can also request the list.
	s, err := authclient.New(stolen.Auth, all[0].ClientTLS()).Revocations(ctx)
	var list wire.Revocations
	if err != nil || identity.Open(identity.DocRevocations, s, all[0].Roots, time.Now(), &list) != nil || len(list.Serials) != 1 {
		t.Error(err, list)
	}
}

func isCode(err error, code string) bool {
	var e *wire.Error
	return errors.As(err, &e) && e.Code == code
}

// Criterion 16: services that restart know their nodes again, and the nodes come back.
func TestServicesRestartAndNodesComeBack(t *testing.T) {
	c := servetest.Config(t)
	first, err := serve.Start(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	a, b := servetest.Join(t, first, "a", nil), servetest.Join(t, first, "b", nil)
	servetest.Connect(t, a, wire.Hello{})
	c.Listen = strings.TrimPrefix(first.AuthURLs[0], "https://")
	before, _ := first.Auth.Nodes()
	first.Close()
	if _, err := nodes.Dial(context.Background(), a.Nodes[0], a.ClientTLS(), nodes.Greeting{}); err == nil {
		t.Error("a closed service accepts a node")
	}
	second := servetest.Start(t, c)
	after, _ := second.Auth.Nodes()
	if len(after) != 2 || after[0].Addresses[0] != before[0].Addresses[0] || second.Root != first.Root {
		t.Errorf("%+v became %+v", before, after)
	}
	na := servetest.Connect(t, a, wire.Hello{})
	servetest.Connect(t, b, wire.Hello{})
	na.Say(&wire.Lookup{ID: "1", Name: b.FQDN})
	if f := servetest.Await[*wire.Found](na); !f.Online {
		t.Errorf("%+v", f)
	}
}

func TestRenewalKeepsNameAndAddresses(t *testing.T) {
	r := servetest.Start(t, servetest.Config(t))
	m := servetest.Join(t, r, "a", []string{"g"}, "pump")
	watcher := servetest.Connect(t, servetest.Join(t, r, "w", nil), wire.Hello{})
	servetest.Connect(t, m, wire.Hello{})
	watcher.Say(&wire.Lookup{ID: "1", Name: m.FQDN})
	servetest.Await[*wire.Found](watcher)
	keys, _ := identity.NewKeys()
	next, err := authclient.New(m.Auth, m.ClientTLS()).Renew(context.Background(), keys, []string{"fan", "pump"})
	if err != nil {
		t.Fatal(err)
	}
	if next.FQDN != m.FQDN || !slices.Equal(next.Addresses, m.Addresses) || !slices.Equal(next.Groups, m.Groups) || next.Devices[1] != m.Devices[0] || next.Devices[0].Addr4 == m.Devices[0].Addr4 {
		t.Errorf("%+v became %+v", m.Membership, next.Membership)
	}
	servetest.Connect(t, next, wire.Hello{Devices: []wire.Device{{Name: "fan"}}})
	f := servetest.Await[*wire.Found](watcher)
	if p, err := identity.Verify(f.Certificate, watcher.Roots, nil, time.Now()); err != nil || p.WGKey != keys.WGPublic() {
		t.Error(err, "the watcher did not learn of the new key")
	}
}

func TestThePolicyIsPushed(t *testing.T) {
	r := servetest.Start(t, servetest.Config(t))
	n := servetest.Connect(t, servetest.Join(t, r, "a", nil), wire.Hello{})
	var p wire.Policy
	if err := identity.Open(identity.DocPolicy, n.Welcome.Policy, n.Roots, time.Now(), &p); err != nil || len(p.Allow) != 1 || p.Allow[0].Ports[0] != "icmp" {
		t.Fatal(err, p)
	}
	if _, err := r.Auth.SetPolicy(wire.Policy{Allow: []wire.Rule{{From: "*", To: "*", Ports: []string{"tcp/1"}}}}, auth.PolicyChange{}); err != nil {
		t.Fatal(err)
	}
	if err := identity.Open(identity.DocPolicy, servetest.Await[*wire.PolicyUpdate](n).Policy, n.Roots, time.Now(), &p); err != nil || len(p.Allow) != 1 || p.Version == 0 || p.Allow[0].Ports[0] != "tcp/1" {
		t.Error(err, p)
	}
}

// Roles in three processes: node service and relay with the secrets, the documents by the feed.
func TestRolesInSeveralProcesses(t *testing.T) {
	base := servetest.Config(t)
	relayOnly, authOnly, nodesOnly := base, base, base
	// Ports must be known beforehand, as with real machines.
	hold, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nodesAt := hold.Addr().String()
	hold.Close()
	authOnly.Roles, authOnly.NodeURLs = []string{serve.RoleAuth}, []string{"wss://" + nodesAt + nodes.Path}
	a := servetest.Start(t, authOnly)

	relayOnly.Roles, relayOnly.Dir = []string{serve.RoleRelay}, t.TempDir()
	nodesOnly.Roles, nodesOnly.Dir, nodesOnly.Listen = []string{serve.RoleNodes}, t.TempDir(), nodesAt
	nodesOnly.AuthURL, nodesOnly.Root = a.AuthURLs[0], a.Root
	if _, err := serve.Start(context.Background(), relayOnly); err == nil || !strings.Contains(err.Error(), "Copy it") {
		t.Errorf("a relay without its secret: %v", err)
	}
	for _, dir := range []string{relayOnly.Dir, nodesOnly.Dir} {
		for _, name := range []string{serve.RelaySecretFile, serve.ServicesSecretFile} {
			text, err := os.ReadFile(filepath.Join(base.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	nodesOnly.TURNURLs = servetest.Start(t, relayOnly).TURNURLs
	servetest.Start(t, nodesOnly)

	x := servetest.Connect(t, servetest.Join(t, a, "x", nil), wire.Hello{})
	servetest.Connect(t, servetest.Join(t, a, "y", nil), wire.Hello{})
	start := time.Now()
	if err := a.Auth.Revoke(wire.RevokeRequest{Name: "y"}); err != nil {
		t.Fatal(err)
	}
	servetest.Await[*wire.Revoked](x)
	if d := time.Since(start); d > busytest.Limit(time.Second) {
		t.Errorf("the revocation took %s by the feed", d)
	}
	for _, url := range x.Welcome.TURN.URLs {
		allocate(t, url, x.Welcome.TURN, nil).Close()
	}
	wrong := authclient.NewForServices(a.AuthURLs[0], "wrong", authclient.NewPins(a.Root))
	if _, err := wrong.Feed(context.Background(), -1); !isCode(err, wire.CodeDenied) {
		t.Errorf("the feed by a wrong secret: %v", err)
	}
	other := nodesOnly
	other.Root, other.Listen = identity.Fingerprint([]byte("x")), "127.0.0.1:0"
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	if r, err := serve.Start(ctx, other); err == nil {
		r.Close()
		t.Error("a node service accepts an authentication service with another root")
	}
}

func TestForeignClientsGetNothing(t *testing.T) {
	r := servetest.Start(t, servetest.Config(t))
	foreign := servetest.Start(t, servetest.Config(t)) // a network of the same name with another CA
	m := servetest.Join(t, foreign, "a", nil)
	servetest.Join(t, r, "a", nil)
	conf := m.ClientTLS()
	conf.RootCAs, _ = r.Auth.Roots()
	ctx, cancel := context.WithTimeout(context.Background(), servetest.Wait)
	defer cancel()
	if _, err := nodes.Dial(ctx, r.NodeURLs[0], conf, nodes.Greeting{}); err == nil {
		t.Error("a node of another network connects")
	}
	if _, err := authclient.New(r.AuthURLs, conf).Renew(ctx, m.Keys, nil); !isCode(err, wire.CodeDenied) {
		t.Errorf("a node of another network renews: %v", err)
	}
	if _, err := nodes.Dial(ctx, r.NodeURLs[0], &tls.Config{RootCAs: conf.RootCAs}, nodes.Greeting{}); err == nil {
		t.Error("a client without a certificate connects")
	}
	if _, err := nodes.Dial(ctx, r.NodeURLs[0], m.ClientTLS(), nodes.Greeting{}); err == nil {
		t.Error("a node trusts the services of another network")
	}
	if _, err := authclient.NewToJoin(r.AuthURLs, foreign.Root).Join(ctx, m.Keys, wire.JoinRequest{Token: "x"}); err == nil || isCode(err, wire.CodeDenied) {
		t.Errorf("join trusts a service with another root: %v", err)
	}
	// A node's certificate cannot act as a service: TLS clients refuse it.
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: m.ClientTLS().Certificates})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		if c, err := l.Accept(); err == nil {
			_ = c.(*tls.Conn).Handshake()
			c.Close()
		}
	}()
	if c, err := tls.Dial("tcp", l.Addr().String(), m.ClientTLS()); err == nil {
		c.Close()
		t.Error("a node poses as a service")
	}
}

func TestConfigurationErrorsSayWhatToDo(t *testing.T) {
	for want, change := range map[string]func(*serve.Config){
		"--public":     func(c *serve.Config) { c.Public = nil },
		"none of auth": func(c *serve.Config) { c.Roles = []string{"x"} },
		"--auth":       func(c *serve.Config) { c.Roles = []string{"nodes"} },
		"--root": func(c *serve.Config) {
			c.Roles, c.AuthURL, c.TURNURLs = []string{"nodes"}, "https://x", []string{"turn:x"}
		},
		"--nodes-url":     func(c *serve.Config) { c.Roles = []string{"auth"} },
		"--turn-url":      func(c *serve.Config) { c.Roles = []string{"auth", "nodes"} },
		"--oidc-audience": func(c *serve.Config) { c.OIDC.Issuer = "https://x" },
		"https URL":       func(c *serve.Config) { c.OIDC.Issuer, c.OIDC.Audience = "http://x", "a" },
		"network":         func(c *serve.Config) { c.Network = "" },
		"seganet.internal": func(c *serve.Config) {
			c.Public = []string{"gw.plant.seganet.internal"}
			c.RelayAddress = []netip.Addr{netip.MustParseAddr("127.0.0.1")}
		},
		"--relay-address": func(c *serve.Config) { c.Public = []string{"example.com"} },
	} {
		c := servetest.Config(t)
		change(&c)
		r, err := serve.Start(context.Background(), c)
		if err == nil {
			r.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	c := servetest.Config(t)
	servetest.Start(t, c)
	if _, err := serve.Start(context.Background(), c); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("two services with one folder: %v", err)
	}
}

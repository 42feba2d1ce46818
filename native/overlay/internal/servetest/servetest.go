// Package servetest starts real services on loopback for tests.
package servetest

import (
	"context"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"seganet.internal/overlay/internal/auth"
	"seganet.internal/overlay/internal/authclient"
	"seganet.internal/overlay/internal/busytest"
	"seganet.internal/overlay/internal/identity"
	"seganet.internal/overlay/internal/nodes"
	"seganet.internal/overlay/internal/serve"
	"seganet.internal/overlay/internal/wire"
)

// Wait bounds every step of a test. It is long, as the machine may be busy.
var Wait = busytest.Limit(20 * time.Second)

// Config is a configuration of all roles on loopback with free ports, in a new folder.
func Config(t testing.TB) serve.Config {
	return serve.Config{Dir: t.TempDir(), Network: "plant", Listen: "127.0.0.1:0", Public: []string{"127.0.0.1"}, RelayListen: "127.0.0.1:0",
		RelayAllow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
}

// Start starts the services and ends them with the test.
func Start(t testing.TB, c serve.Config) *serve.Running {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Wait)
	defer cancel()
	r, err := serve.Start(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	if r.Auth == nil {
		return r
	}
	if p, err := r.Auth.Policy(); err != nil {
		t.Fatal(err)
	} else if p.Version == 0 { // nodes that may reach no other node do not know of each other
		SetPolicy(t, r, wire.Rule{From: "*", To: "*", Ports: []string{"icmp"}})
	}
	return r
}

// SetPolicy replaces the policy.
func SetPolicy(t testing.TB, r *serve.Running, rules ...wire.Rule) {
	t.Helper()
	if _, err := r.Auth.SetPolicy(wire.Policy{Allow: rules}, auth.PolicyChange{}); err != nil {
		t.Fatal(err)
	}
}

// Join makes a node by an invitation.
func Join(t testing.TB, r *serve.Running, name string, groups []string, devices ...string) *identity.Member {
	t.Helper()
	i, err := r.Auth.Invite(wire.InviteRequest{Name: name, Groups: groups})
	if err != nil {
		t.Fatal(err)
	}
	k, err := identity.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), Wait)
	defer cancel()
	m, err := authclient.NewToJoin(i.Auth, i.Root).Join(ctx, k, wire.JoinRequest{Token: i.Token, Devices: devices})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Save writes the node's state folder, as the command join does.
func Save(t testing.TB, m *identity.Member) string {
	t.Helper()
	dir := t.TempDir()
	if err := m.Keys.Save(dir); err != nil {
		t.Fatal(err)
	}
	if err := identity.SaveMembership(dir, m.Membership); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Node is a connected node.
type Node struct {
	*identity.Member
	*nodes.Client
	Welcome *wire.Welcome
	t       testing.TB
}

// Connect connects a node of an earlier version and waits for its welcome.
func Connect(t testing.TB, m *identity.Member, hello wire.Hello) *Node {
	t.Helper()
	return ConnectAs(t, m, hello, nodes.Greeting{})
}

// ConnectAs connects a node with a greeting.
func ConnectAs(t testing.TB, m *identity.Member, hello wire.Hello, g nodes.Greeting) *Node {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Wait)
	defer cancel()
	c, err := nodes.Dial(ctx, m.Nodes[0], m.ClientTLS(), g)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	n := &Node{Member: m, Client: c, t: t}
	n.Say(&hello)
	n.Welcome = Await[*wire.Welcome](n)
	return n
}

// Say sends a message.
func (n *Node) Say(m wire.Message) {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Wait)
	defer cancel()
	if err := n.Send(ctx, m); err != nil {
		n.t.Fatal(err)
	}
}

// Await returns the next message of a type and drops others.
func Await[M wire.Message](n *Node) M {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Wait)
	defer cancel()
	for {
		m, err := n.Receive(ctx)
		if err != nil {
			n.t.Fatalf("%s waits for %T: %v", n.FQDN, *new(M), err)
		}
		if want, ok := m.(M); ok {
			return want
		}
	}
}

// Split starts authentication and relay in one process, and returns the configurations of node services in others, whose
// URLs the nodes learn when they join.
func Split(t testing.TB, count int) (r *serve.Running, others []serve.Config) {
	t.Helper()
	c := Config(t)
	c.Roles = []string{serve.RoleAuth, serve.RoleRelay}
	for range count {
		hold, err := net.Listen("tcp", "127.0.0.1:0") // ports must be known beforehand, as with real machines
		if err != nil {
			t.Fatal(err)
		}
		defer hold.Close()
		o := Config(t)
		o.Roles, o.Listen = []string{serve.RoleNodes}, hold.Addr().String()
		c.NodeURLs = append(c.NodeURLs, "wss://"+o.Listen+nodes.Path)
		others = append(others, o)
	}
	r = Start(t, c)
	for i := range others {
		o := &others[i]
		o.AuthURL, o.Root, o.TURNURLs = r.AuthURLs[0], r.Root, r.TURNURLs
		for _, name := range []string{serve.RelaySecretFile, serve.ServicesSecretFile} {
			text, err := os.ReadFile(filepath.Join(c.Dir, name))
			if err == nil {
				err = os.WriteFile(filepath.Join(o.Dir, name), text, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return r, others
}

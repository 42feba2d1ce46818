package serve_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"seganet.internal/overlay/internal/authclient"
	"seganet.internal/overlay/internal/identity"
	"seganet.internal/overlay/internal/nodes"
	"seganet.internal/overlay/internal/serve"
	"seganet.internal/overlay/internal/servetest"
	"seganet.internal/overlay/internal/wire"
)

// liar is a node management service with a valid certificate of the network whose answers a test controls. It has
// everything that a compromised service has.
func liar(t *testing.T, r *serve.Running, answer func(wire.Message) wire.Message) string {
	t.Helper()
	pub, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	chain, err := r.Auth.IssueServer(identity.NodeService, pub, []string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		c, err := websocket.Accept(w, q, nil)
		if err != nil {
			return
		}
		defer c.CloseNow()
		for {
			_, frame, err := c.Read(q.Context())
			if err != nil {
				return
			}
			m, err := wire.DecodeFromNode(frame)
			if err != nil {
				return
			}
			if out, err := wire.Encode(answer(m)); err != nil || c.Write(q.Context(), websocket.MessageText, out) != nil {
				return
			}
		}
	}))
	s.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: chain, PrivateKey: key}}, ClientAuth: tls.RequestClientCert}
	s.StartTLS()
	t.Cleanup(s.Close)
	return "wss" + strings.TrimPrefix(s.URL, "https") + nodes.Path
}

// Criterion 15: a node management service that swaps keys or certificates gets no session.
func TestALyingNodeServiceIsDetected(t *testing.T) {
	r := servetest.Start(t, servetest.Config(t))
	victim, hub, evil := servetest.Join(t, r, "victim", nil), servetest.Join(t, r, "hub", []string{"hubs"}), servetest.Join(t, r, "evil", nil)
	elsewhere := servetest.Join(t, servetest.Start(t, servetest.Config(t)), "hub", []string{"hubs"}) // same name, another CA
	own, err := identity.NewAuthority("plant", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	keys, err := identity.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	forge := func(signer *identity.Authority) []byte {
		der, _, err := signer.Issue(identity.Subject{Node: "hub", Network: "plant", Addresses: hub.Addresses, Groups: []string{"hubs"},
			Key: keys.Identity.Public().(ed25519.PublicKey), WGKey: keys.WGPublic()}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	// The liar has a service's certificate and key, but these cannot sign documents.
	byNode, _ := identity.ParseChain(evil.Certificate)
	patched := append([]byte(nil), hub.Certificate...)
	at := strings.Index(string(patched), "seganet-wg:")
	good := identity.WGURI(hub.Keys.WGPublic()).String()
	copy(patched[at:], identity.WGURI(keys.WGPublic()).String()[:len(good)])

	signed := func(data string) []byte {
		return hub.Keys.SignSignal(hub.FQDN, victim.FQDN, wire.SignalOffer, 1, data)
	}
	found := func(der []byte) wire.Message {
		return &wire.Found{ID: "1", Name: hub.FQDN, Certificate: der, Addresses: hub.Addresses, Online: true}
	}
	offer := func(s wire.Signal) wire.Message { s.From, s.Type, s.Epoch = hub.FQDN, wire.SignalOffer, 1; return &s }
	for name, c := range map[string]struct {
		answer wire.Message
		good   bool
	}{
		"the truth":                             {found(hub.Certificate), true},
		"another node's certificate":            {found(evil.Certificate), false},
		"the asking node's own":                 {found(victim.Certificate), false},
		"one of another network":                {found(elsewhere.Certificate), false},
		"one of its own CA":                     {found(forge(own)), false},
		"its own CA in the chain":               {found(append(forge(own), own.Root().Raw...)), false},
		"another key in the certificate":        {found(patched), false},
		"a node as issuer":                      {found(append(forge(own), byNode[0].Raw...)), false},
		"rubbish":                               {found([]byte{1, 2, 3}), false},
		"a true offer":                          {offer(wire.Signal{Data: "x", Signature: signed("x"), Certificate: hub.Certificate}), true},
		"an offer that it changed":              {offer(wire.Signal{Data: "y", Signature: signed("x"), Certificate: hub.Certificate}), false},
		"an offer without a signature":          {offer(wire.Signal{Data: "x", Certificate: hub.Certificate}), false},
		"an offer with its own certificate":     {offer(wire.Signal{Data: "x", Signature: keys.SignSignal(hub.FQDN, victim.FQDN, wire.SignalOffer, 1, "x"), Certificate: forge(own)}), false},
		"an offer of a node that it works with": {offer(wire.Signal{Data: "x", Signature: evil.Keys.SignSignal(hub.FQDN, victim.FQDN, wire.SignalOffer, 1, "x"), Certificate: evil.Certificate}), false},
	} {
		url := liar(t, r, func(wire.Message) wire.Message { return c.answer })
		ctx, cancel := context.WithTimeout(context.Background(), servetest.Wait)
		conn, err := nodes.Dial(ctx, url, victim.ClientTLS(), nodes.Greeting{})
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.Send(ctx, &wire.Lookup{ID: "1", Name: hub.FQDN}); err != nil {
			t.Fatal(err)
		}
		m, err := conn.Receive(ctx)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		accepted := false
		switch m := m.(type) {
		case *wire.Found:
			p, err := identity.VerifyNode(m.Certificate, hub.FQDN, victim.Roots, nil, time.Now())
			accepted = err == nil && p.WGKey == hub.Keys.WGPublic()
			if err == nil && !accepted {
				t.Errorf("%s gives the node another key", name)
			}
		case *wire.Signal:
			p, err := identity.VerifyNode(m.Certificate, m.From, victim.Roots, nil, time.Now())
			accepted = err == nil && identity.CheckSignal(p, victim.FQDN, m.Type, m.Epoch, m.Data, m.Signature)
		}
		if accepted != c.good {
			t.Errorf("the node service answers with %s: accepted is %t", name, accepted)
		}
		conn.Close()
		cancel()
	}
}

// A node service has a certificate of the network, too. It must not be taken for the authentication service, or it could
// collect tokens and replace a node's roots.
func TestANodeServiceIsNoAuthenticationService(t *testing.T) {
	r := servetest.Start(t, servetest.Config(t))
	m := servetest.Join(t, r, "a", nil)
	at := "https" + strings.TrimSuffix(strings.TrimPrefix(liar(t, r, nil), "wss"), nodes.Path)
	ctx, cancel := context.WithTimeout(context.Background(), servetest.Wait)
	defer cancel()
	if _, err := authclient.NewToJoin([]string{at}, r.Root).Join(ctx, m.Keys, wire.JoinRequest{Token: "x"}); err == nil || !strings.Contains(err.Error(), "not its authentication service") {
		t.Errorf("join: %v", err)
	}
	if _, err := authclient.New([]string{at}, m.ClientTLS()).Renew(ctx, m.Keys, nil); err == nil || !strings.Contains(err.Error(), "not its authentication service") {
		t.Errorf("renew: %v", err)
	}
}

// A node that knows only the old root can connect, renew and learn the new one; a new node can join meanwhile.
func TestNodesGoThroughARotation(t *testing.T) {
	r := servetest.Start(t, servetest.Config(t))
	old := servetest.Join(t, r, "old", nil)
	connected := servetest.Connect(t, servetest.Join(t, r, "connected", nil), wire.Hello{})
	if err := r.Auth.Rotate(true, ""); err != nil {
		t.Fatal(err)
	}
	var list wire.Roots
	if err := identity.Open(identity.DocRoots, servetest.Await[*wire.RootsUpdate](connected).Roots, connected.Roots, time.Now(), &list); err != nil || len(list.Certificates) != 2 {
		t.Errorf("%d roots are pushed: %v", len(list.Certificates), err)
	}
	fresh := servetest.Join(t, r, "fresh", nil)
	servetest.Connect(t, fresh, wire.Hello{})
	servetest.Connect(t, old, wire.Hello{})
	next, err := authclient.New(old.Auth, old.ClientTLS()).Renew(context.Background(), old.Keys, nil)
	if err != nil || len(next.Membership.Roots) != 2 {
		t.Fatal(err)
	}
	if _, err := identity.Verify(fresh.Certificate, next.Roots, nil, time.Now()); err != nil {
		t.Errorf("the old node does not accept a new one: %v", err)
	}
}

// A service can neither invent documents nor make a node forget them.
func TestALyingNodeServiceCannotForgeDocuments(t *testing.T) {
	r := servetest.Start(t, servetest.Config(t))
	n := servetest.Connect(t, servetest.Join(t, r, "a", nil), wire.Hello{})
	own, err := identity.NewAuthority("plant", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	everything := &wire.Policy{Version: 1 << 62, Allow: []wire.Rule{{From: "*", To: "*", Ports: []string{"tcp/*"}}}}
	forged, err := own.Sign(identity.DocPolicy, everything)
	if err != nil {
		t.Fatal(err)
	}
	mixed := forged
	mixed.Chain = n.Welcome.Policy.Chain
	byNode, err := (&identity.Authority{Key: n.Keys.Identity, Chain: must(identity.ParseChain(append(append([]byte(nil), n.Certificate...), n.Member.Membership.Roots[0]...)))}).Sign(identity.DocPolicy, everything)
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]wire.Signed{"its own CA's": forged, "its own with the true chain": mixed, "a node's": byNode, "the revocation list as policy": n.Welcome.Revocations} {
		var p wire.Policy
		if identity.Open(identity.DocPolicy, s, n.Roots, time.Now(), &p) == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

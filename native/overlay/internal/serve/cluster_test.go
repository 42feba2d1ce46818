package serve_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"seganet.internal/overlay/internal/busytest"
	"seganet.internal/overlay/internal/identity"
	"seganet.internal/overlay/internal/servetest"
	"seganet.internal/overlay/internal/wire"
)

// startNATS starts a real NATS server on loopback; port -1 is a free one.
func startNATS(t *testing.T, port int) *server.Server {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: port, NoLog: true, NoSigs: true, Username: "nms", Password: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(s.Shutdown)
	if !s.ReadyForConnections(servetest.Wait) {
		t.Fatal("NATS does not start")
	}
	return s
}

func ask(n *servetest.Node, id, name string) wire.Message {
	n.Say(&wire.Lookup{ID: id, Name: name})
	for {
		switch m := servetest.Await[wire.Message](n).(type) {
		case *wire.Found:
			if m.ID == id {
				return m
			}
		case *wire.Error:
			if m.ID == id {
				return m
			}
		}
	}
}

// isOnline repeats the lookup until the node is known and has the wanted state.
func isOnline(t *testing.T, n *servetest.Node, name string, online bool) *wire.Found {
	t.Helper()
	for start := time.Now(); time.Since(start) < servetest.Wait; time.Sleep(10 * time.Millisecond) {
		if f, ok := ask(n, "1", name).(*wire.Found); ok && f.Online == online {
			return f
		}
	}
	t.Fatalf("%s is not online=%t for %s", name, online, n.FQDN)
	return nil
}

// via connects a member to one of several services.
func via(t *testing.T, m *identity.Member, service int) *servetest.Node {
	c := *m
	c.Nodes = m.Nodes[service : service+1]
	return servetest.Connect(t, &c, wire.Hello{Services: []wire.Service{{Name: "broker", Proto: "tcp", Port: 1883}}})
}

func TestNodesOfTwoServicesFindEachOther(t *testing.T) {
	t.Parallel()
	bus := startNATS(t, -1)
	url := "nats://nms:secret@" + bus.Addr().String()
	r, others := servetest.Split(t, 2)
	for i := range others {
		others[i].NATS.URLs = []string{url}
	}
	one := servetest.Start(t, others[0])
	hub, gateway, thief := servetest.Join(t, r, "hub", nil), servetest.Join(t, r, "hall-3", nil), servetest.Join(t, r, "thief", nil)
	h := via(t, hub, 0)
	two := servetest.Start(t, others[1]) // later: it has to ask
	g := via(t, gateway, 1)

	// Presence and lookup, by name and by address.
	if f := isOnline(t, g, hub.FQDN, true); string(f.Certificate) != string(hub.Certificate) || len(f.Services) != 1 {
		t.Errorf("%+v", f)
	}
	g.Say(&wire.Lookup{ID: "2", Address: hub.Addresses[0]})
	if f := servetest.Await[*wire.Found](g); f.Name != hub.FQDN {
		t.Errorf("by address: %+v", f)
	}

	// Signals in both directions; an offer carries the sender's certificate.
	g.Say(&wire.Signal{To: hub.FQDN, Type: wire.SignalOffer, Epoch: 1, Data: "x", Signature: gateway.Keys.SignSignal(gateway.FQDN, hub.FQDN, wire.SignalOffer, 1, "x")})
	s := servetest.Await[*wire.Signal](h)
	p, err := identity.VerifyNode(s.Certificate, gateway.FQDN, hub.Roots, nil, time.Now())
	if err != nil || !identity.CheckSignal(p, hub.FQDN, s.Type, s.Epoch, s.Data, s.Signature) {
		t.Errorf("%+v, %v", s, err)
	}
	h.Say(&wire.Signal{To: gateway.FQDN, Type: wire.SignalCandidate, Epoch: 1, Data: "y"})
	if s := servetest.Await[*wire.Signal](g); s.From != hub.FQDN || s.Data != "y" {
		t.Errorf("%+v", s)
	}

	// The receiver of a signal is notified that the sender is gone, and that it is back at another service.
	g.Close()
	if m := servetest.Await[*wire.Gone](h); m.Name != gateway.FQDN {
		t.Errorf("%+v", m)
	}
	via(t, gateway, 0)
	if m := servetest.Await[*wire.Found](h); m.Name != gateway.FQDN || !m.Online {
		t.Errorf("%+v", m)
	}

	// A node that connects to another service without leaving the first is not online twice.
	g = via(t, gateway, 1)
	x := via(t, thief, 0)
	isOnline(t, x, gateway.FQDN, true)
	for start := time.Now(); one.Nodes.Online() != 2 || two.Nodes.Online() != 1; time.Sleep(10 * time.Millisecond) {
		if time.Since(start) > servetest.Wait {
			t.Fatalf("%d and %d sessions", one.Nodes.Online(), two.Nodes.Online())
		}
	}

	// A revocation reaches the nodes of all services in a second.
	start := time.Now()
	if err := r.Auth.Revoke(wire.RevokeRequest{Name: "thief"}); err != nil {
		t.Fatal(err)
	}
	for _, n := range []*servetest.Node{g, h} {
		servetest.Await[*wire.Revoked](n)
	}
	if d := time.Since(start); d > busytest.Limit(time.Second) {
		t.Errorf("the revocation took %v", d)
	}

	// A service that ends takes its nodes with it.
	one.Close()
	isOnline(t, g, hub.FQDN, false)
}

func TestServicesContinueWithoutNATSAndSynchronizeAgain(t *testing.T) {
	t.Parallel()
	bus := startNATS(t, -1)
	addr := bus.Addr().String()
	r, others := servetest.Split(t, 2)
	for i := range others {
		others[i].NATS.URLs = []string{"nats://nms:secret@" + addr}
		servetest.Start(t, others[i])
	}
	hub, gateway, late := servetest.Join(t, r, "hub", nil), servetest.Join(t, r, "hall-3", nil), servetest.Join(t, r, "late", nil)
	h, g := via(t, hub, 0), via(t, gateway, 1)
	isOnline(t, g, hub.FQDN, true)
	number := portOf(t, addr)
	bus.Shutdown()
	bus.WaitForShutdown()
	via(t, late, 0)
	if _, unknown := ask(g, "3", late.FQDN).(*wire.Error); !unknown {
		t.Error("the node of another service is known without NATS")
	}
	isOnline(t, h, late.FQDN, true) // each service continues
	startNATS(t, number)
	isOnline(t, g, late.FQDN, true)
	isOnline(t, h, gateway.FQDN, true)
}

// Forged messages on the bus have no effect.
func TestForgedBusMessagesAreIgnored(t *testing.T) {
	t.Parallel()
	url := "nats://nms:secret@" + startNATS(t, -1).Addr().String()
	r, others := servetest.Split(t, 1)
	others[0].NATS.URLs = []string{url}
	servetest.Start(t, others[0])
	hub, evil := servetest.Join(t, r, "hub", nil), servetest.Join(t, r, "evil", nil)
	h, e := via(t, hub, 0), via(t, evil, 0)
	c, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	own, err := identity.NewAuthority("plant", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	forged := must(own.Sign(identity.DocPolicy, &wire.Policy{Version: 1 << 62, Allow: []wire.Rule{{From: "*", To: "*", Ports: []string{"tcp/*"}}}}))
	const liar = "liarliarliar"
	far := time.Now().Add(time.Hour).UnixNano()
	for _, m := range []wire.Message{
		&wire.News{Documents: wire.Documents{Version: 1 << 62, Policy: forged, Revocations: h.Welcome.Revocations, Roots: h.Welcome.Roots}},
		&wire.Presence{Service: liar, Name: hub.FQDN, Since: far, Online: true, Certificate: evil.Certificate},
		&wire.Presence{Service: liar, Name: hub.FQDN, Since: far, Online: false},
		&wire.Deliver{To: evil.FQDN, Signal: wire.Signal{From: hub.FQDN, Type: wire.SignalOffer, Epoch: 1, Data: "x"}},
	} {
		if err := c.Publish("seganet.overlay.plant.all", must(wire.EncodeCluster(m))); err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range []string{"", "{", `{"type":"beat","body":{"service":"X"}}`} {
		if err := c.Publish("seganet.overlay.plant.all", []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.FlushTimeout(servetest.Wait); err != nil {
		t.Fatal(err)
	}
	// The forged signal arrives last. Nodes refuse it by its signature.
	s := servetest.Await[*wire.Signal](e)
	if identity.CheckSignal(hub.Self, evil.FQDN, s.Type, s.Epoch, s.Data, s.Signature) {
		t.Error("the forged signal has a good signature")
	}
	if f := isOnline(t, e, hub.FQDN, true); string(f.Certificate) != string(hub.Certificate) {
		t.Error("another certificate")
	}
	if w := via(t, hub, 0).Welcome; w.Policy.Payload != h.Welcome.Policy.Payload {
		t.Errorf("the forged policy is in force: %s", w.Policy.Payload)
	}
}

// A service whose feed is stuck learns of a revocation from the others.
func TestRevocationsPassFromServiceToService(t *testing.T) {
	t.Parallel()
	bus := startNATS(t, -1)
	r, others := servetest.Split(t, 2)
	for i := range others {
		others[i].NATS.URLs = []string{"nats://nms:secret@" + bus.Addr().String()}
	}
	servetest.Start(t, others[0])
	// The second service reaches the authentication service at its start only.
	gate := newGate(t, r.AuthURLs[0])
	others[1].AuthURL = gate.url
	servetest.Start(t, others[1])
	hub := servetest.Join(t, r, "hub", nil)
	servetest.Join(t, r, "thief", nil)
	h := via(t, hub, 1)
	gate.close()
	if err := r.Auth.Revoke(wire.RevokeRequest{Name: "thief"}); err != nil {
		t.Fatal(err)
	}
	var list wire.Revocations
	m := servetest.Await[*wire.Revoked](h)
	if err := identity.Open(identity.DocRevocations, m.List, hub.Roots, time.Now(), &list); err != nil || len(list.Serials) != 1 {
		t.Errorf("%+v, %v", list, err)
	}
}

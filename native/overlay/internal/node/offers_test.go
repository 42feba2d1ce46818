package node_test

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"seganet.internal/overlay/internal/busytest"
	"seganet.internal/overlay/internal/control"
	"seganet.internal/overlay/internal/node"
	"seganet.internal/overlay/internal/wire"
)

type offerParams struct {
	Name    string `json:"name,omitempty"`
	Network string `json:"network"`
	Port    int    `json:"port"`
	Target  string `json:"target,omitempty"`
}

func ask(c *control.Client, method string, o offerParams) error {
	return c.Ask(method, o, &struct{}{}, 5*time.Second)
}

func TestAServiceIsOfferedAndWithdrawnWhileTheNodeRuns(t *testing.T) {
	_, _, hub, gateway := network(t)
	h, _ := run(t, hub, nil)
	g, _ := run(t, gateway, nil)
	eventually(t, "a ping", pinged(g, "hub"))
	at := forwardTo(t, g, "hub:7")
	if echo(at) == nil {
		t.Fatal("a port was reached that nothing offers")
	}
	service := offerParams{Name: "echo", Network: "tcp", Port: 7, Target: echoServer(t)}
	if err := ask(h, "offer", service); err != nil {
		t.Fatal(err)
	}
	eventually(t, "an echo", func() bool { return echo(at) == nil })
	if s := status(t, h).Services; len(s) != 1 || s[0] != (wire.Service{Name: "echo", Proto: "tcp", Port: 7}) {
		t.Fatalf("%+v", s)
	}
	for what, o := range map[string]offerParams{
		"already, at tcp/7":         {"echo", "tcp", 8, service.Target},
		"already, as the service":   {"other", "tcp", 7, service.Target},
		"needs a network":           {"other", "sctp", 8, service.Target},
		"and a port":                {"other", "tcp", 0, service.Target},
		"no \"host:port\"":          {"other", "tcp", 8, "nowhere"},
		"the service \"Other one\"": {"Other one", "tcp", 8, service.Target},
		"is no valid JSON":          {"other", "tcp", 65536, service.Target},
	} {
		if err := ask(h, "offer", o); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if err := ask(g, "withdraw", service); err == nil {
		t.Error("another node withdrew what it does not offer")
	}
	if err := ask(h, "withdraw", offerParams{Network: "tcp", Port: 7}); err != nil {
		t.Fatal(err)
	}
	if echo(at) == nil || len(status(t, h).Services) != 0 {
		t.Error("a withdrawn service was reached")
	}
}

func TestAnOfferEndsWithItsConnection(t *testing.T) {
	_, _, hub, _ := network(t)
	h, _ := run(t, hub, offerEcho(t))
	other, err := control.Connect(hub)
	if err != nil {
		t.Fatal(err)
	}
	service := offerParams{Name: "other", Network: "udp", Port: 9, Target: "127.0.0.1:9"}
	if err := ask(other, "offer", service); err != nil {
		t.Fatal(err)
	}
	// This connection cannot end configured offers or those of other connections.
	for _, o := range []offerParams{service, {Network: "tcp", Port: 7}} {
		if err := ask(h, "withdraw", o); err == nil {
			t.Errorf("%+v was withdrawn by another connection", o)
		}
	}
	if n := len(status(t, h).Services); n != 2 {
		t.Fatalf("%d services", n)
	}
	other.Close()
	eventually(t, "the offer ends", func() bool { return len(status(t, h).Services) == 1 })
}

func TestTheOffersHaveALimit(t *testing.T) {
	_, _, hub, _ := network(t)
	h, _ := run(t, hub, nil)
	for i := range wire.MaxServices {
		name := "s-" + string(rune('a'+i/26)) + string(rune('a'+i%26))
		if err := ask(h, "offer", offerParams{name, "tcp", 1000 + i, "127.0.0.1:1"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := ask(h, "offer", offerParams{"one-more", "tcp", 999, "127.0.0.1:1"}); err == nil || !strings.Contains(err.Error(), "limit") {
		t.Errorf("%v", err)
	}
}

// openTo connects through a forward and returns a function that waits for the end of the connection.
func openTo(t *testing.T, at string) (ended func() time.Duration) {
	t.Helper()
	var c net.Conn
	eventually(t, "a connection by name", func() bool {
		var err error
		if c, err = net.Dial("tcp", at); err != nil {
			return false
		}
		_ = c.SetDeadline(time.Now().Add(3 * time.Second))
		if _, err = c.Write([]byte("x")); err == nil {
			_, err = c.Read(make([]byte, 1))
		}
		if err != nil {
			c.Close()
		}
		return err == nil
	})
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Time{})
	return func() time.Duration {
		start := time.Now()
		_ = c.SetReadDeadline(start.Add(busytest.Limit(10 * time.Second)))
		if n, err := c.Read(make([]byte, 1)); n != 0 || err == nil {
			t.Fatalf("%d bytes, %v", n, err)
		}
		return time.Since(start)
	}
}

func TestIdleConnectionsOfARevokedNodeEndAtOnce(t *testing.T) {
	r, _, hub, gateway := network(t)
	served := make(chan error, 1)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _, err := io.Copy(c, c); served <- err; c.Close() }()
		}
	}()
	run(t, hub, func(o *node.Options) {
		o.Offers = []node.Offer{{Name: "echo", Proto: "tcp", Port: 7, Target: l.Addr().String()}}
	})
	g, _ := run(t, gateway, nil)
	ended := openTo(t, forwardTo(t, g, "hub:7"))
	for len(served) > 0 { // of attempts before there was a session
		<-served
	}
	if err := r.Auth.Revoke(wire.RevokeRequest{Name: "hall-3", Reason: "stolen"}); err != nil {
		t.Fatal(err)
	}
	d := ended()
	t.Logf("the revoked node's program noticed after %v", d)
	if d > busytest.Limit(3*time.Second) {
		t.Errorf("the revoked node's program noticed after %v", d)
	}
	select {
	case <-served:
	case <-time.After(busytest.Limit(3 * time.Second)):
		t.Error("the program behind the other node still has the connection")
	}
}

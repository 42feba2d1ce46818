package node_test

import (
	"io"
	"net"
	"os"
	"testing"
	"time"

	"seganet.internal/overlay/internal/node"
	"seganet.internal/overlay/internal/stack/stacktest"
)

func TestAServiceOfLoopbackIsOfferedWithATUN(t *testing.T) {
	if !stacktest.Namespace(t) {
		return
	}
	_, _, hub, gateway := network(t)
	h, _ := run(t, hub, func(o *node.Options) { o.TUN = "ov0" })
	g, _ := run(t, gateway, nil)
	eventually(t, "a ping", pinged(g, "hub"))
	at := forwardTo(t, g, "hub:7")
	if err := ask(h, "offer", offerParams{"echo", "tcp", 7, echoServer(t)}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "an echo of a service at loopback", func() bool { return echo(at) == nil })
	for _, a := range status(t, h).Addresses {
		// The port of an offer is not a forward: it has its own list and limits.
		local := net.JoinHostPort(a, "7")
		if err := h.Ask("unforward", map[string]string{"network": "tcp", "local": local}, &struct{}{}, 5*time.Second); err == nil {
			t.Errorf("the offer at %s was ended as a forward", local)
		}
	}
	if err := ask(h, "withdraw", offerParams{Network: "tcp", Port: 7}); err != nil {
		t.Fatal(err)
	}
	if echo(at) == nil {
		t.Error("a withdrawn service was reached")
	}
	l, err := net.Listen("tcp4", "0.0.0.0:7")
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
			go func() { _, _ = io.Copy(c, c); c.Close() }()
		}
	}()
	if err := ask(h, "offer", offerParams{"echo", "tcp", 7, "127.0.0.1:7"}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "an echo of a service at all addresses", func() bool { return echo(at) == nil })
}

func TestAServiceIsOfferedWithATUNAndWithoutIPv6(t *testing.T) {
	if !stacktest.Namespace(t) {
		return
	}
	for _, name := range []string{"all", "default"} {
		if err := os.WriteFile("/proc/sys/net/ipv6/conf/"+name+"/disable_ipv6", []byte("1"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, _, hub, gateway := network(t)
	h, _ := run(t, hub, func(o *node.Options) { o.TUN = "ov0" })
	g, _ := run(t, gateway, nil)
	eventually(t, "a ping", pinged(g, "hub"))
	if err := ask(h, "offer", offerParams{"echo", "tcp", 7, echoServer(t)}); err != nil {
		t.Fatal(err)
	}
	at := forwardTo(t, g, status(t, h).Addresses[1]+":7")
	eventually(t, "an echo over IPv4", func() bool { return echo(at) == nil })
}

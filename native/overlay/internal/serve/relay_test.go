package serve_test

import (
	"crypto/tls"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/pion/logging"
	"github.com/pion/turn/v5"

	"seganet.internal/overlay/internal/nodes"
	"seganet.internal/overlay/internal/servetest"
	"seganet.internal/overlay/internal/wire"
)

// allocate opens a relayed address at a TURN URL as the NMS gives it.
func allocate(t *testing.T, url string, cred wire.TURN, roots *tls.Config) net.PacketConn {
	t.Helper()
	scheme, rest, _ := strings.Cut(url, ":")
	at, transport, _ := strings.Cut(rest, "?transport=")
	var conn net.PacketConn
	switch {
	case scheme == "turns":
		conf := roots.Clone()
		conf.NextProtos = []string{"stun.turn"}
		c, err := tls.Dial("tcp", at, conf)
		if err != nil {
			t.Fatal(err)
		}
		conn = turn.NewSTUNConn(c)
	case transport == "tcp":
		c, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		conn = turn.NewSTUNConn(c)
	default:
		var err error
		if conn, err = net.ListenPacket("udp4", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { conn.Close() })
	c, err := turn.NewClient(&turn.ClientConfig{STUNServerAddr: at, TURNServerAddr: at, Conn: conn, Username: cred.User, Password: cred.Password, Realm: "seganet",
		LoggerFactory: logging.NewDefaultLoggerFactory()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	if err := c.Listen(); err != nil {
		t.Fatal(err)
	}
	pc, err := c.Allocate()
	if err != nil {
		t.Fatalf("%s: %v", url, err)
	}
	return pc
}

// The services' part of criterion 17: the relay carries packets between any two of UDP, TCP and TLS.
func TestTheRelayCarriesByUDPTCPAndTLS(t *testing.T) {
	r := servetest.Start(t, servetest.Config(t))
	n := servetest.Connect(t, servetest.Join(t, r, "a", nil), wire.Hello{})
	cred := n.Welcome.TURN
	if len(cred.URLs) != 3 || !strings.HasPrefix(cred.URLs[2], "turns:") {
		t.Fatal(cred.URLs)
	}
	var conns []net.PacketConn
	for _, url := range cred.URLs {
		pc := allocate(t, url, cred, n.ClientTLS())
		defer pc.Close()
		conns = append(conns, pc)
	}
	if got := r.Relay.Allocations(); got != 3 {
		t.Errorf("%d allocations", got)
	}
	for i, from := range conns {
		for j, to := range conns {
			if i == j {
				continue
			}
			done := make(chan string, 1)
			go func() {
				buf := make([]byte, 2000)
				_ = to.SetReadDeadline(time.Now().Add(servetest.Wait))
				n, _, _ := to.ReadFrom(buf)
				done <- string(buf[:n])
			}()
			// The first packet makes the permission; the receiver needs its own, so it sends one as well.
			if _, err := to.WriteTo([]byte("open"), from.LocalAddr()); err != nil {
				t.Fatal(err)
			}
			if _, err := from.WriteTo([]byte("packet"), to.LocalAddr()); err != nil {
				t.Fatal(err)
			}
			if got := <-done; got != "packet" && got != "open" {
				t.Errorf("%s to %s: %q", cred.URLs[i], cred.URLs[j], got)
			}
		}
	}
}

func TestTheRelayedAddressOfARevokedNodeEndsAtOnce(t *testing.T) {
	c := servetest.Config(t)
	r := servetest.Start(t, c)
	n := servetest.Connect(t, servetest.Join(t, r, "a", nil), wire.Hello{})
	other := servetest.Connect(t, servetest.Join(t, r, "b", nil), wire.Hello{})
	allocate(t, n.Welcome.TURN.URLs[0], n.Welcome.TURN, n.ClientTLS())
	allocate(t, other.Welcome.TURN.URLs[0], other.Welcome.TURN, other.ClientTLS())
	if err := r.Auth.Revoke(wire.RevokeRequest{Name: "a"}); err != nil {
		t.Fatal(err)
	}
	for start := time.Now(); r.Relay.Allocations() != 1; time.Sleep(5 * time.Millisecond) {
		if time.Since(start) > servetest.Wait {
			t.Fatalf("%d allocations", r.Relay.Allocations())
		}
	}
}

func TestRelayCredentialsEnd(t *testing.T) {
	r := servetest.Start(t, servetest.Config(t))
	n := servetest.Connect(t, servetest.Join(t, r, "a", nil), wire.Hello{})
	if d := time.Until(n.Welcome.TURN.Expires); d > nodes.TURNLife || d < nodes.TURNLife-time.Minute {
		t.Errorf("the credentials live %s", d)
	}
}

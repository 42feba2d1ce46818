package node

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"seganet.internal/overlay/internal/authclient"
	"seganet.internal/overlay/internal/identity"
	"seganet.internal/overlay/internal/servetest"
	"seganet.internal/overlay/internal/wire"
)

// watcher starts only the node's connection to the node services.
func watcher(t *testing.T, m *identity.Member) *Node {
	t.Helper()
	n, err := open(t.Context(), Options{State: servetest.Save(t, m), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var tasks sync.WaitGroup
	tasks.Go(func() { n.signalling(ctx) })
	tasks.Go(func() { n.rescan.run(ctx, n) })
	t.Cleanup(func() { cancel(); tasks.Wait(); n.close() })
	waitFor(t, "the node services", n.linked)
	return n
}

func waitFor(t *testing.T, what string, f func() bool) {
	t.Helper()
	for start := time.Now(); !f(); time.Sleep(5 * time.Millisecond) {
		if time.Since(start) > servetest.Wait {
			t.Fatalf("not within %v: %s", servetest.Wait, what)
		}
	}
}

func renewed(t *testing.T, m *identity.Member) *identity.Member {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), servetest.Wait)
	defer cancel()
	time.Sleep(1100 * time.Millisecond) // a certificate's times are whole seconds
	next, err := authclient.New(m.Auth, m.ClientTLS()).Renew(ctx, m.Keys, nil)
	if err != nil {
		t.Fatal(err)
	}
	return next
}

func TestALapsingCertificateIsRequestedAfterAReconnection(t *testing.T) {
	r := servetest.Start(t, servetest.Config(t))
	n := watcher(t, servetest.Join(t, r, "hall-3", nil))
	first := servetest.Join(t, r, "hub", nil)
	servetest.Connect(t, first, wire.Hello{})
	if _, err := n.install(first.FQDN, first.Certificate); err != nil {
		t.Fatal(err)
	}
	second := renewed(t, first)
	servetest.Connect(t, second, wire.Hello{}) // without a watcher
	serial := func() string { return n.peers.byName(first.FQDN).Serial }
	lapsing := time.Now().Add(identity.NodeLife * 3 / 4)
	turns := func(f refresher) {
		f.turn(t.Context(), n, lapsing)
		f.turn(t.Context(), n, lapsing.Add(refreshAgain))
	}
	turns(refresher{due: map[string]time.Time{}})
	if serial() != first.Self.Serial {
		t.Fatal("the node requested the certificate of a sleeping peer")
	}
	n.paths.Load().Connect(first.FQDN)
	f := refresher{due: map[string]time.Time{}}
	f.turn(t.Context(), n, time.Now())
	f.turn(t.Context(), n, time.Now().Add(refreshAgain))
	if serial() != first.Self.Serial {
		t.Fatal("the node requested a fresh certificate again")
	}
	turns(f)
	if serial() != second.Self.Serial {
		t.Fatal("the renewed certificate did not come")
	}
	if p, err := n.install(first.FQDN, first.Certificate); err != nil || p.Serial != second.Self.Serial || serial() != second.Self.Serial {
		t.Errorf("an older certificate replaced the newer one: %v", err)
	}
}

func TestThePauseBeforeTheServicesAreTriedAgainIsShort(t *testing.T) {
	seen := map[time.Duration]bool{}
	for range 100 {
		d := jitter(retryMost)
		if d < retryMost/2 || d > 4*time.Second {
			t.Fatalf("a pause of %v", d)
		}
		seen[d] = true
	}
	if len(seen) < 2 {
		t.Error("all nodes wait for the same time")
	}
}

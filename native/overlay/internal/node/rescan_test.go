package node

import (
	"context"
	"testing"
	"time"

	"seganet.internal/overlay/internal/authclient"
	"seganet.internal/overlay/internal/servetest"
	"seganet.internal/overlay/internal/wire"
)

func (r *rescanner) empty() bool { return r.next() == "" }

func TestAPeerInUseIsFoundAgainWhenItsOldCertificateIsRevoked(t *testing.T) {
	r := servetest.Start(t, servetest.Config(t))
	n := watcher(t, servetest.Join(t, r, "hall-3", nil))
	first := servetest.Join(t, r, "hub", nil)
	if _, err := n.install(first.FQDN, first.Certificate); err != nil {
		t.Fatal(err)
	}
	n.paths.Load().Connect(first.FQDN)
	newest := renewed(t, first)
	servetest.Connect(t, newest, wire.Hello{}) // without a watcher
	ctx, cancel := context.WithTimeout(t.Context(), 2*servetest.Wait)
	defer cancel()
	for renewals := 0; !n.isRevoked(first.Self.Serial); renewals++ {
		if renewals > 64 {
			t.Fatal("the first certificate is not revoked")
		}
		if _, err := authclient.New(newest.Auth, newest.ClientTLS()).Renew(ctx, newest.Keys, nil); err != nil {
			waitFor(t, "the revocation", func() bool { return n.isRevoked(first.Self.Serial) })
		}
	}
	waitFor(t, "the newer certificate", func() bool {
		p := n.peers.byName(first.FQDN)
		return p != nil && p.Serial == newest.Self.Serial
	})
	waitFor(t, "a search for a path", func() bool { return n.paths.Load().Awake(first.FQDN) })
	waitFor(t, "the end of the questions", n.rescan.empty)
}

func TestANodeThatWasRevokedIsNotFoundAgain(t *testing.T) {
	r := servetest.Start(t, servetest.Config(t))
	n := watcher(t, servetest.Join(t, r, "hall-3", nil))
	hub := servetest.Join(t, r, "hub", nil)
	servetest.Connect(t, hub, wire.Hello{})
	if _, err := n.install(hub.FQDN, hub.Certificate); err != nil {
		t.Fatal(err)
	}
	n.paths.Load().Connect(hub.FQDN)
	if err := r.Auth.Revoke(wire.RevokeRequest{Name: "hub"}); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the end of the peer", func() bool { return n.isRevoked(hub.Self.Serial) && n.peers.byName(hub.FQDN) == nil })
	waitFor(t, "the end of the questions", n.rescan.empty)
	if n.peers.byName(hub.FQDN) != nil {
		t.Error("the revoked node is a peer again")
	}
}

func TestANodeIsLookedUpAgainOnceTheServicesAreReached(t *testing.T) {
	r := servetest.Start(t, servetest.Config(t))
	n := watcher(t, servetest.Join(t, r, "hall-3", nil))
	hub := servetest.Join(t, r, "hub", nil)
	servetest.Connect(t, hub, wire.Hello{})
	n.reconnect("a test")
	for range 2 * rescanMost {
		n.rescan.add(hub.FQDN)
	}
	waitFor(t, "the node", func() bool { return n.peers.byName(hub.FQDN) != nil })
	waitFor(t, "the end of the questions", n.rescan.empty)
}

// All peers begin rounds when the node services are reachable again, so the queue may be full for the lookups.
func TestANodeIsLookedUpAgainIfTheQueueWasFull(t *testing.T) {
	r := servetest.Start(t, servetest.Config(t))
	n := watcher(t, servetest.Join(t, r, "hall-3", nil))
	hub := servetest.Join(t, r, "hub", nil)
	servetest.Connect(t, hub, wire.Hello{})
	use := func(l *link) (before *link) {
		n.mu.Lock()
		defer n.mu.Unlock()
		before, n.link = n.link, l
		return before
	}
	before := use(&link{queue: make(chan wire.Message)})
	n.rescan.add(hub.FQDN)
	waitFor(t, "a question", func() bool {
		n.rescan.mu.Lock()
		defer n.rescan.mu.Unlock()
		tries, waits := n.rescan.tries[hub.FQDN]
		return !waits || tries > 0
	})
	use(before)
	waitFor(t, "the node", func() bool { return n.peers.byName(hub.FQDN) != nil })
}

func TestNodesThatWaitToBeLookedUpAreBounded(t *testing.T) {
	r := newRescanner()
	for i := range rescanMost + 10 {
		r.add(time.Duration(i).String())
	}
	if len(r.tries) != rescanMost {
		t.Errorf("%d wait", len(r.tries))
	}
	name := r.next()
	for range rescanTries {
		if _, waits := r.tries[name]; !waits {
			t.Fatal("a node without an answer lost its place at once")
		}
		r.done(name, false)
	}
	if _, waits := r.tries[name]; waits {
		t.Error("a node without an answer waits without end")
	}
}

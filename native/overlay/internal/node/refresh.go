package node

import (
	"context"
	"crypto/x509"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"
)

const (
	// refreshAgain is the time between two lookups of one peer's certificate.
	refreshAgain = 30 * time.Minute
	// refreshMost bounds the lookups of one turn.
	refreshMost = 8
)

// refresher asks the node services for the certificates of peers that are about to expire. The services send a renewed
// certificate only to nodes that watch its node, and a node that has reconnected watches none.
type refresher struct {
	due map[string]time.Time // by name, of the peers whose certificates lapse
}

// refreshing keeps the certificates of awake peers current. A sleeping peer's certificate is updated at its next
// connection.
func (n *Node) refreshing(ctx context.Context) {
	r := refresher{due: map[string]time.Time{}}
	tick := time.NewTicker(n.housekeepingEvery())
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			r.turn(ctx, n, time.Now())
		}
	}
}

// turn looks up the certificates that are due, in the order of their expiry.
func (r *refresher) turn(ctx context.Context, n *Node, now time.Time) {
	peers := n.peers.all()
	var names []string
	for name, p := range peers {
		if !lapses(p.Certificate, now) || !n.paths.Load().Awake(name) {
			delete(r.due, name)
			continue
		}
		at, known := r.due[name]
		if !known { // spread the lookups of all nodes that know this peer
			at = now.Add(rand.N(refreshAgain))
			r.due[name] = at
		}
		if !now.Before(at) {
			names = append(names, name)
		}
	}
	for name := range r.due {
		if peers[name] == nil {
			delete(r.due, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return peers[a].Certificate.NotAfter.Compare(peers[b].Certificate.NotAfter) })
	for _, name := range names[:min(len(names), refreshMost)] {
		if !n.linked() || ctx.Err() != nil {
			return
		}
		r.due[name] = now.Add(refreshAgain)
		if _, err := n.lookup(ctx, name, netip.Addr{}); err != nil {
			n.log.Debug("the certificate of a peer is not refreshed", "peer", name, "error", err)
		}
	}
}

// lapses is true if less than a third of the certificate's life is left: its node renews it then.
func lapses(c *x509.Certificate, now time.Time) bool {
	return c.NotAfter.Sub(now) < c.NotAfter.Sub(c.NotBefore)/3
}

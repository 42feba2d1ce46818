package node

import (
	"context"
	"time"

	"seganet.internal/overlay/internal/authclient"
	"seganet.internal/overlay/internal/identity"
	"seganet.internal/overlay/internal/wire"
)

const (
	askLimit = 15 * time.Second // of the authentication service
	// HousekeepingEvery is the default interval at which a node removes invalid peers, writes its cache and releases
	// memory.
	HousekeepingEvery = 30 * time.Second
	// RevocationsEvery is the default interval at which a node requests the revocation list while no node service
	// pushes it.
	RevocationsEvery = time.Minute
	// revocationsFirst is the delay of the first request: a node that has just started may have an old list.
	revocationsFirst = 5 * time.Second
)

func (n *Node) takePolicy(s wire.Signed) {
	var p wire.Policy
	if err := identity.Open(identity.DocPolicy, s, n.current().Roots, time.Now(), &p); err != nil {
		n.log.Warn("the policy is refused", "error", err)
		return
	}
	n.mu.Lock()
	newest := n.policy.Version
	if p.Version >= newest {
		n.policy = p
	}
	n.mu.Unlock()
	if p.Version < newest {
		n.older("policy", p.Version, newest)
		return
	}
	n.applyPolicy()
	if p.Version > newest {
		n.removeUnseen()
	}
}

// older logs a document that is older than the one in force.
func (n *Node) older(document string, number, newest int64) {
	n.log.Warn("a document is ignored, because it is older than the one in force. If the authentication service was restored from a backup, change the document there",
		"document", document, "number", number, "inForce", newest)
}

// applyPolicy compiles the policy for this node.
func (n *Node) applyPolicy() {
	n.applying.Lock() // otherwise a goroutine with an older policy could finish last
	defer n.applying.Unlock()
	n.mu.Lock()
	p, self := n.policy, n.member.Self
	n.mu.Unlock()
	if err := n.tracker.Update(p, self, n.services()); err != nil {
		n.log.Error("the new policy cannot be applied; the previous one stays in force", "error", err)
	}
}

// takeRevocations applies a revocation list: it disconnects revoked peers at once, and this node if it is revoked
// itself.
func (n *Node) takeRevocations(s wire.Signed) {
	var r wire.Revocations
	if err := identity.Open(identity.DocRevocations, s, n.current().Roots, time.Now(), &r); err != nil {
		n.log.Warn("the revocation list is refused", "error", err)
		return
	}
	n.mu.Lock()
	if newest := n.revision; r.Number < newest {
		n.mu.Unlock()
		n.older("revocation list", r.Number, newest)
		return
	}
	n.revision, n.revoked = r.Number, r.Set()
	n.mu.Unlock()
	n.removeInvalid(time.Now())
	n.cutIfRevoked()
}

// askingRevocations asks the authentication service for the revocation list while the node services, which push it, are
// out of reach.
func (n *Node) askingRevocations(ctx context.Context) {
	every := n.o.RevocationsEvery
	if every == 0 {
		every = RevocationsEvery
	}
	wait := min(revocationsFirst, every)
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		wait = every
		if n.linked() {
			continue
		}
		if err := n.askRevocations(ctx); err != nil && ctx.Err() == nil {
			n.log.Info("the revocation list cannot be requested; the previous one stays in force", "error", err)
		}
	}
}

func (n *Node) askRevocations(ctx context.Context) error {
	m := n.current()
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	s, err := authclient.New(m.Auth, m.ClientTLS()).Revocations(ctx)
	if err == nil {
		n.takeRevocations(s)
	}
	return err
}

// housekeeping removes peers with invalid certificates, writes the cache, and returns memory to the system while the
// node is idle.
func (n *Node) housekeeping(ctx context.Context) {
	tick := time.NewTicker(n.housekeepingEvery())
	defer tick.Stop()
	var r releaser
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			n.removeInvalid(time.Now())
			n.saveCache()
			n.saveMembership()
			if !n.paths.Load().Active() {
				r.idle(n)
			}
		}
	}
}

func (n *Node) housekeepingEvery() time.Duration {
	if n.o.HousekeepingEvery != 0 {
		return n.o.HousekeepingEvery
	}
	return HousekeepingEvery
}

// removeInvalid removes peers whose certificate has expired or was revoked.
func (n *Node) removeInvalid(now time.Time) {
	for name, p := range n.peers.all() {
		switch {
		case now.After(p.Certificate.NotAfter):
			n.removePeer(name)
			n.emit("down", name, "its certificate has expired")
		case n.isRevoked(p.Serial):
			inUse := n.paths.Load().Awake(name)
			n.removePeer(name)
			n.log.Info("a revoked peer was removed", "peer", name)
			n.emit("down", name, "its certificate was revoked")
			if inUse {
				n.rescan.add(name)
			}
		}
	}
}

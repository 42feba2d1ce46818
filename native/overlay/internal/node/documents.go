package node

import (
	"context"
	"time"

	"seganet.internal/overlay/internal/authclient"
	"seganet.internal/overlay/internal/identity"
	"seganet.internal/overlay/internal/wire"
)

const (
	renewRetry = time.Minute
	renewLook  = 10 * time.Minute // the clock may jump, and a timer does not run while the machine sleeps
	askLimit   = 15 * time.Second // of the authentication service
	// HousekeepingEvery is how often a node removes invalid peers, writes its cache and gives memory back.
	HousekeepingEvery = 30 * time.Second
	// RevocationsEvery is how often a node asks for the revocation list that nobody pushes to it.
	RevocationsEvery = time.Minute
	// revocationsFirst is when it asks first: a node that has just started may have an old list.
	revocationsFirst = 5 * time.Second
)

func (n *Node) takePolicy(s wire.Signed) {
	var p wire.Policy
	if err := identity.Open(identity.DocPolicy, s, n.current().Roots, time.Now(), &p); err != nil {
		n.log.Warn("the policy is refused", "error", err)
		return
	}
	n.mu.Lock()
	older := p.Version < n.policy.Version
	if !older {
		n.policy = p
	}
	n.mu.Unlock()
	if !older {
		n.applyPolicy()
	}
}

// takeRevocations cuts revoked peers off at once, and this node itself.
func (n *Node) takeRevocations(s wire.Signed) {
	var r wire.Revocations
	if err := identity.Open(identity.DocRevocations, s, n.current().Roots, time.Now(), &r); err != nil {
		n.log.Warn("the revocation list is refused", "error", err)
		return
	}
	n.mu.Lock()
	if r.Number < n.revision {
		n.mu.Unlock()
		return
	}
	n.revision, n.revoked = r.Number, r.Set()
	n.mu.Unlock()
	n.removeInvalid(time.Now())
	n.cutIfRevoked()
}

// takeRoots replaces the roots by a list that a trusted root signed.
func (n *Node) takeRoots(s wire.Signed) {
	m := n.current()
	var r wire.Roots
	if err := identity.Open(identity.DocRoots, s, m.Roots, time.Now(), &r); err != nil {
		n.log.Warn("the list of roots is refused", "error", err)
		return
	}
	n.mu.Lock()
	older := r.Number <= n.roots
	n.mu.Unlock()
	if older {
		return
	}
	next := m.Membership
	next.Roots = r.Certificates
	if !n.replace(m.Keys, next) {
		return
	}
	n.mu.Lock()
	n.roots = r.Number
	n.mu.Unlock()
}

func (n *Node) replace(k *identity.Keys, next wire.Membership) bool {
	m, err := identity.NewMember(k, next, time.Now())
	if err != nil {
		n.log.Warn("membership", "error", err)
		return false
	}
	if err := identity.SaveMembership(n.o.State, next); err != nil {
		n.log.Warn("membership", "error", err)
	}
	n.mu.Lock()
	n.member = m
	n.mu.Unlock()
	return true
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
		n.mu.Lock()
		pushed := n.link != nil
		n.mu.Unlock()
		if pushed {
			continue
		}
		if err := n.askRevocations(ctx); err != nil && ctx.Err() == nil {
			n.log.Info("the revocation list cannot be asked for; the one of before stays", "error", err)
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

// renew gets the next certificate with the same keys, and the revocation list. devices are all devices from now on.
func (n *Node) renew(ctx context.Context, devices []string) error {
	n.renewals.Lock()
	defer n.renewals.Unlock()
	m := n.current()
	asking, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	next, err := authclient.New(m.Auth, m.ClientTLS()).Renew(asking, m.Keys, devices)
	if err != nil {
		return err
	}
	if err := identity.SaveMembership(n.o.State, next.Membership); err != nil {
		return err
	}
	n.mu.Lock()
	n.member = next
	n.mu.Unlock()
	if err := n.askRevocations(ctx); err != nil {
		n.log.Info("the revocation list cannot be asked for; the one of before stays", "error", err)
	}
	return nil
}

// sameDevices are the names for a renewal that changes no device.
func (n *Node) sameDevices() (names []string) {
	for _, d := range n.current().Devices {
		names = append(names, d.Name)
	}
	return names
}

func (n *Node) renewing(ctx context.Context) {
	for {
		wait := min(max(time.Until(n.current().RenewAfter), renewRetry), renewLook)
		if time.Until(n.current().RenewAfter) <= 0 {
			err := n.renew(ctx, n.sameDevices())
			if err == nil {
				n.log.Info("the certificate was renewed", "until", n.self().Certificate.NotAfter)
				n.certificateChanged()
				n.reconnect("the certificate was renewed") // the services get the new one
				continue
			}
			n.log.Warn("the certificate could not be renewed; trying again in a minute", "error", err)
			wait = renewRetry
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// housekeeping removes peers whose certificate counts no longer, writes the cache, and gives memory back to the system
// while the node is idle.
func (n *Node) housekeeping(ctx context.Context) {
	every := n.o.HousekeepingEvery
	if every == 0 {
		every = HousekeepingEvery
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	var r releaser
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			n.removeInvalid(time.Now())
			n.saveCache()
			if !n.paths.Load().Busy() {
				r.idle(n)
			}
		}
	}
}

// removeInvalid removes peers whose certificate has expired or was revoked.
func (n *Node) removeInvalid(now time.Time) {
	for name, p := range n.peers.all() {
		switch {
		case now.After(p.Certificate.NotAfter):
			n.removePeer(name)
			n.emit("down", name, "its certificate has expired")
		case n.isRevoked(p.Serial):
			n.removePeer(name)
			n.log.Info("a revoked peer was removed", "peer", name)
			n.emit("down", name, "its certificate was revoked")
		}
	}
}

package node

import (
	"context"
	"time"

	"seganet.internal/overlay/internal/authclient"
	"seganet.internal/overlay/internal/identity"
	"seganet.internal/overlay/internal/wire"
)

const (
	renewRetry   = time.Minute
	housekeeping = 30 * time.Second
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

// takeRevocations cuts revoked peers off at once.
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
	for name, p := range n.peers.all() {
		if n.isRevoked(p.Serial) {
			n.removePeer(name)
			n.log.Info("a revoked peer was removed", "peer", name)
			n.emit("down", name, "its certificate was revoked")
		}
	}
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

// renew gets the next certificate with the same keys.
func (n *Node) renew(ctx context.Context) error {
	m := n.current()
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	devices := n.o.Devices.Names()
	if len(devices) == 0 {
		for _, d := range m.Devices {
			devices = append(devices, d.Name)
		}
	}
	next, err := authclient.New(m.Auth, m.ClientTLS()).Renew(ctx, m.Keys, devices)
	if err != nil {
		return err
	}
	if err := identity.SaveMembership(n.o.State, next.Membership); err != nil {
		return err
	}
	n.mu.Lock()
	n.member = next
	n.mu.Unlock()
	return nil
}

func (n *Node) renewing(ctx context.Context) {
	for {
		wait := max(time.Until(n.current().RenewAfter), renewRetry)
		if time.Until(n.current().RenewAfter) <= 0 {
			err := n.renew(ctx)
			if err == nil {
				n.log.Info("the certificate was renewed", "until", n.self().Certificate.NotAfter)
				n.applyPolicy()
				n.mu.Lock()
				l := n.link
				n.mu.Unlock()
				if l != nil {
					l.cancel() // the services get the new certificate
				}
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

// housekeeping removes peers whose certificate has ended, and writes the cache.
func (n *Node) housekeeping(ctx context.Context) {
	tick := time.NewTicker(housekeeping)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			for name, p := range n.peers.all() {
				if now.After(p.Certificate.NotAfter) {
					n.removePeer(name)
					n.emit("down", name, "its certificate has expired")
				}
			}
			n.saveCache()
		}
	}
}

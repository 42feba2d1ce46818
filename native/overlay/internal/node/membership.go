package node

import (
	"bytes"
	"context"
	"slices"
	"time"

	"seganet.internal/overlay/internal/authclient"
	"seganet.internal/overlay/internal/identity"
	"seganet.internal/overlay/internal/wire"
)

const (
	renewRetry = time.Minute
	renewLook  = 10 * time.Second // short: the clock may jump, and timers stop while the machine sleeps
)

// takeRoots replaces the trusted roots by a list that one of them has signed.
func (n *Node) takeRoots(s wire.Signed) {
	n.changing.Lock()
	defer n.changing.Unlock()
	m := n.current()
	var r wire.Roots
	if err := identity.Open(identity.DocRoots, s, m.Roots, time.Now(), &r); err != nil {
		n.log.Warn("the list of roots is refused", "error", err)
		return
	}
	if r.Number < n.roots {
		n.older("list of roots", r.Number, n.roots)
	}
	if r.Number <= n.roots {
		return
	}
	next := m.Membership
	next.Roots = r.Certificates
	if err := n.replace(m.Keys, next); err != nil {
		n.log.Warn("the list of roots is refused", "error", err)
		return
	}
	n.roots = r.Number
}

// renew requests the next certificate for the same keys, and the revocation list. devices lists all devices of the new
// certificate.
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
	if err := n.renewed(m, next); err != nil {
		return err
	}
	if err := n.askRevocations(ctx); err != nil {
		n.log.Info("the revocation list cannot be requested; the previous one stays in force", "error", err)
	}
	return nil
}

// renewed applies the answer to a renewal of m. It keeps roots that arrived in the meantime.
func (n *Node) renewed(m, next *identity.Member) error {
	n.changing.Lock()
	defer n.changing.Unlock()
	membership := next.Membership
	if now := n.current(); !slices.EqualFunc(now.Membership.Roots, m.Membership.Roots, bytes.Equal) {
		membership.Roots = now.Membership.Roots
	}
	return n.replace(m.Keys, membership)
}

// replace applies a membership and saves it. A membership that cannot be saved, for example on a full disk, is applied
// nevertheless: the service limits the number of certificates, and the old one will expire. REQUIRES: n.changing.
func (n *Node) replace(k *identity.Keys, next wire.Membership) error {
	m, err := identity.NewMember(k, next, time.Now())
	if err != nil {
		return err
	}
	n.mu.Lock()
	n.member = m
	n.mu.Unlock()
	n.unsaved = true
	n.save()
	return nil
}

// save writes the membership. REQUIRES: n.changing.
func (n *Node) save() {
	if err := identity.SaveMembership(n.o.State, n.current().Membership); err != nil {
		n.log.Warn("the membership is not written; trying again", "error", err)
		return
	}
	n.unsaved = false
}

// saveMembership retries to write a membership after a failed write.
func (n *Node) saveMembership() {
	n.changing.Lock()
	defer n.changing.Unlock()
	if n.unsaved {
		n.save()
	}
}

// sameDevices returns the device names for a renewal that changes no device.
func (n *Node) sameDevices() (names []string) {
	for _, d := range n.current().Devices {
		names = append(names, d.Name)
	}
	return names
}

// renewing renews the certificate when a third of its life is left.
func (n *Node) renewing(ctx context.Context) {
	for {
		wait := renewLook
		if time.Until(n.current().RenewAfter) <= 0 {
			if err := n.renew(ctx, n.sameDevices()); err == nil {
				n.log.Info("the certificate was renewed", "until", n.self().Certificate.NotAfter)
				n.certificateChanged()
				n.reconnect("the certificate was renewed") // the services get the new one
			} else {
				n.log.Warn("the certificate could not be renewed; trying again in a minute", "error", err)
				wait = renewRetry
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-n.renewNow: // the network changed
		case <-time.After(wait):
		}
	}
}

package paths

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"time"
)

var errNoFamily = errors.New("this node has no relayed address of the IP version of the peer's")

// SetTURN replaces relays and credentials.
func (m *Manager) SetTURN(t TURN) { m.relays.set(t) }

// relayBusy is true while data flows by relayed addresses of an IP version.
func (m *Manager) relayBusy(f family) bool {
	now := m.now()
	for _, p := range *m.byKey.Load() {
		path := p.endpoint.Path()
		if other := path.Relay.IsValid() && familyOf(path.Relay.Addr()) != f; !path.Direct.IsValid() && !other && p.busy(now, m.conf.Metered) {
			return true
		}
	}
	return false
}

// HasRelay is true while this node has an address at a relay.
func (m *Manager) HasRelay() bool { return m.relays.allocation() != nil }

// CheckRelay makes the relay loop check its allocations immediately. It does not wait.
func (m *Manager) CheckRelay() { m.relays.check() }

// relayChanged sends this node's current relayed addresses to all awake peers, which would otherwise keep sending to a
// dead allocation. a is the new allocation of IP version f; nil means that it is gone.
func (m *Manager) relayChanged(ctx context.Context, a *Allocation, f family, why string) {
	best := m.relays.allocation()
	switch {
	case best == nil:
		m.conf.Bind.SetRelay(nil)
		m.report(Event{Time: time.Now(), Path: "no relay", Why: why})
		return
	case a == nil:
		m.conf.Logger.Info("relay", "gone", f.String(), "why", why)
	default:
		m.report(Event{Time: time.Now(), Path: "relay " + a.Server.String() + " as " + a.Address.String(), Why: why})
	}
	m.conf.Bind.SetRelay(m.relays)
	m.mu.Lock()
	for _, p := range m.peers {
		if p.sleeping.Load() {
			continue
		}
		m.chooseRelay(p, "this node has another relay address")
		if p.round != nil {
			m.offer(p)
		}
		if a == best {
			m.distrust(p)
		}
		m.keepalive(p) // the packet also shows the peer the new address
	}
	m.mu.Unlock()
	m.wake()
	if a != best {
		return
	}
	go func() {
		before := m.nat.Load().(NAT)
		if now := m.findNAT(ctx, a); now != before {
			m.nat.Store(now)
			m.mu.Lock()
			for _, p := range m.peers {
				if p.round != nil && !p.sleeping.Load() {
					m.offer(p)
				}
			}
			m.mu.Unlock()
		}
	}()
}

// chooseRelay selects the peer's relayed address that this node can send to, and requests the permission for it. The
// caller holds m.mu.
func (m *Manager) chooseRelay(p *peer, why string) {
	if to := m.relays.choose(p.relays); to.IsValid() && to != p.choice.relay {
		p.choice.relay = to
		m.setPath(p, why)
	}
	if !p.choice.relay.IsValid() {
		return
	}
	if a := m.relays.to(p.choice.relay.Addr()); a != nil {
		a.Permit(p.choice.relay.Addr())
	}
}

// wantRelays requests the relayed addresses that awake peers need: an IPv6 one while one of them has no IPv4 one, and on a
// metered node any at all. The caller holds m.mu.
func (m *Manager) wantRelays() {
	awake, six := false, false
	for _, p := range m.peers {
		if !p.sleeping.Load() {
			awake = true
			six = six || len(p.relays) > 0 && !slices.ContainsFunc(p.relays, isFour)
		}
	}
	m.relays.want(awake, six)
}

// resting is true while this node needs no relay: it is metered, and all of its peers sleep.
func (m *Manager) resting() bool { return m.conf.Metered && !m.relays.awake.Load() }

func isFour(a netip.AddrPort) bool { return familyOf(a.Addr()) == four }

// movedWithin is true if the peer sent from one of its named relayed addresses while this node sends to another of them
// that it can reach. The path must not follow then: each side chooses for itself, and both could follow each other
// forever.
func (m *Manager) movedWithin(p *peer, from netip.AddrPort) bool {
	return slices.Contains(p.relays, from) && slices.Contains(p.relays, p.choice.relay) && m.relays.to(p.choice.relay.Addr()) != nil
}

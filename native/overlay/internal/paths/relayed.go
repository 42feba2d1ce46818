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

// CheckRelay has the relay checked at once. It does not wait.
func (m *Manager) CheckRelay() { m.relays.check() }

// relayChanged tells all peers the addresses of now (trap 9). a is the one of the IP version f that has changed, nil: it is
// gone.
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
			m.shake(p)
		}
		m.keepalive(p) // the peer learns the address from an authenticated packet, too
	}
	m.mu.Unlock()
	m.poke()
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

// chooseRelay takes the address of the peer at its relays that this node can send to. The caller holds m.mu.
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

// wantRelays opens an address of IPv6 at a relay while a peer has no other, and gives it back after that. The caller
// holds m.mu.
func (m *Manager) wantRelays() {
	only := false
	for _, p := range m.peers {
		only = only || !p.sleeping.Load() && len(p.relays) > 0 && !slices.ContainsFunc(p.relays, isFour)
	}
	m.relays.want(only)
}

func isFour(a netip.AddrPort) bool { return familyOf(a.Addr()) == four }

// movedWithin is true if the peer sent by one of the addresses that it has named, and this node sends to another of them
// that it can reach: each side chooses for itself, and following would never end.
func (m *Manager) movedWithin(p *peer, from netip.AddrPort) bool {
	return slices.Contains(p.relays, from) && slices.Contains(p.relays, p.choice.relay) && m.relays.to(p.choice.relay.Addr()) != nil
}

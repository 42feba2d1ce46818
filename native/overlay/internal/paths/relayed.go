package paths

import (
	"context"
	"time"
)

// SetTURN replaces relays and credentials.
func (m *Manager) SetTURN(t TURN) { m.relay.set(t) }

func (m *Manager) relayBusy() bool {
	now := m.now()
	for _, p := range *m.byKey.Load() {
		if !p.endpoint.Path().Direct.IsValid() && p.busy(now, m.conf.Metered) {
			return true
		}
	}
	return false
}

// HasRelay is true while this node has an address at a relay.
func (m *Manager) HasRelay() bool { return m.relay.allocation() != nil }

// CheckRelay has the relay checked at once. It does not wait.
func (m *Manager) CheckRelay() { m.relay.check() }

// relayChanged tells all peers the new address (trap 9).
func (m *Manager) relayChanged(ctx context.Context, a *Allocation, why string) {
	if a == nil {
		m.conf.Bind.SetRelay(nil)
		m.report(Event{Time: time.Now(), Path: "no relay", Why: why})
		return
	}
	m.conf.Bind.SetRelay(a)
	m.report(Event{Time: time.Now(), Path: "relay " + a.Server.String() + " as " + a.Address.String(), Why: why})
	m.mu.Lock()
	for _, p := range m.peers {
		if p.sleeping.Load() {
			continue
		}
		if p.choice.relay.IsValid() {
			a.Permit(p.choice.relay.Addr())
		}
		if p.round != nil {
			m.offer(p)
		}
		m.shake(p)
		m.keepalive(p) // the peer learns the address from an authenticated packet, too
	}
	m.mu.Unlock()
	m.poke()
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

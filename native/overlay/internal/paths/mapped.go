package paths

import (
	"net/netip"
	"slices"

	"github.com/pion/ice/v4"

	"seganet.internal/overlay/internal/wire"
)

// SetMapped takes the outside addresses that routers map to this node's port. They are candidates of running rounds and
// of all later ones; peers that are not reached directly are tried again at once.
//
// The local agent does not know them: a check that arrives by such an address reaches the shared socket as every other.
func (m *Manager) SetMapped(outside []netip.AddrPort) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.mapped
	m.mapped = slices.Clone(outside)
	fresh := slices.DeleteFunc(slices.Clone(outside), func(a netip.AddrPort) bool { return slices.Contains(before, a) })
	if len(fresh) == 0 || m.relayOnly.Load() {
		return
	}
	for _, p := range m.peers {
		switch {
		case p.sleeping.Load():
		case p.round != nil && !p.round.ended && m.now()-p.round.started < int64(roundFresh):
			m.signalMapped(p, fresh)
		case !p.choice.direct.IsValid():
			p.pause = 0
			m.startRound(p)
		}
	}
}

// signalMapped names mapped addresses to the peer, as server-reflexive candidates. The caller holds m.mu.
func (m *Manager) signalMapped(p *peer, outside []netip.AddrPort) {
	for _, a := range outside {
		if !m.usable(a.Addr()) {
			continue
		}
		c, err := ice.NewCandidateServerReflexive(&ice.CandidateServerReflexiveConfig{Network: "udp", Address: a.Addr().String(), Port: int(a.Port()),
			Component: ice.ComponentRTP, RelAddr: "0.0.0.0", RelPort: int(m.conf.Bind.Port())})
		if err != nil {
			continue
		}
		p.round.families.add(c, false)
		m.signal(p, wire.SignalCandidate, p.round.epoch, &wire.Candidate{Candidate: c.Marshal()})
	}
}

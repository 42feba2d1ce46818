package paths

import (
	"net/netip"
	"slices"

	"github.com/pion/ice/v4"

	"seganet.internal/overlay/internal/wire"
)

// SetMapped sets the outside addresses that routers map to this node's port. They become candidates of running and
// later rounds. SetMapped starts a round at once with each awake peer that is not reached directly.
//
// The local ICE agent does not need them: a check to such an address arrives at the shared socket like any other.
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

// signalMapped sends mapped addresses to the peer, as server-reflexive candidates. The caller holds m.mu.
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

package paths

import "net/netip"

// SetRelayOnly(true) disables direct paths: sessions move to the relay at once, and direct packets do not create a
// path. SetRelayOnly(false) allows them and searches at once. Sessions continue in both cases.
func (m *Manager) SetRelayOnly(on bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.relayOnly.Swap(on) == on {
		return
	}
	m.conf.Bind.SetRelayOnly(on)
	for _, p := range m.peers {
		if p.sleeping.Load() {
			continue
		}
		p.pause = 0
		if !on {
			m.startRound(p)
			continue
		}
		var e effects
		if p.choice.direct.IsValid() {
			p.choice.leave(m.now(), "direct paths were switched off", &e)
			e.report = &report{} // the peer leaves the direct path, too
		}
		p.choice.trial = netip.AddrPort{}
		m.end(p) // a peer that was roused gets no new round, which would end this one
		e.search = true
		m.apply(p, e, m.now())
	}
	m.wake()
}

package paths

import (
	"fmt"
	"time"

	"seganet.internal/overlay/internal/bind"
)

// dropAfter is the time without data after which the peer sleeps.
func (m *Manager) dropAfter(p *peer) time.Duration {
	if m.conf.Metered || p.metered {
		return DropAfterMetered
	}
	return DropAfter
}

// sleep frees the session, path and round of a peer that had no data for dropAfter. The next packet or signal wakes the
// peer.
func (m *Manager) sleep(p *peer) {
	m.end(p)
	p.remember()
	p.round = nil
	p.choice = choice{}
	p.relays, p.since = nil, 0
	p.begun, p.repairing = false, false
	p.pause = 0
	p.sleeping.Store(true)
	p.endpoint.SetPath(bind.Path{})
	m.call(p, outboxMost, func() { m.conf.Tunnel.DropSession(p.key) })
	p.lastPath = "none"
	m.event(p, fmt.Sprintf("no data for %v", m.dropAfter(p)))
}

// rouse wakes the peer after a message from it: an offer, or an authenticated packet. The caller holds m.mu.
func (m *Manager) rouse(p *peer) {
	m.awake(p)
	now, last := m.now(), p.lastData.Load()
	if last == 0 {
		p.lastData.CompareAndSwap(last, now) // dropAfter counts from now
	} else if now-last > int64(m.dropAfter(p)) && p.lastData.CompareAndSwap(last, now) {
		p.roused = now
	}
}

// dozing is true for a peer that was roused and has had no data since. This side then only answers. If both sides
// started rounds and sessions, each would keep waking the other, and a pair without data would never sleep.
func (p *peer) dozing() bool { return p.roused != 0 && p.lastData.Load() == p.roused }

// answerOnly removes all effects except answers to the peer.
func (e *effects) answerOnly(t bind.Traffic) {
	e.search, e.silent = false, false
	if max(t.HeardDirect, t.HeardRelay) <= max(t.SentDirect, t.SentRelay) {
		e.probe, e.ask, e.keepalive = false, false, false
	}
}

// Awake is true for a peer that does not sleep.
func (m *Manager) Awake(name string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.peers[name]
	return p != nil && !p.sleeping.Load()
}

// awake wakes the peer. The caller holds m.mu.
func (m *Manager) awake(p *peer) {
	p.sleeping.Store(false)
	if m.conf.Metered {
		m.wantRelays()
	}
	if p.since == 0 {
		p.since = m.now()
	}
}

package paths

import (
	"net/netip"
	"sync/atomic"
	"time"

	"seganet.internal/overlay/internal/bind"
)

// peer is a verified peer. Manager.mu guards it except for the atomics.
type peer struct {
	name     string
	key      bind.Key
	begins   bool
	endpoint *bind.Endpoint
	lastData atomic.Int64
	lastSent atomic.Int64 // the last data packet to the peer
	sleeping atomic.Bool  // no path is maintained; the next packet or signal reconnects
	roused   int64        // lastData as rouse set it; see dozing

	choice    choice
	relays    []netip.AddrPort // the peer's addresses at its relays, as it named them last
	since     int64            // when it woke up; 0: it sleeps
	round     *round
	epoch     int64 // the highest number seen
	replaced  int64 // the number of the round before this one
	rounds    int
	pause     time.Duration
	next      int64 // when the next round may begin
	offline   bool
	begun     bool
	nat       NAT
	metered   bool
	asked     int64 // when the node service was last asked because of silence
	repaired  int64 // when repair last acted on the session
	repairing bool  // its handshake has not helped yet
	probed    int64 // when repairing: when the peer was last asked for a sign
	changes   []Event
	rtt       time.Duration
	lastPath  string
	offers    bucket   // of offers inside the session
	outbox    []func() // calls of the engine that wait; see call
	calling   bool     // makeCalls runs

	cachedDirect, cachedRelay netip.AddrPort // from the last run, or from before the sleep
}

// active is true while data flows to or from the peer. Thread safety: needs no lock.
func (p *peer) active(now int64) bool {
	last := p.lastData.Load()
	return last != 0 && now-last < int64(ActiveFor)
}

// busy is true while the peer is active. If nothing has arrived from the peer since data was sent to it, busy stays
// true for RecheckFor: the path may be dead, and a side that only answers has no other way to detect that. Metered nodes
// skip that, because checks cost traffic. Thread safety: needs no lock.
func (p *peer) busy(now int64, metered bool) bool {
	if p.active(now) {
		return true
	}
	sent := p.lastSent.Load()
	return !metered && sent != 0 && now-sent < int64(RecheckFor) && p.lastArrival() <= sent
}

// lastArrival returns when the last packet from the peer arrived, 0 = never.
func (p *peer) lastArrival() int64 {
	t := p.endpoint.Traffic()
	return max(t.HeardDirect, t.HeardRelay)
}

const (
	// offersAtOnce and offerEvery limit the rate of a peer's offers inside the session, because each one starts a round
	// of ICE. The node services limit the offers that they forward.
	offersAtOnce = 5
	offerEvery   = time.Second
)

// bucket admits offersAtOnce events, and then one each offerEvery. The zero value is full.
type bucket struct {
	spent int   // events that still count
	since int64 // when spent was last lowered
}

func (b *bucket) admit(now int64) bool {
	if back := int((now - b.since) / int64(offerEvery)); back > 0 {
		b.spent = max(0, b.spent-back)
		b.since += int64(back) * int64(offerEvery)
	}
	if b.spent >= offersAtOnce {
		return false
	}
	b.spent++
	return true
}

// remember saves the current addresses for useCache.
func (p *peer) remember() {
	if p.choice.direct.IsValid() {
		p.cachedDirect = p.choice.direct
	}
	if p.choice.relay.IsValid() {
		p.cachedRelay = p.choice.relay
	}
}

// plan doubles the pause, up to searchMost, and schedules the next round after it.
func (p *peer) plan(now int64) {
	p.pause = min(max(p.pause*2, searchFirst), searchMost)
	p.wait(now)
}

// wait sets the earliest start of the next round.
func (p *peer) wait(now int64) { p.next = now + int64(max(p.pause, searchFirst)) }

// distrust makes the direct path, if there is one, prove itself again. The caller holds m.mu.
func (m *Manager) distrust(p *peer) {
	if p.choice.distrust(m.now()); p.choice.distrusted() {
		m.setPath(p, "the network changed")
		m.wake()
	}
}

// setPath passes the chosen path to the socket and reports a change as an event. A change that does not alter the
// path's name, such as another relay or copies by it, is only logged at debug level. The caller holds m.mu.
func (m *Manager) setPath(p *peer, why string) {
	before, after := p.endpoint.Path(), p.choice.path()
	p.endpoint.SetPath(after)
	before.Trial, after.Trial = netip.AddrPort{}, netip.AddrPort{} // the trial address carries no data
	if name := p.choice.name(); name != p.lastPath {
		p.lastPath = name
		m.event(p, why)
	} else if before != after {
		m.conf.Logger.Debug("path", "peer", p.name, "path", name, "relay", after.Relay, "copies", after.Both, "why", why)
	}
}

func (c *choice) name() string {
	switch {
	case c.direct.IsValid():
		return "direct " + c.direct.String()
	case c.relay.IsValid():
		return "relay"
	case c.trial.IsValid():
		return "direct " + c.trial.String() + " (unproven)"
	}
	return "none"
}

// startSession begins the session once there is a path. A handshake without a path would be lost, and WireGuard makes
// the next one only after 5 s. The side that does not begin calls the engine as well; bind delays its handshake
// briefly, so that two simultaneous handshakes do not cancel each other.
func (m *Manager) startSession(p *peer) {
	if p.begun || !p.endpoint.Path().Usable() {
		return
	}
	p.begun = true
	m.call(p, outboxMost, func() { m.conf.Tunnel.Begin(p.key) })
}

func (m *Manager) event(p *peer, why string) {
	e := Event{Time: time.Now(), Peer: p.name, Path: p.choice.name(), Why: why}
	p.changes = append(p.changes, e)
	if len(p.changes) > ChangesKept {
		p.changes = p.changes[1:]
	}
	m.report(e)
}

func (m *Manager) report(e Event) {
	m.conf.Logger.Info("path", "peer", e.Peer, "path", e.Path, "why", e.Why)
	if m.conf.Event != nil {
		m.conf.Event(e)
	}
}

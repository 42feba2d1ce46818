package paths

import (
	"crypto/rand"
	"encoding/hex"
	"net/netip"
	"slices"
	"time"

	"seganet.internal/overlay/internal/wire"
)

// Connect starts a round with the peer if it has none, or if the last one ended without a usable path.
func (m *Manager) Connect(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p := m.peers[name]; p != nil && (p.round == nil || p.round.ended && !p.endpoint.Path().Usable()) {
		m.startRound(p)
	}
}

// startRound begins a round of this side's own. The caller holds m.mu.
func (m *Manager) startRound(p *peer) {
	m.awake(p)
	if last := p.lastData.Load(); last == 0 || m.now()-last > int64(m.dropAfter(p)) {
		p.lastData.CompareAndSwap(last, m.now()) // dropAfter counts from now
	}
	// Two rounds that start in the same millisecond need different numbers, or each side could use the credentials of
	// the other round.
	p.epoch = max(p.epoch+1, time.Now().UnixMilli())
	p.plan(m.now())
	m.begin(p, p.epoch)
	m.useCache(p)
	m.wake()
}

// Remember sets a peer's addresses from an earlier run. The Manager tries them while the node service is out of reach.
func (m *Manager) Remember(name string, direct, relayed netip.AddrPort) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p := m.peers[name]; p != nil {
		p.cachedDirect, p.cachedRelay = direct, relayed
	}
}

// Addresses returns the addresses that Remember takes.
func (m *Manager) Addresses(name string) (direct, relayed netip.AddrPort) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.peers[name]
	if p == nil {
		return direct, relayed
	}
	p.remember()
	return p.cachedDirect, p.cachedRelay
}

// useCache tries the addresses of the last run, or from before the peer's sleep, while the node service is out of
// reach. The caller holds m.mu.
func (m *Manager) useCache(p *peer) {
	if m.signalling || m.reaches(p) {
		return
	}
	if !p.choice.relay.IsValid() {
		p.choice.relay = p.cachedRelay
	}
	if p.cachedDirect.IsValid() && !m.relayOnly.Load() {
		p.choice.tryDirect(p.cachedDirect, m.now())
	}
	if p.choice.path().Usable() {
		m.setPath(p, "addresses known from before")
		m.startSession(p)
	}
}

// reaches is false if packets sent by the peer's path cannot arrive: the path is by a relay, and either this node has
// no allocation for it or the peer has not answered for relayDead (a restarted peer has another address at its relay).
func (m *Manager) reaches(p *peer) bool {
	path := p.endpoint.Path()
	if path.Direct.IsValid() || path.Trial.IsValid() {
		return true
	}
	t := p.endpoint.Traffic()
	return path.Relay.IsValid() && m.relays.to(path.Relay.Addr()) != nil && t.SentRelay-t.HeardRelay < int64(relayDead)
}

// SignallingChanged sets whether the node service is reachable.
func (m *Manager) SignallingChanged(up bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.signalling = up
	if !up {
		return
	}
	for _, p := range m.peers {
		p.offline = false
		if !p.sleeping.Load() && (!p.choice.direct.IsValid() || p.choice.distrusted()) {
			m.startRound(p)
		}
	}
}

// Offline records the node service's report that the peer is disconnected from it, or connected again. Sessions
// continue.
func (m *Manager) Offline(name string, offline bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.peers[name]
	if p == nil {
		return
	}
	back := p.offline && !offline
	p.offline = offline
	if back && !p.sleeping.Load() && !p.choice.direct.IsValid() {
		p.pause = 0
		m.startRound(p)
	}
}

// NetworkChanged reacts to a changed address, link or route: it reopens the relay allocations and starts a round with
// each awake peer. Direct paths have Grace to prove themselves.
func (m *Manager) NetworkChanged(what string) {
	m.relays.reopen("the network changed: " + what)
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.peers {
		if p.sleeping.Load() {
			continue
		}
		m.distrust(p)
		p.pause = 0
		m.startRound(p)
		m.keepalive(p) // the peer learns the new address at once
	}
}

// Signal takes a signalling message whose sender has been verified.
func (m *Manager) Signal(from, kind string, epoch int64, data string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.peers[from]
	if p == nil {
		return nil
	}
	p.offline = false
	switch kind {
	case wire.SignalOffer:
		o, err := decodeOffer([]byte(data))
		if err != nil {
			return err
		}
		m.takeOffer(p, epoch, o)
	case wire.SignalCandidate:
		var c wire.Candidate
		if err := wire.Decode([]byte(data), wire.MaxSignalDataBytes, &c); err != nil {
			return err
		}
		if p.round != nil && p.round.epoch == epoch {
			m.addCandidate(p, c.Candidate)
		}
	}
	return nil
}

func (m *Manager) takeOffer(p *peer, epoch int64, o wire.Offer) {
	if p.round == nil || epoch > p.epoch {
		if p.round != nil {
			m.distrust(p)
		}
		m.rouse(p)
		p.choice.reportUntil = m.now() + int64(roundLimit)
		p.epoch = max(p.epoch, epoch)
		p.wait(m.now())
		m.begin(p, epoch)
		m.wake()
		m.relays.check() // the peer may look for a path because this side's relay has forgotten it
	}
	if p.round.epoch != epoch {
		// The offer belongs to a round that was replaced, or the peer's clock is behind and it does not know this
		// round's number, because it was out of reach when this round began or has restarted. A late answer to this
		// side's previous round needs no action. If both sides made an offer at the same moment, the peer follows the
		// one with the higher number.
		if epoch != p.replaced && m.now()-p.round.started > int64(time.Second) {
			m.startRound(p)
		}
		return
	}
	p.nat, p.metered = NAT(o.NAT), o.Metered
	if named := slices.DeleteFunc(o.Relays, func(a netip.AddrPort) bool { return m.inOverlay(a.Addr()) }); len(named) > 0 {
		p.relays = named
		m.chooseRelay(p, "the peer named its relay address")
		m.wantRelays()
	}
	m.join(p, o)
	if p.begun {
		m.repair(p)
	}
	m.startSession(p)
}

// repair restores a session whose peer is alive (it sent an offer) but whose packets do not arrive; the peer may have lost
// its session state. The first attempt is a new handshake. If that does not help, this side drops the session, and with
// it the timestamp of the peer's last handshake. WireGuard rejects a handshake with an older timestamp; after a peer
// corrects a fast clock, all its handshakes look old. Without the timestamp a replayed old handshake is accepted as
// well, but it does not establish a session. The caller holds m.mu.
func (m *Manager) repair(p *peer) {
	now, arrived := m.now(), p.lastArrival()
	switch {
	case now-arrived <= int64(LostAfter):
		return
	case arrived > p.repaired || p.repaired == 0:
		p.repaired, p.repairing = now, true
	case m.beginAgain(p, now):
		return
	}
	m.renew(p)
}

// beginAgain drops and restarts the session if the handshake that repair sent has not helped within repairAgain. It does
// not wait for another offer, which the peer may not send for a long time. It returns false if repairAgain has not
// passed.
func (m *Manager) beginAgain(p *peer, now int64) bool {
	if now-p.repaired < int64(repairAgain) {
		return false
	}
	p.repaired, p.repairing = now, false
	m.call(p, outboxMost, func() {
		m.conf.Tunnel.DropSession(p.key)
		m.conf.Tunnel.Begin(p.key)
	})
	return true
}

func (m *Manager) inOverlay(a netip.Addr) bool {
	for _, prefix := range m.conf.Overlay {
		if prefix.Contains(a) {
			return true
		}
	}
	return false
}

// pairFound puts the address pair that ICE selected under test. Only authenticated data proves it.
func (m *Manager) pairFound(p *peer, r *round, to netip.AddrPort, what string) {
	time.AfterFunc(roundAfter, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if p.round == r {
			m.end(p)
		}
	})
	if m.relayOnly.Load() {
		return // it was found when direct paths were switched off
	}
	if p.choice.direct == to || p.choice.direct.IsValid() && p.endpoint.Traffic().HeardDirect > r.started {
		return // it has survived
	}
	p.choice.direct, p.choice.graceEnds = netip.AddrPort{}, 0
	p.choice.tryDirect(to, m.now())
	m.setPath(p, "ICE found "+what+" "+to.String())
	m.startSession(p)
	m.wake()
}

// offer sends this side's offer for the current round. It is sent again when the relayed address changes.
func (m *Manager) offer(p *peer) {
	o := wire.Offer{User: p.round.user, Password: p.round.pass, Metered: m.conf.Metered, NAT: string(m.nat.Load().(NAT))}
	first := four
	if p.choice.relay.IsValid() {
		first = familyOf(p.choice.relay.Addr())
	}
	o.Relays = m.relays.addresses(first)
	m.signal(p, wire.SignalOffer, p.round.epoch, &o)
}

// signal sends a message by the node service, or inside the session while the service is out of reach. The caller holds
// m.mu.
func (m *Manager) signal(p *peer, kind string, epoch int64, v any) {
	data, err := wire.Marshal(v)
	if err != nil {
		return
	}
	if m.conf.Signaller.Signal(p.name, kind, epoch, string(data)) == nil {
		return
	}
	if b, err := encodeTunnelled(tunnelled{kind, epoch, string(data)}); err == nil {
		m.call(p, outboxMost, func() { m.conf.Tunnel.SendControl(p.key, m.conf.Self, b) })
	}
}

func randomText(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b)
	return hex.EncodeToString(b)
}

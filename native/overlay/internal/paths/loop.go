package paths

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"seganet.internal/overlay/internal/bind"
	"seganet.internal/overlay/internal/wire"
)

// run calls tick in a loop: often while data flows or an address is under test, else once a second.
func (m *Manager) run(ctx context.Context) {
	timer := time.NewTimer(tickIdle)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case r := <-m.moved:
			m.takeMoved(r)
			continue
		case c := <-m.inbox:
			m.takeControl(c.from, c.control)
			continue
		case <-m.woken:
		case <-timer.C:
		}
		wait := tickIdle
		if m.tick() {
			wait = tickBusy
		} else {
			m.idle.Store(true)
		}
		timer.Reset(wait)
	}
}

func (m *Manager) takeMoved(r movedReport) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := (*m.byKey.Load())[r.endpoint.Key()]
	if p == nil || p.endpoint != r.endpoint {
		return
	}
	if m.relayOnly.Load() && !r.source.Relay || m.inOverlay(r.source.Addr.Addr()) {
		return
	}
	m.rouse(p) // the packet is authenticated, and without the services no offer would wake the peer
	if r.source.Relay && m.movedWithin(p, r.source.Addr) {
		return
	}
	changed, why := p.choice.moved(r.source, m.now())
	if !changed {
		return
	}
	if r.source.Relay {
		if !slices.Contains(p.relays, r.source.Addr) {
			p.relays = []netip.AddrPort{r.source.Addr} // not one of its named addresses
		}
		if a := m.relays.to(r.source.Addr.Addr()); a != nil {
			a.Permit(r.source.Addr.Addr())
		}
	}
	m.setPath(p, why)
	m.wake()
	if p.choice.direct.IsValid() {
		m.keepalive(p) // confirms the new address at once
	}
}

// tick updates all awake peers. It returns true if the next tick is due after tickBusy instead of tickIdle.
func (m *Manager) tick() (busy bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	m.wantRelays()
	for _, p := range m.peers {
		if p.sleeping.Load() {
			continue
		}
		if now-p.lastData.Load() > int64(m.dropAfter(p)) {
			m.sleep(p)
			continue
		}
		keep := KeepEvery
		if m.conf.Metered || p.metered {
			keep = KeepEveryMetered
		}
		t, data := p.endpoint.Traffic(), p.lastData.Load()
		if p.dozing() {
			data = 0 // the time at which it was roused
		}
		m.apply(p, p.choice.step(now, t, data, keep), now)
		if p.repairing = p.repairing && p.lastArrival() <= p.repaired; p.repairing && !m.beginAgain(p, now) && now-p.probed >= int64(echoAgain) {
			p.probed = now
			m.control(p, encodeEcho(controlEcho, echoIgnored)) // without data the peer would send nothing
		}
		if data != 0 && now-data < int64(ActiveFor) || p.choice.trial.IsValid() && !p.choice.slow || p.choice.distrusted() {
			busy = true
		}
	}
	return busy
}

func (m *Manager) apply(p *peer, e effects, now int64) {
	if e.changed {
		m.setPath(p, e.why)
	}
	dozing := p.dozing()
	if dozing {
		e.answerOnly(p.endpoint.Traffic())
	}
	switch {
	case e.promoted:
		p.pause = 0
		m.end(p)
		m.keepalive(p)
	case e.search:
		p.pause = 0
		if p.round == nil || p.round.ended || now-p.round.started > int64(roundFresh) {
			m.startRound(p)
		}
	case e.silent && now-p.asked > int64(searchFirst):
		p.asked = now
		m.renew(p)
		if p.round == nil || p.round.ended || !p.round.answered {
			m.startRound(p)
		}
	case !dozing && !p.choice.direct.IsValid() && now >= p.next && (p.round == nil || p.round.ended || !p.round.answered):
		m.startRound(p)
	}
	switch {
	case e.probe:
		m.call(p, outboxSigns, func() {
			p.endpoint.ProbeTrial()
			m.conf.Tunnel.Keepalive(p.key)
		})
	case e.keepalive:
		m.keepalive(p)
	}
	if e.ask {
		m.control(p, encodeEcho(controlEcho, echoIgnored))
	}
	if e.report != nil {
		m.control(p, encodeReport(*e.report))
	}
}

type inboxMessage struct {
	from    bind.Key
	control control
}

// Control takes a control message of the peer's session. It does not block: the data path calls it.
func (m *Manager) Control(from bind.Key, message []byte) {
	c, err := decodeControl(message)
	if err != nil {
		return
	}
	select {
	case m.inbox <- inboxMessage{from, c}:
	default:
	}
}

func (m *Manager) takeControl(from bind.Key, c control) {
	p := (*m.byKey.Load())[from]
	if p == nil {
		return
	}
	switch {
	case c.echo != nil:
		m.mu.Lock()
		m.control(p, encodeEcho(controlReply, *c.echo))
		m.mu.Unlock()
	case c.reply != nil:
		m.mu.Lock()
		if ch := m.echoes[*c.reply]; ch != nil {
			close(ch)
			delete(m.echoes, *c.reply)
		}
		m.mu.Unlock()
	case c.signal != nil:
		m.mu.Lock()
		admitted := c.signal.Kind != wire.SignalOffer || p.offers.admit(m.now())
		m.mu.Unlock()
		if !admitted {
			return
		}
		_ = m.Signal(p.name, c.signal.Kind, c.signal.Epoch, c.signal.Data)
	case c.report != nil:
		m.mu.Lock()
		defer m.mu.Unlock()
		now := m.now()
		if p.choice.reported(*c.report, now) {
			var e effects
			p.choice.leave(now, "the peer no longer receives packets by the direct path", &e)
			m.apply(p, e, now)
			return
		}
		if p.choice.trial.IsValid() {
			m.wake()
		}
	}
}

// echoIgnored is the id of an echo whose reply matters only as an authenticated packet.
const echoIgnored = 0

// echoesMost bounds the pings that wait for their answer.
const echoesMost = 256

const (
	echoAgain  = time.Second           // repeat an echo without a reply after this time
	echoUnsent = 20 * time.Millisecond // the same for an echo that could not be sent
)

// Ping measures the round trip to a peer inside the session. It connects a sleeping peer.
func (m *Manager) Ping(ctx context.Context, name string) (time.Duration, string, error) {
	m.mu.Lock()
	p := m.peers[name]
	if p == nil {
		m.mu.Unlock()
		return 0, "", fmt.Errorf("the peer %q is unknown. Check the name with: seganet-overlay status", name)
	}
	if len(m.echoes) >= echoesMost {
		m.mu.Unlock()
		return 0, "", errors.New("too many pings wait for their answers; try again in a second")
	}
	m.mu.Unlock()
	m.Sent(p.key)
	for !m.conf.Tunnel.Established(p.key) {
		select {
		case <-ctx.Done():
			return 0, "", fmt.Errorf("no session with %s: %s", name, m.Why(name))
		case <-time.After(5 * time.Millisecond):
		}
	}
	var raw [8]byte
	_, _ = rand.Read(raw[:])
	id, answered := binary.BigEndian.Uint64(raw[:]), make(chan struct{})
	m.mu.Lock()
	m.echoes[id] = answered
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		delete(m.echoes, id)
		m.mu.Unlock()
	}()
	m.Sent(p.key)
	var sent time.Time
	for waiting := true; waiting; {
		wait := echoAgain
		sent = time.Now()
		if !m.conf.Tunnel.SendControl(p.key, m.conf.Self, encodeEcho(controlEcho, id)) {
			wait = echoUnsent // the side that answers a handshake may send only after the first packet of the other
			m.conf.Tunnel.Keepalive(p.key)
		}
		select {
		case <-answered:
			waiting = false
		case <-time.After(wait):
		case <-ctx.Done():
			return 0, "", fmt.Errorf("%s does not answer", name)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	p.rtt = time.Since(sent)
	return p.rtt, p.choice.name(), nil
}

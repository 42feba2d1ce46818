package paths

import (
	"net/netip"
	"time"

	"seganet.internal/overlay/internal/bind"
)

const (
	// CheckEvery is the longest time that each side lets pass without sending by the direct path while data flows.
	CheckEvery = 500 * time.Millisecond
	// LostAfter: while data flows, a direct path that is silent for this long is abandoned.
	LostAfter = 1500 * time.Millisecond
	// KeepEvery and KeepEveryMetered hold an idle direct path open in the NATs.
	KeepEvery        = 15 * time.Second
	KeepEveryMetered = 25 * time.Second
	// IdleLost is the number of consecutive keepalives that an idle direct path may miss.
	IdleLost = 3
	// ActiveFor is how long after its last data packet a peer counts as active.
	ActiveFor = 5 * time.Second
	// RecheckFor: after this node sends data to a peer that stays silent, it keeps checking the relay allocation and the
	// connection to the node services frequently for this long.
	RecheckFor = time.Minute
	// DropAfter is the time without data after which session, path and round of a peer are dropped.
	DropAfter = 10 * time.Minute
	// DropAfterMetered is the same for a pair of which one side is metered. A connection that is wakened each minute, such
	// as that of MQTT, stays: to begin again each time would take more bytes than to hold it.
	DropAfterMetered = 3 * time.Minute
	// Grace is the time that an old direct path has to prove itself after a change of address. During it each packet is
	// sent by the relay as well. Otherwise all data would be lost until a dead path is detected.
	Grace = time.Second
	// graceLeast is the shortest grace: the peer needs time for its own probes.
	graceLeast = 200 * time.Millisecond
	// askEvery is the time between two echo requests to the peer during the grace.
	askEvery = 200 * time.Millisecond
	// trialEvery is how often an address under test gets a probe, trialFor how long; trialSlow and trialSlowFor are the
	// same for a direct path that fell silent and may come back.
	trialEvery   = 50 * time.Millisecond
	trialFor     = 2 * time.Second
	trialSlow    = time.Second
	trialSlowFor = time.Minute
	// reportEvery is the time between two reports to the peer that its packets arrive directly.
	reportEvery = 100 * time.Millisecond
	// reportFresh is how recent a direct packet must be for such a report.
	reportFresh = time.Second
	// reportAfter is how long this side keeps sending reports after it has switched to the direct path.
	reportAfter = time.Second
	// relayLate: a peer whose last packet by the relay is more recent than this may not have switched to the direct
	// path, so the reports continue.
	relayLate = 500 * time.Millisecond
	// relaySilent is the silence on the relayed path after which this side sends another handshake, and starts another
	// round unless the peer has answered the running one.
	relaySilent = 3 * time.Second
	// repairAgain is how long a handshake has to revive a silent session. WireGuard sends at most one each 5 s.
	repairAgain = 6 * time.Second
	// blockedFirst is how long status waits for a peer's first packet before it reports that none passes.
	blockedFirst = 5 * time.Second
	// relayDead is the silence after which a relayed path counts as dead. With WireGuard, a peer that receives data
	// answers within 10 s.
	relayDead = 15 * time.Second
)

// choice decides which path a peer's data takes. It has no clock, socket or lock of its own: all times are bind.Now's
// nanoseconds and 0 is never.
//
// A direct address carries data once both are true: authenticated packets from the peer arrive without the relay, and
// the peer reports the same for this side's packets. Both sides abandon it as soon as one of them receives nothing.
type choice struct {
	relay  netip.AddrPort // the peer's address at its relay
	direct netip.AddrPort
	trial  netip.AddrPort

	directSince  int64
	trialSince   int64
	trialSent    int64
	slow         bool  // the trial is a path that fell silent
	graceEnds    int64 // a packet must arrive by the direct path until then
	graceSince   int64
	asked        int64 // when this side last sent an echo request during the grace
	reportedAt   int64 // when this side last reported a direct packet to the peer
	reportUntil  int64 // the peer is searching for a path: report every direct packet until this time
	peerReceived int64 // arrival of the latest direct packet at the peer, as the peer reported it
	activeSince  int64
	lostEver     bool
	unproven     bool // a trial of ICE passed its time without proof
}

// effects lists what the owner of a choice must do.
type effects struct {
	changed   bool    // the path has changed: set it
	why       string  // in words, if changed
	probe     bool    // a keepalive to the trial address
	ask       bool    // an echo by the path: an idle peer would send nothing
	keepalive bool    // a keepalive by the path
	report    *report // a control message by the path
	search    bool    // a round of ICE now: a direct path was lost
	promoted  bool
	silent    bool // nothing arrives by the relay
}

func (c *choice) path() bind.Path {
	if c.distrusted() {
		return bind.Path{Direct: c.direct, Relay: c.relay, Trial: c.direct, Both: true}
	}
	return bind.Path{Direct: c.direct, Relay: c.relay, Trial: c.trial}
}

// distrusted is true while the direct path must prove itself (see Grace).
func (c *choice) distrusted() bool { return c.graceEnds != 0 && c.direct.IsValid() }

// tryDirect puts an address under test: one that ICE selected, or the source of an authenticated packet.
func (c *choice) tryDirect(a netip.AddrPort, now int64) {
	c.trial, c.trialSince, c.trialSent, c.slow = a, now, 0, false
}

// moved handles an authenticated packet from an address that is not the path's. The peer now sends from there, so the
// path follows, as in WireGuard's roaming. Without a direct path, the address is put under test.
func (c *choice) moved(s bind.Source, now int64) (changed bool, why string) {
	switch {
	case s.Relay:
		if c.relay == s.Addr {
			return false, ""
		}
		if c.relay.IsValid() {
			c.distrust(now) // the peer's network has changed, or its relay has ended
		}
		c.relay = s.Addr
		return true, "the peer has another relay address"
	case c.direct.IsValid() && c.direct != s.Addr:
		c.direct = s.Addr
		return true, "the peer's address changed"
	case !c.direct.IsValid() && c.trial != s.Addr:
		c.tryDirect(s.Addr, now)
		return true, "a packet of the peer came directly"
	}
	return false, ""
}

// distrust starts the grace of the direct path: after a change, the path must prove itself again. The caller must then
// call setPath.
func (c *choice) distrust(now int64) {
	if c.direct.IsValid() {
		c.graceSince, c.graceEnds, c.trialSent, c.asked = now, now+int64(Grace), 0, 0
	}
}

// reported processes the peer's report. It returns true if the direct path is lost.
func (c *choice) reported(r report, now int64) bool {
	if r.direct {
		c.peerReceived = now - int64(r.age)
		return false
	}
	return c.direct.IsValid() && now-c.directSince > int64(CheckEvery)
}

// leave abandons the direct path. Its address stays under test for trialSlowFor.
func (c *choice) leave(now int64, why string, e *effects) {
	c.trial, c.trialSince, c.trialSent, c.slow = c.direct, now, 0, true
	c.direct = netip.AddrPort{}
	c.graceEnds = 0
	c.lostEver = true
	e.changed, e.why, e.search = true, why, true
}

// step updates the choice from the traffic and returns what to do. lastData is when the last data packet passed in
// either direction.
func (c *choice) step(now int64, t bind.Traffic, lastData int64, keep time.Duration) (e effects) {
	active := lastData != 0 && now-lastData < int64(ActiveFor)
	if !active {
		c.activeSince = 0
	} else if c.activeSince == 0 {
		c.activeSince = now
	}
	if c.direct.IsValid() {
		c.stepDirect(now, t, active, keep, &e)
	}
	if !c.direct.IsValid() {
		c.stepTrial(now, t, &e)
		if active && c.relay.IsValid() && t.SentRelay > t.HeardRelay {
			quiet := now - max(t.HeardRelay, c.activeSince)
			e.silent = quiet > int64(relaySilent)
		}
		if active && now-max(t.SentRelay, t.SentDirect) >= int64(CheckEvery) {
			e.keepalive = true
		}
	}
	c.stepReport(now, t, &e)
	return e
}

func (c *choice) stepDirect(now int64, t bind.Traffic, active bool, keep time.Duration, e *effects) {
	if c.distrusted() {
		switch {
		case t.HeardDirect > c.graceSince && now-c.graceSince >= int64(graceLeast):
			c.graceEnds = 0
			e.changed, e.why = true, "the direct path survived a change of address"
		case now >= c.graceEnds:
			c.leave(now, "the direct path did not survive a change of address", e)
			no := report{}
			e.report = &no
			return
		case now-c.trialSent >= int64(trialEvery):
			c.trialSent = now
			e.probe = true // by the direct path only: of two copies, the peer's WireGuard reports the first
			if now-c.asked >= int64(askEvery) {
				c.asked, e.ask = now, true
			}
			return
		default:
			return
		}
	}
	limit, every, since := int64(IdleLost)*int64(keep)+int64(LostAfter), keep, c.directSince
	if active {
		limit, every, since = int64(LostAfter), CheckEvery, max(c.directSince, c.activeSince)
	}
	if now-max(t.HeardDirect, since) > limit {
		c.leave(now, "the direct path fell silent", e)
		no := report{}
		e.report = &no
		return
	}
	e.keepalive = now-t.SentDirect >= int64(every)
}

func (c *choice) stepTrial(now int64, t bind.Traffic, e *effects) {
	if !c.trial.IsValid() {
		return
	}
	if t.HeardDirect > c.trialSince && c.peerReceived > c.trialSince {
		c.direct, c.trial = c.trial, netip.AddrPort{}
		c.directSince, c.unproven, c.slow, c.graceEnds = now, false, false, 0
		e.changed, e.promoted, e.why = true, true, "authenticated data passes directly"
		return
	}
	every, life := trialEvery, trialFor
	if c.slow {
		every, life = trialSlow, trialSlowFor
	}
	if t.HeardDirect > c.trialSince && now-t.HeardDirect < int64(reportFresh) {
		every = trialEvery // half of the proof is there
	}
	if now-c.trialSince > int64(life) {
		c.unproven = !c.slow
		c.trial = netip.AddrPort{}
		e.changed, e.why = true, "no data passes by the direct address"
		return
	}
	if now-c.trialSent >= int64(every) {
		c.trialSent = now
		e.probe = true
	}
}

func (c *choice) stepReport(now int64, t bind.Traffic, e *effects) {
	if e.report != nil || t.HeardDirect == 0 || now-t.HeardDirect > int64(reportFresh) || now-c.reportedAt < int64(reportEvery) {
		return
	}
	fresh := t.HeardDirect > c.reportedAt
	late := t.HeardRelay != 0 && now-t.HeardRelay < int64(relayLate)
	if c.direct.IsValid() && now-c.directSince > int64(reportAfter) && now > c.reportUntil && !late || !fresh {
		return
	}
	c.reportedAt = now
	e.report = &report{direct: true, age: time.Duration(now - t.HeardDirect)}
}

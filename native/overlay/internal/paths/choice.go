package paths

import (
	"net/netip"
	"time"

	"seganet.internal/overlay/internal/bind"
)

const (
	// CheckEvery is how often each side sends something by the direct path while data flows.
	CheckEvery = 500 * time.Millisecond
	// LostAfter is the silence after which a direct path is left while data flows.
	LostAfter = 1500 * time.Millisecond
	// KeepEvery and KeepEveryMetered hold an idle direct path open in the NATs.
	KeepEvery        = 15 * time.Second
	KeepEveryMetered = 25 * time.Second
	// IdleLost is the number of keepalives of an idle direct path that may be missing.
	IdleLost = 3
	// ActiveFor is how long after its last data packet a peer counts as active.
	ActiveFor = 5 * time.Second
	// DoubtFor is how long after the last data packet to it a peer of which nothing came since is still checked often: the
	// allocation at the relay, and the connection to the node services.
	DoubtFor = time.Minute
	// DropAfter is the time without data after which session, path and round of a peer are dropped.
	DropAfter = 10 * time.Minute
	// Grace is what an old direct path gets to prove itself after a change of address. Meanwhile the relay carries a copy
	// of each packet, so a path that did not survive costs no silence (trap 8).
	Grace = time.Second
	// graceLeast is how long the grace lasts at least: the peer must have time for its own probes.
	graceLeast = 200 * time.Millisecond
	// askEvery is how often the peer is asked for a sign during the grace.
	askEvery = 200 * time.Millisecond
	// trialEvery is how often an address under test gets a probe, trialFor how long; trialSlow and trialSlowFor are the
	// same for a direct path that fell silent and may come back.
	trialEvery   = 50 * time.Millisecond
	trialFor     = 2 * time.Second
	trialSlow    = time.Second
	trialSlowFor = time.Minute
	// hearEvery is the time between two messages to a peer whose packets arrive directly, until it acts on them.
	hearEvery = 100 * time.Millisecond
	// hearFresh is how recent a direct packet must be.
	hearFresh = time.Second
	// hearAfter is how long after the step to the direct path the peer is still told.
	hearAfter = time.Second
	// relayLate is how long packets may arrive by the relay after the peer took the direct path.
	relayLate = 500 * time.Millisecond
	// relaySilent is the silence by the relay after which the peer is asked again by the node service.
	relaySilent = 3 * time.Second
	// mendAgain is how long a handshake may take to help a silent session. WireGuard leaves 5 s between two of them.
	mendAgain = 6 * time.Second
	// blockedFirst is how long the first packet of a peer may take until status says that none passes.
	blockedFirst = 5 * time.Second
	// relayDead is the silence by the relay after which its path counts as dead. WireGuard lets a peer that receives data
	// answer after 10 s at the latest.
	relayDead = 15 * time.Second
)

// choice decides which path a peer's data takes. It has no clock, socket or lock of its own: all times are bind.Now's
// nanoseconds and 0 is never.
//
// A direct address is used for data once both are true: authenticated packets of the peer arrive from outside the relay,
// and the peer says the same of this side's packets. It is left as soon as one side hears nothing.
type choice struct {
	relay  netip.AddrPort // the peer's address at its relay
	direct netip.AddrPort
	trial  netip.AddrPort

	directSince int64
	trialSince  int64
	trialSent   int64
	slow        bool  // the trial is a path that fell silent
	graceEnds   int64 // the direct path must be heard until then
	graceSince  int64
	asked       int64 // when the peer was last asked for a sign during the grace
	heardSaid   int64 // when this side last reported a direct packet to the peer
	tellUntil   int64 // the peer is searching for a path: report every direct packet until this time
	peerHears   int64 // arrival of the latest direct packet at the peer, as the peer reported it
	activeSince int64
	lostEver    bool
	unproven    bool // a trial of ICE passed its time without proof
}

// effects is what the owner of a choice has to do.
type effects struct {
	changed   bool   // the path has changed: set it
	why       string // in words, if changed
	probe     bool   // a keepalive to the trial address
	ask       bool   // an echo by the path: an idle peer would send nothing
	keepalive bool   // a keepalive by the path
	tell      *hear  // a control message by the path
	search    bool   // a round of ICE now: a direct path was lost
	promoted  bool
	silent    bool // nothing is heard by the relay
}

func (c *choice) path() bind.Path {
	if c.shaken() {
		return bind.Path{Direct: c.direct, Relay: c.relay, Trial: c.direct, Both: true}
	}
	return bind.Path{Direct: c.direct, Relay: c.relay, Trial: c.trial}
}

// shaken is true while the direct path has to prove itself.
func (c *choice) shaken() bool { return c.graceEnds != 0 && c.direct.IsValid() }

// tryDirect puts an address under test: a pair of ICE, or where an authenticated packet of the peer came from.
func (c *choice) tryDirect(a netip.AddrPort, now int64) {
	c.trial, c.trialSince, c.trialSent, c.slow = a, now, 0, false
}

// moved notes that an authenticated packet came from an address that is not the path's. The peer sends from there now, so
// the path follows, as WireGuard's roaming does; a path under test begins there.
func (c *choice) moved(s bind.Source, now int64) (changed bool, why string) {
	switch {
	case s.Relay:
		if c.relay == s.Addr {
			return false, ""
		}
		if c.relay.IsValid() {
			c.shake(now) // the peer's network has changed, or its relay has ended
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

// shake starts the grace of the direct path: something changed, the path must prove itself again. Its caller sets the
// path.
func (c *choice) shake(now int64) {
	if c.direct.IsValid() {
		c.graceSince, c.graceEnds, c.trialSent, c.asked = now, now+int64(Grace), 0, 0
	}
}

// hears takes the peer's word. It returns true if the direct path is lost.
func (c *choice) hears(h hear, now int64) bool {
	if h.direct {
		c.peerHears = now - int64(h.age)
		return false
	}
	return c.direct.IsValid() && now-c.directSince > int64(CheckEvery)
}

// leave gives the direct path up; its address stays under test for a while.
func (c *choice) leave(now int64, why string, e *effects) {
	c.trial, c.trialSince, c.trialSent, c.slow = c.direct, now, 0, true
	c.direct = netip.AddrPort{}
	c.graceEnds = 0
	c.lostEver = true
	e.changed, e.why, e.search = true, why, true
}

// step looks at the traffic and decides. lastData is when the last data packet passed in either direction.
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
	c.stepTell(now, t, &e)
	return e
}

func (c *choice) stepDirect(now int64, t bind.Traffic, active bool, keep time.Duration, e *effects) {
	if c.shaken() {
		switch {
		case t.HeardDirect > c.graceSince && now-c.graceSince >= int64(graceLeast):
			c.graceEnds = 0
			e.changed, e.why = true, "the direct path survived a change of address"
		case now >= c.graceEnds:
			c.leave(now, "the direct path did not survive a change of address", e)
			no := hear{}
			e.tell = &no
			return
		case now-c.trialSent >= int64(trialEvery):
			c.trialSent = now
			e.probe = true // by the direct path alone, as the peer's WireGuard reports the first copy only
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
		no := hear{}
		e.tell = &no
		return
	}
	e.keepalive = now-t.SentDirect >= int64(every)
}

func (c *choice) stepTrial(now int64, t bind.Traffic, e *effects) {
	if !c.trial.IsValid() {
		return
	}
	if t.HeardDirect > c.trialSince && c.peerHears > c.trialSince {
		c.direct, c.trial = c.trial, netip.AddrPort{}
		c.directSince, c.unproven, c.slow, c.graceEnds = now, false, false, 0
		e.changed, e.promoted, e.why = true, true, "authenticated data passes directly"
		return
	}
	every, life := trialEvery, trialFor
	if c.slow {
		every, life = trialSlow, trialSlowFor
	}
	if t.HeardDirect > c.trialSince && now-t.HeardDirect < int64(hearFresh) {
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

func (c *choice) stepTell(now int64, t bind.Traffic, e *effects) {
	if e.tell != nil || t.HeardDirect == 0 || now-t.HeardDirect > int64(hearFresh) || now-c.heardSaid < int64(hearEvery) {
		return
	}
	fresh := t.HeardDirect > c.heardSaid
	late := t.HeardRelay != 0 && now-t.HeardRelay < int64(relayLate)
	if c.direct.IsValid() && now-c.directSince > int64(hearAfter) && now > c.tellUntil && !late || !fresh {
		return
	}
	c.heardSaid = now
	e.tell = &hear{direct: true, age: time.Duration(now - t.HeardDirect)}
}

package bind

import (
	"slices"
	"sync"
	"time"

	"github.com/tailscale/wireguard-go/device"
)

const (
	// handshakeLife is how long an unanswered handshake is sent again: WireGuard makes another one after 5 s.
	handshakeLife = 5 * time.Second
	// holdBack is how long the side that does not begin waits for the other side's handshake before it sends its own,
	// counted from when there is a way to send it. If both send at once, each drops its own handshake when the other one
	// arrives, and both wait 5 s.
	holdBack = 400 * time.Millisecond
	// responseRecent is how long a response of this side stops its own initiations.
	responseRecent = time.Second
	// initiationRecent is how long a received initiation holds this side's own one back, and names where a response goes.
	initiationRecent = time.Second
	// sourcesMost is the number of addresses of recent initiations that are remembered.
	sourcesMost = 4
)

// copiesAfter lists when an unanswered handshake is repeated. The first one is often lost, because the relay's
// permission or the hole in the other side's NAT comes a moment later. Copies are harmless: the timestamp inside makes
// the receiver drop them once one has arrived.
var copiesAfter = []time.Duration{100 * time.Millisecond, 300 * time.Millisecond, 800 * time.Millisecond, 1600 * time.Millisecond}

type handshake struct {
	mu         sync.Mutex
	begins     bool
	message    []byte // the last one, until it is too old or answered
	made       int64  // Bind.Now of message
	generation int
	held       bool         // waits for holdBack
	stuck      bool         // waits for a way, and then for holdBack
	responded  int64        // Bind.Now of this side's last response
	seen       []initiation // the latest ones of different addresses, the newest last
	to         []Source     // where a response goes besides the path
}

// initiation is a received initiation. The key of its sender is not proven, so it may only delay this side's own
// initiation by holdBack.
type initiation struct {
	at   int64
	from Source
}

// recent returns the sources of the initiations that were seen within initiationRecent. The caller holds h.mu.
func (h *handshake) recent(now int64) (out []Source) {
	for _, i := range h.seen {
		if now-i.at < int64(initiationRecent) {
			out = append(out, i.from)
		}
	}
	return out
}

func isHandshake(p []byte) bool {
	return len(p) == device.MessageInitiationSize && p[0] == device.MessageInitiationType ||
		len(p) == device.MessageResponseSize && p[0] == device.MessageResponseType
}

func (e *Endpoint) sendHandshake(packet []byte) error {
	now := e.bind.Now()
	h := &e.handshake
	h.mu.Lock()
	initiation := packet[0] == device.MessageInitiationType
	if initiation && h.responded != 0 && now-h.responded < int64(responseRecent) {
		h.mu.Unlock() // the other side has begun, and WireGuard has authenticated it; the copies of the answer go on
		return nil
	}
	h.generation++
	h.message, h.made, h.to = slices.Clone(packet), now, nil
	if !initiation {
		// It is unknown which of the initiations WireGuard has authenticated. Later ones must not get the copies.
		h.responded, h.to, h.seen = now, h.recent(now), nil
	}
	generation := h.generation
	h.held = initiation && (!h.begins || len(h.recent(now)) > 0)
	h.stuck = h.held && !e.hasWay()
	held, stuck := h.held, h.stuck
	h.mu.Unlock()
	if held {
		if !stuck {
			time.AfterFunc(holdBack, func() { e.releaseHandshake(generation) })
		}
		return nil
	}
	e.transmitHandshake(generation)
	e.scheduleCopies(generation)
	return nil
}

func (e *Endpoint) releaseHandshake(generation int) {
	h := &e.handshake
	h.mu.Lock()
	if h.generation != generation || h.message == nil || !h.held {
		h.mu.Unlock()
		return
	}
	h.held, h.stuck = false, false
	h.mu.Unlock()
	e.transmitHandshake(generation)
	e.scheduleCopies(generation)
}

func (e *Endpoint) scheduleCopies(generation int) {
	for _, after := range copiesAfter {
		time.AfterFunc(after, func() { e.transmitHandshake(generation) })
	}
}

// transmitHandshake sends the message by the path and by the address under test, if it is still the latest, unanswered
// and young. A response also goes to the source of the initiation, because WireGuard responds only to an initiation
// that it has authenticated. This reaches a side that has lost the path, or has new addresses, while the services are
// down. An initiation without a path stays for resendHandshake.
func (e *Endpoint) transmitHandshake(generation int) {
	h := &e.handshake
	h.mu.Lock()
	message, made, to := h.message, h.made, h.to
	current := h.generation == generation && !h.held
	h.mu.Unlock()
	if !current || message == nil || e.bind.Now()-made > int64(handshakeLife) {
		return
	}
	if max(e.heardDirect.Load(), e.heardRelay.Load()) > made {
		return // the session lives
	}
	r := e.path.Load()
	for _, source := range to {
		if source.Addr.IsValid() && !r.leadsTo(source) && (source.Relay || !e.bind.relayOnly.Load()) {
			_ = e.bind.sendTo([][]byte{message}, 0, source)
		}
	}
	if r == nil {
		return
	}
	_ = e.sendByPath([][]byte{message}, 0)
	if r.Trial.IsValid() && (r.Direct.IsValid() || r.Relay.IsValid()) {
		_ = e.bind.sendDirect([][]byte{message}, 0, r.Trial)
	}
}

// hasWay is true if a handshake can leave.
func (e *Endpoint) hasWay() bool {
	r := e.path.Load()
	return r != nil && (r.Direct.IsValid() || r.Trial.IsValid() || r.Relay.IsValid() && e.bind.relay.Load() != nil)
}

// resendHandshake sends an unanswered handshake again after the path or the relay has changed, and its copies: the first
// ones may have had no way, and the other side may permit the new way a moment later.
func (e *Endpoint) resendHandshake() {
	h := &e.handshake
	h.mu.Lock()
	generation, waiting, freed := h.generation, h.message != nil && !h.held, h.stuck && e.hasWay()
	if freed {
		h.stuck = false
	}
	h.mu.Unlock()
	switch {
	case freed:
		time.AfterFunc(holdBack, func() { e.releaseHandshake(generation) })
	case waiting:
		e.transmitHandshake(generation)
		e.scheduleCopies(generation)
	}
}

// initiationSeen records that the other side may have begun: this side's own handshake then waits for holdBack. If
// WireGuard authenticates the initiation, its response replaces the own handshake.
func (e *Endpoint) initiationSeen(at int64, from Source) {
	h := &e.handshake
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seen = slices.DeleteFunc(h.seen, func(i initiation) bool { return i.from == from })
	if len(h.seen) == sourcesMost {
		h.seen = slices.Delete(h.seen, 0, 1)
	}
	h.seen = append(h.seen, initiation{at, from})
}

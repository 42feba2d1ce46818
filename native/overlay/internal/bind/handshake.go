package bind

import (
	"slices"
	"sync"
	"time"

	"github.com/tailscale/wireguard-go/device"
)

const (
	// handshakeLife is how long an unanswered handshake is worth sending: WireGuard makes another one after 5 s.
	handshakeLife = 5 * time.Second
	// holdBack is how long the side that does not begin waits for the other side's handshake before it sends its own.
	// If both send at once, each forgets its own handshake over the other's, and both wait 5 s.
	holdBack = 400 * time.Millisecond
	// initiationRecent is how long a received handshake stops this side's own one.
	initiationRecent = time.Second
)

// copiesAfter says when an unanswered handshake is repeated. The first one is often lost: the relay's permission or the
// hole in the other side's NAT comes a moment later. Copies are harmless: the timestamp inside makes the receiver drop
// them once one has arrived.
var copiesAfter = []time.Duration{100 * time.Millisecond, 300 * time.Millisecond, 800 * time.Millisecond, 1600 * time.Millisecond}

type handshake struct {
	mu         sync.Mutex
	begins     bool
	message    []byte // the last one, until it is too old or answered
	made       int64  // Bind.Now of message
	generation int
	held       bool // waits for holdBack or for a first path
	seen       int64
	from       Source // of the initiation that was seen; its key is not proven
	to         Source // where a response goes besides the path; zero: nowhere
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
	if initiation && h.seen != 0 && now-h.seen < int64(initiationRecent) {
		h.mu.Unlock() // the other side has begun; the copies of the answer to it go on
		return nil
	}
	h.generation++
	h.message, h.made, h.to = slices.Clone(packet), now, Source{}
	if !initiation && now-h.seen < int64(initiationRecent) {
		h.to = h.from // fixed: an unproven initiation that comes later from elsewhere must not get the copies
	}
	generation := h.generation
	h.held = initiation && !h.begins
	held := h.held
	h.mu.Unlock()
	if held {
		time.AfterFunc(holdBack, func() { e.releaseHandshake(generation) })
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
	h.held = false
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
// and young. A response goes where the initiation came from, too, as WireGuard makes it only for an initiation that it
// has authenticated: this is how a side that has lost the path, or has other addresses than before, is reached while the
// services are down. An initiation without a path stays for resendHandshake.
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
	if to.Addr.IsValid() && !r.leadsTo(to) && (to.Relay || !e.bind.relayOnly.Load()) {
		_ = e.bind.sendTo([][]byte{message}, 0, to)
	}
	if r == nil {
		return
	}
	_ = e.sendByPath([][]byte{message}, 0)
	if r.trial != nil && (r.direct != nil || r.Relay.IsValid()) {
		_ = e.bind.sendDirect([][]byte{message}, 0, r.trial)
	}
}

func (e *Endpoint) resendHandshake() {
	h := &e.handshake
	h.mu.Lock()
	generation, waiting := h.generation, h.message != nil && !h.held
	h.mu.Unlock()
	if waiting {
		e.transmitHandshake(generation)
	}
}

// initiationSeen notes that the other side has begun: an own handshake that still waits is dropped.
func (e *Endpoint) initiationSeen(at int64, from Source) {
	h := &e.handshake
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seen, h.from = at, from
	if h.held {
		h.held, h.message = false, nil
	}
}

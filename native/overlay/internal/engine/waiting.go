package engine

import (
	"net/netip"
	"time"

	"github.com/tailscale/wireguard-go/device"
)

const (
	// stagedQueue is the number of batches of packets that wait for a peer's session. Further ones replace the oldest.
	stagedQueue = 8
	// waitingFirst is the number of a peer's first packets that may wait for its session, regardless of their batches.
	// After that, one packet of each batch may.
	waitingFirst = 16
	// readers are the receivers of IPv4, IPv6 and the relay and the reader of the TUN. Each holds a batch of buffers.
	readers = 4
	// waitingLife is the time after a peer's last packet in which WireGuard gives up its handshakes and frees the packets:
	// 20 attempts, one each 5 s and a third.
	waitingLife = 110 * time.Second
)

// waiting bounds the buffers of packets that wait for a session. WireGuard takes them from the pool that everything else
// needs. Without a bound, packets for unreachable peers stop the whole device, also the messages and handshakes that would
// make those peers reachable.
//
// Thread safety: owned by the reader of the TUN.
type waiting struct {
	most  int // peers
	peers map[Key]*queued
	batch int        // number of the present batch
	open  netip.Addr // the destination of the packet before in this batch, if there is a session
}

// queued are the packets of a peer without a session.
type queued struct {
	count int // up to waitingFirst
	batch int // of the last one
	last  time.Time
}

// newWaiting limits the waiting packets to half of the buffers that the readers do not hold.
func newWaiting(buffers, batch int) *waiting {
	const each = waitingFirst + stagedQueue - 1 // the first packets in one batch, and batches of one
	return &waiting{most: max(1, (buffers-readers*batch)/2/each), peers: map[Key]*queued{}}
}

// begin begins a batch of packets.
func (w *waiting) begin() {
	w.batch++
	w.open = netip.Addr{}
}

// admit is true if one more packet may wait for the peer's session.
func (w *waiting) admit(key Key, now time.Time) bool {
	q := w.peers[key]
	switch {
	case q == nil:
		if len(w.peers) >= w.most {
			w.forget(now)
		}
		if len(w.peers) >= w.most {
			return false
		}
		q = &queued{}
		w.peers[key] = q
	case q.count >= waitingFirst && q.batch == w.batch:
		return false
	}
	q.count, q.batch, q.last = min(q.count+1, waitingFirst), w.batch, now
	return true
}

// connected records that the peer has a session, so its packets no longer wait.
func (w *waiting) connected(key Key) { delete(w.peers, key) }

// forget forgets peers whose packets WireGuard has freed.
func (w *waiting) forget(now time.Time) {
	for key, q := range w.peers {
		if now.Sub(q.last) > waitingLife {
			delete(w.peers, key)
		}
	}
}

// mayLeave is false if an outbound packet must be dropped because too many wait for a session already.
func (g *gate) mayLeave(packet []byte) bool {
	to := destinationOf(packet)
	if to.IsValid() && to == g.waiting.open {
		return true
	}
	key, ok := g.engine.peers.byAddress(to)
	if !ok {
		return true // the device asks for the peer
	}
	if g.engine.Established(key) {
		g.waiting.open = to
		if len(g.waiting.peers) > 0 {
			g.waiting.connected(key)
		}
		return true
	}
	if g.waiting.admit(key, time.Now()) {
		return true
	}
	g.engine.Counters.Unconnected.Add(1)
	if f := g.engine.conf.Sent; f != nil {
		f(key)
	}
	g.engine.Begin(key) // the packet is dropped, but the session is still needed
	return false
}

// keepalive sends a keepalive, or begins a session without taking a buffer.
func (e *Engine) keepalive(key Key, p *device.Peer) {
	if e.Established(key) {
		p.SendKeepalive()
		return
	}
	_ = p.SendHandshakeInitiation(false)
}

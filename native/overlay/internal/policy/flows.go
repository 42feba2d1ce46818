package policy

import (
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"seganet.internal/overlay/internal/packet"
)

// A flow ends after this time without a packet (RFC 5382, RFC 4787, RFC 5508 for the lower bounds).
const (
	idleTCP     = 7440 * time.Second // established
	idleOpening = 4 * time.Minute    // TCP before the other side has answered, or after a FIN
	idleReset   = 10 * time.Second
	idleUDP     = 3 * time.Minute
	idleICMP    = time.Minute
	idleRefused = 5 * time.Minute // a flow that a new policy refuses; its packets must not begin a new one
)

// sweepEvery is the least time between two searches for ended flows in a full table.
const sweepEvery = time.Second

const shards = 64

// flowKey names a flow from this node's side. ICMP echo has its identifier in localPort if this node asked, in remotePort if the peer did.
type flowKey struct {
	local, remote         netip.Addr
	localPort, remotePort uint16
	protocol              uint8
}

func (k *flowKey) shard() uint32 {
	a := k.remote.As16()
	h := uint32(k.localPort)<<16 | uint32(k.remotePort)
	h ^= uint32(a[15]) | uint32(a[14])<<8 | uint32(a[7])<<16
	return h * 0x9e3779b1 >> 26
}

// echo leaves the identifier of an ICMP echo on the side that asked: the peer, or this node.
func (k *flowKey) echo(peerAsked bool) {
	if peerAsked {
		k.localPort = 0
	} else {
		k.remotePort = 0
	}
}

// carried is true for the protocols whose flows are tracked. ICMP errors belong to the flows that they are about.
func carried(info *packet.Info) bool {
	return info.Protocol == packet.TCP || info.Protocol == packet.UDP || info.Echo()
}

type flow struct {
	seen    time.Duration // since the tracker's start
	idle    time.Duration
	rules   *rules // that allowed it; nil for what this node began
	refused bool
	fin     uint8 // 1: from the peer, 2: from this node
	origin
}

// origin is what began a flow: a peer, or a device behind this node. Empty: this node.
type origin struct {
	peer   *source
	device *device
}

type shard struct {
	mu    sync.Mutex
	flows map[flowKey]*flow
}

// flowTable is a bounded table of flows.
type flowTable struct {
	shards  [shards]shard
	all     atomic.Int64
	others  atomic.Int64 // begun by peers and devices
	inbound atomic.Int64 // begun by peers
	swept   atomic.Int64 // time of the last sweep
}

func (t *flowTable) init() {
	for i := range t.shards {
		t.shards[i].flows = map[flowKey]*flow{}
	}
	t.swept.Store(int64(-sweepEvery))
}

// open locks the key's shard and returns it with the key's flow, or nil if there is no open one. The caller
// unlocks the shard.
func (t *flowTable) open(now time.Duration, key *flowKey, info *packet.Info) (*shard, *flow) {
	s := &t.shards[key.shard()]
	s.mu.Lock()
	f := s.flows[*key]
	if f != nil && f.over(now, info) {
		delete(s.flows, *key)
		t.release(f.origin)
		f = nil
	}
	return s, f
}

// reserve takes a place for a flow. It returns false if the table is full, or if the origin of the flow has used up its
// share.
func (t *flowTable) reserve(from origin) bool {
	if !take(&t.all, MaxFlows) {
		return false
	}
	switch {
	case from == (origin{}):
		return true
	case !take(&t.others, MaxFlowsOthers):
		t.all.Add(-1)
		return false
	case from.device != nil && take(&from.device.flows, MaxFlowsDevice):
		return true
	case from.peer != nil && take(&t.inbound, MaxFlowsInbound):
		if take(&from.peer.flows, MaxFlowsPeer) {
			return true
		}
		t.inbound.Add(-1)
	}
	t.others.Add(-1)
	t.all.Add(-1)
	return false
}

// take adds one to a counter that is below the limit.
func take(n *atomic.Int64, limit int64) bool {
	if n.Add(1) <= limit {
		return true
	}
	n.Add(-1)
	return false
}

func (t *flowTable) release(from origin) {
	t.all.Add(-1)
	if from != (origin{}) {
		t.others.Add(-1)
	}
	if from.device != nil {
		from.device.flows.Add(-1)
	}
	if from.peer != nil {
		t.inbound.Add(-1)
		from.peer.flows.Add(-1)
	}
}

// sweep removes ended flows, at most once in sweepEvery. The caller must hold no shard's lock.
func (t *flowTable) sweep(now time.Duration) bool {
	last := t.swept.Load()
	if now-time.Duration(last) < sweepEvery || !t.swept.CompareAndSwap(last, int64(now)) {
		return false
	}
	for i := range t.shards {
		s := &t.shards[i]
		s.mu.Lock()
		for k, f := range s.flows {
			if now-f.seen > f.idle {
				delete(s.flows, k)
				t.release(f.origin)
			}
		}
		s.mu.Unlock()
	}
	return true
}

// touch updates a flow's timers by a packet.
func (f *flow) touch(now time.Duration, info *packet.Info, outbound bool) {
	f.seen = now
	switch info.Protocol {
	case packet.TCP:
		side := uint8(1)
		if outbound {
			side = 2
		}
		switch {
		case info.TCPFlags&packet.RST != 0:
			f.idle = idleReset
		case info.TCPFlags&packet.FIN != 0:
			f.fin |= side
			f.idle = idleOpening
		case f.idle == idleOpening && f.fin == 0 && info.TCPFlags&packet.ACK != 0 && outbound == (f.peer != nil):
			f.idle = idleTCP // the other side has answered
		}
	case packet.UDP:
		f.idle = idleUDP
	default:
		f.idle = idleICMP
	}
}

// over is true if a TCP SYN may begin a new flow under the key of this one.
func (f *flow) over(now time.Duration, info *packet.Info) bool {
	if now-f.seen > f.idle {
		return true
	}
	return info.Protocol == packet.TCP && info.TCPFlags&(packet.SYN|packet.ACK) == packet.SYN && (f.idle == idleReset || f.fin == 3)
}

func newFlow(now time.Duration, from origin, r *rules, info *packet.Info, outbound bool) *flow {
	f := &flow{origin: from, rules: r}
	if info.Protocol == packet.TCP {
		f.idle = idleOpening
		if info.TCPFlags&packet.SYN == 0 {
			f.idle = idleTCP // it began before this process did
		}
	}
	f.touch(now, info, outbound)
	return f
}

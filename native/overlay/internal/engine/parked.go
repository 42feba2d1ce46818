package engine

import (
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// parkedFor is how long a packet to an address without a peer waits for the peer.
	parkedFor = time.Second
	// parkedEach is the number of packets that wait for one address; later ones are dropped.
	parkedEach = 8
	// parkedMost is the number of addresses that packets wait for.
	parkedMost = 64
	// parkedBytes bounds all packets that wait.
	parkedBytes = 256 << 10
)

// parked keeps the first packets to addresses whose peer is being looked up: without them, a TCP connection would begin with
// a pause of a second, after which the system sends its first packet again. They leave in their order once the peer is known,
// before later ones.
//
// Thread safety: all methods may be called concurrently.
type parked struct {
	count atomic.Int32 // addresses; readers of packets look at it without a lock

	mu    sync.Mutex
	lists map[netip.Addr]*parkedList
	ready []netip.Addr // whose peer is known
	bytes int
}

type parkedList struct {
	since   time.Time
	packets [][]byte
	ready   bool
}

func newParked() *parked { return &parked{lists: map[netip.Addr]*parkedList{}} }

// keep takes a packet to an address without a peer. It returns how many packets it has dropped.
func (p *parked) keep(to netip.Addr, packet []byte, now time.Time) (dropped int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.lists[to]
	if l != nil && now.Sub(l.since) > parkedFor {
		dropped += p.remove(to)
		l = nil
	}
	if l == nil {
		if len(p.lists) >= parkedMost {
			for other, old := range p.lists {
				if now.Sub(old.since) > parkedFor {
					dropped += p.remove(other)
				}
			}
		}
		if len(p.lists) >= parkedMost {
			return dropped + 1
		}
		l = &parkedList{since: now}
		p.lists[to] = l
		p.count.Add(1)
	}
	return dropped + p.add(l, packet)
}

// behind queues a packet to a known peer behind earlier packets that still wait, to keep their order. taken is false if
// none wait.
func (p *parked) behind(to netip.Addr, packet []byte) (taken bool, dropped int) {
	if p.count.Load() == 0 {
		return false, 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.lists[to]
	if l == nil {
		return false, 0
	}
	if !l.ready { // release has not marked it yet
		l.ready = true
		p.ready = append(p.ready, to)
	}
	return true, p.add(l, packet)
}

// add queues a copy of the packet, or returns 1 if there is no room. The caller holds p.mu.
func (p *parked) add(l *parkedList, packet []byte) (dropped int) {
	if len(l.packets) >= parkedEach || p.bytes+len(packet) > parkedBytes {
		return 1
	}
	l.packets = append(l.packets, append([]byte(nil), packet...))
	p.bytes += len(packet)
	return 0
}

// remove forgets the packets to an address and returns their number. The caller holds p.mu.
func (p *parked) remove(to netip.Addr) (dropped int) {
	l := p.lists[to]
	for _, packet := range l.packets {
		p.bytes -= len(packet)
	}
	delete(p.lists, to)
	p.count.Add(-1)
	return len(l.packets)
}

// release marks the packets to known addresses as ready. It returns false if no packet is ready.
func (p *parked) release(known func(netip.Addr) bool) (some bool) {
	if p.count.Load() == 0 {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for to, l := range p.lists {
		if !l.ready && known(to) {
			l.ready = true
			p.ready = append(p.ready, to)
		}
	}
	return len(p.ready) > 0
}

// take copies ready packets into the buffers. It drops those that have waited longer than parkedFor.
func (p *parked) take(bufs [][]byte, sizes []int, offset int, now time.Time) (n, dropped int) {
	if p.count.Load() == 0 {
		return 0, 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.ready) > 0 {
		to := p.ready[0]
		l := p.lists[to]
		late := now.Sub(l.since) > parkedFor
		for !late && len(l.packets) > 0 && n < len(bufs) {
			sizes[n] = copy(bufs[n][offset:], l.packets[0])
			p.bytes -= len(l.packets[0])
			l.packets = l.packets[1:]
			n++
		}
		if !late && len(l.packets) > 0 {
			return n, dropped // the rest goes next
		}
		dropped += p.remove(to)
		p.ready = p.ready[1:]
	}
	p.ready = nil
	return n, dropped
}

// parks queues a packet whose destination has no peer yet, and requests the peer. It returns false if the packet may be
// sent now.
func (g *gate) parks(packet []byte) bool {
	e, to := g.engine, destinationOf(packet)
	if to == g.waiting.open && to.IsValid() && e.parked.count.Load() == 0 {
		return false
	}
	if _, known := e.peers.byAddress(to); known {
		taken, dropped := e.parked.behind(to, packet)
		e.Counters.Unknown.Add(uint64(dropped))
		return taken
	}
	if !to.IsValid() || to.IsMulticast() || e.conf.Wanted == nil {
		return false
	}
	e.Counters.Unknown.Add(uint64(e.parked.keep(to, packet, time.Now())))
	e.want(to)
	if _, known := e.peers.byAddress(to); known && e.parked.release(func(a netip.Addr) bool { return a == to }) {
		interrupt(e.conf.TUN) // the peer was added in the meantime
	}
	return true
}

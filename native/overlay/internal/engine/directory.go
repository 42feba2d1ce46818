package engine

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"

	"seganet.internal/overlay/internal/bind"
)

// directory maps keys and virtual addresses to verified peers. Readers take a snapshot without a lock: they run once a
// packet.
type directory struct {
	mu   sync.Mutex
	snap atomic.Pointer[snapshot]
}

type snapshot struct {
	keys      map[Key]*known
	addresses map[netip.Addr]Key
	behind    []prefixOf // longest first
}

type known struct {
	peer     Peer
	allowed  []netip.Prefix
	endpoint *bind.Endpoint
	turn     *sync.Mutex // one sendBeside at a time
}

type prefixOf struct {
	prefix netip.Prefix
	key    Key
}

func (d *directory) init() {
	d.snap.Store(&snapshot{keys: map[Key]*known{}, addresses: map[netip.Addr]Key{}})
}

func prefixes(p Peer) []netip.Prefix {
	out := make([]netip.Prefix, 0, len(p.Addresses)+len(p.Behind))
	for _, a := range p.Addresses {
		out = append(out, netip.PrefixFrom(a, a.BitLen()))
	}
	return append(out, p.Behind...)
}

// set adds or replaces a peer; changed is false if it is the same as before.
func (d *directory) set(p Peer, ep *bind.Endpoint) (changed bool, err error) {
	allowed := prefixes(p)
	d.mu.Lock()
	defer d.mu.Unlock()
	old := d.snap.Load()
	turn := &sync.Mutex{}
	if k := old.keys[p.Key]; k != nil {
		if slices.Equal(k.allowed, allowed) && k.endpoint == ep {
			return false, nil
		}
		turn = k.turn
	}
	for _, a := range allowed {
		for key, other := range old.keys {
			if key == p.Key {
				continue
			}
			for _, b := range other.allowed {
				if a.Overlaps(b) {
					return false, fmt.Errorf("address %v %w", a, errOverlap)
				}
			}
		}
	}
	next := &snapshot{keys: maps.Clone(old.keys)}
	next.keys[p.Key] = &known{peer: p, allowed: allowed, endpoint: ep, turn: turn}
	next.index()
	d.snap.Store(next)
	return true, nil
}

func (d *directory) remove(key Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	next := &snapshot{keys: maps.Clone(d.snap.Load().keys)}
	delete(next.keys, key)
	next.index()
	d.snap.Store(next)
}

func (s *snapshot) index() {
	s.addresses = map[netip.Addr]Key{}
	for key, k := range s.keys {
		for _, p := range k.allowed {
			if p.IsSingleIP() {
				s.addresses[p.Addr()] = key
			} else {
				s.behind = append(s.behind, prefixOf{p, key})
			}
		}
	}
	slices.SortFunc(s.behind, func(a, b prefixOf) int { return b.prefix.Bits() - a.prefix.Bits() })
}

func (d *directory) byKey(key Key) *known { return d.snap.Load().keys[key] }

func (d *directory) byAddress(a netip.Addr) (Key, bool) {
	s := d.snap.Load()
	if key, ok := s.addresses[a]; ok {
		return key, true
	}
	for _, p := range s.behind {
		if p.prefix.Contains(a) {
			return p.key, true
		}
	}
	return Key{}, false
}

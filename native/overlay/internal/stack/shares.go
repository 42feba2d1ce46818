package stack

import (
	"net/netip"
	"sync"
)

// Owner returns the peer that an address of the overlay belongs to. A node has several addresses, and each device
// behind it has more.
type Owner func(a netip.Addr) [32]byte

// shares counts the places of each peer in a shared table, so that no peer takes the whole table.
type shares struct {
	each  int // most of one peer
	owner Owner

	mu    sync.Mutex
	taken map[[32]byte]int
}

// newShares gives each peer at most a quarter of a table. With a nil owner, each address counts as a peer.
func newShares(table int, owner Owner) *shares {
	if owner == nil {
		owner = func(a netip.Addr) (key [32]byte) {
			b := a.As16()
			copy(key[:], b[:])
			return key
		}
	}
	return &shares{each: table / 4, owner: owner, taken: map[[32]byte]int{}}
}

// take takes a place for the peer with this address until free is called.
func (s *shares) take(a netip.Addr) (free func(), ok bool) {
	peer := s.owner(a)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken[peer] >= s.each {
		return nil, false
	}
	s.taken[peer]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.taken[peer]--; s.taken[peer] == 0 {
			delete(s.taken, peer)
		}
	}, true
}

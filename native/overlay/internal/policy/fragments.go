package policy

import (
	"net/netip"
	"sync"
	"time"

	"seganet.internal/overlay/internal/packet"
)

// fragmentLife is the time in which all fragments of a datagram must have passed (RFC 791 suggests 15 s, RFC 8200 demands 60 s at most).
const fragmentLife = 30 * time.Second

type fragmentKey struct {
	source, destination netip.Addr
	id                  uint32
	protocol            uint8
}

// fragments remembers the datagrams whose first fragment passed.
type fragments struct {
	mu   sync.Mutex
	seen map[fragmentKey]time.Duration
}

func keyOf(info *packet.Info) fragmentKey {
	return fragmentKey{info.Source, info.Destination, info.FragmentID, info.Protocol}
}

func (f *fragments) expect(now time.Duration, info *packet.Info) Verdict {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := keyOf(info)
	if _, ok := f.seen[key]; !ok && len(f.seen) >= MaxFragments {
		for k, t := range f.seen {
			if now-t > fragmentLife {
				delete(f.seen, k)
			}
		}
		if len(f.seen) >= MaxFragments {
			return TableFull
		}
	}
	f.seen[key] = now
	return Accept
}

func (f *fragments) judge(now time.Duration, info *packet.Info) Verdict {
	f.mu.Lock()
	defer f.mu.Unlock()
	if t, ok := f.seen[keyOf(info)]; !ok || now-t > fragmentLife {
		return Fragment
	}
	return Accept
}

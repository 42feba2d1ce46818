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

// sender is the source of a datagram: a peer by its node's name, or a device. Empty: this node.
type sender struct {
	node   string
	device *device
}

// fragments remembers the datagrams whose first fragment passed.
type fragments struct {
	mu    sync.Mutex
	seen  map[sender]map[fragmentKey]time.Duration
	all   int
	swept time.Duration // time of the last sweep of all
}

func (f *fragments) init() {
	f.seen, f.swept = map[sender]map[fragmentKey]time.Duration{}, -sweepEvery
}

func keyOf(info *packet.Info) fragmentKey {
	return fragmentKey{info.Source, info.Destination, info.FragmentID, info.Protocol}
}

func (f *fragments) expect(now time.Duration, from sender, info *packet.Info) Verdict {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := keyOf(info)
	if _, known := f.seen[from][key]; !known {
		if len(f.seen[from]) >= MaxFragmentsEach {
			f.forget(now, from)
		}
		if f.all >= MaxFragments && now-f.swept >= sweepEvery {
			f.swept = now
			for other := range f.seen {
				f.forget(now, other)
			}
		}
		if len(f.seen[from]) >= MaxFragmentsEach || f.all >= MaxFragments {
			return TableFull
		}
		if f.seen[from] == nil {
			f.seen[from] = map[fragmentKey]time.Duration{}
		}
		f.all++
	}
	f.seen[from][key] = now
	return Accept
}

// forget drops the datagrams of a sender whose time is over.
func (f *fragments) forget(now time.Duration, from sender) {
	own := f.seen[from]
	for key, t := range own {
		if now-t > fragmentLife {
			delete(own, key)
			f.all--
		}
	}
	if len(own) == 0 {
		delete(f.seen, from)
	}
}

func (f *fragments) judge(now time.Duration, from sender, info *packet.Info) Verdict {
	f.mu.Lock()
	defer f.mu.Unlock()
	if t, ok := f.seen[from][keyOf(info)]; !ok || now-t > fragmentLife {
		return Fragment
	}
	return Accept
}

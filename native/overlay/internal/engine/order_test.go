package engine_test

import (
	"encoding/binary"
	"flag"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"seganet.internal/overlay/internal/bind"
	"seganet.internal/overlay/internal/busytest"
)

var orderPackets = flag.Int("packets", 20_000, "numbered packets of TestOrderHoldsOnEachPath; criterion 12 asks for 1000000")

// hop is a relay in memory: packets leave in their order after random delays.
type hop struct {
	queue chan []byte
	from  netip.AddrPort
	to    *bind.Bind
}

func newHop(t *testing.T, to *bind.Bind, from netip.AddrPort, random *rand.Rand) *hop {
	h := &hop{queue: make(chan []byte, 4096), from: from, to: to}
	done := make(chan struct{})
	t.Cleanup(func() { close(done) })
	go func() {
		for {
			select {
			case p := <-h.queue:
				if random.IntN(200) == 0 {
					time.Sleep(time.Duration(random.IntN(2000)) * time.Microsecond)
				}
				to.DeliverRelayed(p, from)
			case <-done:
				return
			}
		}
	}()
	return h
}

// SendRelayed implements bind.Relay.
func (h *hop) SendRelayed(packets [][]byte, offset int, _ netip.AddrPort) error {
	for _, p := range packets {
		select {
		case h.queue <- append([]byte(nil), p[offset:]...):
		default: // a full queue loses packets, as networks do
		}
	}
	return nil
}

// TestOrderHoldsOnEachPath is criterion 12: numbered packets of one flow through two workers, with random delays on both
// paths and steps from one path to the other and to both. Packets of one path arrive in their order, and none twice.
func TestOrderHoldsOnEachPath(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	const seed = 12
	random := rand.New(rand.NewPCG(seed, 0))
	var mu sync.Mutex
	var total atomic.Int64
	last := map[uint32]uint64{} // by epoch: the packets between two steps
	both := map[uint32]bool{}   // epochs with two copies of each packet, one by each path
	seen := make([]bool, *orderPackets+1)
	reordered, twice, overtook := 0, 0, 0
	newest := uint32(0)
	b := newSide(t, "fd00:5e9a::2", func(p []byte) {
		n, epoch := binary.BigEndian.Uint64(p[48:]), binary.BigEndian.Uint32(p[56:])
		if epoch == 0 {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		switch {
		case n >= last[epoch]:
		case both[epoch]:
			overtook++ // the direct copy was lost
		default:
			reordered++
		}
		if seen[n] {
			twice++
		}
		if epoch < newest {
			overtook++
		}
		newest = max(newest, epoch)
		seen[n], last[epoch] = true, max(n, last[epoch])
		total.Add(1)
	})
	a := newSide(t, "fd00:5e9a::1", func([]byte) {})
	lo, relayA, relayB := netip.MustParseAddr("127.0.0.1"), netip.MustParseAddrPort("192.0.2.1:1"), netip.MustParseAddrPort("192.0.2.1:2")
	know(t, a, b, netip.AddrPortFrom(lo, b.bind.Port()))
	know(t, b, a, netip.AddrPortFrom(lo, a.bind.Port()))
	a.bind.SetRelay(newHop(t, b.bind, relayA, rand.New(rand.NewPCG(seed, 1))))
	var slow atomic.Uint64
	b.bind.SetFaults(&bind.Faults{DropReceive: func(netip.AddrPort) bool {
		if slow.Add(1)%997 == 0 {
			time.Sleep(time.Duration(slow.Load()%7) * 100 * time.Microsecond)
		}
		return false
	}})
	direct := netip.AddrPortFrom(lo, b.bind.Port())
	paths := []bind.Path{{Direct: direct, Relay: relayB}, {Relay: relayB}, {Direct: direct, Relay: relayB, Both: true}}
	endpoint := a.bind.Endpoint(b.key, false)
	sent := func() uint64 { tr := endpoint.Traffic(); return tr.TxDirect + tr.TxRelay }
	packet := func(n uint64, epoch uint32) []byte {
		p := numbered(a.v6, b.v6, n)
		binary.BigEndian.PutUint32(p[56:], epoch)
		return p
	}
	a.wire.in <- packet(0, 0)
	eventually(t, "a session", func() bool { return a.e.Established(b.key) })
	size := uint64(len(packet(0, 0))+15)/16*16 + 32
	n, epoch := 0, uint32(0)
	for n < *orderPackets {
		epoch++
		path := paths[random.IntN(len(paths))]
		mu.Lock()
		both[epoch] = path.Both
		mu.Unlock()
		endpoint.SetPath(path)
		before := sent()
		count := min(200+random.IntN(4000), *orderPackets-n)
		for i := range count {
			n++
			a.wire.in <- packet(uint64(n), epoch)
			if i%128 == 0 {
				for wait := time.Now(); total.Load()+700 < int64(n) && time.Since(wait) < 5*time.Millisecond; {
					time.Sleep(50 * time.Microsecond)
				}
			}
		}
		// The last packet of the epoch has left: what comes now takes the next path.
		all := uint64(count) * size
		if path.Both {
			all *= 2
		}
		for wait := time.Now(); sent()-before < all; time.Sleep(50 * time.Microsecond) {
			if time.Since(wait) > busytest.Limit(5*time.Second) {
				t.Fatalf("epoch %d: %d of %d bytes were sent", epoch, sent()-before, all)
			}
		}
	}
	before := int64(-1)
	eventually(t, "no more packets arrive", func() bool {
		now := total.Load()
		if now != before {
			before = now
			time.Sleep(100 * time.Millisecond)
			return false
		}
		return true
	})
	mu.Lock()
	defer mu.Unlock()
	t.Logf("seed %d: %d packets, %d arrived, %d epochs, %d overtook packets of another path, %d reordered within a path, %d twice", seed, n, total.Load(), epoch,
		overtook, reordered, twice)
	if reordered > 0 || twice > 0 {
		t.Errorf("%d reordered, %d twice", reordered, twice)
	}
	if total.Load() < int64(n)/2 {
		t.Errorf("%d of %d packets arrived", total.Load(), n)
	}
}

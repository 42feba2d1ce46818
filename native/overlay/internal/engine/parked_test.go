package engine_test

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"
)

// The node looks up an unknown address. The packets to it leave once the peer is known: in their order, none twice,
// before later ones.
func TestTheFirstPacketsToAnUnknownAddressWaitForThePeer(t *testing.T) {
	var mu sync.Mutex
	var got []uint64
	wanted := make(chan netip.Addr, 16)
	lo := netip.MustParseAddr("127.0.0.1")
	b := newSide(t, "fd00:5e9a::2", func(p []byte) {
		mu.Lock()
		got = append(got, binary.BigEndian.Uint64(p[48:]))
		mu.Unlock()
	})
	a := newSideThat(t, "fd00:5e9a::1", func([]byte) {}, func(at netip.Addr) { wanted <- at })
	know(t, b, a, netip.AddrPortFrom(lo, a.bind.Port()))
	for n := range uint64(3) {
		a.wire.in <- numbered(a.v6, b.v6, n)
		time.Sleep(5 * time.Millisecond)
	}
	if at := <-wanted; at != b.v6 {
		t.Fatal(at)
	}
	start := time.Now()
	a.bind.Endpoint(b.key, false)
	know(t, a, b, netip.AddrPortFrom(lo, b.bind.Port()))
	for n := uint64(3); n < 6; n++ {
		a.wire.in <- numbered(a.v6, b.v6, n)
	}
	eventually(t, "all packets arrive", func() bool { mu.Lock(); defer mu.Unlock(); return len(got) >= 6 })
	t.Logf("after %v", time.Since(start))
	if !slices.Equal(got, []uint64{0, 1, 2, 3, 4, 5}) {
		t.Errorf("%v", got)
	}
	if n := a.e.Counters.Unknown.Load(); n != 0 || len(wanted) != 0 {
		t.Errorf("%d packets were dropped, %d more questions", n, len(wanted))
	}
}

func TestPacketsToUnknownAddressesAreBounded(t *testing.T) {
	wanted := make(chan netip.Addr, 2000)
	a := newSideThat(t, "fd00:5e9a::1", func([]byte) {}, func(at netip.Addr) { wanted <- at })
	const addresses, each = 200, 20
	first := netip.MustParseAddr("fd00:5e9a::1:0").As16()
	for i := range addresses {
		to := first
		to[15] = byte(i + 1)
		for n := range uint64(each) {
			a.wire.in <- numbered(a.v6, netip.AddrFrom16(to), n)
		}
	}
	const kept = 64 * 8
	eventually(t, "all packets are read", func() bool { return a.e.Counters.Unknown.Load() >= addresses*each-kept })
	if n := a.e.Counters.Unknown.Load(); n != addresses*each-kept {
		t.Errorf("%d of %d were dropped", n, addresses*each)
	}
	eventually(t, "a lookup of every address", func() bool { return len(wanted) == addresses })
}

// No program still expects a packet that has waited for a second.
func TestAPacketDoesNotWaitForLong(t *testing.T) {
	var mu sync.Mutex
	var got []uint64
	lo := netip.MustParseAddr("127.0.0.1")
	b := newSide(t, "fd00:5e9a::2", func(p []byte) {
		mu.Lock()
		got = append(got, binary.BigEndian.Uint64(p[48:]))
		mu.Unlock()
	})
	wanted := make(chan netip.Addr, 16)
	a := newSideThat(t, "fd00:5e9a::1", func([]byte) {}, func(at netip.Addr) { wanted <- at })
	know(t, b, a, netip.AddrPortFrom(lo, a.bind.Port()))
	a.wire.in <- numbered(a.v6, b.v6, 1)
	<-wanted
	time.Sleep(1100 * time.Millisecond)
	know(t, a, b, netip.AddrPortFrom(lo, b.bind.Port()))
	eventually(t, "the packet is dropped", func() bool { return a.e.Counters.Unknown.Load() == 1 })
	a.wire.in <- numbered(a.v6, b.v6, 2)
	eventually(t, "a later packet arrives", func() bool { mu.Lock(); defer mu.Unlock(); return len(got) > 0 })
	if !slices.Equal(got, []uint64{2}) {
		t.Errorf("%v", got)
	}
}

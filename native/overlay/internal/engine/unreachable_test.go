package engine_test

import (
	"crypto/ecdh"
	"crypto/rand"
	"fmt"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"seganet.internal/overlay/internal/engine"
)

// strangers are verified peers without a path.
func strangers(t *testing.T, a *side, count int) (list []netip.Addr) {
	t.Helper()
	for i := range count {
		k, err := ecdh.X25519().GenerateKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		at := netip.MustParseAddr(fmt.Sprintf("fd00:5e9a::1:%x", i+1))
		if err := a.e.SetPeer(engine.Peer{Key: [32]byte(k.PublicKey().Bytes()), Addresses: []netip.Addr{at}}); err != nil {
			t.Fatal(err)
		}
		list = append(list, at)
	}
	return list
}

// TestPacketsForUnreachablePeersDelayNoOtherPeer sends packets to peers without a path: bursts to one, as UDP programs
// with segmentation offload send them, and some to each of many. They wait for a session, and must not use up the
// buffers of all other traffic.
func TestPacketsForUnreachablePeersDelayNoOtherPeer(t *testing.T) {
	for name, c := range map[string]struct{ peers, packets int }{"bursts to one": {1, 3000}, "some to each of many": {150, 20}} {
		t.Run(name, func(t *testing.T) {
			var got atomic.Int64
			lo := netip.MustParseAddr("127.0.0.1")
			b := newSide(t, "fd00:5e9a::2", func([]byte) { got.Add(1) })
			a := newSide(t, "fd00:5e9a::1", func([]byte) {})
			know(t, a, b, netip.AddrPortFrom(lo, b.bind.Port()))
			know(t, b, a, netip.AddrPortFrom(lo, a.bind.Port()))
			a.wire.in <- numbered(a.v6, b.v6, 0)
			eventually(t, "a session", func() bool { return got.Load() == 1 })
			list := strangers(t, a, c.peers)
			for n := range c.packets {
				for _, to := range list {
					a.wire.in <- numbered(a.v6, to, uint64(n))
				}
				if n%64 == 0 {
					time.Sleep(time.Millisecond)
				}
			}
			eventually(t, "a packet to the other peer", func() bool {
				select {
				case a.wire.in <- numbered(a.v6, b.v6, 1):
				default:
				}
				return got.Load() > 1
			})
			done := make(chan struct{})
			go func() { a.e.Keepalive(b.key); close(done) }()
			select {
			case <-done:
			case <-time.After(10 * time.Second):
				t.Error("a keepalive to the other peer waits for a buffer")
			}
			if a.e.Counters.Unconnected.Load() == 0 {
				t.Error("the packets that were dropped are not counted")
			}
		})
	}
}

// TestTheFirstPacketsWaitForTheSession sends packets before there is a path.
func TestTheFirstPacketsWaitForTheSession(t *testing.T) {
	const first = 5
	var got atomic.Int64
	lo := netip.MustParseAddr("127.0.0.1")
	b := newSide(t, "fd00:5e9a::2", func([]byte) { got.Add(1) })
	a := newSide(t, "fd00:5e9a::1", func([]byte) {})
	know(t, a, b, netip.AddrPort{})
	know(t, b, a, netip.AddrPortFrom(lo, a.bind.Port()))
	for n := range first {
		a.wire.in <- numbered(a.v6, b.v6, uint64(n))
		time.Sleep(5 * time.Millisecond) // each is a batch
	}
	know(t, a, b, netip.AddrPortFrom(lo, b.bind.Port()))
	eventually(t, "the first packets arrive", func() bool { return got.Load() >= first-1 })
}

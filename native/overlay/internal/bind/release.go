package bind

import (
	"net/netip"

	"seganet.internal/overlay/internal/residentmem"
)

// Release makes each receiver return the pages of its buffers to the system. WireGuard gives a receiver 128 buffers of
// 64 KiB permanently. After load, most of their pages are resident.
//
// A receiver owns its buffers between two receptions, so it does this itself. Release wakes the receivers of the port
// by a datagram of one byte, which WireGuard drops.
func (b *Bind) Release() {
	b.releases.Add(1)
	select {
	case b.wake <- struct{}{}:
	default:
	}
	s := b.sockets.Load()
	if s == nil {
		return
	}
	for _, a := range []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()} {
		// Without a loopback interface, the next packet wakes the receiver.
		_ = s.send([][]byte{{0}}, 0, netip.AddrPortFrom(a, b.Port()))
	}
}

// releaseOnce discards a receiver's buffers if Release was called after seen, its last call here. Then it returns true.
func (b *Bind) releaseOnce(seen *uint64, bufs [][]byte) bool {
	now := b.releases.Load()
	if now == *seen {
		return false
	}
	*seen = now
	residentmem.Discard(bufs)
	return true
}

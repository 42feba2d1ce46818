package bind

import (
	"net/netip"

	"github.com/tailscale/wireguard-go/conn"

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
	for _, a := range []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()} {
		// Without a loopback interface, the next packet wakes the receiver.
		_ = b.std.Send([][]byte{{0}}, &conn.StdNetEndpoint{AddrPort: netip.AddrPortFrom(a, b.Port())}, 0)
	}
}

// releaseOnce discards a receiver's buffers if Release was called after seen, its last call here.
func (b *Bind) releaseOnce(seen *uint64, bufs [][]byte) {
	if now := b.releases.Load(); now != *seen {
		*seen = now
		residentmem.Discard(bufs)
	}
}

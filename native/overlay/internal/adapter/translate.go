package adapter

import (
	"net/netip"
	"sync/atomic"

	"github.com/tailscale/wireguard-go/tun"

	"seganet.internal/overlay/internal/packet"
)

// Translator replaces the virtual addresses of devices by their LAN addresses and back. It keeps no state: a restart ends no connection, and all
// packets can be translated in parallel. Fragments are translated like whole packets.
//
// A device needs a LAN address of the packet's version: over IPv6 the overlay reaches only devices with an IPv6 address on the LAN.
//
// Thread safety: Set may be called while packets are translated.
type Translator struct {
	maps atomic.Pointer[maps]
	mtu  int

	// Translated counts packets in both directions.
	Translated atomic.Uint64
}

type maps struct{ toLAN, toVirtual map[netip.Addr]netip.Addr }

// NewTranslator makes a translator. mtu is that of the overlay in bytes: what a TCP SYN of a device announces is clamped to it.
func NewTranslator(t Table, mtu int) *Translator {
	tr := &Translator{mtu: mtu}
	tr.Set(t)
	return tr
}

// Set replaces the table, whose virtual addresses are bound.
func (tr *Translator) Set(t Table) {
	m := &maps{map[netip.Addr]netip.Addr{}, map[netip.Addr]netip.Addr{}}
	for _, d := range t {
		for _, lan := range []netip.Addr{d.LAN, d.LAN6} {
			virtual := d.Addr6
			if lan.Is4() {
				virtual = d.Addr4
			}
			if lan.IsValid() && virtual.IsValid() {
				m.toLAN[virtual], m.toVirtual[lan] = lan, virtual
			}
		}
	}
	tr.maps.Store(m)
}

// ToLAN translates the destination of a packet that came out of the tunnel.
func (tr *Translator) ToLAN(b []byte) {
	if lan, ok := lookup(tr.maps.Load().toLAN, b, true); ok {
		tr.rewrite(b, packet.Change{Destination: lan})
	}
}

// FromLAN translates the source of a packet that is about to enter the tunnel.
func (tr *Translator) FromLAN(b []byte) {
	if virtual, ok := lookup(tr.maps.Load().toVirtual, b, false); ok {
		tr.rewrite(b, packet.Change{Source: virtual})
	}
}

func (tr *Translator) rewrite(b []byte, c packet.Change) {
	var info packet.Info
	if packet.Parse(b, &info) != nil {
		return // the packet filter refuses it
	}
	packet.Rewrite(b, &info, c)
	packet.ClampMSS(b, &info, tr.mtu)
	tr.Translated.Add(1)
}

// lookup finds one end of a packet without reading more of it: most packets are not of devices.
func lookup(m map[netip.Addr]netip.Addr, b []byte, destination bool) (netip.Addr, bool) {
	if len(m) == 0 {
		return netip.Addr{}, false
	}
	var a netip.Addr
	switch {
	case len(b) >= 20 && b[0]>>4 == 4:
		at := 12
		if destination {
			at = 16
		}
		a = netip.AddrFrom4([4]byte(b[at : at+4]))
	case len(b) >= 40 && b[0]>>4 == 6:
		at := 8
		if destination {
			at = 24
		}
		a = netip.AddrFrom16([16]byte(b[at : at+16]))
	}
	to, ok := m[a]
	return to, ok
}

// Wrap puts a translator between the engine and a TUN interface.
func Wrap(inner tun.Device, tr *Translator) tun.Device { return &wrapped{inner, tr} }

type wrapped struct {
	tun.Device
	tr *Translator
}

func (w *wrapped) Read(bufs [][]byte, sizes []int, offset int) (int, error) {
	n, err := w.Device.Read(bufs, sizes, offset)
	for i := range n {
		w.tr.FromLAN(bufs[i][offset : offset+sizes[i]])
	}
	return n, err
}

func (w *wrapped) Write(bufs [][]byte, offset int) (int, error) {
	for _, b := range bufs {
		w.tr.ToLAN(b[offset:])
	}
	return w.Device.Write(bufs, offset)
}

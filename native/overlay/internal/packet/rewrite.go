package packet

import (
	"encoding/binary"
	"net/netip"
)

// Sum adds b to a ones' complement sum (RFC 1071) that is not folded yet.
func Sum(sum uint64, b []byte) uint64 {
	for len(b) >= 4 {
		sum += uint64(binary.BigEndian.Uint32(b))
		b = b[4:]
	}
	if len(b) >= 2 {
		sum += uint64(binary.BigEndian.Uint16(b))
		b = b[2:]
	}
	if len(b) == 1 {
		sum += uint64(b[0]) << 8
	}
	return sum
}

// Fold folds a sum to 16 bits. The checksum is its complement.
func Fold(sum uint64) uint16 {
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return uint16(sum)
}

// delta collects what a change of even-aligned bytes means for the checksums that cover them (RFC 1624, equation 3).
type delta uint64

func (d *delta) change(from, to []byte) {
	sum := uint64(*d) + uint64(Fold(Sum(0, to)))
	*d = delta(sum + uint64(^Fold(Sum(0, from))))
}

func (d delta) apply(checksum []byte) {
	c := uint64(^binary.BigEndian.Uint16(checksum))
	binary.BigEndian.PutUint16(checksum, ^Fold(c+uint64(d)))
}

// Change is the new address of one end of a packet; an invalid address leaves that end as it is.
type Change struct{ Source, Destination netip.Addr }

// Rewrite replaces addresses of a packet that Parse accepted and corrects the checksums of IP, TCP, UDP and ICMP. In an ICMP error it also
// rewrites the quoted packet, in the opposite direction, so that the receiver recognizes its own packet.
//
// Fragments need no state: only the first has the transport checksum, and the correction does not depend on the other fragments' bytes.
// REQUIRES: info is of this packet; each new address has the version of the packet.
func Rewrite(b []byte, info *Info, c Change) {
	d := replace(b, c)
	if info.Later {
		return
	}
	t := b[info.Transport:info.End]
	switch info.Protocol {
	case TCP:
		d.apply(t[16:])
	case UDP:
		applyUDP(d, t, info.Source.Is4())
	case ICMP, ICMPv6:
		if info.Protocol == ICMP {
			d = 0 // its checksum has no pseudo header
		}
		if info.ICMPError() {
			d += rewriteQuoted(t[8:], Change{Source: c.Destination, Destination: c.Source}, info)
		}
		d.apply(t[2:])
	}
}

// replace writes the addresses and the checksum of the IPv4 header. It returns the change for checksums over the pseudo header.
func replace(b []byte, c Change) (d delta) {
	at, size := 12, 4
	if b[0]>>4 == 6 {
		at, size = 8, 16
	}
	for i, a := range [2]netip.Addr{c.Source, c.Destination} {
		if a.IsValid() {
			full := a.As16()
			field := b[at+i*size : at+i*size+size]
			d.change(field, full[16-size:])
			copy(field, full[16-size:])
		}
	}
	if size == 4 {
		d.apply(b[10:])
	}
	return d
}

// rewriteQuoted rewrites the packet inside an ICMP error. It returns the change of the bytes that the ICMP checksum covers.
func rewriteQuoted(q []byte, c Change, outer *Info) (d delta) {
	var info Info
	if ParseQuoted(q, &info) != nil || info.Source.Is4() != outer.Source.Is4() {
		return 0
	}
	// Only an end that is the translated address is changed: the error may be about another packet.
	if info.Source != outer.Destination {
		c.Source = netip.Addr{}
	}
	if info.Destination != outer.Source {
		c.Destination = netip.Addr{}
	}
	header := make4or6(q)
	var before [60]byte
	n := copy(before[:], header)
	inner := replace(q, c)
	d.change(before[:n], header)
	if info.Later {
		return d
	}
	t := q[info.Transport:]
	at := -1
	switch {
	case info.Protocol == UDP:
		at = 6
	case info.Protocol == TCP && len(t) >= 18:
		at = 16
	case info.Protocol == ICMPv6:
		at = 2
	}
	if at < 0 {
		return d
	}
	var old [2]byte
	copy(old[:], t[at:])
	if info.Protocol == UDP {
		applyUDP(inner, t, info.Source.Is4())
	} else {
		inner.apply(t[at:])
	}
	d.change(old[:], t[at:at+2])
	return d
}

func make4or6(q []byte) []byte {
	if q[0]>>4 == 4 {
		return q[:int(q[0]&15)*4]
	}
	return q[:40]
}

// applyUDP leaves a zero checksum of IPv4 (none was computed) and writes a computed zero as 0xffff (RFC 768).
func applyUDP(d delta, t []byte, v4 bool) {
	if v4 && t[6] == 0 && t[7] == 0 {
		return
	}
	d.apply(t[6:])
	if t[6] == 0 && t[7] == 0 {
		t[6], t[7] = 0xff, 0xff
	}
}

// ClampMSS lowers the maximum segment size that a TCP SYN announces to what fits mtu bytes. It reports whether it changed the packet.
// A host behind the adapter announces what fits its own link, and a path that drops large packets silently would stall the connection.
func ClampMSS(b []byte, info *Info, mtu int) bool {
	if info.Protocol != TCP || info.Later || info.TCPFlags&SYN == 0 {
		return false
	}
	most := mtu - 40
	if info.Source.Is6() {
		most = mtu - 60
	}
	t := b[info.Transport:info.End]
	end := int(t[12]>>4) * 4
	for at := 20; at < end; {
		switch kind := t[at]; kind {
		case 0:
			return false
		case 1:
			at++
		default:
			if at+1 >= end || t[at+1] < 2 || at+int(t[at+1]) > end {
				return false
			}
			if kind == 2 && t[at+1] == 4 {
				if int(binary.BigEndian.Uint16(t[at+2:])) <= most {
					return false
				}
				return setMSS(t, at+2, uint16(most))
			}
			at += int(t[at+1])
		}
	}
	return false
}

// setMSS writes the option, which may begin at an odd byte: the checksum is corrected over the aligned words around it.
func setMSS(t []byte, at int, mss uint16) bool {
	from := at &^ 1
	to := (at + 3) &^ 1
	var before [4]byte
	n := copy(before[:], t[from:to])
	binary.BigEndian.PutUint16(t[at:], mss)
	var d delta
	d.change(before[:n], t[from:to])
	d.apply(t[16:])
	return true
}

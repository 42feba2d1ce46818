package packet

import (
	"encoding/binary"
	"net/netip"
)

// quoteMost is the number of bytes of a refused packet that an ICMP error quotes at most.
const quoteMost = 256

// Refusal returns the packet that reports to the sender of b at once that b was refused: a reset for TCP, an ICMP error
// for UDP ("port unreachable", or "prohibited" if prohibited is true). It returns nil if b must not be answered.
// REQUIRES: info is of this packet.
func Refusal(b []byte, info *Info, prohibited bool) []byte {
	switch {
	case info.Fragment:
		return nil
	case info.Protocol == TCP && info.TCPFlags&RST == 0:
		return reset(b, info)
	case info.Protocol == UDP:
		return unreachable(b, info, prohibited)
	}
	return nil
}

// reset answers a segment that belongs to no connection (RFC 9293, section 3.10.7.1).
func reset(b []byte, info *Info) []byte {
	t := b[info.Transport:info.End]
	out, r := frame(info.Destination, info.Source, TCP, 20)
	binary.BigEndian.PutUint16(r, info.DestinationPort)
	binary.BigEndian.PutUint16(r[2:], info.SourcePort)
	r[12], r[13] = 5<<4, RST
	if info.TCPFlags&ACK != 0 {
		copy(r[4:8], t[8:12])
	} else {
		length := uint32(len(t) - int(t[12]>>4)*4)
		if info.TCPFlags&SYN != 0 {
			length++
		}
		if info.TCPFlags&FIN != 0 {
			length++
		}
		r[13] |= ACK
		binary.BigEndian.PutUint32(r[8:], binary.BigEndian.Uint32(t[4:])+length)
	}
	binary.BigEndian.PutUint16(r[16:], ^Fold(Sum(pseudo(info.Destination, info.Source, TCP, len(r)), r)))
	return out
}

// unreachable quotes a datagram in an ICMP error (RFC 792, RFC 4443).
func unreachable(b []byte, info *Info, prohibited bool) []byte {
	quote := b[:min(info.End, quoteMost)]
	protocol, kind, code := uint8(ICMP), byte(3), byte(3)
	if prohibited {
		code = 13
	}
	if info.Source.Is6() {
		protocol, kind, code = ICMPv6, 1, 4
		if prohibited {
			code = 1
		}
	}
	out, r := frame(info.Destination, info.Source, protocol, 8+len(quote))
	r[0], r[1] = kind, code
	copy(r[8:], quote)
	sum := uint64(0)
	if protocol == ICMPv6 {
		sum = pseudo(info.Destination, info.Source, protocol, len(r))
	}
	binary.BigEndian.PutUint16(r[2:], ^Fold(Sum(sum, r)))
	return out
}

// frame returns a packet with an IP header and room for size bytes behind it.
func frame(from, to netip.Addr, protocol uint8, size int) (packet, transport []byte) {
	const hops = 64
	if from.Is4() {
		b := make([]byte, 20+size)
		b[0], b[8], b[9] = 4<<4|5, hops, protocol
		binary.BigEndian.PutUint16(b[2:], uint16(len(b)))
		copy(b[12:], from.AsSlice())
		copy(b[16:], to.AsSlice())
		binary.BigEndian.PutUint16(b[10:], ^Fold(Sum(0, b[:20])))
		return b, b[20:]
	}
	b := make([]byte, 40+size)
	b[0], b[6], b[7] = 6<<4, protocol, hops
	binary.BigEndian.PutUint16(b[4:], uint16(size))
	copy(b[8:], from.AsSlice())
	copy(b[24:], to.AsSlice())
	return b, b[40:]
}

// pseudo returns the sum of the pseudo header of TCP and ICMPv6.
func pseudo(from, to netip.Addr, protocol uint8, size int) uint64 {
	return Sum(Sum(uint64(protocol)+uint64(size), from.AsSlice()), to.AsSlice())
}

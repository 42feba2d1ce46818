// Package craft builds packets for the self-test of a TUN interface and for tests, and checks their checksums. It uses gVisor's headers, so that
// tests compare this program's own arithmetic with another implementation.
package craft

import (
	"encoding/binary"
	"net/netip"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/checksum"
	"gvisor.dev/gvisor/pkg/tcpip/header"
)

func address(a netip.Addr) tcpip.Address { return tcpip.AddrFromSlice(a.AsSlice()) }

// IP puts an IP header before a transport header and payload.
func IP(from, to netip.Addr, protocol uint8, transport []byte) []byte {
	if from.Is4() {
		b := make([]byte, 20+len(transport))
		copy(b[20:], transport)
		h := header.IPv4(b)
		h.Encode(&header.IPv4Fields{TotalLength: uint16(len(b)), TTL: 64, Protocol: protocol, SrcAddr: address(from), DstAddr: address(to)})
		h.SetChecksum(^h.CalculateChecksum())
		return b
	}
	b := make([]byte, 40+len(transport))
	copy(b[40:], transport)
	header.IPv6(b).Encode(&header.IPv6Fields{PayloadLength: uint16(len(transport)), TransportProtocol: tcpip.TransportProtocolNumber(protocol), HopLimit: 64,
		SrcAddr: address(from), DstAddr: address(to)})
	return b
}

// TCP builds a TCP segment. options must be a multiple of 4 bytes.
func TCP(from, to netip.AddrPort, flags uint8, options, payload []byte) []byte {
	return Segment(from, to, 1000, 2000, flags, options, payload)
}

// Segment builds a TCP segment with the given sequence numbers.
func Segment(from, to netip.AddrPort, seq, ack uint32, flags uint8, options, payload []byte) []byte {
	t := make([]byte, 20+len(options)+len(payload))
	h := header.TCP(t)
	h.Encode(&header.TCPFields{SrcPort: from.Port(), DstPort: to.Port(), SeqNum: seq, AckNum: ack, DataOffset: uint8(20 + len(options)),
		Flags: header.TCPFlags(flags), WindowSize: 65535})
	copy(t[20:], options)
	copy(t[20+len(options):], payload)
	sum := header.PseudoHeaderChecksum(header.TCPProtocolNumber, address(from.Addr()), address(to.Addr()), uint16(len(t)))
	h.SetChecksum(^checksum.Checksum(t, sum))
	return IP(from.Addr(), to.Addr(), 6, t)
}

// UDP builds a datagram.
func UDP(from, to netip.AddrPort, payload []byte) []byte {
	t := make([]byte, 8+len(payload))
	h := header.UDP(t)
	h.Encode(&header.UDPFields{SrcPort: from.Port(), DstPort: to.Port(), Length: uint16(len(t))})
	copy(t[8:], payload)
	sum := header.PseudoHeaderChecksum(header.UDPProtocolNumber, address(from.Addr()), address(to.Addr()), uint16(len(t)))
	c := ^checksum.Checksum(t, sum)
	if c == 0 {
		c = 0xffff
	}
	h.SetChecksum(c)
	return IP(from.Addr(), to.Addr(), 17, t)
}

// ICMP builds an ICMP or ICMPv6 message. rest is bytes 4 to 7 of its header, for example an echo's identifier and sequence.
func ICMP(from, to netip.Addr, kind, code uint8, rest uint32, payload []byte) []byte {
	t := make([]byte, 8+len(payload))
	t[0], t[1] = kind, code
	binary.BigEndian.PutUint32(t[4:], rest)
	copy(t[8:], payload)
	if from.Is4() {
		binary.BigEndian.PutUint16(t[2:], ^checksum.Checksum(t, 0))
		return IP(from, to, 1, t)
	}
	sum := header.PseudoHeaderChecksum(header.ICMPv6ProtocolNumber, address(from), address(to), uint16(len(t)))
	binary.BigEndian.PutUint16(t[2:], ^checksum.Checksum(t, sum))
	return IP(from, to, 58, t)
}

// Echo builds an echo request or reply.
func Echo(from, to netip.Addr, reply bool, id uint16, payload []byte) []byte {
	kinds := [2]uint8{8, 0}
	if from.Is6() {
		kinds = [2]uint8{128, 129}
	}
	kind := kinds[0]
	if reply {
		kind = kinds[1]
	}
	return ICMP(from, to, kind, 0, uint32(id)<<16|1, payload)
}

// Fragments splits a packet into fragments whose payload has size bytes (a multiple of 8) each.
func Fragments(b []byte, id uint32, size int) (out [][]byte) {
	head := 20
	if b[0]>>4 == 6 {
		head = 40
	}
	body := b[head:]
	for at := 0; at < len(body); at += size {
		part := body[at:min(at+size, len(body))]
		more := uint16(0)
		if at+size < len(body) {
			more = 1
		}
		if head == 20 {
			f := append(append([]byte(nil), b[:20]...), part...)
			binary.BigEndian.PutUint16(f[2:], uint16(len(f)))
			binary.BigEndian.PutUint16(f[4:], uint16(id))
			binary.BigEndian.PutUint16(f[6:], more<<13|uint16(at/8))
			h := header.IPv4(f)
			h.SetChecksum(0)
			h.SetChecksum(^h.CalculateChecksum())
			out = append(out, f)
			continue
		}
		f := append([]byte(nil), b[:40]...)
		var fragment [8]byte
		fragment[0] = b[6]
		binary.BigEndian.PutUint16(fragment[2:], uint16(at)|more)
		binary.BigEndian.PutUint32(fragment[4:], id)
		f[6] = 44
		f = append(append(f, fragment[:]...), part...)
		binary.BigEndian.PutUint16(f[4:], uint16(len(f)-40))
		out = append(out, f)
	}
	return out
}

// Join is the opposite of Fragments.
func Join(parts [][]byte) []byte {
	first := parts[0]
	var body []byte
	skip := 20
	if first[0]>>4 == 6 {
		skip = 48
	}
	for _, p := range parts {
		body = append(body, p[skip:]...)
	}
	if skip == 20 {
		out := append(append([]byte(nil), first[:20]...), body...)
		binary.BigEndian.PutUint16(out[2:], uint16(len(out)))
		out[6], out[7] = 0, 0
		h := header.IPv4(out)
		h.SetChecksum(0)
		h.SetChecksum(^h.CalculateChecksum())
		return out
	}
	out := append([]byte(nil), first[:40]...)
	out[6] = first[40]
	out = append(out, body...)
	binary.BigEndian.PutUint16(out[4:], uint16(len(out)-40))
	return out
}

// Valid reports whether the checksums of IP and of a whole transport header are right. A UDP checksum of zero in IPv4 counts as right.
func Valid(b []byte) bool {
	var transport []byte
	var protocol tcpip.TransportProtocolNumber
	var from, to tcpip.Address
	if b[0]>>4 == 4 {
		h := header.IPv4(b)
		if h.CalculateChecksum() != 0xffff {
			return false
		}
		transport, protocol, from, to = b[h.HeaderLength():], tcpip.TransportProtocolNumber(h.Protocol()), h.SourceAddress(), h.DestinationAddress()
	} else {
		h := header.IPv6(b)
		transport, protocol, from, to = b[40:], h.TransportProtocol(), h.SourceAddress(), h.DestinationAddress()
	}
	switch {
	case protocol == header.UDPProtocolNumber && b[0]>>4 == 4 && header.UDP(transport).Checksum() == 0:
		return true
	case protocol == header.ICMPv4ProtocolNumber:
		return checksum.Checksum(transport, 0) == 0xffff
	}
	return checksum.Checksum(transport, header.PseudoHeaderChecksum(protocol, from, to, uint16(len(transport)))) == 0xffff
}

// Package packet reads IPv4 and IPv6 packets and rewrites their addresses.
//
// Nothing here allocates, keeps state or changes a packet that it refuses. The packet filter, the adapter and the MSS clamp share it.
package packet

import (
	"encoding/binary"
	"errors"
	"net/netip"
)

// Protocol numbers that the overlay distinguishes.
const (
	ICMP   = 1
	TCP    = 6
	UDP    = 17
	ICMPv6 = 58
)

// TCP flags.
const (
	FIN = 1 << iota
	SYN
	RST
	PSH
	ACK
)

// maxExtensionHeaders bounds the walk through the extension headers of an IPv6 packet.
const maxExtensionHeaders = 8

// Errors of Parse. Each is one fixed value, so that a flood of bad packets costs no memory.
var (
	ErrShort     = errors.New("the packet is shorter than its headers")
	ErrVersion   = errors.New("the packet is neither IPv4 nor IPv6")
	ErrLength    = errors.New("the length field contradicts the packet's length")
	ErrHeader    = errors.New("a header has an invalid value")
	ErrRouting   = errors.New("IPv6 source routing (RFC 5095) is refused")
	ErrExtension = errors.New("the packet has more than 8 IPv6 extension headers")
	ErrTiny      = errors.New("the first fragment does not hold the whole transport header (RFC 3128)")
)

// Info is what Parse found. Offsets are in bytes from the start of the packet.
type Info struct {
	Source, Destination netip.Addr
	Protocol            uint8 // of the transport header, after extension headers
	Transport           int   // offset of the transport header, or of the payload of a later fragment
	End                 int   // length by the IP header; what follows is padding

	// Ports of TCP and UDP. ICMP echo messages have their identifier in both. Zero in later fragments and elsewhere.
	SourcePort, DestinationPort uint16
	TCPFlags                    uint8
	ICMPType                    uint8

	Fragment   bool // the packet is one of several fragments
	Later      bool // a fragment without the transport header
	FragmentID uint32
}

// Parse reads the headers of one packet into info.
func Parse(b []byte, info *Info) error {
	*info = Info{}
	if len(b) < 1 {
		return ErrShort
	}
	switch b[0] >> 4 {
	case 4:
		return parse4(b, info)
	case 6:
		return parse6(b, info)
	}
	return ErrVersion
}

func parse4(b []byte, info *Info) error {
	if len(b) < 20 {
		return ErrShort
	}
	header := int(b[0]&15) * 4
	total := int(binary.BigEndian.Uint16(b[2:]))
	if header < 20 || total < header {
		return ErrHeader
	}
	if total > len(b) {
		return ErrLength
	}
	info.Source = netip.AddrFrom4([4]byte(b[12:16]))
	info.Destination = netip.AddrFrom4([4]byte(b[16:20]))
	info.Protocol, info.Transport, info.End = b[9], header, total
	fragment := binary.BigEndian.Uint16(b[6:])
	if fragment&0x3fff != 0 {
		info.Fragment = true
		info.Later = fragment&0x1fff != 0
		info.FragmentID = uint32(binary.BigEndian.Uint16(b[4:]))
	}
	return parseTransport(b[:total], info)
}

func parse6(b []byte, info *Info) error {
	if len(b) < 40 {
		return ErrShort
	}
	total := 40 + int(binary.BigEndian.Uint16(b[4:]))
	if total > len(b) {
		return ErrLength
	}
	b = b[:total]
	info.Source = netip.AddrFrom16([16]byte(b[8:24]))
	info.Destination = netip.AddrFrom16([16]byte(b[24:40]))
	if info.Source.Is4In6() || info.Destination.Is4In6() {
		return ErrHeader // never on a wire (RFC 4942, 2.2); it would be a second spelling of an IPv4 address
	}
	info.End = total
	next, at := b[6], 40
	for range maxExtensionHeaders + 1 {
		switch next {
		case 0, 43, 60: // hop-by-hop options, routing, destination options
			if len(b) < at+8 {
				return ErrShort
			}
			if next == 43 && b[at+3] > 0 {
				return ErrRouting
			}
			next, at = b[at], at+8+int(b[at+1])*8
		case 44: // fragment
			if len(b) < at+8 {
				return ErrShort
			}
			if info.Fragment {
				return ErrHeader
			}
			offset := binary.BigEndian.Uint16(b[at+2:])
			info.Fragment = offset&0xfff9 != 0 // an atomic fragment (RFC 6946) is a whole packet
			info.Later = offset&0xfff8 != 0
			info.FragmentID = binary.BigEndian.Uint32(b[at+4:])
			next, at = b[at], at+8
			if info.Later {
				info.Protocol, info.Transport = next, at
				return nil
			}
		case 51: // authentication: its length counts 4 bytes
			if len(b) < at+8 {
				return ErrShort
			}
			next, at = b[at], at+8+int(b[at+1])*4
		default:
			if at > len(b) {
				return ErrShort
			}
			info.Protocol, info.Transport = next, at
			return parseTransport(b, info)
		}
	}
	return ErrExtension
}

func parseTransport(b []byte, info *Info) error {
	if info.Later {
		if info.Protocol == TCP && len(b) > 0 && b[0]>>4 == 4 && binary.BigEndian.Uint16(b[6:])&0x1fff == 1 {
			return ErrTiny // it could overwrite the flags that the first fragment had (RFC 3128)
		}
		return nil
	}
	short := ErrShort
	if info.Fragment {
		short = ErrTiny
	}
	t := b[info.Transport:]
	switch info.Protocol {
	case TCP:
		if len(t) < 20 {
			return short
		}
		if n := int(t[12]>>4) * 4; n < 20 {
			return ErrHeader
		} else if n > len(t) {
			return short
		}
		info.TCPFlags = t[13]
		info.ports(t)
	case UDP:
		if len(t) < 8 {
			return short
		}
		if n := int(binary.BigEndian.Uint16(t[4:])); n < 8 {
			return ErrHeader
		} else if !info.Fragment && n > len(t) {
			return ErrLength
		}
		info.ports(t)
	case ICMP, ICMPv6:
		if len(t) < 8 {
			return short
		}
		if (info.Protocol == ICMP) != info.Source.Is4() {
			return ErrHeader
		}
		info.ICMPType = t[0]
		if info.Echo() {
			info.SourcePort = binary.BigEndian.Uint16(t[4:])
			info.DestinationPort = info.SourcePort
		}
	}
	return nil
}

func (i *Info) ports(t []byte) {
	i.SourcePort, i.DestinationPort = binary.BigEndian.Uint16(t), binary.BigEndian.Uint16(t[2:])
}

// Echo reports whether the packet is an ICMP echo request or reply.
func (i *Info) Echo() bool {
	switch i.Protocol {
	case ICMP:
		return i.ICMPType == 8 || i.ICMPType == 0
	case ICMPv6:
		return i.ICMPType == 128 || i.ICMPType == 129
	}
	return false
}

// EchoRequest reports whether the packet is an ICMP echo request.
func (i *Info) EchoRequest() bool {
	return i.Protocol == ICMP && i.ICMPType == 8 || i.Protocol == ICMPv6 && i.ICMPType == 128
}

// ICMPError reports whether the packet is an ICMP error, whose body is the start of the packet that it is about.
func (i *Info) ICMPError() bool {
	switch i.Protocol {
	case ICMP:
		return i.ICMPType == 3 || i.ICMPType == 11 || i.ICMPType == 12
	case ICMPv6:
		return i.ICMPType >= 1 && i.ICMPType <= 4
	}
	return false
}

// ParseQuoted reads the start of a packet that an ICMP error quotes. A quote is cut short, so only the IP header and the first 8 bytes of the
// transport header must be there.
func ParseQuoted(b []byte, info *Info) error {
	*info = Info{}
	switch {
	case len(b) >= 20 && b[0]>>4 == 4:
		header := int(b[0]&15) * 4
		if header < 20 || len(b) < header+8 {
			return ErrShort
		}
		info.Source, info.Destination = netip.AddrFrom4([4]byte(b[12:16])), netip.AddrFrom4([4]byte(b[16:20]))
		info.Protocol, info.Transport = b[9], header
		info.Later = binary.BigEndian.Uint16(b[6:])&0x1fff != 0
	case len(b) >= 48 && b[0]>>4 == 6: // a quote with extension headers is not matched
		info.Source, info.Destination = netip.AddrFrom16([16]byte(b[8:24])), netip.AddrFrom16([16]byte(b[24:40]))
		info.Protocol, info.Transport = b[6], 40
	default:
		return ErrShort
	}
	info.End = len(b)
	if info.Later {
		return nil
	}
	t := b[info.Transport:]
	switch info.Protocol {
	case TCP, UDP:
		info.ports(t)
	case ICMP, ICMPv6:
		info.ICMPType = t[0]
		if info.Echo() {
			info.SourcePort = binary.BigEndian.Uint16(t[4:])
			info.DestinationPort = info.SourcePort
		}
	}
	return nil
}

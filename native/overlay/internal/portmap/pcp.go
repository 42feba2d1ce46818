package portmap

import (
	"context"
	"encoding/binary"
	"errors"
	"net/netip"
	"time"
)

// Sizes in bytes and codes of PCP (RFC 6887 §7, §11.1).
const (
	pcpVersion  = 2
	pcpHeader   = 24
	pcpMap      = 36 // after the header
	pcpResponse = 0x80
	opAnnounce  = 0
	opMap       = 1
	protocolUDP = 17
)

var pcpResults = map[uint8]string{1: "another version", 2: "not authorized", 3: "malformed request", 4: "mapping not supported",
	5: "option not supported", 6: "malformed option", 7: "network failure", 8: "no resources", 9: "UDP not supported",
	10: "too many mappings of this host", 11: "the outside address is not available", 12: "another NAT is in between", 13: "too many peers"}

// pcpAnswer is a response of PCP.
type pcpAnswer struct {
	op, result uint8
	lifetime   uint32 // s
	epoch      uint32 // s
	// The fields of MAP.
	nonce    [12]byte
	protocol uint8
	internal uint16
	outside  netip.AddrPort
}

func encodePCPMap(nonce [12]byte, inside netip.AddrPort, wish netip.AddrPort, lifetime uint32) []byte {
	b := make([]byte, pcpHeader+pcpMap)
	b[0], b[1] = pcpVersion, opMap
	binary.BigEndian.PutUint32(b[4:], lifetime)
	client := inside.Addr().As16() // IPv4-mapped (§5)
	copy(b[8:], client[:])
	copy(b[24:], nonce[:])
	b[36] = protocolUDP
	binary.BigEndian.PutUint16(b[40:], inside.Port())
	binary.BigEndian.PutUint16(b[42:], wish.Port())
	address := netip.IPv4Unspecified()
	if wish.Addr().Is4() {
		address = wish.Addr()
	}
	outside := address.As16()
	copy(b[44:], outside[:])
	return b
}

func decodePCP(b []byte) (a pcpAnswer, err error) {
	if len(b) < pcpHeader || len(b) > answerMost || len(b)%4 != 0 || b[1]&pcpResponse == 0 {
		return a, errors.New("no response of PCP")
	}
	if b[0] != pcpVersion {
		return a, errors.New("another version of PCP")
	}
	a.op, a.result = b[1]&^pcpResponse, b[3]
	a.lifetime, a.epoch = binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:])
	if a.op != opMap {
		return a, nil
	}
	if len(b) < pcpHeader+pcpMap {
		return a, errors.New("the response is too short")
	}
	copy(a.nonce[:], b[24:])
	a.protocol = b[36]
	a.internal = binary.BigEndian.Uint16(b[40:])
	a.outside = netip.AddrPortFrom(netip.AddrFrom16([16]byte(b[44:60])).Unmap(), binary.BigEndian.Uint16(b[42:]))
	return a, nil
}

// pcp requests a mapping by PCP. All requests of a mapping have the same nonce (§11.2).
type pcp struct {
	gateway Gateway
	server  netip.AddrPort
	nonce   [12]byte
	clock   func(epoch uint32)
}

func (p *pcp) name() string { return "PCP" }

func (p *pcp) request(ctx context.Context, port uint16, wish netip.AddrPort, lifetime uint32) (out pcpAnswer, err error) {
	inside := netip.AddrPortFrom(p.gateway.Inside, port)
	err = p.gateway.exchange(ctx, p.server, encodePCPMap(p.nonce, inside, wish, lifetime), func(b []byte) (bool, error) {
		if len(b) >= 8 && b[0] == natpmpVersion && b[1]&pcpResponse != 0 {
			return false, errors.New("the router knows NAT-PMP only") // RFC 6886 §9
		}
		a, err := decodePCP(b)
		if err != nil || a.op != opMap || a.nonce != p.nonce || a.protocol != protocolUDP || a.internal != port {
			return false, nil
		}
		p.clock(a.epoch)
		if a.result != 0 {
			return false, refusal(pcpResults, a.result)
		}
		out = a
		return true, nil
	})
	return out, err
}

func (p *pcp) ask(ctx context.Context, port uint16, wish netip.AddrPort) (grant, error) {
	a, err := p.request(ctx, port, wish, lifetimeAsked)
	if err != nil {
		return grant{}, err
	}
	return grant{a.outside, time.Duration(a.lifetime) * time.Second}, nil
}

func (p *pcp) release(ctx context.Context, port uint16, _ netip.AddrPort) error {
	_, err := p.request(ctx, port, netip.AddrPort{}, 0) // §15.1: suggested fields are zero
	return err
}

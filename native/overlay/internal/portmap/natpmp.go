package portmap

import (
	"context"
	"encoding/binary"
	"errors"
	"net/netip"
	"time"
)

// Codes of NAT-PMP (RFC 6886 §3.2, §3.3).
const (
	natpmpVersion   = 0
	natpmpAddress   = 0
	natpmpMapUDP    = 1
	natpmpAddressOK = 12 // bytes of the responses
	natpmpMapOK     = 16
)

var natpmpResults = map[uint16]string{1: "another version", 2: "not authorized", 3: "network failure", 4: "no resources", 5: "mapping not supported"}

// natpmpAnswer is a response of NAT-PMP.
type natpmpAnswer struct {
	op                 uint8
	result             uint16
	epoch              uint32     // s
	address            netip.Addr // of opcode 0
	internal, external uint16     // of opcode 1
	lifetime           uint32     // s
}

func encodeNATPMPMap(internal, external uint16, lifetime uint32) []byte {
	b := make([]byte, 12)
	b[1] = natpmpMapUDP
	binary.BigEndian.PutUint16(b[4:], internal)
	binary.BigEndian.PutUint16(b[6:], external)
	binary.BigEndian.PutUint32(b[8:], lifetime)
	return b
}

func decodeNATPMP(b []byte) (a natpmpAnswer, err error) {
	if len(b) < 8 || len(b) > natpmpMapOK || b[0] != natpmpVersion || b[1]&pcpResponse == 0 {
		return a, errors.New("no response of NAT-PMP")
	}
	a.op, a.result, a.epoch = b[1]&^pcpResponse, binary.BigEndian.Uint16(b[2:]), binary.BigEndian.Uint32(b[4:])
	if a.result != 0 {
		return a, nil // the rest is undefined
	}
	switch {
	case a.op == natpmpAddress && len(b) == natpmpAddressOK:
		a.address = netip.AddrFrom4([4]byte(b[8:12]))
	case a.op == natpmpMapUDP && len(b) == natpmpMapOK:
		a.internal, a.external = binary.BigEndian.Uint16(b[8:]), binary.BigEndian.Uint16(b[10:])
		a.lifetime = binary.BigEndian.Uint32(b[12:])
	default:
		return a, errors.New("the response has a wrong length or opcode")
	}
	return a, nil
}

// natpmp requests a mapping by NAT-PMP.
type natpmp struct {
	gateway Gateway
	server  netip.AddrPort
	clock   func(epoch uint32)
}

func (p *natpmp) name() string { return "NAT-PMP" }

func (p *natpmp) request(ctx context.Context, request []byte, fits func(natpmpAnswer) bool) (out natpmpAnswer, err error) {
	err = p.gateway.exchange(ctx, p.server, request, func(b []byte) (bool, error) {
		a, err := decodeNATPMP(b)
		if err != nil || a.op != request[1] || a.result == 0 && !fits(a) {
			return false, nil
		}
		p.clock(a.epoch)
		if a.result != 0 {
			return false, refusal(natpmpResults, a.result)
		}
		out = a
		return true, nil
	})
	return out, err
}

func (p *natpmp) ask(ctx context.Context, port uint16, wish netip.AddrPort) (grant, error) {
	at, err := p.request(ctx, []byte{natpmpVersion, natpmpAddress}, func(natpmpAnswer) bool { return true })
	if err != nil {
		return grant{}, err
	}
	a, err := p.request(ctx, encodeNATPMPMap(port, wish.Port(), lifetimeAsked), func(a natpmpAnswer) bool { return a.internal == port })
	if err != nil {
		return grant{}, err
	}
	return grant{netip.AddrPortFrom(at.address, a.external), time.Duration(a.lifetime) * time.Second}, nil
}

func (p *natpmp) release(ctx context.Context, port uint16, _ netip.AddrPort) error {
	_, err := p.request(ctx, encodeNATPMPMap(port, 0, 0), func(a natpmpAnswer) bool { return a.internal == port })
	return err
}

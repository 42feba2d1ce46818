package paths

import (
	"encoding/binary"
	"net"
	"net/netip"

	"seganet.internal/overlay/internal/bind"
	"seganet.internal/overlay/internal/udpbatch"
	"seganet.internal/overlay/internal/udpbuf"
)

const (
	// channelHeader is the length in bytes of the header of ChannelData: channel number, length (RFC 8656, section 12.4).
	channelHeader = 4
	// relayPieces bounds the pieces that are read by one system call.
	relayPieces = 4
)

// channels are those of TURN's client, which makes and keeps them.
type channels interface {
	FindAddrByChannelNumber(number uint16) (net.Addr, bool)
	FindChannelNumberByAddr(addr net.Addr) (uint16, bool)
	IsChannelActive(number uint16) bool
}

// relaySocket is the UDP socket to a relay. It sends and receives the packets of channels itself, in batches; TURN's
// client has all else. Urgent packets of channels leave with their type of service, as on a direct path; the relay sends
// them on without. The first packets to a destination travel in another form (RFC 8656, Send indication), by the client.
//
// Thread safety: all methods but read may be called concurrently.
type relaySocket struct {
	*udpbatch.Conn
	relay   netip.AddrPort
	control []byte // the control message with the type of service
	pieces  []udpbatch.Piece
}

func openRelaySocket(network string, relay netip.AddrPort) (*relaySocket, error) {
	c, err := net.ListenUDP(network, nil)
	if err != nil {
		return nil, err
	}
	udpbuf.Grow(c, relayBuffer)
	b, err := udpbatch.New(c, relayPieces)
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	return &relaySocket{Conn: b, relay: relay, control: bind.UrgentControl(relay.Addr().Is4()), pieces: make([]udpbatch.Piece, relayPieces)}, nil
}

// read waits for datagrams and calls f with each one that comes from the relay's address.
func (s *relaySocket) read(f func(datagram []byte)) error {
	n, err := s.Read(s.pieces)
	for _, p := range s.pieces[:n] {
		if p.From == s.relay {
			p.Each(f)
		}
	}
	return err
}

// sendChannel sends packets in a channel. It writes the header before each packet.
func (s *relaySocket) sendChannel(packets [][]byte, offset int, number uint16) error {
	at := offset - channelHeader
	for _, b := range packets {
		binary.BigEndian.PutUint16(b[at:], number)
		binary.BigEndian.PutUint16(b[at+2:], uint16(len(b)-offset))
	}
	return bind.SendMarked(s.Conn, packets, at, s.relay, s.control)
}

// listenBatched hands packets of channels to deliver, and all else that the relay sends to TURN's client.
func (a *Allocation) listenBatched(deliver func([]byte, netip.AddrPort)) {
	relay := net.UDPAddrFromAddrPort(a.at)
	var last uint16
	var from netip.AddrPort // of the channel last
	f := func(datagram []byte) {
		packet, number, ok := channelData(datagram)
		c := a.channels.Load()
		if !ok || c == nil {
			_, _ = a.client.HandleInbound(datagram, relay)
			return
		}
		if number != last || !from.IsValid() {
			addr, _ := (*c).FindAddrByChannelNumber(number)
			u, ok := addr.(*net.UDPAddr)
			if !ok {
				return // of no channel: the client would drop it, too
			}
			last, from = number, unmap(u.AddrPort())
		}
		a.received(packet, from, deliver)
	}
	for {
		if err := a.socket.read(f); err != nil {
			a.kill()
			return
		}
	}
}

// channelData returns the packet in a ChannelData message, without padding.
func channelData(b []byte) (packet []byte, number uint16, ok bool) {
	if len(b) < channelHeader || b[0]>>6 != 1 {
		return nil, 0, false
	}
	length := int(binary.BigEndian.Uint16(b[2:]))
	if length > len(b)-channelHeader {
		return nil, 0, false
	}
	return b[channelHeader:][:length], binary.BigEndian.Uint16(b), true
}

// channel returns the number of an address's channel. It returns false if the relay has not confirmed one.
func (a *Allocation) channel(to *net.UDPAddr) (uint16, bool) {
	c := a.channels.Load()
	if c == nil {
		return 0, false
	}
	number, ok := (*c).FindChannelNumberByAddr(to)
	return number, ok && (*c).IsChannelActive(number)
}

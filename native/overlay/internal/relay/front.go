package relay

import (
	"encoding/binary"
	"net"
	"net/netip"

	"seganet.internal/overlay/internal/udpbatch"
)

const (
	// channelHeader is the length in bytes of the header of ChannelData: channel number, length (RFC 8656, section 12.4).
	channelHeader = 4
	// frontPieces bounds the pieces that a front reads by one system call.
	frontPieces = 16
)

// front is a UDP socket that nodes reach the relay by. It forwards ChannelData between two nodes that both have their
// relayed address here by itself: it replaces the channel number and sends what the kernel has joined in one piece.
// TURN's library has all else, and makes the channels. With the library alone each packet crosses four sockets, one by
// one.
//
// The first packets of a pair travel without a channel, by the library. Those that follow may overtake the last of them.
type front struct {
	*udpbatch.Conn
	list   *allocations
	pieces []udpbatch.Piece
	left   []udpbatch.Piece
}

func newFront(c *net.UDPConn, list *allocations) (*front, error) {
	b, err := udpbatch.New(c, frontPieces)
	return &front{Conn: b, list: list, pieces: make([]udpbatch.Piece, frontPieces)}, err
}

// ReadFrom implements net.PacketConn for the library. One goroutine calls it.
func (f *front) ReadFrom(b []byte) (int, net.Addr, error) {
	for {
		for len(f.left) > 0 {
			p := &f.left[0]
			f.forward(p)
			if len(p.Bytes) == 0 {
				f.left = f.left[1:]
				continue
			}
			size := min(p.Segment, len(p.Bytes))
			n := copy(b, p.Bytes[:size])
			p.Bytes = p.Bytes[size:]
			return n, net.UDPAddrFromAddrPort(p.From), nil
		}
		n, err := f.Read(f.pieces)
		if err != nil {
			return 0, nil, err
		}
		f.left = f.pieces[:n]
	}
}

// forward removes the first datagrams of the piece that it forwards.
func (f *front) forward(p *udpbatch.Piece) {
	for len(p.Bytes) >= channelHeader {
		number := binary.BigEndian.Uint16(p.Bytes)
		to, ok := f.list.outlet(f, p.From, number)
		if !ok {
			return
		}
		n := 0
		for n < len(p.Bytes) {
			datagram := p.Bytes[n:min(n+p.Segment, len(p.Bytes))]
			if !isChannelData(datagram, number) {
				break
			}
			binary.BigEndian.PutUint16(datagram, to.number)
			n += len(datagram)
		}
		if n == 0 {
			return
		}
		_ = to.front.WriteJoined(p.Bytes[:n], p.Segment, to.node, nil) // lost, as any datagram may be
		p.Bytes = p.Bytes[n:]
	}
}

// isChannelData is true if the datagram is ChannelData of the channel, perhaps padded to a multiple of 4 bytes.
func isChannelData(b []byte, number uint16) bool {
	if len(b) < channelHeader || binary.BigEndian.Uint16(b) != number {
		return false
	}
	spare := len(b) - channelHeader - int(binary.BigEndian.Uint16(b[2:]))
	return spare >= 0 && spare < 4
}

// outlet is where packets of a channel leave: to a node, in its channel for the sender.
type outlet struct {
	front  *front
	node   netip.AddrPort
	number uint16
}

// channels are those of one allocation whose node uses UDP.
type channels struct {
	front   *front
	node    netip.AddrPort
	peers   map[uint16]netip.AddrPort
	numbers map[netip.AddrPort]uint16
}

// outlet returns where a node's packets of a channel leave. It returns false if they do not lead to a node that has its
// relayed address here and a channel for the sender's.
func (l *allocations) outlet(f *front, node netip.AddrPort, number uint16) (o outlet, ok bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	from := l.fast[sender{f, node}]
	if from == nil {
		return o, false
	}
	peer, ok := from.channels.peers[number]
	if !ok {
		return o, false
	}
	to := l.addresses[peer]
	if to == nil || to.channels == nil {
		return o, false
	}
	back, ok := to.channels.numbers[from.at]
	if ok {
		from.touch()
	}
	return outlet{to.channels.front, to.channels.node, back}, ok
}

// sender is a node as a front sees it.
type sender struct {
	front *front
	node  netip.AddrPort
}

// bound records a channel of a relayed address.
func (l *allocations) bound(f *front, node netip.AddrPort, relayed string, peer netip.AddrPort, number uint16) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.relayed[relayed]
	if p == nil {
		return
	}
	if p.channels == nil {
		p.channels = &channels{front: f, node: node, peers: map[uint16]netip.AddrPort{}, numbers: map[netip.AddrPort]uint16{}}
		l.fast[sender{f, node}] = p
	}
	p.channels.peers[number], p.channels.numbers[peer] = peer, number
}

// unbound removes a channel. The relayed address may be another node's by now.
func (l *allocations) unbound(f *front, node netip.AddrPort, relayed string, peer netip.AddrPort, number uint16) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := l.relayed[relayed]; p != nil && l.fast[sender{f, node}] == p {
		delete(p.channels.peers, number)
		delete(p.channels.numbers, peer)
	}
}

// channelEvent calls f with the arguments of the library's event, if the node uses UDP and one of the fronts.
func (s *Server) channelEvent(node, at, peer net.Addr, f func(front *front, node, peer netip.AddrPort)) {
	front := s.fronts[at.String()]
	n, isUDP := node.(*net.UDPAddr)
	p, ok := peer.(*net.UDPAddr)
	if front != nil && isUDP && ok {
		f(front, unmap(n.AddrPort()), unmap(p.AddrPort()))
	}
}

func unmap(a netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) }

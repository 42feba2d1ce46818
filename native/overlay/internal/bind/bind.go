package bind

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tailscale/wireguard-go/conn"

	"seganet.internal/overlay/internal/udpbatch"
)

const (
	// RelayedQueue is the number of packets that wait between the relay's reader and WireGuard. Further packets are
	// dropped and counted, as a full socket buffer does.
	RelayedQueue = 512
	// relayedBuffer is the capacity of one of these buffers in bytes: a packet of the largest MTU (1,500) with headers.
	relayedBuffer = 2048
	// receivePause is the time after a failed reception.
	receivePause = 50 * time.Millisecond
	// transportKeepalive is the length in bytes of a WireGuard keepalive: a transport message without content.
	transportKeepalive = 32
)

// Key is a peer's WireGuard public key (Curve25519).
type Key = [32]byte

// Relay carries packets by this node's allocation at a relay.
type Relay interface {
	// SendRelayed sends packets to the peer's address at its relay. It must not block: WireGuard's sender of this peer
	// waits for it.
	SendRelayed(packets [][]byte, offset int, to netip.AddrPort) error
}

// Source is where an authenticated packet came from.
type Source struct {
	Addr  netip.AddrPort
	Relay bool
}

// Counters counts the dropped packets that no peer's Endpoint can count, by reason.
type Counters struct {
	NoPath       atomic.Uint64 // outbound packets of peers without a path
	RelayedFull  atomic.Uint64 // inbound packets by the relay, dropped because RelayedQueue was full
	STUNFull     atomic.Uint64 // STUN messages, dropped because their queue was full
	RelayRefused atomic.Uint64 // outbound packets that the relay refused
	Unreceived   atomic.Uint64 // receptions that failed
}

// Bind implements conn.Bind.
//
// Thread safety: all methods may be called concurrently.
type Bind struct {
	// Counters may be read at any time.
	Counters Counters

	sockets atomic.Pointer[sockets] // nil while closed
	start   time.Time
	port    atomic.Uint32
	relay   atomic.Pointer[Relay]
	stun    atomic.Pointer[STUNConn]
	relayed chan *relayedPacket
	free    sync.Pool

	releases atomic.Uint64 // calls of Release
	wake     chan struct{} // wakes the receiver of relayed packets

	faults atomic.Pointer[Faults]

	mu        sync.Mutex // guards closed and writes to endpoints
	closed    chan struct{}
	endpoints atomic.Pointer[map[Key]*Endpoint] // copied on write

	moved     atomic.Pointer[func(*Endpoint, Source)]
	relayOnly atomic.Bool
}

// SetRelayOnly forbids, or allows, that a handshake is answered directly beside the path.
func (b *Bind) SetRelayOnly(on bool) { b.relayOnly.Store(on) }

// Faults drops direct packets on purpose, as a broken network does, for tests. Both functions may be nil.
type Faults struct {
	DropSend    func(to netip.AddrPort) bool
	DropReceive func(from netip.AddrPort) bool
}

type relayedPacket struct {
	buf  [relayedBuffer]byte
	n    int
	from netip.AddrPort
}

// New returns a closed Bind; the WireGuard device opens it.
func New() *Bind {
	b := &Bind{start: time.Now(), relayed: make(chan *relayedPacket, RelayedQueue), wake: make(chan struct{}, 1)}
	b.free.New = func() any { return new(relayedPacket) }
	b.endpoints.Store(&map[Key]*Endpoint{})
	return b
}

// Now returns the time that Endpoint's times are measured in: nanoseconds since the Bind was made, at least 1.
func (b *Bind) Now() int64 { return int64(time.Since(b.start)) + 1 }

// Port returns the UDP port, 0 before the first Open.
func (b *Bind) Port() uint16 { return uint16(b.port.Load()) }

// SetRelay sets the relay for this node's packets; nil removes it. An unanswered handshake is sent again at once: a peer's
// address at its relay is often known before this node has a relay of its own.
func (b *Bind) SetRelay(r Relay) {
	if r == nil {
		b.relay.Store(nil)
		return
	}
	b.relay.Store(&r)
	for _, e := range *b.endpoints.Load() {
		e.resendHandshake()
	}
}

// SetFaults installs faults; nil removes them.
func (b *Bind) SetFaults(f *Faults) { b.faults.Store(f) }

// OnMoved sets the function that runs when an authenticated packet of a peer comes from an address that is not in the
// peer's path. It runs on the receive path and must not block. WireGuard's own roaming is off: such a packet does not
// replace the path, the function's owner decides.
func (b *Bind) OnMoved(f func(*Endpoint, Source)) { b.moved.Store(&f) }

// Endpoint returns the peer's endpoint and makes it at the first call. begins says which of two sides begins a session.
func (b *Bind) Endpoint(key Key, begins bool) *Endpoint {
	if e := b.lookup(key); e != nil {
		return e
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	old := *b.endpoints.Load()
	if e := old[key]; e != nil {
		return e
	}
	e := &Endpoint{key: key, bind: b}
	e.handshake.begins = begins
	next := maps.Clone(old)
	next[key] = e
	b.endpoints.Store(&next)
	return e
}

// Forget removes the peer's endpoint. Later packets of the peer have no effect.
func (b *Bind) Forget(key Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	old := *b.endpoints.Load()
	e := old[key]
	if e == nil {
		return
	}
	next := maps.Clone(old)
	delete(next, key)
	b.endpoints.Store(&next)
	e.SetPath(Path{})
}

func (b *Bind) lookup(key Key) *Endpoint { return (*b.endpoints.Load())[key] }

// Open implements conn.Bind.
func (b *Bind) Open(port uint16) ([]conn.ReceiveFunc, uint16, error) {
	opened, actual, err := openSockets(port)
	if err != nil {
		return nil, 0, fmt.Errorf("cannot open UDP port %d: %w", port, err)
	}
	if !b.sockets.CompareAndSwap(nil, opened) {
		opened.close()
		return nil, 0, conn.ErrBindAlreadyOpen
	}
	b.port.Store(uint32(actual))
	closed := make(chan struct{})
	b.mu.Lock()
	b.closed = closed
	b.mu.Unlock()
	var out []conn.ReceiveFunc
	for _, c := range []*udpbatch.Conn{opened.v4, opened.v6} {
		if c != nil {
			out = append(out, b.receiveDirect(c))
		}
	}
	return append(out, b.receiveRelayed(closed)), actual, nil
}

// Close implements conn.Bind.
func (b *Bind) Close() error {
	b.mu.Lock()
	if b.closed != nil {
		close(b.closed)
		b.closed = nil
	}
	b.mu.Unlock()
	if s := b.sockets.Swap(nil); s != nil {
		return s.close()
	}
	return nil
}

// SetMark implements conn.Bind. No mark is supported: WireGuard's configuration here has none.
func (b *Bind) SetMark(mark uint32) error {
	if mark != 0 {
		return errors.New("the overlay's port has no mark")
	}
	return nil
}

// BatchSize implements conn.Bind.
func (b *Bind) BatchSize() int { return batchSize }

// ParseEndpoint implements conn.Bind. Peers get their endpoint from Endpoint, never from text.
func (b *Bind) ParseEndpoint(s string) (conn.Endpoint, error) {
	return nil, fmt.Errorf("an endpoint %q cannot be set by text", s)
}

// socket is the reading side of a udpbatch.Conn.
type socket interface {
	Read(pieces []udpbatch.Piece) (int, error)
	Discard()
}

// receiveDirect returns the receiver of a socket. It takes up to readPieces pieces by one system call, and returns their
// datagrams in as many calls as WireGuard's batches need.
func (b *Bind) receiveDirect(c socket) conn.ReceiveFunc {
	var released uint64
	pieces := make([]udpbatch.Piece, readPieces)
	var left []udpbatch.Piece
	return func(bufs [][]byte, sizes []int, eps []conn.Endpoint) (int, error) {
		if len(left) == 0 {
			if b.releaseOnce(&released, bufs) {
				c.Discard()
			}
			n, err := c.Read(pieces)
			if errors.Is(err, net.ErrClosed) {
				return 0, err
			}
			if err != nil {
				// WireGuard ends a receiver whose socket fails permanently. The socket may work again in a moment.
				b.Counters.Unreceived.Add(1)
				time.Sleep(receivePause)
				return 0, nil
			}
			left = pieces[:n]
		}
		n := 0
		for n < len(bufs) && len(left) > 0 {
			n += b.take(&left[0], bufs[n:], sizes[n:], eps[n:])
			if len(left[0].Bytes) == 0 {
				left = left[1:]
			}
		}
		return n, nil
	}
}

// take moves the first datagrams of a piece into the buffers, and STUN messages to ICE. It returns how many buffers it
// filled.
func (b *Bind) take(p *udpbatch.Piece, bufs [][]byte, sizes []int, eps []conn.Endpoint) (n int) {
	drop := false
	if f := b.faults.Load(); f != nil && f.DropReceive != nil {
		drop = f.DropReceive(p.From)
	}
	at := b.Now()
	var batch []origin // one allocation a piece
	for n < len(bufs) && len(p.Bytes) > 0 {
		size := min(p.Segment, len(p.Bytes))
		datagram := p.Bytes[:size]
		p.Bytes = p.Bytes[size:]
		switch {
		case drop:
		case IsSTUN(datagram):
			if s := b.stun.Load(); s != nil {
				s.push(datagram, p.From)
			}
		default:
			if batch == nil {
				batch = make([]origin, min(len(bufs)-n, 1+(len(p.Bytes)+p.Segment-1)/p.Segment))
			}
			sizes[n] = copy(bufs[n], datagram)
			batch[0] = origin{bind: b, at: at, size: size, Source: Source{Addr: p.From}}
			eps[n] = &batch[0]
			batch = batch[1:]
			n++
		}
	}
	return n
}

func (b *Bind) receiveRelayed(closed <-chan struct{}) conn.ReceiveFunc {
	var released uint64
	return func(bufs [][]byte, sizes []int, eps []conn.Endpoint) (int, error) {
		b.releaseOnce(&released, bufs)
		var p *relayedPacket
		select {
		case <-closed:
			return 0, net.ErrClosed
		case <-b.wake:
			return 0, nil
		case p = <-b.relayed:
		}
		at := b.Now()
		for n := 0; ; {
			sizes[n] = copy(bufs[n], p.buf[:p.n])
			eps[n] = &origin{bind: b, at: at, size: p.n, Source: Source{Addr: p.from, Relay: true}}
			b.free.Put(p)
			if n++; n == len(bufs) {
				return n, nil
			}
			select {
			case p = <-b.relayed:
			default:
				return n, nil
			}
		}
	}
}

// DeliverRelayed hands a packet that came by the relay to WireGuard. It copies the packet and never blocks.
func (b *Bind) DeliverRelayed(packet []byte, from netip.AddrPort) {
	if len(packet) > relayedBuffer {
		b.Counters.RelayedFull.Add(1)
		return
	}
	p := b.free.Get().(*relayedPacket)
	p.n, p.from = copy(p.buf[:], packet), unmap(from)
	select {
	case b.relayed <- p:
	default:
		b.free.Put(p)
		b.Counters.RelayedFull.Add(1)
	}
}

// Send implements conn.Bind. Each packet begins at offset.
func (b *Bind) Send(bufs [][]byte, ep conn.Endpoint, offset int) error {
	switch e := ep.(type) {
	case *Endpoint:
		return e.send(bufs, offset)
	case *origin: // a cookie reply answers the datagram's source
		return b.sendTo(bufs, offset, e.Source)
	}
	return conn.ErrWrongEndpointType
}

// sendTo answers where a datagram came from.
func (b *Bind) sendTo(bufs [][]byte, offset int, to Source) error {
	if to.Relay {
		return b.sendRelayed(bufs, offset, to.Addr)
	}
	return b.sendDirect(bufs, offset, to.Addr)
}

// SendTo sends one datagram that is not WireGuard's (a STUN message, a NAT probe) from the shared port.
func (b *Bind) SendTo(packet []byte, to netip.AddrPort) error {
	return b.sendDirect([][]byte{packet}, 0, unmap(to))
}

func (b *Bind) sendDirect(bufs [][]byte, offset int, to netip.AddrPort) error {
	if f := b.faults.Load(); f != nil && f.DropSend != nil && f.DropSend(to) {
		return nil
	}
	s := b.sockets.Load()
	if s == nil {
		return net.ErrClosed
	}
	return s.send(bufs, offset, to)
}

var errNoRelay = errors.New("this node has no relay at the moment")

func (b *Bind) sendRelayed(bufs [][]byte, offset int, to netip.AddrPort) error {
	r := b.relay.Load()
	if r == nil {
		return errNoRelay
	}
	return (*r).SendRelayed(bufs, offset, to)
}

func unmap(a netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) }

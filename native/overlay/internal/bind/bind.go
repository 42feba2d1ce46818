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

	std     conn.Bind
	start   time.Time
	port    atomic.Uint32
	relay   atomic.Pointer[Relay]
	stun    atomic.Pointer[STUNConn]
	relayed chan *relayedPacket
	free    sync.Pool

	releases atomic.Uint64 // calls of Release
	wake     chan struct{} // wakes the receiver of relayed packets

	faults atomic.Pointer[Faults]
	marked atomic.Pointer[marked] // nil while closed

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
	b := &Bind{std: conn.NewStdNetBind(), start: time.Now(), relayed: make(chan *relayedPacket, RelayedQueue), wake: make(chan struct{}, 1)}
	b.free.New = func() any { return new(relayedPacket) }
	b.endpoints.Store(&map[Key]*Endpoint{})
	return b
}

// Now returns the time that Endpoint's times are measured in: nanoseconds since the Bind was made, at least 1.
func (b *Bind) Now() int64 { return int64(time.Since(b.start)) + 1 }

// Port returns the UDP port, 0 before the first Open.
func (b *Bind) Port() uint16 { return uint16(b.port.Load()) }

// SetRelay sets the relay for this node's packets; nil removes it.
func (b *Bind) SetRelay(r Relay) {
	if r == nil {
		b.relay.Store(nil)
		return
	}
	b.relay.Store(&r)
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
	fns, actual, err := b.std.Open(port)
	if err != nil {
		return nil, 0, fmt.Errorf("cannot open UDP port %d: %w", port, err)
	}
	b.port.Store(uint32(actual))
	b.replaceMarked(openMarked(actual))
	closed := make(chan struct{})
	b.mu.Lock()
	b.closed = closed
	b.mu.Unlock()
	out := make([]conn.ReceiveFunc, 0, len(fns)+1)
	for _, fn := range fns {
		out = append(out, b.receiveDirect(fn))
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
	b.replaceMarked(nil)
	return b.std.Close()
}

func (b *Bind) replaceMarked(m *marked) {
	if old := b.marked.Swap(m); old != nil {
		old.close()
	}
}

// SetMark implements conn.Bind.
func (b *Bind) SetMark(mark uint32) error { return b.std.SetMark(mark) }

// BatchSize implements conn.Bind.
func (b *Bind) BatchSize() int { return b.std.BatchSize() }

// ParseEndpoint implements conn.Bind. Peers get their endpoint from Endpoint, never from text.
func (b *Bind) ParseEndpoint(s string) (conn.Endpoint, error) {
	return nil, fmt.Errorf("an endpoint %q cannot be set by text", s)
}

func (b *Bind) receiveDirect(fn conn.ReceiveFunc) conn.ReceiveFunc {
	var released uint64
	return func(bufs [][]byte, sizes []int, eps []conn.Endpoint) (int, error) {
		b.releaseOnce(&released, bufs)
		n, err := fn(bufs, sizes, eps)
		if err != nil && !errors.Is(err, net.ErrClosed) {
			// WireGuard ends a receiver whose socket fails permanently. The socket may work again in a moment.
			b.Counters.Unreceived.Add(1)
			time.Sleep(receivePause)
			return 0, nil
		}
		if n == 0 {
			return n, err
		}
		faults := b.faults.Load()
		at := b.Now()
		batch := make([]origin, n) // one allocation a batch
		for i := range n {
			if sizes[i] == 0 {
				continue
			}
			from := unmap(eps[i].(*conn.StdNetEndpoint).AddrPort)
			if faults != nil && faults.DropReceive != nil && faults.DropReceive(from) {
				sizes[i] = 0
				continue
			}
			if IsSTUN(bufs[i][:sizes[i]]) {
				if s := b.stun.Load(); s != nil {
					s.push(bufs[i][:sizes[i]], from)
				}
				sizes[i] = 0
				continue
			}
			batch[i] = origin{bind: b, at: at, size: sizes[i], Source: Source{Addr: from}}
			eps[i] = &batch[i]
		}
		return n, err
	}
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
	return b.sendDirect(bufs, offset, &conn.StdNetEndpoint{AddrPort: to.Addr})
}

// SendTo sends one datagram that is not WireGuard's (a STUN message, a NAT probe) from the shared port.
func (b *Bind) SendTo(packet []byte, to netip.AddrPort) error {
	return b.sendDirect([][]byte{packet}, 0, &conn.StdNetEndpoint{AddrPort: unmap(to)})
}

func (b *Bind) sendDirect(bufs [][]byte, offset int, to *conn.StdNetEndpoint) error {
	if f := b.faults.Load(); f != nil && f.DropSend != nil && f.DropSend(to.AddrPort) {
		return nil
	}
	if offset > 0 { // a buffer of WireGuard
		return b.sendMarked(bufs, offset, to)
	}
	return b.std.Send(bufs, to, offset)
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

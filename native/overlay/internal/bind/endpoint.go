package bind

import (
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"github.com/tailscale/wireguard-go/conn"
)

// Path is the way to a peer. The zero value is no path.
type Path struct {
	Direct netip.AddrPort // where data goes; zero: by the relay
	Relay  netip.AddrPort // the peer's address at its relay; zero: unknown
	Trial  netip.AddrPort // a direct address under test: handshakes and probes go there, data does not
	Both   bool           // data goes by Direct and by Relay; WireGuard's replay window drops the copy that comes second
}

// Usable is true if the path can carry data.
func (p Path) Usable() bool { return p.Direct.IsValid() || p.Relay.IsValid() || p.Trial.IsValid() }

type route struct{ Path }

// leadsTo is true if a handshake by the route goes to s. r may be nil.
func (r *route) leadsTo(s Source) bool {
	if r == nil {
		return false
	}
	if s.Relay {
		return s.Addr == r.Relay && (!r.Direct.IsValid() || r.Both)
	}
	return s.Addr == r.Direct || s.Addr == r.Trial
}

// Endpoint is a peer as WireGuard's socket sees it, for the peer's whole life.
//
// Thread safety: all methods may be called concurrently.
type Endpoint struct {
	key  Key
	bind *Bind
	path atomic.Pointer[route]

	// Times in Bind.Now's nanoseconds, 0 is never. Only authenticated packets count as received.
	heardDirect, heardRelay, sentDirect, sentRelay atomic.Int64
	rxDirect, rxRelay, txDirect, txRelay           atomic.Uint64 // bytes of UDP payload

	probes    atomic.Int32
	handshake handshake
}

// Traffic is what went over the paths of a peer. Times are Bind.Now's; bytes are UDP payload.
type Traffic struct {
	HeardDirect, HeardRelay, SentDirect, SentRelay int64
	RxDirect, RxRelay, TxDirect, TxRelay           uint64
}

// Key returns the peer's public key.
func (e *Endpoint) Key() Key { return e.key }

// Traffic returns the counters as they are now.
func (e *Endpoint) Traffic() Traffic {
	return Traffic{HeardDirect: e.heardDirect.Load(), HeardRelay: e.heardRelay.Load(), SentDirect: e.sentDirect.Load(),
		SentRelay: e.sentRelay.Load(), RxDirect: e.rxDirect.Load(), RxRelay: e.rxRelay.Load(), TxDirect: e.txDirect.Load(),
		TxRelay: e.txRelay.Load()}
}

// Path returns the current path.
func (e *Endpoint) Path() Path {
	if r := e.path.Load(); r != nil {
		return r.Path
	}
	return Path{}
}

// SetPath swaps the path. A handshake that has not been answered is sent again at once: it may have left by a dead path,
// or have waited for the first one.
func (e *Endpoint) SetPath(p Path) {
	if !p.Usable() {
		e.path.Store(nil)
		return
	}
	if old := e.path.Swap(&route{p}); old == nil || old.Path != p {
		e.resendHandshake()
	}
}

// ProbeTrial makes the next keepalive leave by the path's trial address only. If the peer receives that keepalive, the
// direct path carries authenticated data (CYPHONIC §5.4). A STUN check is no such proof: it can pass where data does
// not.
func (e *Endpoint) ProbeTrial() { e.probes.Store(1) }

func (e *Endpoint) send(bufs [][]byte, offset int) error {
	if len(bufs) == 1 {
		packet := bufs[0][offset:]
		if isHandshake(packet) {
			return e.sendHandshake(packet)
		}
		if len(packet) == transportKeepalive && e.probes.CompareAndSwap(1, 0) {
			if r := e.path.Load(); r != nil && r.Trial.IsValid() {
				e.sentDirect.Store(e.bind.Now())
				e.txDirect.Add(uint64(len(packet)))
				return e.bind.sendDirect(bufs, offset, r.Trial)
			}
		}
	}
	return e.sendByPath(bufs, offset)
}

// lately is the maximum age of a peer's latest packet on a path that sendByPath counts as alive.
const lately = int64(time.Second)

// smallBytes is the size of a packet up to which it is copied to an address under test.
const smallBytes = 256

// sendByPath sends by the direct path, else by the relay, else by the address under test, which is the only one without
// a relay. It sends two copies if the path has Both set. It also does so if the relay is silent while packets arrive
// from the address under test: otherwise the proof that the peer waits for would leave only by the relay.
func (e *Endpoint) sendByPath(bufs [][]byte, offset int) error {
	r := e.path.Load()
	if r == nil {
		e.bind.Counters.NoPath.Add(uint64(len(bufs)))
		return nil // WireGuard logs an error for each packet; the counter is enough
	}
	var size uint64
	for _, b := range bufs {
		size += uint64(len(b) - offset)
	}
	direct := r.Direct
	if r.Relay.IsValid() && (!direct.IsValid() || r.Both) {
		err := e.bind.sendRelayed(bufs, offset, r.Relay)
		if err == nil {
			e.sentRelay.Store(e.bind.Now())
			e.txRelay.Add(size)
			if !direct.IsValid() && !(e.trialAlone(r) && areSmall(bufs, offset)) {
				return nil
			}
		} else if !direct.IsValid() {
			e.bind.Counters.RelayRefused.Add(uint64(len(bufs)))
		}
	}
	if !direct.IsValid() {
		direct = r.Trial
	}
	if !direct.IsValid() {
		e.bind.Counters.NoPath.Add(uint64(len(bufs)))
		return nil
	}
	e.sentDirect.Store(e.bind.Now())
	e.txDirect.Add(size)
	return e.bind.sendDirect(bufs, offset, direct)
}

// areSmall is true for proofs and keepalives: data is not sent twice.
func areSmall(bufs [][]byte, offset int) bool {
	return !slices.ContainsFunc(bufs, func(b []byte) bool { return len(b)-offset > smallBytes })
}

// trialAlone is true if the peer's packets arrive directly, from an address under test, and not by the relay.
func (e *Endpoint) trialAlone(r *route) bool {
	if !r.Trial.IsValid() {
		return false
	}
	now, direct := e.bind.Now(), e.heardDirect.Load()
	return direct != 0 && now-direct < lately && now-e.heardRelay.Load() > lately
}

func (e *Endpoint) heard(o *origin) {
	r := e.path.Load()
	known := false
	if o.Relay {
		e.heardRelay.Store(o.at)
		e.rxRelay.Add(uint64(o.size))
		known = r != nil && r.Relay == o.Addr
	} else {
		e.heardDirect.Store(o.at)
		e.rxDirect.Add(uint64(o.size))
		known = r != nil && (r.Direct == o.Addr || r.Trial == o.Addr)
	}
	if !known {
		if f := e.bind.moved.Load(); f != nil {
			(*f)(e, o.Source)
		}
	}
}

// ClearSrc implements conn.Endpoint. The kernel chooses the source address of each packet.
func (e *Endpoint) ClearSrc() {}

// SrcToString implements conn.Endpoint.
func (e *Endpoint) SrcToString() string { return "" }

// DstToString implements conn.Endpoint.
func (e *Endpoint) DstToString() string {
	p := e.Path()
	switch {
	case p.Direct.IsValid():
		return "direct " + p.Direct.String()
	case p.Relay.IsValid():
		return "relay " + p.Relay.String()
	}
	return "no path"
}

// DstToBytes implements conn.Endpoint.
func (e *Endpoint) DstToBytes() []byte { return e.key[:] }

// DstIP implements conn.Endpoint.
func (e *Endpoint) DstIP() netip.Addr { return e.Path().Direct.Addr() }

// SrcIP implements conn.Endpoint.
func (e *Endpoint) SrcIP() netip.Addr { return netip.Addr{} }

// origin is the endpoint of one received datagram. WireGuard calls FromPeer once it has authenticated the datagram and
// its counter has passed the replay window.
type origin struct {
	Source
	bind *Bind
	at   int64
	size int
}

var (
	_ conn.PeerAwareEndpoint       = (*origin)(nil)
	_ conn.InitiationAwareEndpoint = (*origin)(nil)
)

// FromPeer implements conn.PeerAwareEndpoint.
func (o *origin) FromPeer(key [32]byte) {
	if e := o.bind.lookup(key); e != nil {
		e.heard(o)
	}
}

// InitiationMessagePublicKey implements conn.InitiationAwareEndpoint. The key is not proven yet: it may only delay this
// side's own handshake, and name where a response goes once WireGuard has authenticated the initiation.
func (o *origin) InitiationMessagePublicKey(key [32]byte) {
	if e := o.bind.lookup(key); e != nil {
		e.initiationSeen(o.at, o.Source)
	}
}

func (o *origin) ClearSrc()           {}
func (o *origin) SrcToString() string { return "" }
func (o *origin) DstToString() string { return o.Addr.String() }
func (o *origin) DstIP() netip.Addr   { return o.Addr.Addr() }
func (o *origin) SrcIP() netip.Addr   { return netip.Addr{} }

// DstToBytes implements conn.Endpoint: WireGuard's cookies are bound to it.
func (o *origin) DstToBytes() []byte {
	b, _ := o.Addr.MarshalBinary()
	return b
}

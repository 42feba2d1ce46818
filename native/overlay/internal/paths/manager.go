package paths

import (
	"context"
	"log/slog"
	"maps"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pion/ice/v4"

	"seganet.internal/overlay/internal/bind"
)

const (
	// searchFirst and searchMost bound the pause between rounds with a peer that is relayed. There is no last round.
	searchFirst = 3 * time.Second
	searchMost  = 5 * time.Minute
	// tickBusy and tickIdle are the intervals at which tick checks the peers, with and without data.
	tickBusy = 50 * time.Millisecond
	tickIdle = time.Second
	// movedQueue bounds the queued reports of changed source addresses. A dropped report is repeated with the next
	// packet.
	movedQueue = 256
	// inboxQueue bounds the queued control messages. Further ones are dropped; the protocol tolerates that, as the
	// network may lose them as well.
	inboxQueue = 256
	// ChangesKept is the number of changes of path that status shows a peer.
	ChangesKept = 10
)

// Tunnel is what the engine does for this package.
type Tunnel interface {
	Begin(key bind.Key)       // starts a session, or sends a keepalive
	Keepalive(key bind.Key)   // sends a keepalive if the peer exists
	Renew(key bind.Key)       // sends a handshake also while there is a session, if the peer exists
	DropSession(key bind.Key) // frees the session
	Established(key bind.Key) bool
	SendControl(to bind.Key, self netip.Addr, message []byte) bool
}

// Signaller sends a signalling message by the node service. It must not block; it returns an error while the service is
// out of reach.
type Signaller interface {
	Signal(to, kind string, epoch int64, data string) error
}

// Event is a change of a peer's path, or of this node's relay (Peer is empty).
type Event struct {
	Time time.Time `json:"time"`
	Peer string    `json:"peer,omitempty"`
	Path string    `json:"path"` // "direct 192.0.2.1:5000", "relay", "none"
	Why  string    `json:"why"`
}

// Config configures a Manager.
type Config struct {
	Self      netip.Addr // this node's virtual IPv6 address
	Key       bind.Key   // this node's public key
	Bind      *bind.Bind
	Tunnel    Tunnel
	Signaller Signaller
	Overlay   []netip.Prefix // the overlay's own addresses: never candidates
	Interface string         // the TUN's name: never a candidate's
	Loopback  bool           // loopback addresses are candidates: tests and the demo
	Metered   bool           // fewer keepalives
	RelayOnly bool           // begins without direct paths; see SetRelayOnly
	Logger    *slog.Logger
	Event     func(Event) // may be nil; must not block
	// RelaySilent reports that the relay does not answer or has lost this node's allocation: the outside address may
	// have changed. It may be nil and must not block.
	RelaySilent func()
}

// Manager keeps the paths to all peers.
//
// Thread safety: all methods may be called concurrently.
type Manager struct {
	conf      Config
	relays    *relays
	mux       *ice.UniversalUDPMuxDefault
	byKey     atomic.Pointer[map[bind.Key]*peer] // copied on write
	moved     chan movedReport
	inbox     chan inboxMessage
	woken     chan struct{}
	idle      atomic.Bool
	nat       atomic.Value // NAT
	relayOnly atomic.Bool
	stop      context.CancelFunc
	ended     sync.WaitGroup

	mu         sync.Mutex
	peers      map[string]*peer
	signalling bool
	mapped     []netip.AddrPort // outside addresses that routers map to this port
	echoes     map[uint64]chan struct{}
	closing    bool
}

type movedReport struct {
	endpoint *bind.Endpoint
	source   bind.Source
}

// New starts a Manager. The caller closes it. The engine's callbacks Sent, Received and Control belong to its methods of
// the same names.
func New(conf Config) *Manager {
	if conf.Logger == nil {
		conf.Logger = slog.New(slog.DiscardHandler)
	}
	ctx, stop := context.WithCancel(context.Background())
	m := &Manager{conf: conf, stop: stop, moved: make(chan movedReport, movedQueue), inbox: make(chan inboxMessage, inboxQueue), woken: make(chan struct{}, 1),
		peers: map[string]*peer{}, echoes: map[uint64]chan struct{}{}}
	m.byKey.Store(&map[bind.Key]*peer{})
	m.nat.Store(NATUnknown)
	m.relayOnly.Store(conf.RelayOnly)
	conf.Bind.SetRelayOnly(conf.RelayOnly)
	m.mux = ice.NewUniversalUDPMuxDefault(ice.UniversalUDPMuxParams{UDPConn: conf.Bind.NewSTUNConn(), Logger: quietLogger{},
		XORMappedAddrCacheTTL: outsideCache})
	m.relays = newRelays(conf.Bind.DeliverRelayed, m.relayBusy, func(a *Allocation, f family, why string) { m.relayChanged(ctx, a, f, why) },
		conf.RelaySilent, conf.Metered)
	conf.Bind.OnMoved(func(e *bind.Endpoint, s bind.Source) {
		select {
		case m.moved <- movedReport{e, s}:
		default:
		}
	})
	m.ended.Add(2)
	go func() { defer m.ended.Done(); m.relays.run(ctx) }()
	go func() { defer m.ended.Done(); m.run(ctx) }()
	return m
}

// Close ends all rounds and gives the relay's address back.
func (m *Manager) Close() {
	m.mu.Lock()
	m.closing = true
	m.mu.Unlock()
	m.stop()
	m.ended.Wait()
	m.mu.Lock()
	for _, p := range m.peers {
		m.end(p)
	}
	m.mu.Unlock()
	_ = m.mux.Close()
}

func (m *Manager) now() int64 { return m.conf.Bind.Now() }

// Begins is true if self begins a session with other: the side with the smaller key does.
func Begins(self, other bind.Key) bool { return string(self[:]) < string(other[:]) }

// Add registers a verified peer. The connection starts with Connect, the first packet, or the peer's offer.
func (m *Manager) Add(name string, key bind.Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p := m.peers[name]; p != nil {
		if p.key == key {
			return
		}
		m.remove(p)
	}
	begins := Begins(m.conf.Key, key)
	p := &peer{name: name, key: key, begins: begins, endpoint: m.conf.Bind.Endpoint(key, begins)}
	p.sleeping.Store(true)
	m.peers[name] = p
	m.index()
}

// Remove forgets a peer.
func (m *Manager) Remove(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p := m.peers[name]; p != nil {
		m.remove(p)
	}
}

func (m *Manager) remove(p *peer) {
	m.end(p)
	p.outbox = nil // its calls use the key, which a peer that is added later may have as well
	delete(m.peers, p.name)
	m.index()
	p.endpoint.SetPath(bind.Path{})
}

func (m *Manager) index() {
	next := make(map[bind.Key]*peer, len(m.peers))
	for _, p := range m.peers {
		next[p.key] = p
	}
	m.byKey.Store(&next)
}

// Sent records a data packet to the peer and wakes the peer if it sleeps. It runs once per packet.
func (m *Manager) Sent(key bind.Key) {
	if p := m.data(key); p != nil {
		p.lastSent.Store(p.lastData.Load())
	}
}

// Received records a data packet from the peer and wakes the peer if it sleeps.
func (m *Manager) Received(key bind.Key) { _ = m.data(key) }

// data records a data packet of the key's peer and wakes the peer if it sleeps. It returns the peer, or nil.
func (m *Manager) data(key bind.Key) *peer {
	p := (*m.byKey.Load())[key]
	if p == nil {
		return nil
	}
	p.lastData.Store(m.now())
	if p.sleeping.CompareAndSwap(true, false) {
		go m.Connect(p.name)
	} else if m.idle.CompareAndSwap(true, false) {
		m.wake()
	}
	return p
}

func (m *Manager) wake() {
	m.idle.Store(false)
	select {
	case m.woken <- struct{}{}:
	default:
	}
}

// Busy is true while any peer is busy: while data flows, and for RecheckFor after data to a peer that stays silent.
func (m *Manager) Busy() bool {
	return m.anyPeer(func(p *peer, now int64) bool { return p.busy(now, m.conf.Metered) })
}

// Active is true while data flows to or from any peer.
func (m *Manager) Active() bool { return m.anyPeer((*peer).active) }

func (m *Manager) anyPeer(is func(p *peer, now int64) bool) bool {
	now := m.now()
	for _, p := range *m.byKey.Load() {
		if is(p, now) {
			return true
		}
	}
	return false
}

// Keys returns the peers' names by key.
func (m *Manager) Keys() map[bind.Key]string {
	out := map[bind.Key]string{}
	for k, p := range maps.All(*m.byKey.Load()) {
		out[k] = p.name
	}
	return out
}

package paths

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"maps"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pion/ice/v4"

	"seganet.internal/overlay/internal/bind"
	"seganet.internal/overlay/internal/wire"
)

const (
	// searchFirst and searchMost bound the pause between rounds with a peer that is relayed. There is no last round.
	searchFirst = 3 * time.Second
	searchMost  = 5 * time.Minute
	// tickBusy and tickIdle are how often the peers are looked at, with and without data.
	tickBusy = 50 * time.Millisecond
	tickIdle = time.Second
	// movedQueue bounds the reports of the receive path that wait; further ones come again with the next packet.
	movedQueue = 256
	// inboxQueue bounds the control messages that wait; further ones are dropped, as the network does.
	inboxQueue = 256
	// ChangesKept is the number of changes of path that status shows a peer.
	ChangesKept = 10
)

// Tunnel is what the engine does for this package.
type Tunnel interface {
	Begin(key bind.Key)       // starts a session, or sends a keepalive
	Keepalive(key bind.Key)   // sends a keepalive if the peer exists
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
	RelayOnly bool           // no direct paths: for measuring
	Logger    *slog.Logger
	Event     func(Event) // may be nil; must not block
}

// Manager keeps the paths to all peers.
//
// Thread safety: all methods may be called concurrently.
type Manager struct {
	conf  Config
	relay *relay
	mux   *ice.UniversalUDPMuxDefault
	byKey atomic.Pointer[map[bind.Key]*peer] // copied on write
	moved chan movedReport
	inbox chan inboxMessage
	wake  chan struct{}
	idle  atomic.Bool
	nat   atomic.Value // NAT
	stop  context.CancelFunc
	ended sync.WaitGroup

	mu         sync.Mutex
	peers      map[string]*peer
	signalling bool
	echoes     map[uint64]chan struct{}
}

type movedReport struct {
	endpoint *bind.Endpoint
	source   bind.Source
}

// peer is a verified peer. Manager.mu guards it except for the atomics.
type peer struct {
	name     string
	key      bind.Key
	begins   bool
	endpoint *bind.Endpoint
	lastData atomic.Int64
	sleeping atomic.Bool // nothing is kept up: the next packet or signal connects

	choice   choice
	round    *round
	epoch    int64 // the highest number seen
	rounds   int
	pause    time.Duration
	next     int64 // when the next round may begin
	offline  bool
	begun    bool
	nat      NAT
	metered  bool
	asked    int64 // when the node service was last asked because of silence
	changes  []Event
	rtt      time.Duration
	lastPath string

	cachedDirect, cachedRelay netip.AddrPort // of the last run
}

// plan sets when the next round begins, each time later.
func (p *peer) plan(now int64) {
	p.pause = min(max(p.pause*2, searchFirst), searchMost)
	p.wait(now)
}

// wait sets when the next round begins at the earliest.
func (p *peer) wait(now int64) { p.next = now + int64(max(p.pause, searchFirst)) }

// New starts a Manager. The caller closes it. The engine's callbacks Sent, Received and Control belong to its methods of
// the same names.
func New(conf Config) *Manager {
	if conf.Logger == nil {
		conf.Logger = slog.New(slog.DiscardHandler)
	}
	ctx, stop := context.WithCancel(context.Background())
	m := &Manager{conf: conf, stop: stop, moved: make(chan movedReport, movedQueue), inbox: make(chan inboxMessage, inboxQueue), wake: make(chan struct{}, 1),
		peers: map[string]*peer{}, echoes: map[uint64]chan struct{}{}}
	m.byKey.Store(&map[bind.Key]*peer{})
	m.nat.Store(NATUnknown)
	m.mux = ice.NewUniversalUDPMuxDefault(ice.UniversalUDPMuxParams{UDPConn: conf.Bind.NewSTUNConn(), Logger: quietLogger{},
		XORMappedAddrCacheTTL: outsideCache})
	m.relay = newRelay(conf.Bind.DeliverRelayed, m.relayBusy, func(a *Allocation, why string) { m.relayChanged(ctx, a, why) })
	conf.Bind.OnMoved(func(e *bind.Endpoint, s bind.Source) {
		select {
		case m.moved <- movedReport{e, s}:
		default:
		}
	})
	m.ended.Add(2)
	go func() { defer m.ended.Done(); m.relay.run(ctx) }()
	go func() { defer m.ended.Done(); m.run(ctx) }()
	return m
}

// Close ends all rounds and gives the relay's address back.
func (m *Manager) Close() {
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

// Begins says which of two sides begins a session: the one with the smaller key.
func Begins(self, other bind.Key) bool { return string(self[:]) < string(other[:]) }

// Add makes a verified peer known. It connects with Connect, the first packet, or the peer's offer.
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

// Sent notes a data packet to the peer. It wakes a sleeping one. It runs once a packet.
func (m *Manager) Sent(key bind.Key) { m.data(key) }

// Received notes a data packet of the peer.
func (m *Manager) Received(key bind.Key) { m.data(key) }

func (m *Manager) data(key bind.Key) {
	p := (*m.byKey.Load())[key]
	if p == nil {
		return
	}
	p.lastData.Store(m.now())
	if p.sleeping.CompareAndSwap(true, false) {
		go m.Connect(p.name)
	} else if m.idle.CompareAndSwap(true, false) {
		m.poke()
	}
}

func (m *Manager) poke() {
	m.idle.Store(false)
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// Connect begins to look for a path to the peer if nothing is on its way.
func (m *Manager) Connect(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p := m.peers[name]; p != nil && (p.round == nil || p.round.ended && !p.endpoint.Path().Usable()) {
		m.startRound(p)
	}
}

// startRound begins a round of this side's own. The caller holds m.mu.
func (m *Manager) startRound(p *peer) {
	p.sleeping.Store(false)
	if p.lastData.Load() == 0 {
		p.lastData.Store(m.now()) // DropAfter counts from now
	}
	// Two rounds of the same millisecond must not have the same number: their credentials would be mixed up (trap 7).
	p.epoch = max(p.epoch+1, time.Now().UnixMilli())
	p.plan(m.now())
	m.begin(p, p.epoch)
	m.useCache(p)
	m.poke()
}

// Remember gives the addresses of a peer in an earlier run. They are tried while the node service is out of reach.
func (m *Manager) Remember(name string, direct, relayed netip.AddrPort) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p := m.peers[name]; p != nil {
		p.cachedDirect, p.cachedRelay = direct, relayed
	}
}

// Addresses returns the addresses that Remember takes.
func (m *Manager) Addresses(name string) (direct, relayed netip.AddrPort) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.peers[name]
	if p == nil {
		return direct, relayed
	}
	if p.choice.direct.IsValid() {
		p.cachedDirect = p.choice.direct
	}
	if p.choice.relay.IsValid() {
		p.cachedRelay = p.choice.relay
	}
	return p.cachedDirect, p.cachedRelay
}

// Busy is true while data flows to or from any peer.
func (m *Manager) Busy() bool {
	now := m.now()
	for _, p := range *m.byKey.Load() {
		if last := p.lastData.Load(); last != 0 && now-last < int64(ActiveFor) {
			return true
		}
	}
	return false
}

// useCache takes the addresses of the last run while nothing better can be asked for. The caller holds m.mu.
func (m *Manager) useCache(p *peer) {
	if m.signalling || p.endpoint.Path().Usable() {
		return
	}
	if p.cachedRelay.IsValid() {
		p.choice.relay = p.cachedRelay
	}
	if p.cachedDirect.IsValid() && !m.conf.RelayOnly {
		p.choice.tryDirect(p.cachedDirect, m.now())
	}
	if p.choice.path().Usable() {
		m.setPath(p, "addresses of the last run")
		m.startSession(p)
	}
}

// SetTURN replaces relays and credentials.
func (m *Manager) SetTURN(t TURN) { m.relay.set(t) }

// SignallingChanged says whether the node service is reached.
func (m *Manager) SignallingChanged(up bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.signalling = up
	if !up {
		return
	}
	for _, p := range m.peers {
		p.offline = false
		if !p.sleeping.Load() && !p.choice.direct.IsValid() {
			m.startRound(p)
		}
	}
}

// Offline notes the node service's word that the peer is not connected to it, or is again. Sessions go on.
func (m *Manager) Offline(name string, offline bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.peers[name]
	if p == nil {
		return
	}
	back := p.offline && !offline
	p.offline = offline
	if back && !p.sleeping.Load() && !p.choice.direct.IsValid() {
		p.pause = 0
		m.startRound(p)
	}
}

// NetworkChanged says that an address, link or route has changed. Everything is looked for again; direct paths have
// Grace to prove themselves.
func (m *Manager) NetworkChanged(what string) {
	m.relay.reopen("the network changed: " + what)
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.peers {
		if p.sleeping.Load() {
			continue
		}
		p.choice.shake(m.now())
		p.pause = 0
		m.startRound(p)
		m.conf.Tunnel.Keepalive(p.key) // the peer hears the new address at once
	}
}

// Signal takes a signalling message whose sender has been verified.
func (m *Manager) Signal(from, kind string, epoch int64, data string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.peers[from]
	if p == nil {
		return nil
	}
	p.offline = false
	switch kind {
	case wire.SignalOffer:
		o, relayed, err := decodeOffer([]byte(data))
		if err != nil {
			return err
		}
		m.takeOffer(p, epoch, o, relayed)
	case wire.SignalCandidate:
		var c wire.Candidate
		if err := wire.Decode([]byte(data), wire.MaxSignalDataBytes, &c); err != nil {
			return err
		}
		if p.round != nil && p.round.epoch == epoch {
			m.addCandidate(p, c.Candidate)
		}
	}
	return nil
}

func (m *Manager) takeOffer(p *peer, epoch int64, o wire.Offer, relayed netip.AddrPort) {
	if p.round == nil || epoch > p.epoch {
		if p.round != nil {
			p.choice.shake(m.now())
		}
		p.sleeping.Store(false)
		if p.lastData.Load() == 0 {
			p.lastData.Store(m.now())
		}
		p.epoch = max(p.epoch, epoch)
		p.wait(m.now())
		m.begin(p, epoch)
		m.poke()
	}
	if p.round.epoch != epoch {
		// The offer is of a round that has been replaced, or the peer has started again with a clock that is behind.
		if p.round.answered && m.now()-p.round.started > int64(time.Second) {
			m.startRound(p)
		}
		return
	}
	p.nat, p.metered = NAT(o.NAT), o.Metered
	if relayed.IsValid() && relayed != p.choice.relay && !m.inOverlay(relayed.Addr()) {
		p.choice.relay = relayed
		if a := m.relay.allocation(); a != nil {
			a.Permit(relayed.Addr())
		}
		m.setPath(p, "the peer named its relay address")
	}
	m.join(p, o)
	m.startSession(p)
}

func (m *Manager) inOverlay(a netip.Addr) bool {
	for _, prefix := range m.conf.Overlay {
		if prefix.Contains(a) {
			return true
		}
	}
	return false
}

// pairFound takes the pair of addresses that ICE has found. Data has yet to prove it.
func (m *Manager) pairFound(p *peer, r *round, to netip.AddrPort, what string) {
	time.AfterFunc(roundAfter, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if p.round == r {
			m.end(p)
		}
	})
	if p.choice.direct == to || p.choice.direct.IsValid() && p.endpoint.Traffic().HeardDirect > r.started {
		return // it has survived
	}
	p.choice.direct = netip.AddrPort{}
	p.choice.tryDirect(to, m.now())
	m.setPath(p, "ICE found "+what+" "+to.String())
	m.startSession(p)
	m.poke()
}

// setPath hands the choice to the socket and reports a change. The caller holds m.mu.
func (m *Manager) setPath(p *peer, why string) {
	p.endpoint.SetPath(p.choice.path())
	if name := p.choice.name(); name != p.lastPath {
		p.lastPath = name
		m.event(p, why)
	}
}

func (c *choice) name() string {
	switch {
	case c.direct.IsValid():
		return "direct " + c.direct.String()
	case c.relay.IsValid():
		return "relay"
	case c.trial.IsValid():
		return "direct " + c.trial.String() + " (unproven)"
	}
	return "none"
}

// startSession begins the session as soon as there is a path: a handshake without one costs 5 s (trap 2). The side that
// does not begin asks the engine as well; bind holds its handshake back for a moment (trap 3).
func (m *Manager) startSession(p *peer) {
	if p.begun || !p.endpoint.Path().Usable() {
		return
	}
	p.begun = true
	go m.conf.Tunnel.Begin(p.key)
}

func (m *Manager) relayBusy() bool {
	now := m.now()
	for _, p := range *m.byKey.Load() {
		path := p.endpoint.Path()
		if !path.Direct.IsValid() && now-p.lastData.Load() < int64(ActiveFor) && p.lastData.Load() != 0 {
			return true
		}
	}
	return false
}

// relayChanged tells all peers the new address (trap 9).
func (m *Manager) relayChanged(ctx context.Context, a *Allocation, why string) {
	if a == nil {
		m.conf.Bind.SetRelay(nil)
		m.report(Event{Time: time.Now(), Path: "no relay", Why: why})
		return
	}
	m.conf.Bind.SetRelay(a)
	m.report(Event{Time: time.Now(), Path: "relay " + a.Server.String() + " as " + a.Address.String(), Why: why})
	m.mu.Lock()
	for _, p := range m.peers {
		if p.sleeping.Load() {
			continue
		}
		if p.choice.relay.IsValid() {
			a.Permit(p.choice.relay.Addr())
		}
		if p.round != nil {
			m.offer(p)
		}
		m.conf.Tunnel.Keepalive(p.key) // the peer learns the address from an authenticated packet, too
	}
	m.mu.Unlock()
	m.poke()
	go func() {
		before := m.nat.Load().(NAT)
		if now := m.findNAT(ctx, a); now != before {
			m.nat.Store(now)
			m.mu.Lock()
			for _, p := range m.peers {
				if p.round != nil && !p.sleeping.Load() {
					m.offer(p)
				}
			}
			m.mu.Unlock()
		}
	}()
}

// offer sends this side's offer of the current round, also again when the relay's address has changed.
func (m *Manager) offer(p *peer) {
	o := wire.Offer{User: p.round.user, Password: p.round.pass, Metered: m.conf.Metered, NAT: string(m.nat.Load().(NAT))}
	if a := m.relay.allocation(); a != nil {
		o.Relays = []netip.AddrPort{a.Address}
	}
	m.signal(p, wire.SignalOffer, p.round.epoch, &o)
}

// signal sends by the node service, else inside the session: services may be down for long.
func (m *Manager) signal(p *peer, kind string, epoch int64, v any) {
	data, err := wire.Marshal(v)
	if err != nil {
		return
	}
	if m.conf.Signaller.Signal(p.name, kind, epoch, string(data)) == nil {
		return
	}
	if b, err := encodeTunnelled(tunnelled{kind, epoch, string(data)}); err == nil {
		m.conf.Tunnel.SendControl(p.key, m.conf.Self, b)
	}
}

func (m *Manager) event(p *peer, why string) {
	e := Event{Time: time.Now(), Peer: p.name, Path: p.choice.name(), Why: why}
	p.changes = append(p.changes, e)
	if len(p.changes) > ChangesKept {
		p.changes = p.changes[1:]
	}
	m.report(e)
}

func (m *Manager) report(e Event) {
	m.conf.Logger.Info("path", "peer", e.Peer, "path", e.Path, "why", e.Why)
	if m.conf.Event != nil {
		m.conf.Event(e)
	}
}

func randomText(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b)
	return hex.EncodeToString(b)
}

// Keys returns the peers' names by key.
func (m *Manager) Keys() map[bind.Key]string {
	out := map[bind.Key]string{}
	for k, p := range maps.All(*m.byKey.Load()) {
		out[k] = p.name
	}
	return out
}

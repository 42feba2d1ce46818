package engine

import (
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tailscale/wireguard-go/device"
	"github.com/tailscale/wireguard-go/tun"

	"seganet.internal/overlay/internal/bind"
)

const (
	// QueueLength is the capacity of the device's and each peer's queues, in batches of packets. wireguard-go's 1,024
	// let a hub of ten busy peers grow to 650 MB; 64 cost no throughput.
	QueueLength = 64
	// Buffers is the default bound of each buffer pool; one buffer has 64 KiB.
	Buffers = 1024
	// BuffersLeast is the smallest bound. The readers of IPv4, IPv6, the relay and the TUN hold 128 buffers each. With
	// a smaller bound they take the whole pool, and the device deadlocks.
	BuffersLeast = 768
	// HandshakeQueue bounds the handshake messages that wait for a worker. When it is one eighth full, WireGuard
	// answers with cookies.
	HandshakeQueue = 256
	// WantedEvery is the minimum time between two reports of the same unknown destination.
	WantedEvery = time.Second
	// AnswersQueue bounds the queued refusals (see Engine.Answer). Further ones are dropped and counted.
	AnswersQueue = 64
	// WantedMost bounds the unknown destinations that are remembered.
	WantedMost = 1024
)

// Key is a WireGuard public key.
type Key = bind.Key

// Peer is a node whose certificate has been verified. Nothing else may be given to the engine.
type Peer struct {
	Key       Key
	Addresses []netip.Addr   // virtual addresses, IPv6 ULA first
	Behind    []netip.Prefix // virtual addresses of devices behind the node
	Begins    bool           // this node begins the session (see bind)
}

// Config configures an Engine.
type Config struct {
	PrivateKey [32]byte
	TUN        tun.Device // closed by the engine
	Bind       *bind.Bind
	Port       uint16 // UDP port; 0: any
	Buffers    int    // bound of each pool; 0: Buffers
	Logger     *slog.Logger

	// Inbound decides whether a decrypted packet of the peer may enter; nil lets all enter. It may change the packet's
	// bytes (address translation), not its length. It runs concurrently for different peers.
	Inbound func(from Key, packet []byte) bool
	// Outbound decides whether a packet of this node may leave; nil lets all leave. One goroutine calls it.
	Outbound func(packet []byte) bool
	// Control receives a control message of the peer (see Engine.SendControl). It must not block.
	Control func(from Key, message []byte)
	// Wanted reports a packet to a virtual address without a peer. It must not block.
	Wanted func(dst netip.Addr)
	// Sent reports data packets to the peer, Received those from it. They run once a batch, at least, and must not block.
	Sent     func(to Key)
	Received func(from Key)
}

// Counters counts what the engine refuses.
type Counters struct {
	Unknown       atomic.Uint64 // outbound packets to an address without a peer that were dropped
	Spoofed       atomic.Uint64 // inbound packets whose source is not the peer's
	RefusedIn     atomic.Uint64 // inbound packets that Inbound refused
	RefusedOut    atomic.Uint64 // outbound packets that Outbound refused
	BadControl    atomic.Uint64 // control messages that could not be read
	DeviceErrors  atomic.Uint64 // errors that WireGuard logged
	PeersMade     atomic.Uint64
	PeersRemoved  atomic.Uint64
	ControlUnsent atomic.Uint64 // control messages that found no session
	Unanswered    atomic.Uint64 // refusals that found AnswersQueue full or no session
	BadReads      atomic.Uint64 // packets of the TUN that could not be read
	Unconnected   atomic.Uint64 // outbound packets beyond those that may wait for a session
}

// Engine is a running WireGuard device.
//
// Thread safety: all methods may be called concurrently.
type Engine struct {
	Counters Counters

	conf    Config
	dev     *device.Device
	peers   directory
	answers chan answer
	parked  *parked
	routed  routed // owned by the reader of the TUN

	releases atomic.Uint64

	mu      sync.Mutex
	control map[Key][]byte // the message that the next SendPriorityMessage of the peer takes
	wanted  map[netip.Addr]time.Time
	states  map[Key]device.PeerSessionState
}

// New makes the device and brings it up. The caller closes it.
func New(conf Config) (*Engine, error) {
	if conf.Buffers == 0 {
		conf.Buffers = Buffers
	}
	if conf.Buffers < BuffersLeast {
		return nil, fmt.Errorf("%d buffers are too few: the least is %d", conf.Buffers, BuffersLeast)
	}
	if conf.Logger == nil {
		conf.Logger = slog.New(slog.DiscardHandler)
	}
	e := &Engine{conf: conf, answers: make(chan answer, AnswersQueue), parked: newParked(), control: map[Key][]byte{}, wanted: map[netip.Addr]time.Time{},
		states: map[Key]device.PeerSessionState{}}
	e.peers.init()
	g := &gate{Device: conf.TUN, engine: e, waiting: newWaiting(conf.Buffers, max(conf.TUN.BatchSize(), conf.Bind.BatchSize()))}
	e.dev = device.NewDevice(g, conf.Bind, &device.Logger{Verbosef: e.verbose, Errorf: e.failed},
		device.WithQueueOutboundSize(QueueLength), device.WithQueueInboundSize(QueueLength),
		device.WithQueueHandshakeSize(HandshakeQueue), device.WithQueueStagedSize(stagedQueue), device.WithPreallocatedBuffersPerPool(uint32(conf.Buffers)))
	// WireGuard creates a peer at its first packet, inbound or outbound, and drops it when it is idle. Its endpoint
	// object stays the same. Otherwise WireGuard's roaming would replace the chosen path with the source of the latest
	// packet, which may be the relay.
	e.dev.SetPeerLookupFunc(e.lookup)
	e.dev.SetPeerByIPPacketFunc(e.route)
	e.dev.SetPriorityMessageOnEstablishmentFunc(e.takeControl)
	e.dev.SetSessionStateFunc(e.sessionState)
	set := "private_key=" + hex.EncodeToString(conf.PrivateKey[:])
	if conf.Port != 0 {
		set += fmt.Sprintf("\nlisten_port=%d", conf.Port)
	}
	if err := e.dev.IpcSet(set); err != nil {
		e.dev.Close()
		return nil, fmt.Errorf("cannot configure WireGuard: %w", err)
	}
	if err := e.dev.Up(); err != nil {
		e.dev.Close()
		return nil, fmt.Errorf("cannot bring WireGuard up: %w. Is UDP port %d in use?", err, conf.Port)
	}
	go e.answer()
	return e, nil
}

// Close ends the device and the TUN.
func (e *Engine) Close() { e.dev.Close() }

// Done is closed when the device has ended.
func (e *Engine) Done() <-chan struct{} { return e.dev.Wait() }

var errOverlap = errors.New("is already another peer's")

// Release returns the memory pages of WireGuard's receive buffers to the system. Call it only on an idle node, because
// the next packets need the pages again.
func (e *Engine) Release() {
	e.releases.Add(1)
	interrupt(e.conf.TUN)
	e.conf.Bind.Release()
}

// SetPeer adds a verified peer or replaces its addresses. It fails if another peer has one of the addresses, so that no
// node can take over another one's traffic.
func (e *Engine) SetPeer(p Peer) error {
	changed, err := e.peers.set(p, e.conf.Bind.Endpoint(p.Key, p.Begins))
	if err != nil {
		if e.peers.byKey(p.Key) == nil {
			e.conf.Bind.Forget(p.Key)
		}
		return err
	}
	if changed {
		if active, ok := e.dev.LookupActivePeer(p.Key); ok {
			active.SetAllowedIPs(prefixes(p))
		}
	}
	if e.parked.release(func(a netip.Addr) bool { _, ok := e.peers.byAddress(a); return ok }) {
		interrupt(e.conf.TUN) // its reader sends the parked packets
	}
	return nil
}

// RemovePeer removes the peer, its session and its keys at once. The peer can neither send nor receive after that.
func (e *Engine) RemovePeer(key Key) {
	e.peers.remove(key)
	e.DropSession(key)
	e.conf.Bind.Forget(key)
}

// DropSession frees the peer's session, goroutines and queues. The next packet makes them again.
func (e *Engine) DropSession(key Key) {
	if _, ok := e.dev.LookupActivePeer(key); ok {
		e.dev.RemovePeer(key)
		e.Counters.PeersRemoved.Add(1)
	}
	e.mu.Lock()
	delete(e.control, key)
	delete(e.states, key)
	e.mu.Unlock()
}

// Begin starts a session with the peer if there is none, else sends a keepalive.
func (e *Engine) Begin(key Key) {
	if p := e.dev.LookupPeer(key); p != nil {
		e.keepalive(key, p)
	}
}

// Keepalive sends an authenticated packet without content if the peer exists. Without a session it begins one.
func (e *Engine) Keepalive(key Key) {
	if p, ok := e.dev.LookupActivePeer(key); ok {
		e.keepalive(key, p)
	}
}

// Renew sends a handshake even if there is a session. The peer may have lost its session, for example after a restart,
// which WireGuard would detect only after 15 s. WireGuard sends at most one handshake each 5 s. It does nothing if the
// peer does not exist.
func (e *Engine) Renew(key Key) {
	if p, ok := e.dev.LookupActivePeer(key); ok {
		_ = p.SendHandshakeInitiation(false)
	}
}

// Active is true while WireGuard holds the peer.
func (e *Engine) Active(key Key) bool {
	_, ok := e.dev.LookupActivePeer(key)
	return ok
}

// Established is true while there is a session with usable keys.
func (e *Engine) Established(key Key) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.states[key] == device.PeerSessionEstablished
}

// PeerByAddress returns the peer that a virtual address belongs to.
func (e *Engine) PeerByAddress(a netip.Addr) (Key, bool) { return e.peers.byAddress(a) }

func (e *Engine) lookup(key device.NoisePublicKey) (*device.NewPeerConfig, bool) {
	known := e.peers.byKey(Key(key))
	if known == nil {
		return nil, false
	}
	e.Counters.PeersMade.Add(1)
	return &device.NewPeerConfig{AllowedIPs: known.allowed, Endpoint: known.endpoint}, true
}

// routed is where the packet before in the same batch went, which mostly is where all of it goes.
type routed struct {
	to  netip.Addr
	key Key
}

func (e *Engine) route(_, dst netip.Addr, _ []byte) (device.NoisePublicKey, bool) {
	if r := &e.routed; r.to == dst && dst.IsValid() {
		return device.NoisePublicKey(r.key), true
	}
	key, ok := e.peers.byAddress(dst)
	if !ok {
		e.Counters.Unknown.Add(1)
		return device.NoisePublicKey{}, false
	}
	if e.conf.Sent != nil {
		e.conf.Sent(key)
	}
	e.routed = routed{dst, key}
	return device.NoisePublicKey(key), true
}

func (e *Engine) want(dst netip.Addr) {
	if e.conf.Wanted == nil || dst.IsMulticast() {
		return
	}
	now := time.Now()
	e.mu.Lock()
	if now.Sub(e.wanted[dst]) < WantedEvery {
		e.mu.Unlock()
		return
	}
	if len(e.wanted) >= WantedMost {
		clear(e.wanted)
	}
	e.wanted[dst] = now
	e.mu.Unlock()
	e.conf.Wanted(dst)
}

func (e *Engine) sessionState(key device.NoisePublicKey, s device.PeerSessionState) {
	e.mu.Lock()
	e.states[Key(key)] = s
	e.mu.Unlock()
}

// verbose counts what WireGuard only logs.
func (e *Engine) verbose(format string, _ ...any) {
	if strings.Contains(format, "disallowed source address") {
		e.Counters.Spoofed.Add(1)
	}
}

func (e *Engine) failed(format string, args ...any) {
	e.Counters.DeviceErrors.Add(1)
	e.conf.Logger.Debug("wireguard", "error", fmt.Sprintf(format, args...))
}

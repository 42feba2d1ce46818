package node

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"seganet.internal/overlay/internal/engine"
	"seganet.internal/overlay/internal/identity"
	"seganet.internal/overlay/internal/names"
	"seganet.internal/overlay/internal/paths"
	"seganet.internal/overlay/internal/wire"
)

// PeersMost bounds the verified peers of a node.
const PeersMost = 4096

// directory holds the verified peers. Readers run once per packet, so they use a snapshot without a lock.
type directory struct {
	mu   sync.Mutex
	snap atomic.Pointer[peerMaps]
}

type peerMaps struct {
	keys  map[[32]byte]*verified
	names map[string]*verified
}

type verified struct {
	identity.Peer
	chain []byte // DER
}

func (d *directory) init() {
	d.snap.Store(&peerMaps{keys: map[[32]byte]*verified{}, names: map[string]*verified{}})
}

func (d *directory) byKey(key [32]byte) (identity.Peer, bool) {
	if v := d.snap.Load().keys[key]; v != nil {
		return v.Peer, true
	}
	return identity.Peer{}, false
}

func (d *directory) byName(fqdn string) *verified { return d.snap.Load().names[fqdn] }

func (d *directory) all() map[string]*verified { return d.snap.Load().names }

func (d *directory) change(f func(*peerMaps)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	old := d.snap.Load()
	next := &peerMaps{keys: maps.Clone(old.keys), names: maps.Clone(old.names)}
	f(next)
	d.snap.Store(next)
}

func (n *Node) isRevoked(serial string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, yes := n.revoked[serial]
	return yes
}

// install verifies the certificate of the node fqdn and adds the node as a peer. It is the only place that gives
// WireGuard a peer's key.
func (n *Node) install(fqdn string, chain []byte) (identity.Peer, error) {
	m := n.current()
	p, err := identity.VerifyNode(chain, fqdn, m.Roots, n.isRevoked, time.Now())
	if err != nil {
		return p, fmt.Errorf("the certificate of %s is refused: %w", fqdn, err)
	}
	if p.FQDN == m.FQDN {
		return p, errors.New("a node is no peer of itself")
	}
	old := n.peers.byName(fqdn)
	if old != nil && old.Certificate.NotBefore.After(p.Certificate.NotBefore) {
		return old.Peer, nil // an older certificate: a node service may learn of a renewal late
	}
	if old != nil && old.WGKey != p.WGKey {
		n.removePeer(fqdn)
	}
	if old == nil && len(n.peers.all()) >= PeersMost {
		return p, fmt.Errorf("this node knows %d peers, which is the limit", PeersMost)
	}
	e := engine.Peer{Key: p.WGKey, Addresses: p.Addresses, Begins: paths.Begins(m.Self.WGKey, p.WGKey)}
	e.Behind = append(e.Behind, p.AllowedIPs()[len(p.Addresses):]...)
	if err := n.engine.SetPeer(e); err != nil {
		return p, fmt.Errorf("peer %s: %w", fqdn, err)
	}
	if err := n.names.Set(p.FQDN, records(p)); err != nil {
		n.log.Warn("names", "peer", fqdn, "error", err)
	}
	n.peers.change(func(m *peerMaps) {
		v := &verified{Peer: p, chain: chain}
		m.keys[p.WGKey], m.names[p.FQDN] = v, v
	})
	n.paths.Load().Add(p.FQDN, p.WGKey)
	if n.isRevoked(p.Serial) { // a revocation list that arrived in the meantime did not see the peer
		n.removePeer(p.FQDN)
		return p, fmt.Errorf("the certificate of %s is revoked", fqdn)
	}
	return p, nil
}

// removePeer removes a peer at once, with its session, keys, names, flows and connections.
func (n *Node) removePeer(fqdn string) {
	v := n.peers.byName(fqdn)
	if v == nil {
		return
	}
	n.engine.RemovePeer(v.WGKey)
	n.paths.Load().Remove(fqdn)
	n.names.Remove(fqdn)
	n.tracker.Forget(v.WGKey)
	n.peers.change(func(m *peerMaps) {
		delete(m.keys, v.WGKey)
		delete(m.names, fqdn)
	})
	n.cut(v.AllowedIPs())
}

// cut ends the TCP connections that go through this program to or from these addresses, and returns their number.
func (n *Node) cut(addresses []netip.Prefix) int {
	belongs := func(a netip.Addr) bool {
		return slices.ContainsFunc(addresses, func(p netip.Prefix) bool { return p.Contains(a) })
	}
	connections := n.forward.Cut(belongs)
	if n.stack != nil {
		connections += n.stack.Cut(belongs)
	}
	if n.expose != nil {
		connections += n.expose.Cut(belongs)
	}
	return connections
}

// owner names the peer that has an address. Addresses of this node and unknown ones have the zero key.
func (n *Node) owner(a netip.Addr) (key [32]byte) {
	if n.paths.Load() != nil { // openTunnel sets paths last
		key, _ = n.engine.PeerByAddress(a)
	}
	return key
}

func records(p identity.Peer) []names.Record {
	out := []names.Record{{Name: p.FQDN, Addresses: p.Addresses}}
	for _, d := range p.Devices {
		out = append(out, names.Record{Name: d.FQDN, Addresses: d.Addresses})
	}
	return out
}

const (
	lookupLimit = 3 * time.Second
	lookupsMost = 64
)

var (
	errNoServices = errors.New("the node services are out of reach")
	errNoAnswer   = errors.New("the node services do not answer")
)

// lookup asks the node services for a node or device and makes it a peer.
func (n *Node) lookup(ctx context.Context, name string, address netip.Addr) (identity.Peer, error) {
	ctx, cancel := context.WithTimeout(ctx, lookupLimit)
	defer cancel()
	answer := make(chan wire.Message, 1)
	n.mu.Lock()
	l := n.link
	if l == nil || len(n.waiting) >= lookupsMost {
		n.mu.Unlock()
		return identity.Peer{}, errNoServices
	}
	n.lookups++
	id := strconv.FormatInt(n.lookups, 10)
	n.waiting[id] = answer
	n.mu.Unlock()
	defer func() {
		n.mu.Lock()
		delete(n.waiting, id)
		n.mu.Unlock()
	}()
	if err := l.send(&wire.Lookup{ID: id, Name: name, Address: address}); err != nil {
		return identity.Peer{}, err
	}
	select {
	case m := <-answer:
		if e, ok := m.(*wire.Error); ok {
			if e.Code == wire.CodeUnknown {
				return identity.Peer{}, names.ErrUnknown
			}
			return identity.Peer{}, e
		}
		f := m.(*wire.Found)
		p, err := n.install(f.Name, f.Certificate)
		if err == nil {
			n.paths.Load().Offline(p.FQDN, !f.Online)
		}
		return p, err
	case <-ctx.Done():
		return identity.Peer{}, errNoAnswer
	}
}

// ask implements names.Table.Ask. Like CYPHONIC's resolver, it starts the connection when a program resolves the name.
func (n *Node) ask(ctx context.Context, name string) ([]names.Record, error) {
	p, err := n.lookup(ctx, name, netip.Addr{})
	if err != nil {
		return nil, err
	}
	n.paths.Load().Connect(p.FQDN)
	return records(p), nil
}

// wanted looks up the unknown destination of a packet and connects to it.
func (n *Node) wanted(dst netip.Addr) {
	if !n.ignored("", dst) {
		return
	}
	if p, err := n.lookup(context.Background(), "", dst); err == nil {
		n.paths.Load().Connect(p.FQDN)
	}
}

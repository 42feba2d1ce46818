package nodes

import (
	"log/slog"
	"net/netip"
	"slices"
	"time"

	"seganet.internal/overlay/internal/identity"
	"seganet.internal/overlay/internal/wire"
)

// entry is a node that is or was connected.
type entry struct {
	peer     identity.Peer
	der      []byte
	hello    wire.Hello
	watchers map[*session]struct{} // which get a message when it connects or leaves
	home     string                // the other service that it is connected to; empty: this one, or none
	since    int64                 // number of its newest connection
	ended    int64                 // number of the newest connection to another service that has ended
	about    about
	// twice is when two programs were last proven to use the identity, and twiceFrom where from. overlapped: not
	// reported yet.
	twice      time.Time
	twiceFrom  []string
	overlapped bool
}

// directory finds entries by node, device and address. REQUIRES: Server.mu.
type directory struct {
	byName map[string]*entry // FQDN of the node
	byAddr map[netip.Addr]*entry
}

func newDirectory() *directory {
	return &directory{byName: map[string]*entry{}, byAddr: map[netip.Addr]*entry{}}
}

// put replaces the node's entry and keeps its watchers.
func (d *directory) put(peer identity.Peer, der []byte, h wire.Hello) *entry {
	e := d.byName[peer.FQDN]
	if e == nil {
		e = &entry{watchers: map[*session]struct{}{}}
		d.byName[peer.FQDN] = e
	} else {
		d.unlink(e)
	}
	e.peer, e.der, e.hello = peer, der, h
	for _, p := range e.peer.AllowedIPs() {
		d.byAddr[p.Addr()] = e
	}
	return e
}

func (d *directory) unlink(e *entry) {
	for _, p := range e.peer.AllowedIPs() {
		if d.byAddr[p.Addr()] == e {
			delete(d.byAddr, p.Addr())
		}
	}
}

func (d *directory) drop(gone func(identity.Peer) bool) {
	for name, e := range d.byName {
		if gone(e.peer) {
			d.unlink(e)
			delete(d.byName, name)
		}
	}
}

// find returns the entry of a node's or device's name, or of an address.
func (d *directory) find(m *wire.Lookup) *entry {
	if m.Name == "" {
		return d.byAddr[m.Address]
	}
	name, err := wire.ParseFQDN(m.Name)
	if err != nil {
		return nil
	}
	e := d.byName[wire.NodeFQDN(name.Node, name.Network)]
	if e == nil || name.Device == "" {
		return e
	}
	if slices.ContainsFunc(e.peer.Devices, func(p identity.PeerDevice) bool { return p.FQDN == m.Name }) {
		return e
	}
	return nil
}

func (e *entry) found(id string, online bool) *wire.Found {
	return &wire.Found{ID: id, Name: e.peer.FQDN, Certificate: e.der, Addresses: e.peer.Addresses, Relays: e.hello.Relays,
		Services: e.hello.Services, Devices: e.hello.Devices, Online: online}
}

// isSame is true if two hellos have the same content.
func isSame(a, b *wire.Hello) bool {
	return slices.Equal(a.Relays, b.Relays) && slices.Equal(a.Services, b.Services) && slices.Equal(a.Devices, b.Devices)
}

// enter registers a connected node, and notifies its watchers of what is new. It returns false if the node has been
// revoked meanwhile.
func (s *Server) enter(c *session, h *wire.Hello) (*wire.Welcome, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isRevoked(c.peer.Serial) || c.ctx.Err() != nil {
		return nil, false
	}
	if c.replaced {
		return nil, true
	}
	if old := s.sessions[c.peer.FQDN]; old != nil && old != c {
		s.replace(old, c.about.from, "the node connected again")
	}
	again := s.sessions[c.peer.FQDN] == c
	if e := s.dir.byName[c.peer.FQDN]; again && e != nil && isSame(&e.hello, h) {
		return nil, true
	}
	s.makeRoom()
	s.sessions[c.peer.FQDN] = c
	e := s.dir.put(c.peer, c.der, *h)
	if !again {
		e.since = max(e.since+1, e.ended+1, time.Now().UnixNano()) // newer than every connection that this service knows of
	}
	e.home = ""
	e.about = c.about
	if !again {
		s.forgetUnseen(c)
		s.changed(e)
	}
	s.announceOnline(e, c)
	if s.cluster != nil {
		s.cluster.report("all", e)
	}
	return &wire.Welcome{Policy: s.docs.Policy, Revocations: s.docs.Revocations, Roots: s.docs.Roots}, true
}

// leave forgets a connection. It notifies the watchers that the node is gone, unless it has connected again.
func (s *Server) leave(c *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range c.interest {
		if e := s.dir.byName[name]; e != nil {
			delete(e.watchers, c)
		}
	}
	if s.sessions[c.peer.FQDN] != c {
		return
	}
	delete(s.sessions, c.peer.FQDN)
	if e := s.dir.byName[c.peer.FQDN]; e != nil {
		s.changed(e)
		s.announceGone(e)
		if s.cluster != nil {
			s.cluster.publish("all", s.cluster.presence(e, false))
		}
	}
}

// announceOnline notifies the watchers of e, except for one, that it is connected. It removes watchers that may no
// longer know of e because its devices have changed. REQUIRES: s.mu.
func (s *Server) announceOnline(e *entry, except *session) {
	for w := range e.watchers {
		if !s.mayKnow(w, e) {
			delete(e.watchers, w)
			delete(w.interest, e.peer.FQDN)
		}
	}
	e.notify(e.found("", true), except)
}

// notify sends a message to the watchers, except for one. It encodes the message once, because there may be thousands.
// REQUIRES: s.mu.
func (e *entry) notify(m wire.Message, except *session) {
	if len(e.watchers) == 0 {
		return
	}
	frame, err := wire.Encode(m)
	if err != nil {
		slog.Error("a message cannot be sent", "about", e.peer.FQDN, "kind", m.Kind(), "error", err)
		return
	}
	for w := range e.watchers {
		if w != except {
			w.send(frame)
		}
	}
}

// announceGone notifies the watchers of e that it is no longer connected. REQUIRES: s.mu.
func (s *Server) announceGone(e *entry) {
	e.notify(&wire.Gone{Name: e.peer.FQDN}, nil)
}

// online is true if the node is connected to this service or another one. REQUIRES: s.mu.
func (s *Server) online(e *entry) bool { return s.sessions[e.peer.FQDN] != nil || e.home != "" }

// makeRoom drops nodes that are not connected from a full directory; the service can learn them again. REQUIRES: s.mu.
func (s *Server) makeRoom() {
	if len(s.dir.byName) >= maxDirectory {
		s.dir.drop(func(p identity.Peer) bool { return !s.online(s.dir.byName[p.FQDN]) })
	}
}

// watch subscribes c to e's connections and disconnections. REQUIRES: s.mu.
func (s *Server) watch(c *session, e *entry) {
	if _, known := c.interest[e.peer.FQDN]; !known && len(c.interest) >= maxInterest || c.ctx.Err() != nil {
		return
	}
	c.interest[e.peer.FQDN] = struct{}{}
	e.watchers[c] = struct{}{}
}

func (s *Server) lookup(c *session, m *wire.Lookup) wire.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.dir.find(m)
	if e == nil || s.now().After(e.peer.Certificate.NotAfter) || !s.mayKnow(c, e) { // all three look the same
		return &wire.Error{ID: m.ID, Code: wire.CodeUnknown, Text: "No node or device of this name or address has connected since the service started. Check the name, and that the node runs."}
	}
	s.watch(c, e)
	return e.found(m.ID, s.online(e))
}

// signal forwards an offer or candidate. An offer carries the sender's certificate.
func (s *Server) signal(c *session, m *wire.Signal) *wire.Error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.To == "" {
		return &wire.Error{Code: wire.CodeInvalid, Text: "A node's signal has a receiver, not a sender."}
	}
	to, there := s.sessions[m.To], s.dir.byName[m.To]
	if there == nil || to == nil && there.home == "" || !s.mayKnow(c, there) { // the same answer for all, so that it reveals nothing
		return &wire.Error{Code: wire.CodeOffline, Text: "The node " + m.To + " is not connected."}
	}
	s.watch(c, there)
	if e := s.dir.byName[c.peer.FQDN]; e != nil && to != nil {
		s.watch(to, e)
	}
	f := &wire.Signal{From: c.peer.FQDN, Type: m.Type, Epoch: m.Epoch, Data: m.Data, Signature: m.Signature}
	if m.Type == wire.SignalOffer {
		f.Certificate = c.der
	}
	frame, err := wire.Encode(f)
	if err != nil {
		return &wire.Error{Code: wire.CodeInvalid, Text: "The signal is too large with the node's certificate. Send fewer bytes."}
	}
	if to == nil {
		s.cluster.forward(there, f)
		return nil
	}
	to.send(frame)
	return nil
}

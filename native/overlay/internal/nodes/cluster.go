package nodes

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"time"

	"seganet.internal/overlay/internal/identity"
	"seganet.internal/overlay/internal/wire"
)

const (
	// beatEvery is the interval of a service's heartbeats. After silentAfter without one, the other services count its
	// nodes as gone.
	beatEvery   = 2 * time.Second
	silentAfter = 7 * time.Second
	// maxServices bounds the node services of a network.
	maxServices = 64
	// subjectPrefix precedes the network's name in each subject.
	subjectPrefix = "seganet.overlay."
)

// Bus carries messages between the node services of a network. It may lose messages; it need not keep them secret from
// a node service, which can neither read nor impersonate nodes.
//
// Thread safety: all methods may be called concurrently.
type Bus interface {
	// Publish sends a message to every subscriber of the subject. It must not block.
	Publish(subject string, message []byte) error
	// Subscribe calls f for each message, one after the other.
	Subscribe(subject string, f func(message []byte)) error
	// OnConnected calls f whenever a lost connection is back.
	OnConnected(f func())
}

// cluster is a service's knowledge about the other services. Server.mu guards the map.
type cluster struct {
	s       *Server
	bus     Bus
	self    string
	subject string
	others  map[string]time.Time    // service → its last beat
	details map[string]*wire.Detail // FQDN → of a presence that has not arrived yet
}

func newCluster(s *Server, bus Bus, network string) (*cluster, error) {
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		return nil, err
	}
	c := &cluster{s: s, bus: bus, self: hex.EncodeToString(b[:]), subject: subjectPrefix + network + ".", others: map[string]time.Time{}, details: map[string]*wire.Detail{}}
	for _, subject := range []string{"all", c.self} {
		if err := bus.Subscribe(c.subject+subject, c.take); err != nil {
			return nil, fmt.Errorf("cannot subscribe to messages of the other node services: %w", err)
		}
	}
	bus.OnConnected(func() {
		c.publish("all", &wire.Beat{Service: c.self, Sync: true})
		c.reportAll("all")
	})
	c.publish("all", &wire.Beat{Service: c.self, Sync: true})
	return c, nil
}

func (c *cluster) publish(to string, m wire.Message) {
	text, err := wire.EncodeCluster(m)
	if err == nil {
		err = c.bus.Publish(c.subject+to, text)
	}
	if err != nil {
		slog.Warn("a message to the other node services cannot be sent", "kind", m.Kind(), "error", err)
	}
}

// run sends beats and forgets silent services until the server ends.
func (c *cluster) run() {
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	for {
		select {
		case <-c.s.ctx.Done():
			c.publish("all", &wire.Beat{Service: c.self, Ended: true})
			return
		case <-tick.C:
			c.publish("all", &wire.Beat{Service: c.self})
			c.s.mu.Lock()
			for id, last := range c.others {
				if time.Since(last) > silentAfter {
					slog.Warn("a node service is silent; its nodes count as gone", "service", id)
					c.forget(id)
				}
			}
			c.s.mu.Unlock()
		}
	}
}

// take handles a message of another service. The bus calls it.
func (c *cluster) take(text []byte) {
	m, err := wire.DecodeCluster(text)
	if err != nil {
		slog.Warn("a malformed message of a node service", "error", err)
		return
	}
	switch m := m.(type) {
	case *wire.Beat:
		if m.Service != c.self {
			c.takeBeat(m)
		}
	case *wire.Detail:
		if m.Service != c.self {
			c.takeDetail(m)
		}
	case *wire.Presence:
		if m.Service != c.self {
			c.takePresence(m)
		}
	case *wire.Deliver:
		c.deliver(m)
	case *wire.News:
		if err := c.s.takeNewer(m.Documents); err != nil {
			slog.Warn("documents of another node service are refused", "error", err)
		}
	}
}

func (c *cluster) takeBeat(m *wire.Beat) {
	c.s.mu.Lock()
	_, known := c.others[m.Service]
	switch {
	case m.Ended:
		c.forget(m.Service)
	case known || len(c.others) < maxServices:
		c.others[m.Service] = time.Now()
	}
	c.s.mu.Unlock()
	if m.Ended {
		return
	}
	if !known {
		c.publish(m.Service, &wire.Beat{Service: c.self, Sync: true})
	}
	if m.Sync {
		c.reportAll(m.Service)
	}
}

// forget records that the nodes of a service are gone. REQUIRES: s.mu.
func (c *cluster) forget(id string) {
	delete(c.others, id)
	for _, e := range c.s.dir.byName {
		if e.home == id {
			e.home = ""
			c.s.announceGone(e)
		}
	}
}

// reportAll reports to one service, or to all, which nodes are connected here.
func (c *cluster) reportAll(to string) {
	c.s.mu.Lock()
	var list []wire.Message
	for name := range c.s.sessions {
		if e := c.s.dir.byName[name]; e != nil {
			list = append(list, c.detail(e), c.presence(e, true))
		}
	}
	docs := c.s.docs
	docs.Suspended = nil // services of an earlier version accept no such key
	c.s.mu.Unlock()
	for _, p := range list {
		c.publish(to, p)
	}
	c.publish(to, &wire.News{Documents: docs})
}

// report reports a node of this service to one other service, or to all. REQUIRES: s.mu.
func (c *cluster) report(to string, e *entry) {
	c.publish(to, c.detail(e))
	c.publish(to, c.presence(e, true))
}

func (c *cluster) detail(e *entry) *wire.Detail {
	a := e.about
	return &wire.Detail{Service: c.self, Name: e.peer.FQDN, Since: e.since, Instance: a.instance, Version: a.version, From: a.from, Groups: a.groups, AnyGroup: a.anyGroup}
}

func (c *cluster) takeDetail(m *wire.Detail) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if len(c.details) >= maxDirectory {
		clear(c.details) // those whose presence was lost
	}
	c.details[m.Name] = m
}

// origin returns the address of the node in a presence, or "". REQUIRES: s.mu.
func (c *cluster) origin(m *wire.Presence) string {
	if d := c.details[m.Name]; d != nil && d.Since == m.Since && d.Service == m.Service {
		return d.From
	}
	return ""
}

// learn applies the details that another service sent about its node. REQUIRES: s.mu.
func (c *cluster) learn(e *entry, m *wire.Presence) {
	d := c.details[m.Name]
	delete(c.details, m.Name)
	if d == nil || d.Since != m.Since || d.Service != m.Service {
		e.about.groups, e.about.anyGroup = nil, len(e.peer.Devices) > 0 // a service of an earlier version, or a loss
		return
	}
	e.about = about{instance: d.Instance, version: d.Version, from: d.From, groups: d.Groups, anyGroup: d.AnyGroup}
}

// presence describes a node of this service. REQUIRES: s.mu.
func (c *cluster) presence(e *entry, online bool) *wire.Presence {
	p := &wire.Presence{Service: c.self, Name: e.peer.FQDN, Since: e.since, Online: online}
	if online {
		p.Certificate, p.Hello = e.der, e.hello
	}
	return p
}

// takePresence records where a node is connected. The newest connection of a node ends the others.
func (c *cluster) takePresence(m *wire.Presence) {
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := c.others[m.Service]; !known {
		if len(c.others) >= maxServices {
			return
		}
		c.others[m.Service] = time.Now()
	}
	e := s.dir.byName[m.Name]
	if e != nil && (m.Since < e.since || m.Since == e.since && e.home != m.Service && (e.home != "" || s.sessions[m.Name] != nil)) {
		return // of an older connection
	}
	if !m.Online {
		if e != nil {
			e.ended = max(e.ended, m.Since)
		}
		if e != nil && e.home == m.Service {
			e.home, e.since = "", m.Since
			s.announceGone(e)
		}
		return
	}
	if e != nil && m.Since <= e.ended {
		return // its end arrived first
	}
	if e != nil && e.home == m.Service && e.since == m.Since && bytes.Equal(e.der, m.Certificate) && isSame(&e.hello, &m.Hello) {
		return // known: a service reports all nodes again after a loss of the bus
	}
	peer, err := identity.VerifyNode(m.Certificate, m.Name, s.roots, s.isRevoked, s.now())
	if err != nil {
		slog.Warn("a node of another node service is refused", "node", m.Name, "error", err)
		return
	}
	if old := s.sessions[m.Name]; old != nil {
		delete(s.sessions, m.Name)
		s.replace(old, c.origin(m), "the node connected to another service")
	}
	s.makeRoom()
	e = s.dir.put(peer, m.Certificate, m.Hello)
	e.home, e.since = m.Service, m.Since
	c.learn(e, m)
	s.announceOnline(e, nil)
}

// forward sends a signal to the service that has the receiver. REQUIRES: s.mu.
func (c *cluster) forward(to *entry, f *wire.Signal) {
	c.publish(to.home, &wire.Deliver{To: to.peer.FQDN, Signal: *f})
}

// deliver hands a signal from another service to its receiver here.
func (c *cluster) deliver(m *wire.Deliver) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	to := c.s.sessions[m.To]
	if to == nil {
		return // it has just left; a presence will notify the sender
	}
	if e := c.s.dir.byName[m.Signal.From]; e != nil {
		if from, self := e.side(), to.side(); !c.s.sight.Both(from, self) && !c.s.sight.ReachDevice(from, self) && !c.s.sight.ReachDevice(self, from) {
			return
		}
		c.s.watch(to, e)
	}
	to.sendMessage(&m.Signal)
}

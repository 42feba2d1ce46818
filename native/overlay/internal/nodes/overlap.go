package nodes

import (
	"context"
	"log/slog"
	"time"

	"github.com/coder/websocket"

	"seganet.internal/overlay/internal/wire"
)

const (
	// AliveLimit is how long the program of a replaced connection has to answer.
	AliveLimit = 5 * time.Second
	// maxProbes bounds the replaced connections that are checked at once. Further ones end unchecked.
	maxProbes = 256
	// overlapEvery is the minimum time between two reported overlaps of one identity.
	overlapEvery = 5 * time.Second
	// overlapSeries is how long after an overlap the next one belongs to the same series, which the log mentions once.
	overlapSeries = time.Minute
)

const twiceText = "Another program uses this node's identity. The list of nodes says from where. If it was stolen, revoke the node and join again with new keys."

// replace ends a node's connection after the node has connected from an address again, here or to another service.
//
// A program closes its connection before it opens another one. So replace first checks the old connection: if its
// program still answers, two programs with the node's keys run at this moment. A restart, a power cut, a new address,
// a NAT that forgot the connection, and a virtual machine that was reset do not look like that, because nothing
// answers then. REQUIRES: s.mu.
func (s *Server) replace(old *session, from, reason string) {
	name := old.peer.FQDN
	if _, runs := s.probing[name]; runs || len(s.probing) >= maxProbes {
		old.end(websocket.StatusPolicyViolation, reason)
		return
	}
	old.replaced = true
	s.probing[name] = struct{}{}
	s.wait.Add(1) // the connection's own goroutine holds one, too
	go func() {
		defer s.wait.Done()
		alive := old.answers()
		s.mu.Lock()
		delete(s.probing, name)
		if alive {
			s.usedTwice(old, from)
		}
		s.mu.Unlock()
		old.end(websocket.StatusPolicyViolation, reason)
	}()
}

// answers is true if the program at the other end answers a ping of the WebSocket. Programs of all versions do.
func (c *session) answers() bool {
	ctx, cancel := context.WithTimeout(c.ctx, AliveLimit)
	defer cancel()
	return c.conn.Ping(ctx) == nil
}

// usedTwice reports to both programs, to the log and to the authentication service that the program of a replaced
// connection runs beside another one, which connected from an address. REQUIRES: s.mu.
func (s *Server) usedTwice(old *session, from string) {
	s.twice++
	warning := &wire.Error{Code: wire.CodeTwice, Text: twiceText}
	old.sendMessage(warning)
	if c := s.sessions[old.peer.FQDN]; c != nil {
		c.sendMessage(warning)
	}
	e := s.dir.byName[old.peer.FQDN]
	if e == nil {
		return // revoked meanwhile
	}
	now := s.now().UTC().Truncate(time.Second)
	since := now.Sub(e.twice)
	if since >= 0 && since < overlapEvery {
		return
	}
	if since < 0 || since >= overlapSeries {
		slog.Warn("two programs use the identity of a node at once. If it was stolen, revoke the node and join again with new keys",
			"node", old.peer.FQDN, "from", from, "other", old.about.from)
	}
	e.twice, e.twiceFrom, e.overlapped = now, []string{from, old.about.from}, true
	s.changed(e)
}

// UsedTwice returns how often two programs were proven to use one identity at once.
func (s *Server) UsedTwice() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.twice
}

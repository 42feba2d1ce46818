package nodes

import (
	"context"
	"log/slog"
	"net"
	"time"

	"seganet.internal/overlay/internal/policy"
	"seganet.internal/overlay/internal/wire"
)

const (
	reportEvery   = time.Second      // a report has all changes of this time
	reportAll     = time.Minute      // interval of reports about all connected nodes
	reportAgain   = 5 * time.Second  // delay after a report that failed
	reportTimeout = 10 * time.Second // of one report
)

// clientAddress returns the address of "address:port".
func clientAddress(remote string) string {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return remote
	}
	return host
}

// side returns the node in the form that the policy is evaluated on.
func (e *entry) side() policy.Side {
	return policy.Side{Node: e.peer.Name.Node, Groups: e.peer.Groups, Devices: e.about.groups, AnyDevice: e.about.anyGroup}
}

func (c *session) side() policy.Side {
	return policy.Side{Node: c.peer.Name.Node, Groups: c.peer.Groups, Devices: c.about.groups, AnyDevice: c.about.anyGroup}
}

// mayKnow is true if a connected node may know of another one: the policy lets one of them reach the other. A node claims the
// groups of its devices without proof. By such a claim alone, it must not find the nodes that may reach the group, so these
// nodes must have asked for it before. REQUIRES: s.mu.
func (s *Server) mayKnow(c *session, e *entry) bool {
	self, other := c.side(), e.side()
	if c.peer.FQDN == e.peer.FQDN || s.sight.Both(self, other) || s.sight.ReachDevice(self, other) {
		return true
	}
	_, asked := c.interest[e.peer.FQDN]
	return asked && s.sight.ReachDevice(other, self)
}

// forgetUnseen removes a session's interest in nodes that it may no longer know of. REQUIRES: s.mu.
func (s *Server) forgetUnseen(c *session) {
	for name := range c.interest {
		if e := s.dir.byName[name]; e == nil || !s.mayKnow(c, e) {
			delete(c.interest, name)
			if e != nil {
				delete(e.watchers, c)
			}
		}
	}
}

// changed adds the node to the next report. REQUIRES: s.mu.
func (s *Server) changed(e *entry) {
	if s.opts.Report != nil {
		s.dirty[e.peer.FQDN] = struct{}{}
	}
}

// reporting sends reports of the connected nodes to the authentication service until the server ends.
func (s *Server) reporting() {
	tick := time.NewTicker(reportEvery)
	defer tick.Stop()
	all, again := time.Now(), time.Time{}
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-tick.C:
		}
		now := time.Now()
		if now.Before(again) {
			continue
		}
		if now.Sub(all) >= reportAll {
			all = now
			s.mu.Lock()
			for name := range s.sessions {
				s.dirty[name] = struct{}{}
			}
			s.mu.Unlock()
		}
		for {
			list := s.takeDirty()
			if len(list.Nodes) == 0 {
				break
			}
			ctx, cancel := context.WithTimeout(s.ctx, reportTimeout)
			err := s.opts.Report(ctx, list)
			cancel()
			if err == nil {
				continue
			}
			if s.ctx.Err() == nil {
				slog.Warn("the report of the connected nodes did not reach the authentication service; trying again", "error", err)
			}
			s.mu.Lock()
			for _, p := range list.Nodes {
				s.dirty[p.Name] = struct{}{}
				if e := s.dir.byName[p.Name]; e != nil && !p.Twice.IsZero() {
					e.overlapped = true
				}
			}
			s.mu.Unlock()
			again = now.Add(reportAgain)
			break
		}
	}
}

// takeDirty returns some of the presences to report.
func (s *Server) takeDirty() (r wire.SeenReport) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.Service = s.id
	for name := range s.dirty {
		if len(r.Nodes) >= wire.MaxSeen {
			break
		}
		delete(s.dirty, name)
		e := s.dir.byName[name]
		if e == nil {
			continue
		}
		c := s.sessions[name]
		if c == nil && e.home != "" && !e.overlapped {
			continue // the other service reports it
		}
		e.overlapped = false
		p := wire.Seen{Name: name, Online: c != nil, At: s.now().UTC().Truncate(time.Second), From: e.about.from, Version: e.about.version,
			Twice: e.twice, TwiceFrom: e.twiceFrom}
		if c != nil {
			p.At = c.since
		}
		r.Nodes = append(r.Nodes, p)
	}
	return r
}

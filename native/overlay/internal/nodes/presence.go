package nodes

import (
	"context"
	"log/slog"
	"net"
	"slices"
	"time"

	"seganet.internal/overlay/internal/policy"
	"seganet.internal/overlay/internal/wire"
)

const (
	formerMost    = 8                // former instances that are kept for each node
	reportEvery   = time.Second      // a report has all changes of this time
	reportAll     = time.Minute      // interval of reports about all connected nodes
	reportAgain   = 5 * time.Second  // delay after a report that failed
	reportTimeout = 10 * time.Second // of one report
	twiceTold     = time.Minute      // minimum time between two log lines about one identity that is used twice
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

// started records which instance of a node's program has connected, and from where. It reports twice if the instance
// was replaced before: then two programs with the node's keys replace each other. A restart or a new address does not
// count, because there a former instance does not return. REQUIRES: s.mu.
func (e *entry) started(a about) (twice bool, other string) {
	before := e.about
	e.about = a
	if before.instance == a.instance {
		return false, ""
	}
	twice = a.instance != "" && slices.Contains(e.former, a.instance)
	if before.instance != "" && !slices.Contains(e.former, before.instance) {
		if e.former = append(e.former, before.instance); len(e.former) > formerMost {
			e.former = e.former[1:]
		}
	}
	return twice, before.from
}

// usedTwice reports the case in the log, to the authentication service and to both programs. REQUIRES: s.mu.
func (s *Server) usedTwice(e *entry, other string) {
	s.twice++
	now := s.now().UTC().Truncate(time.Second)
	if since := now.Sub(e.twice); since >= 0 && since < twiceTold {
		return // they replace each other each second
	}
	e.twice, e.twiceFrom = now, []string{e.about.from, other}
	slog.Warn("the identity of a node is used by two programs at once. If it was stolen, revoke the node and join again with new keys",
		"node", e.peer.FQDN, "from", e.about.from, "other", other)
	s.changed(e)
}

// UsedTwice returns how often an identity was seen in use by two programs.
func (s *Server) UsedTwice() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.twice
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
		if c == nil && e.home != "" {
			continue // the other service reports it
		}
		p := wire.Seen{Name: name, Online: c != nil, At: s.now().UTC().Truncate(time.Second), From: e.about.from, Version: e.about.version,
			Twice: e.twice, TwiceFrom: e.twiceFrom}
		if c != nil {
			p.At = c.since
		}
		r.Nodes = append(r.Nodes, p)
	}
	return r
}

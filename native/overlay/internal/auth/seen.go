package auth

import (
	"errors"
	"strings"
	"sync"
	"time"

	"go.etcd.io/bbolt"

	"seganet.internal/overlay/internal/audit"
	"seganet.internal/overlay/internal/wire"
)

const (
	seenStale = 3 * time.Minute // without a report for this long, the nodes of a service count as offline
	seenWrite = time.Minute     // minimum time between two transactions that save reports
)

// seenRecord is the last report about a node's connection.
type seenRecord struct {
	wire.Seen
	Service string    `json:"service"` // that sent the report
	told    time.Time // when the report arrived; zero: before this start
	series  overlaps
}

// seen keeps which nodes are connected. The database keeps it across a restart; a crash loses at most a minute of it.
//
// Thread safety: all methods may be called concurrently.
type seen struct {
	mu      sync.Mutex
	nodes   map[string]*seenRecord // by FQDN
	unsaved map[string]struct{}
	written time.Time
}

// load reads the records of the previous run.
func (s *seen) load(tx *bbolt.Tx) error {
	s.nodes, s.unsaved = map[string]*seenRecord{}, map[string]struct{}{}
	b := tx.Bucket(bucketSeen)
	return b.ForEach(func(k, _ []byte) error {
		var r seenRecord
		if _, err := getJSON(b, k, &r); err != nil {
			return err
		}
		s.nodes[string(k)] = &r
		return nil
	})
}

// Seen applies the report of a node service. A report that a node is offline is ignored unless the node's newest
// connection was to that service.
func (s *Service) Seen(r wire.SeenReport) error {
	if err := r.Validate(); err != nil {
		return invalid(err)
	}
	now := s.now()
	var events []audit.Entry
	var last []string // nodes whose identity two programs go on using
	s.seen.mu.Lock()
	for _, n := range r.Nodes {
		old := s.seen.nodes[n.Name]
		next := &seenRecord{Seen: n, Service: r.Service, told: now}
		switch {
		case old == nil && len(s.seen.nodes) >= 2*maxNodes:
			continue
		case old == nil:
			old = &seenRecord{}
		case !n.Online && old.Service != r.Service:
			if !n.Twice.After(old.Twice) {
				continue
			}
			next = &seenRecord{Seen: old.Seen, Service: old.Service, told: old.told} // the node has moved from this service
			next.Twice, next.TwiceFrom = n.Twice, n.TwiceFrom
		case n.Twice.Before(old.Twice): // another service has seen it
			next.Twice, next.TwiceFrom = old.Twice, old.TwiceFrom
		}
		events = append(events, sessionEvents(old, next.Seen)...)
		if next.series = old.series; next.Twice.After(old.Twice) {
			begins, lasts := next.series.add(next.Twice, now)
			if begins {
				events = append(events, twiceEvent(next.Seen))
			}
			if lasts {
				last = append(last, n.Name)
			}
		}
		if old.Online != next.Online || !old.At.Equal(next.At) || !old.Twice.Equal(next.Twice) {
			s.seen.unsaved[n.Name] = struct{}{}
		}
		s.seen.nodes[n.Name] = next
	}
	late := len(s.seen.unsaved) > 0 && now.Sub(s.seen.written) >= seenWrite
	s.seen.mu.Unlock()
	for _, e := range events {
		s.audit.Add(e)
	}
	for _, name := range last {
		s.usedTwice(name)
	}
	if late {
		return s.writeSeen()
	}
	return nil
}

// sessionEvents returns what a report about a node's connection adds to the previous one.
func sessionEvents(old *seenRecord, n wire.Seen) (list []audit.Entry) {
	name, _, _ := strings.Cut(n.Name, ".")
	e := audit.Entry{Node: name, From: n.From, Version: n.Version}
	switch {
	case n.Online && (!old.Online || !old.At.Equal(n.At)):
		e.Event = audit.Connected
		list = append(list, e)
	case !n.Online && old.Online:
		e.Event = audit.Disconnected
		list = append(list, e)
	}
	return list
}

// resumed records that a node was not connected since it was suspended, which no node service reports. Programs that
// both go on begin a new series.
func (s *seen) resumed(fqdn string, since time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.nodes[fqdn]
	if old == nil {
		return
	}
	next := *old
	next.Online, next.series = false, overlaps{}
	if next.At.Before(since) {
		next.At = since.UTC().Truncate(time.Second)
	}
	s.nodes[fqdn] = &next
	s.unsaved[fqdn] = struct{}{}
}

// writeSeen saves the changed records in the database.
func (s *Service) writeSeen() error {
	s.seen.mu.Lock()
	rows := map[string]*seenRecord{}
	for name := range s.seen.unsaved {
		rows[name] = s.seen.nodes[name]
	}
	clear(s.seen.unsaved)
	s.seen.written = s.now()
	s.seen.mu.Unlock()
	if len(rows) == 0 {
		return nil
	}
	return s.db.Update(func(tx *bbolt.Tx) error {
		var err error
		for name, r := range rows {
			err = errors.Join(err, putJSON(tx.Bucket(bucketSeen), []byte(name), r))
		}
		return err
	})
}

// addSeen completes a row of the list of nodes. resumed is the end of its last suspension.
func (s *Service) addSeen(info *wire.NodeInfo, resumed time.Time) {
	s.seen.mu.Lock()
	defer s.seen.mu.Unlock()
	r := s.seen.nodes[info.FQDN]
	if r == nil {
		return
	}
	info.Online, info.Seen, info.From, info.Version = r.Online, r.At, r.From, r.Version
	info.Twice, info.TwiceFrom = r.Twice, r.TwiceFrom
	if r.Online && s.now().Sub(r.told) > seenStale {
		info.Online = false
		if r.told.After(r.At) {
			info.Seen = r.told
		}
	}
	if !info.Revoked.IsZero() || !info.Suspended.IsZero() {
		info.Online = false
	}
	settled := info.Joined // with new keys
	if resumed.After(settled) {
		settled = resumed
	}
	if !info.Twice.After(settled) {
		info.Twice, info.TwiceFrom = time.Time{}, nil
	}
}

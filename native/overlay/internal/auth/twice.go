package auth

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"go.etcd.io/bbolt"

	"seganet.internal/overlay/internal/audit"
	"seganet.internal/overlay/internal/wire"
)

const (
	// overlapLasts is how long two programs must use one identity before the node is suspended. One program that
	// replaces another one may overlap with it, for example when a container is updated.
	overlapLasts = 15 * time.Second
	// overlapForgotten is how long after the begin of a series an overlap still belongs to it.
	overlapForgotten = 10 * time.Minute
	// maxSuspensions bounds the suspensions of an hour. Node services report the overlaps, so a faulty or stolen one
	// could otherwise stop a whole network.
	maxSuspensions = 10
)

// overlaps is a series of times at which two programs used one identity.
type overlaps struct {
	first  time.Time // by the clock of the node service
	heard  time.Time // of first, by the clock of this service
	stated bool      // the series was reported as lasting
}

// add adds a later overlap. begins: it is the first of a series; lasts: it is the first that shows that the series
// lasts. Both clocks must have advanced, because a report may be late, and the clocks of node services may differ.
func (o *overlaps) add(at, now time.Time) (begins, lasts bool) {
	if o.first.IsZero() || at.Sub(o.first) > overlapForgotten || now.Sub(o.heard) > overlapForgotten {
		*o = overlaps{first: at, heard: now}
		return true, false
	}
	if o.stated || at.Sub(o.first) < overlapLasts || now.Sub(o.heard) < overlapLasts {
		return false, false
	}
	o.stated = true
	return false, true
}

func twiceEvent(n wire.Seen) audit.Entry {
	name, _, _ := strings.Cut(n.Name, ".")
	return audit.Entry{Event: audit.Twice, Node: name, From: strings.Join(n.TwiceFrom, " "), Version: n.Version,
		Text: "two programs use the identity of this node"}
}

// suspensions counts those of the last hour.
type suspensions struct {
	mu   sync.Mutex
	when []time.Time
}

// take is true if another one is possible.
func (s *suspensions) take(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.when) > 0 && (now.Sub(s.when[0]) >= time.Hour || now.Before(s.when[0])) {
		s.when = s.when[1:]
	}
	if len(s.when) >= maxSuspensions {
		return false
	}
	s.when = append(s.when, now)
	return true
}

// usedTwice suspends a node whose identity two programs go on using, unless the service only reports.
func (s *Service) usedTwice(fqdn string) {
	name, _, _ := strings.Cut(fqdn, ".")
	if s.opts.ReportTwice {
		return
	}
	if !s.recent.take(s.now()) {
		text := fmt.Sprintf("not suspended: %d nodes were in the last hour, which is the limit", maxSuspensions)
		slog.Error("two programs use the identity of a node", "node", fqdn, "problem", text)
		s.audit.Add(audit.Entry{Event: audit.Twice, Node: name, Text: text})
		return
	}
	if err := s.suspend(name); err != nil {
		slog.Error("a node cannot be suspended, although two programs use its identity. Revoke it, or stop one of them", "node", fqdn, "error", err)
	}
}

// suspend puts the certificates of a node on the revocation list until Resume or Revoke. The node keeps its name, keys
// and addresses.
func (s *Service) suspend(name string) error {
	isNew := false
	err := s.update(func(tx *bbolt.Tx) error {
		now := s.now()
		n, err := readNode(tx, name)
		if err != nil || n == nil || !n.Revoked.IsZero() || !n.Suspended.IsZero() {
			return err
		}
		b := tx.Bucket(bucketRevoked)
		count := b.Stats().KeyN
		for _, c := range n.Certificates {
			if now.After(c.NotAfter) || b.Get([]byte(c.Serial)) != nil {
				continue
			}
			// The other half is for revocations, which an operator decides.
			if count++; count > wire.MaxRevocations/2 {
				return &wire.Error{Code: wire.CodeFull, Text: fmt.Sprintf("The revocation list has %d certificates, and suspensions may fill half of it.", count-1)}
			}
			if err := putJSON(b, []byte(c.Serial), revokedRecord{Node: name, NotAfter: c.NotAfter, Suspended: true}); err != nil {
				return err
			}
		}
		n.Suspended, isNew = now, true
		return errors.Join(putJSON(tx.Bucket(bucketNodes), []byte(name), n), advance(tx, now, metaRevNo, metaVersion))
	})
	if err == nil && isNew {
		s.counts.suspensions.Add(1)
		slog.Warn("a node is suspended, because two programs use its identity. Resume it when one of them is stopped, or revoke it if it was stolen", "node", name)
		s.audit.Add(audit.Entry{Event: audit.Suspended, Node: name, Text: "two programs used the identity of this node"})
	}
	return err
}

// Resume ends the suspension of a node. Its certificates have left the revocation list before Resume returns.
func (s *Service) Resume(r wire.ResumeRequest) error {
	if err := r.Validate(); err != nil {
		return invalid(err)
	}
	var since time.Time
	err := s.update(func(tx *bbolt.Tx) error {
		n, err := readNode(tx, r.Name)
		if err != nil {
			return err
		}
		if n == nil || n.Suspended.IsZero() {
			return &wire.Error{Code: wire.CodeUnknown, Text: fmt.Sprintf("There is no suspended node %q. List the nodes: seganet-overlay nodes", r.Name)}
		}
		if _, err := dropExpired(tx, bucketRevoked, func(v revokedRecord) bool { return v.Suspended && v.Node == r.Name }); err != nil {
			return err
		}
		now := s.now()
		since = n.Suspended
		n.Suspended, n.Resumed = time.Time{}, now
		return errors.Join(putJSON(tx.Bucket(bucketNodes), []byte(n.Name), n), advance(tx, now, metaRevNo, metaVersion))
	})
	if err != nil {
		return err
	}
	s.seen.resumed(wire.NodeFQDN(r.Name, s.network), since)
	s.audit.Add(audit.Entry{Event: audit.Resumed, Node: r.Name, By: r.By})
	return nil
}

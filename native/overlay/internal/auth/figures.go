package auth

import (
	"sync/atomic"

	"go.etcd.io/bbolt"
)

// counts count requests since the start of the program.
type counts struct{ joins, renewals, refused, suspensions atomic.Uint64 }

// Figures are numbers about the network and the service.
type Figures struct {
	Nodes, Online, Revoked int // Nodes: not revoked; Online: of these
	Suspended              int // of Nodes
	RevokedCertificates    int // on the revocation list
	Invitations            int
	PolicyVersion          int64
	PolicyRules            int
	Joins, Renewals        uint64 // since the start
	Refused                uint64 // joins and renewals
	Suspensions            uint64 // since the start
	AuditFailures          uint64 // entries that could not be written
}

// AuditFailing returns why the last entry of the audit log could not be written, or nil.
func (s *Service) AuditFailing() error { return s.audit.Failing() }

// Figures counts.
func (s *Service) Figures() (f Figures, err error) {
	nodes, err := s.Nodes()
	if err != nil {
		return f, err
	}
	for _, n := range nodes {
		switch {
		case !n.Revoked.IsZero():
			f.Revoked++
			continue
		case !n.Suspended.IsZero():
			f.Suspended++
		case n.Online:
			f.Online++
		}
		f.Nodes++
	}
	policy, err := s.Policy()
	if err != nil {
		return f, err
	}
	err = s.db.View(func(tx *bbolt.Tx) error {
		f.Invitations = tx.Bucket(bucketInvites).Stats().KeyN
		return nil
	})
	f.RevokedCertificates = len(s.current().revoked)
	f.Suspensions = s.counts.suspensions.Load()
	f.PolicyVersion, f.PolicyRules = policy.Version, len(policy.Allow)
	f.Joins, f.Renewals, f.Refused, f.AuditFailures = s.counts.joins.Load(), s.counts.renewals.Load(), s.counts.refused.Load(), s.audit.Failures()
	return f, err
}

package auth

import (
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"

	"seganet.internal/overlay/internal/audit"
	"seganet.internal/overlay/internal/identity"
	"seganet.internal/overlay/internal/wire"
)

// Options configure a Service.
type Options struct {
	Dir       string              // state folder, made with mode 0700
	Network   string              // name of the network; needed at the first start
	Authority *identity.Authority // CA to use at the first start; nil: make a root
	AuthURLs  []string            // https URLs of this service, for nodes
	NodeURLs  []string            // wss URLs of the node services, for nodes
	OIDC      OIDC                // identity provider; empty: none
	TrustedCA *x509.CertPool      // CAs whose client certificates may join; nil: none
	CAGroups  []string            // groups of the nodes that join by such a certificate
	Now       func() time.Time    // nil: time.Now
	Client    *http.Client        // for the identity provider; nil: a client with a timeout
	// ReportTwice only reports identities that two programs use. Otherwise the service suspends the node.
	ReportTwice bool
}

// Service is an open authentication service.
type Service struct {
	db      *bbolt.DB
	opts    Options
	network string
	now     func() time.Time
	jwt     jwtVerifier
	state   atomic.Pointer[published]
	publish sync.Mutex // serializes refresh
	seen    seen
	audit   *audit.Log
	counts  counts
	recent  suspensions
}

// published is the state that readers use without access to the database.
type published struct {
	ring    *keyring
	docs    wire.Documents
	revoked map[string]struct{} // serial numbers, suspended ones included
	changed chan struct{}       // closed when a newer one is published
}

// Open opens or creates the service's database.
func Open(o Options) (*Service, error) {
	s := &Service{opts: o, now: o.Now}
	if s.now == nil {
		s.now = time.Now
	}
	if err := o.OIDC.Validate(); err != nil {
		return nil, err
	}
	s.jwt = jwtVerifier{OIDC: o.OIDC, client: o.Client, now: s.now}
	db, err := openDatabase(o.Dir, o.Network)
	if err != nil {
		return nil, err
	}
	s.db = db
	if s.audit, err = audit.Open(o.Dir, s.now); err != nil {
		db.Close()
		return nil, fmt.Errorf("the audit log cannot be opened: %w", err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		s.network = string(tx.Bucket(bucketMeta).Get(metaNetwork))
		if err := s.seen.load(tx); err != nil {
			return err
		}
		if k, _ := tx.Bucket(bucketAuthorities).Cursor().First(); k != nil {
			return nil
		}
		a := o.Authority
		if a == nil {
			if a, err = identity.NewAuthority(s.network, s.now()); err != nil {
				return err
			}
		} else if err := a.Check(s.now()); err != nil {
			return err
		}
		return addAuthority(tx, a, s.now(), s.now())
	})
	if err == nil {
		err = s.Maintain()
	}
	if err != nil {
		s.audit.Close()
		db.Close()
		return nil, err
	}
	return s, nil
}

// Close closes the database. Requests after it fail.
func (s *Service) Close() error {
	defer s.audit.Close()
	return errors.Join(s.writeSeen(), s.db.Close())
}

// Network returns the network's name.
func (s *Service) Network() string { return s.network }

func (s *Service) current() *published { return s.state.Load() }

// Documents returns the signed documents, and a channel that is closed when there are newer ones.
func (s *Service) Documents() (wire.Documents, <-chan struct{}) {
	p := s.current()
	return p.docs, p.changed
}

// Roots returns the roots that nodes trust now: as a pool and as DER.
func (s *Service) Roots() (*x509.CertPool, [][]byte) {
	p := s.current()
	return p.ring.pool, p.ring.roots
}

// ServerSigner returns the certificate that signs services; it changes at the end of a rotation.
func (s *Service) ServerSigner() *x509.Certificate { return s.current().ring.oldest.Chain[0] }

// Fingerprint returns the fingerprint of the services' root, by which joining nodes identify the network.
func (s *Service) Fingerprint() string {
	return identity.Fingerprint(s.current().ring.oldest.Root().Raw)
}

// Revoked is true for the serial number of a revoked certificate.
func (s *Service) Revoked(serial string) bool {
	_, yes := s.current().revoked[serial]
	return yes
}

// banned is true for a revoked certificate whose node is not merely suspended.
func (s *Service) banned(serial string) bool {
	p := s.current()
	_, yes := p.revoked[serial]
	return yes && !slices.Contains(p.docs.Suspended, serial)
}

// update runs a transaction and publishes the documents if the transaction changed their version.
func (s *Service) update(f func(tx *bbolt.Tx) error) error {
	if err := s.db.Update(f); err != nil {
		return err
	}
	return s.refresh()
}

// refresh signs and publishes the documents of the database if they are newer than the published ones.
func (s *Service) refresh() error {
	s.publish.Lock()
	defer s.publish.Unlock()
	now := s.now()
	next := &published{revoked: map[string]struct{}{}, changed: make(chan struct{})}
	old := s.current()
	same := false
	err := s.db.View(func(tx *bbolt.Tx) error {
		ring, _, err := readKeyring(tx, now)
		if err != nil {
			return err
		}
		next.ring, next.docs.Version = ring, counter(tx, metaVersion)
		if old != nil && old.docs.Version == next.docs.Version && old.ring.signer.Chain[0].Equal(ring.signer.Chain[0]) && len(old.ring.trusted) == len(ring.trusted) {
			same = true
			return nil
		}
		return s.sign(tx, next, now)
	})
	if err != nil || same {
		return err
	}
	s.state.Store(next)
	if old != nil {
		close(old.changed)
	}
	return nil
}

func (s *Service) sign(tx *bbolt.Tx, next *published, now time.Time) error {
	var policy wire.Policy
	if _, err := getJSON(tx.Bucket(bucketMeta), metaPolicy, &policy); err != nil {
		return err
	}
	list := &wire.Revocations{Network: s.network, Number: counter(tx, metaRevNo), Issued: now, Serials: []string{}}
	err := tx.Bucket(bucketRevoked).ForEach(func(k, _ []byte) error {
		var r revokedRecord
		if _, err := getJSON(tx.Bucket(bucketRevoked), k, &r); err != nil {
			return err
		}
		if r.Suspended {
			next.docs.Suspended = append(next.docs.Suspended, string(k))
		}
		list.Serials = append(list.Serials, string(k))
		next.revoked[string(k)] = struct{}{}
		return nil
	})
	if err != nil {
		return err
	}
	roots := &wire.Roots{Network: s.network, Number: counter(tx, metaRootNo), Issued: now, Certificates: next.ring.roots}
	var e1, e2, e3 error
	next.docs.Policy, e1 = next.ring.signer.Sign(identity.DocPolicy, &policy)
	next.docs.Revocations, e2 = next.ring.signer.Sign(identity.DocRevocations, list)
	next.docs.Roots, e3 = next.ring.oldest.Sign(identity.DocRoots, roots)
	return errors.Join(e1, e2, e3)
}

// Maintain deletes expired invitations, revoked certificates and old roots. The caller runs it hourly.
func (s *Service) Maintain() error {
	now := s.now()
	return s.update(func(tx *bbolt.Tx) error {
		_, old, err := readKeyring(tx, now)
		if err != nil {
			return err
		}
		for _, k := range old {
			if err := errors.Join(tx.Bucket(bucketAuthorities).Delete(k), advance(tx, now, metaRootNo, metaVersion)); err != nil {
				return err
			}
			slog.Info("an old root is no longer trusted, as its last certificate has expired")
		}
		if _, err := dropExpired(tx, bucketInvites, func(r inviteRecord) bool { return now.After(r.Expires) }); err != nil {
			return err
		}
		n, err := dropExpired(tx, bucketRevoked, func(r revokedRecord) bool { return now.After(r.NotAfter) })
		if err == nil && n > 0 {
			err = advance(tx, now, metaRevNo, metaVersion)
		}
		return err
	})
}

func dropExpired[T any](tx *bbolt.Tx, bucket []byte, expired func(T) bool) (int, error) {
	b := tx.Bucket(bucket)
	var keys [][]byte
	err := b.ForEach(func(k, _ []byte) error {
		var r T
		if _, err := getJSON(b, k, &r); err != nil {
			return err
		}
		if expired(r) {
			keys = append(keys, append([]byte(nil), k...))
		}
		return nil
	})
	for _, k := range keys {
		err = errors.Join(err, b.Delete(k))
	}
	return len(keys), err
}

// PolicyChange says who replaces a policy, and which one.
type PolicyChange struct {
	By   string
	From *int64 // version that must be in force; nil: whichever is
}

// SetPolicy replaces the policy. It ignores the version in p and assigns a higher one than the old policy's.
func (s *Service) SetPolicy(p wire.Policy, c PolicyChange) (wire.Policy, error) {
	now := s.now()
	err := s.update(func(tx *bbolt.Tx) error {
		var old wire.Policy
		if _, err := getJSON(tx.Bucket(bucketMeta), metaPolicy, &old); err != nil {
			return err
		}
		if c.From != nil && *c.From != old.Version {
			return &wire.Error{Code: wire.CodeTaken, Text: fmt.Sprintf("The policy was changed meanwhile: version %d is in force, not %d. Read it again, and change that one.", old.Version, *c.From)}
		}
		p.Version = nextNumber(old.Version, now)
		if p.Allow == nil {
			p.Allow = []wire.Rule{}
		}
		if err := p.Validate(); err != nil {
			return &wire.Error{Code: wire.CodeInvalid, Text: err.Error()}
		}
		text, err := wire.Marshal(p)
		if err != nil {
			return err
		}
		if len(text) > wire.MaxPolicyBytes {
			return &wire.Error{Code: wire.CodeFull, Text: fmt.Sprintf("The policy has %d bytes, the limit is %d. Use groups to say more with fewer rules.", len(text), wire.MaxPolicyBytes)}
		}
		return errors.Join(tx.Bucket(bucketMeta).Put(metaPolicy, text), advance(tx, now, metaVersion))
	})
	if err == nil {
		s.audit.Add(audit.Entry{Event: audit.Policy, By: c.By, Text: fmt.Sprintf("version %d, %d rules", p.Version, len(p.Allow))})
	}
	return p, err
}

// Policy returns the current policy.
func (s *Service) Policy() (p wire.Policy, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error {
		_, err := getJSON(tx.Bucket(bucketMeta), metaPolicy, &p)
		return err
	})
	return p, err
}

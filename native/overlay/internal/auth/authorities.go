package auth

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/bbolt"

	"seganet.internal/overlay/internal/audit"
	"seganet.internal/overlay/internal/identity"
	"seganet.internal/overlay/internal/wire"
)

// authorityRecord is a CA of the network. It signs from SignsFrom until the next CA does. Nodes trust it from its
// creation until the last certificate that it signed has expired.
type authorityRecord struct {
	Key       []byte    `json:"key"` // PKCS #8, PEM
	Chain     [][]byte  `json:"chain"`
	SignsFrom time.Time `json:"signsFrom"`
}

// rootOverlap is how long an old root stays trusted after the new one begins to sign. By then every certificate that
// the old one signed has expired.
const rootOverlap = identity.NodeLife + identity.ClockSlack

func addAuthority(tx *bbolt.Tx, a *identity.Authority, from, now time.Time) error {
	key, err := identity.MarshalIdentityKey(a.Key)
	if err != nil {
		return err
	}
	r := authorityRecord{Key: key, SignsFrom: from}
	for _, c := range a.Chain {
		r.Chain = append(r.Chain, c.Raw)
	}
	b := tx.Bucket(bucketAuthorities)
	n, err := b.NextSequence()
	if err != nil {
		return err
	}
	return errors.Join(putJSON(b, binary.BigEndian.AppendUint64(nil, n), r), advance(tx, now, metaRootNo, metaVersion))
}

// keyring is the set of authorities at a moment.
type keyring struct {
	signer  *identity.Authority   // of certificates, policy and revocations
	oldest  *identity.Authority   // of the list of roots: nodes that only know this one must accept the next
	trusted []*identity.Authority // oldest first
	pool    *x509.CertPool
	roots   [][]byte
}

// readKeyring reads the CAs that are valid now. It also returns the database keys of those that have expired.
func readKeyring(tx *bbolt.Tx, now time.Time) (*keyring, [][]byte, error) {
	type row struct {
		key []byte
		rec authorityRecord
	}
	var rows []row
	err := tx.Bucket(bucketAuthorities).ForEach(func(k, _ []byte) error {
		r := row{key: append([]byte(nil), k...)}
		_, err := getJSON(tx.Bucket(bucketAuthorities), k, &r.rec)
		rows = append(rows, r)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	ring, old := &keyring{pool: x509.NewCertPool()}, [][]byte(nil)
	for i, r := range rows {
		if i+1 < len(rows) && now.After(rows[i+1].rec.SignsFrom.Add(rootOverlap)) {
			old = append(old, r.key)
			continue
		}
		a, err := r.rec.authority()
		if err != nil {
			return nil, nil, err
		}
		ring.trusted = append(ring.trusted, a)
		ring.roots = append(ring.roots, a.Root().Raw)
		ring.pool.AddCert(a.Root())
		if ring.signer == nil || !now.Before(r.rec.SignsFrom) {
			ring.signer = a
		}
	}
	if len(ring.trusted) == 0 {
		return nil, nil, errors.New("the database has no CA. Restore it from a backup, or begin with an empty folder")
	}
	ring.oldest = ring.trusted[0]
	return ring, old, nil
}

func (r authorityRecord) authority() (*identity.Authority, error) {
	key, err := identity.ParseIdentityKey(r.Key)
	if err != nil {
		return nil, err
	}
	a := &identity.Authority{Key: key}
	for _, der := range r.Chain {
		c, err := x509.ParseCertificate(der)
		if err != nil {
			return nil, fmt.Errorf("a CA's certificate in the database cannot be read: %w", err)
		}
		a.Chain = append(a.Chain, c)
	}
	return a, nil
}

// Rotate creates a new CA and publishes its root at once. The CA begins to sign after identity.NodeLife, when every
// node with a valid certificate knows the root. With immediately it signs now, although nodes that are not connected
// still trust only the old root. The old root is removed when its last certificate has expired. by is who asks.
func (s *Service) Rotate(immediately bool, by string) error {
	now := s.now()
	a, err := identity.NewAuthority(s.network, now)
	if err != nil {
		return err
	}
	err = s.update(func(tx *bbolt.Tx) error {
		ring, _, err := readKeyring(tx, now)
		if err != nil {
			return err
		}
		if len(ring.trusted) > 1 {
			return &wire.Error{Code: wire.CodeTaken, Text: "A rotation of the CA is under way. Wait until the old root has left, about 15 days after its start."}
		}
		from := now.Add(identity.NodeLife)
		if immediately {
			from = now
		}
		return addAuthority(tx, a, from, now)
	})
	if err == nil {
		s.audit.Add(audit.Entry{Event: audit.Rotated, By: by, Text: "the new root is " + identity.Fingerprint(a.Root().Raw)})
	}
	return err
}

// IssueServer signs a certificate for the key of identity.AuthService or identity.NodeService. It signs under the
// oldest trusted root, so that a node that missed a rotation can still connect and learn the new root. The chain that
// it returns includes the root.
func (s *Service) IssueServer(service string, key ed25519.PublicKey, hosts []string) ([][]byte, error) {
	return s.current().ring.oldest.IssueServer(service, key, hosts, s.now())
}

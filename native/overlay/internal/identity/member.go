package identity

import (
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"seganet.internal/overlay/internal/wire"
)

// MembershipFile is the name of the file in the state folder that holds the answer to join or renew.
const MembershipFile = "membership.json"

// Member is a node that has joined a network: its keys and what the authentication service gave it.
//
// Thread safety: immutable. A renewal makes another Member.
type Member struct {
	Keys *Keys
	wire.Membership
	Self  Peer // from Certificate
	Roots *x509.CertPool
}

// NewMember checks that the membership belongs to the keys, and that its own roots made its certificate. An expired
// certificate is no error, as a node that was off for long can still renew it; see Expired.
func NewMember(k *Keys, m wire.Membership, now time.Time) (*Member, error) {
	if err := m.Validate(); err != nil {
		return nil, err
	}
	roots, err := Pool(m.Roots)
	if err != nil {
		return nil, err
	}
	chain, err := ParseChain(m.Certificate)
	if err != nil {
		return nil, err
	}
	self, err := Verify(m.Certificate, roots, nil, within(chain[0], now))
	if err != nil {
		return nil, err
	}
	if self.FQDN != m.FQDN || self.WGKey != k.WGPublic() || !k.Identity.Public().(ed25519.PublicKey).Equal(self.Certificate.PublicKey) {
		return nil, errors.New("the certificate does not belong to this node's keys. Join again with a new invitation")
	}
	return &Member{Keys: k, Membership: m, Self: self, Roots: roots}, nil
}

// within returns the moment of the certificate's life that is next to now.
func within(c *x509.Certificate, now time.Time) time.Time {
	if now.Before(c.NotBefore) {
		return c.NotBefore
	}
	if now.After(c.NotAfter) {
		return c.NotAfter
	}
	return now
}

// Expired is true if peers refuse the certificate at this time. The node must renew it before it connects.
func (m *Member) Expired(now time.Time) bool { return within(m.Self.Certificate, now) != now }

// VerifyForRenewal is Verify for the authentication service, which knows from its own records whether a node may stay:
// it accepts a certificate that has expired by less than grace.
func VerifyForRenewal(der []byte, roots *x509.CertPool, revoked func(string) bool, now time.Time, grace time.Duration) (Peer, error) {
	if chain, err := ParseChain(der); err == nil && now.Sub(chain[0].NotAfter) < grace {
		now = within(chain[0], now)
	}
	return Verify(der, roots, revoked, now)
}

// LoadMember reads keys and membership from the state folder.
func LoadMember(dir string, now time.Time) (*Member, error) {
	text, err := readPrivate(filepath.Join(dir, MembershipFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s has not joined a network: %w. Run: seganet-overlay join --help", dir, err)
	}
	if err != nil {
		return nil, err
	}
	var m wire.Membership
	if err := wire.Decode(text, maxFileBytes, &m); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, MembershipFile), err)
	}
	k, err := LoadKeys(dir)
	if err != nil {
		return nil, err
	}
	return NewMember(k, m, now)
}

// SaveMembership writes the membership to the state folder.
func SaveMembership(dir string, m wire.Membership) error {
	if err := m.Validate(); err != nil {
		return err
	}
	text, err := wire.Marshal(m)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return WriteFile(filepath.Join(dir, MembershipFile), append(text, '\n'))
}

// ClientTLS returns the configuration for connections to the services: TLS 1.3, the node's certificate, and the
// network's roots.
func (m *Member) ClientTLS() *tls.Config {
	chain, _ := ParseChain(m.Certificate) // NewMember has parsed it
	cert := tls.Certificate{PrivateKey: m.Keys.Identity, Leaf: chain[0]}
	for _, c := range chain {
		cert.Certificate = append(cert.Certificate, c.Raw)
	}
	return &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: m.Roots, Certificates: []tls.Certificate{cert}}
}

package authclient

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"sync"

	"seganet.internal/overlay/internal/identity"
	"seganet.internal/overlay/internal/wire"
)

// Pins are fingerprints of roots ("sha256:<hex>"), by which a client knows the authentication service that it has never
// seen.
//
// Thread safety: safe for concurrent use.
type Pins struct {
	mu   sync.Mutex
	list map[string]struct{}
}

// NewPins makes a set of fingerprints.
func NewPins(list ...string) *Pins {
	p := &Pins{}
	p.Set(list)
	return p
}

// Set replaces the fingerprints.
func (p *Pins) Set(list []string) {
	m := make(map[string]struct{}, len(list))
	for _, s := range list {
		m[s] = struct{}{}
	}
	p.mu.Lock()
	p.list = m
	p.mu.Unlock()
}

func (p *Pins) has(c *x509.Certificate) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, yes := p.list[identity.Fingerprint(c.Raw)]
	return yes
}

// tls trusts a service whose certificate leads to a pinned root, which comes with the certificate.
func (p *Pins) tls() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS13, InsecureSkipVerify: true, // VerifyConnection checks
		VerifyConnection: func(cs tls.ConnectionState) error {
			roots, between := x509.NewCertPool(), x509.NewCertPool()
			found := false
			for _, c := range cs.PeerCertificates[1:] {
				if p.has(c) {
					roots.AddCert(c)
					found = true
				} else {
					between.AddCert(c)
				}
			}
			if !found {
				return errors.New("the service does not have the network's root. Check the URL and the fingerprint that invite printed")
			}
			_, err := cs.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, DNSName: cs.ServerName, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
			if err != nil {
				return err
			}
			return isAuth(cs)
		}}
}

// isAuth refuses a service of the network that is not its authentication service.
func isAuth(cs tls.ConnectionState) error {
	if cn := cs.PeerCertificates[0].Subject.CommonName; cn != identity.AuthService {
		return fmt.Errorf("%s is the network's %q, not its authentication service. Check the URL", cs.ServerName, cn)
	}
	return nil
}

// pool returns the pinned roots in the chain of a document's signer.
func (p *Pins) pool(s wire.Signed) (*x509.CertPool, error) {
	chain, err := identity.ParseChain(s.Chain)
	if err != nil {
		return nil, err
	}
	var roots [][]byte
	for _, c := range chain {
		if p.has(c) {
			roots = append(roots, c.Raw)
		}
	}
	return identity.Pool(roots)
}

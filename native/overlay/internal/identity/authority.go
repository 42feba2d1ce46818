package identity

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"net"
	"strings"
	"time"

	"seganet.internal/overlay/internal/wire"
)

const (
	// RootLife is how long a root is valid. Rotate it earlier; see docs/use/overlay-services.md.
	RootLife = 10 * 365 * 24 * time.Hour
	// ServerLife is how long a certificate of a service is valid.
	ServerLife = 30 * 24 * time.Hour
)

// Authority signs certificates and documents: a root, or an intermediate whose root is offline.
//
// Thread safety: immutable.
type Authority struct {
	Key   ed25519.PrivateKey
	Chain []*x509.Certificate // the signer's certificate first, the root last
}

// NewAuthority makes a self-signed root for a network.
func NewAuthority(network string, now time.Time) (*Authority, error) {
	if err := wire.CheckLabel("the network", network); err != nil {
		return nil, err
	}
	pub, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := newSerial()
	if err != nil {
		return nil, err
	}
	t := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "SegaNet overlay " + network, SerialNumber: serial.Text(16)},
		NotBefore: now.Add(-ClockSlack), NotAfter: now.Add(RootLife), BasicConstraintsValid: true, IsCA: true, MaxPathLen: 1,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, t, t, pub, key)
	if err != nil {
		return nil, err
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &Authority{Key: key, Chain: []*x509.Certificate{c}}, nil
}

// Intermediate makes an authority that this one signs, so that the root's key can go offline.
func (a *Authority) Intermediate(network string, now time.Time) (*Authority, error) {
	pub, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := newSerial()
	if err != nil {
		return nil, err
	}
	t := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "SegaNet overlay " + network + " signer", SerialNumber: serial.Text(16)},
		NotBefore: now.Add(-ClockSlack), NotAfter: now.Add(RootLife / 5), BasicConstraintsValid: true, IsCA: true, MaxPathLenZero: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, t, a.Chain[0], pub, a.Key)
	if err != nil {
		return nil, err
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &Authority{Key: key, Chain: append([]*x509.Certificate{c}, a.Chain...)}, nil
}

// Check returns an error if key and chain do not belong together or cannot sign at this time.
func (a *Authority) Check(now time.Time) error {
	if len(a.Chain) == 0 {
		return errors.New("the CA has no certificate")
	}
	if pub, ok := a.Chain[0].PublicKey.(ed25519.PublicKey); !ok || !pub.Equal(a.Key.Public()) {
		return errors.New("the CA's key does not belong to the first certificate of its chain, or is not an Ed25519 key")
	}
	if !a.Chain[0].IsCA {
		return errors.New("the first certificate of the chain is not a CA's")
	}
	return verifyChain(a.Chain, a.Pool(), x509.ExtKeyUsageAny, now)
}

// Root returns the last certificate of the chain.
func (a *Authority) Root() *x509.Certificate { return a.Chain[len(a.Chain)-1] }

// Pool returns the root as the pool that Verify takes.
func (a *Authority) Pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(a.Root())
	return p
}

// intermediates returns the DER of the chain without the root.
func (a *Authority) intermediates() []byte {
	var der []byte
	for _, c := range a.Chain[:len(a.Chain)-1] {
		der = append(der, c.Raw...)
	}
	return der
}

// Common names of the services' certificates. Only a certificate with AuthService is the authentication service's: a node
// service, which gets its certificate by a secret, must not be able to collect tokens or answer renewals.
const (
	AuthService = "SegaNet overlay authentication"
	NodeService = "SegaNet overlay service"
)

// IssueServer signs a certificate for a service, AuthService or NodeService, that nodes reach by the given host names and
// IP addresses. It returns the chain with the root, so that a node that only knows the root's hash can check it.
func (a *Authority) IssueServer(service string, key ed25519.PublicKey, hosts []string, now time.Time) ([][]byte, error) {
	serial, err := newSerial()
	if err != nil {
		return nil, err
	}
	t := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: service},
		NotBefore: now.Add(-ClockSlack), NotAfter: now.Add(ServerLife), BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, h := range hosts {
		switch ip := net.ParseIP(h); {
		case ip != nil:
			t.IPAddresses = append(t.IPAddresses, ip)
		case h == "" || strings.HasSuffix(strings.ToLower(strings.TrimSuffix(h, ".")), "."+wire.Domain):
			return nil, fmt.Errorf("a service cannot have the host name %q: names under %s are the nodes'", h, wire.Domain)
		default:
			t.DNSNames = append(t.DNSNames, h)
		}
	}
	if len(t.IPAddresses)+len(t.DNSNames) == 0 {
		return nil, errors.New("the service has no host name. Give the name or address by which nodes reach it: --public <host>")
	}
	der, err := x509.CreateCertificate(rand.Reader, t, a.Chain[0], key, a.Key)
	if err != nil {
		return nil, err
	}
	list := [][]byte{der}
	for _, c := range a.Chain {
		list = append(list, c.Raw)
	}
	return list, nil
}

// Fingerprint returns "sha256:<hex>" of a certificate's DER.
func Fingerprint(der []byte) string {
	sum := sha256.Sum256(der)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Pool makes a pool of roots from their DER. It refuses certificates that are not of a self-signed CA.
func Pool(ders [][]byte) (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	if len(ders) == 0 || len(ders) > wire.MaxRoots {
		return nil, fmt.Errorf("%d roots; 1 to %d are possible", len(ders), wire.MaxRoots)
	}
	for _, der := range ders {
		c, err := x509.ParseCertificate(der)
		if err != nil {
			return nil, fmt.Errorf("a root cannot be read: %w", err)
		}
		if !c.IsCA || c.CheckSignatureFrom(c) != nil {
			return nil, fmt.Errorf("the certificate %q is not a self-signed root", c.Subject.CommonName)
		}
		pool.AddCert(c)
	}
	return pool, nil
}

func randInt(limit *big.Int) (*big.Int, error) {
	n, err := rand.Int(rand.Reader, limit)
	if err != nil {
		return nil, err
	}
	return n.Add(n, big.NewInt(1)), nil
}

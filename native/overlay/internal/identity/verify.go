package identity

import (
	"crypto/ed25519"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
	"net/netip"
	"time"

	"seganet.internal/overlay/internal/wire"
)

const maxChain = 4 // certificates in a chain without the root

// PeerDevice is an ordinary device behind a peer.
type PeerDevice struct {
	FQDN      string
	Addresses []netip.Addr // IPv6, IPv4
}

// Peer is what a verified certificate says.
type Peer struct {
	FQDN        string
	Name        wire.Name
	Addresses   []netip.Addr // of the node itself: IPv6 (ULA), IPv4
	Devices     []PeerDevice
	WGKey       [32]byte
	Groups      []string
	Serial      string
	Certificate *x509.Certificate
}

// AllowedIPs returns every address that packets of this peer may come from: its own and its devices'.
func (p Peer) AllowedIPs() []netip.Prefix {
	var list []netip.Prefix
	add := func(addrs []netip.Addr) {
		for _, a := range addrs {
			list = append(list, netip.PrefixFrom(a, a.BitLen()))
		}
	}
	add(p.Addresses)
	for _, d := range p.Devices {
		add(d.Addresses)
	}
	return list
}

// Serial returns a certificate's serial number as the revocation list writes it.
func Serial(c *x509.Certificate) string { return c.SerialNumber.Text(16) }

// Verify checks a node's certificate against the roots, the clock, the revocation list and the profile of this package.
// der is the DER of the certificate followed by that of its intermediates. revoked may be nil.
//
// Only the authentication service's roots make a peer: the carrier of the certificate, for example the node management
// service, can neither change nor make one. Callers that expect a certain node must compare Peer.FQDN.
func Verify(der []byte, roots *x509.CertPool, revoked func(serial string) bool, now time.Time) (Peer, error) {
	chain, err := ParseChain(der)
	if err != nil {
		return Peer{}, err
	}
	c := chain[0]
	if err := verifyChain(chain, roots, x509.ExtKeyUsageClientAuth, now); err != nil {
		return Peer{}, err
	}
	p, err := profile(c)
	if err != nil {
		return Peer{}, err
	}
	if revoked != nil {
		for _, link := range chain { // an intermediate may be revoked, too
			if s := Serial(link); revoked(s) {
				return Peer{}, fmt.Errorf("the certificate %s of %s is revoked. Invite the node again if it is still wanted", s, p.FQDN)
			}
		}
	}
	return p, nil
}

// VerifyNode is Verify for the node with this FQDN: a good certificate of another node is refused, so that the node
// management service cannot answer with that of a node that it works with.
func VerifyNode(der []byte, fqdn string, roots *x509.CertPool, revoked func(string) bool, now time.Time) (Peer, error) {
	p, err := Verify(der, roots, revoked, now)
	if err == nil && p.FQDN != fqdn {
		return Peer{}, fmt.Errorf("the certificate is of %s, not of %s. The node management service answers wrongly; check who runs it", p.FQDN, fqdn)
	}
	return p, err
}

// ParseChain reads one certificate followed by its intermediates.
func ParseChain(der []byte) ([]*x509.Certificate, error) {
	if len(der) == 0 || len(der) > wire.MaxCertificateBytes {
		return nil, fmt.Errorf("the certificate has %d bytes; 1 to %d are possible", len(der), wire.MaxCertificateBytes)
	}
	chain, err := x509.ParseCertificates(der)
	if err != nil {
		return nil, fmt.Errorf("the certificate cannot be read: %w", err)
	}
	if len(chain) == 0 || len(chain) > maxChain {
		return nil, fmt.Errorf("the chain has %d certificates; 1 to %d are possible", len(chain), maxChain)
	}
	return chain, nil
}

func verifyChain(chain []*x509.Certificate, roots *x509.CertPool, usage x509.ExtKeyUsage, now time.Time) error {
	if roots == nil {
		return errors.New("there is no root to check the certificate against. Join the network first") // nil would mean the system's roots
	}
	between := x509.NewCertPool()
	for _, c := range chain[1:] {
		between.AddCert(c)
	}
	_, err := chain[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{usage}})
	if err == nil {
		return nil
	}
	var invalid x509.CertificateInvalidError
	if errors.As(err, &invalid) && invalid.Reason == x509.Expired {
		return fmt.Errorf("the certificate is valid from %s to %s and it is %s now. Check the clock; if it is right, invite the node again",
			chain[0].NotBefore.UTC().Format(time.RFC3339), chain[0].NotAfter.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339))
	}
	return fmt.Errorf("the certificate is not from this network's authentication service: %w", err)
}

// profile checks everything but the chain.
func profile(c *x509.Certificate) (Peer, error) {
	if _, ok := c.PublicKey.(ed25519.PublicKey); !ok {
		return Peer{}, errors.New("the certificate is not for an Ed25519 key")
	}
	if c.IsCA || c.KeyUsage != x509.KeyUsageDigitalSignature {
		return Peer{}, errors.New("the certificate is not a node's: its key usage is not \"digital signature\" alone")
	}
	if len(c.ExtKeyUsage) != 1 || c.ExtKeyUsage[0] != x509.ExtKeyUsageClientAuth || len(c.UnknownExtKeyUsage) > 0 {
		return Peer{}, errors.New("the certificate is not a node's: its extended key usage is not \"client authentication\" alone")
	}
	if life := c.NotAfter.Sub(c.NotBefore); life > NodeLife+ClockSlack {
		return Peer{}, fmt.Errorf("the certificate's life of %s is longer than %s", life, NodeLife+ClockSlack)
	}
	if len(c.EmailAddresses) > 0 {
		return Peer{}, errors.New("the certificate has an e-mail address, which no node has")
	}
	if c.SerialNumber.Sign() <= 0 || wire.CheckSerial(Serial(c)) != nil {
		return Peer{}, errors.New("the certificate's serial number is not within 1 and 2^160")
	}
	p := Peer{Serial: Serial(c), Certificate: c}
	var err error
	if p.WGKey, err = parseWGURI(c.URIs); err != nil {
		return Peer{}, err
	}
	if p.Groups, err = parseGroups(c); err != nil {
		return Peer{}, err
	}
	return p, p.names(c)
}

// names reads the node's and the devices' names and addresses.
func (p *Peer) names(c *x509.Certificate) error {
	n := len(c.DNSNames)
	if n == 0 || n > 1+wire.MaxDevices || len(c.IPAddresses) != 2*n {
		return fmt.Errorf("the certificate has %d names and %d addresses; each of 1 to %d names has two", n, len(c.IPAddresses), 1+wire.MaxDevices)
	}
	seen := make(map[netip.Addr]struct{}, 2*n)
	for i, fqdn := range c.DNSNames {
		name, err := wire.ParseFQDN(fqdn)
		if err != nil {
			return err
		}
		six, ok6 := netip.AddrFromSlice(c.IPAddresses[2*i])
		four, ok4 := netip.AddrFromSlice(c.IPAddresses[2*i+1])
		if !ok6 || !ok4 || !pool6.Contains(six) || !pool4.Contains(four.Unmap()) {
			return fmt.Errorf("the addresses %v and %v of %s are not from %s and %s", c.IPAddresses[2*i], c.IPAddresses[2*i+1], fqdn, pool6, pool4)
		}
		addrs := []netip.Addr{six, four.Unmap()}
		for _, a := range addrs {
			if _, twice := seen[a]; twice {
				return fmt.Errorf("the certificate names the address %s twice", a)
			}
			seen[a] = struct{}{}
		}
		if i == 0 {
			if name.Device != "" {
				return fmt.Errorf("the first name %s is not a node's", fqdn)
			}
			p.FQDN, p.Name, p.Addresses = fqdn, name, addrs
			continue
		}
		if name.Device == "" || name.Node != p.Name.Node || name.Network != p.Name.Network {
			return fmt.Errorf("%s is not a device of %s", fqdn, p.FQDN)
		}
		p.Devices = append(p.Devices, PeerDevice{FQDN: fqdn, Addresses: addrs})
	}
	return nil
}

// newSerial draws 79 bits, which is 20 hexadecimal digits at most.
func newSerial() (*big.Int, error) {
	return randInt(new(big.Int).Lsh(big.NewInt(1), 79))
}

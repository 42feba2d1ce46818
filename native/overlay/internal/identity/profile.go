package identity

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"time"

	"seganet.internal/overlay/internal/wire"
)

const (
	// NodeLife is how long a node's certificate is valid.
	NodeLife = 7 * 24 * time.Hour
	// ClockSlack is how much earlier than now a certificate begins, for clocks that are behind.
	ClockSlack = time.Hour

	wgScheme = "seganet-wg"
)

var (
	groupsOID = asn1.ObjectIdentifier{2, 25, 1178422611}
	pool4     = netip.MustParsePrefix("198.18.0.0/16")
	pool6     = netip.MustParsePrefix("fd00::/8")
)

// Pool4 is the IPv4 pool of every network.
func Pool4() netip.Prefix { return pool4 }

// WGURI returns the SAN URI of a WireGuard public key.
func WGURI(key [32]byte) *url.URL {
	return &url.URL{Scheme: wgScheme, Opaque: base64.RawURLEncoding.EncodeToString(key[:])}
}

// parseWGURI returns the only WireGuard key of a certificate or request.
func parseWGURI(list []*url.URL) (key [32]byte, err error) {
	if len(list) != 1 || list[0].Scheme != wgScheme {
		return key, fmt.Errorf("the certificate has not exactly one URI %s:<key>", wgScheme)
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(list[0].Opaque)
	if err != nil || len(raw) != len(key) {
		return key, fmt.Errorf("the URI %s does not hold a key of 32 bytes in base64url", wgScheme)
	}
	copy(key[:], raw)
	if key == [32]byte{} {
		return key, errors.New("the WireGuard key is zero")
	}
	return key, nil
}

// Request returns a certificate signing request. It names the WireGuard key and is signed by the identity key; name,
// addresses and groups are the authentication service's to give.
func Request(k *Keys) ([]byte, error) {
	return x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		URIs: []*url.URL{WGURI(k.WGPublic())}}, k.Identity)
}

// ParseRequest checks a request's signature and returns its keys. It ignores every name in it.
func ParseRequest(der []byte) (ed25519.PublicKey, [32]byte, error) {
	var none [32]byte
	if len(der) > wire.MaxRequestBytes {
		return nil, none, fmt.Errorf("the certificate request has %d bytes, the limit is %d", len(der), wire.MaxRequestBytes)
	}
	r, err := x509.ParseCertificateRequest(der)
	if err != nil {
		return nil, none, fmt.Errorf("the certificate request cannot be read: %w", err)
	}
	pub, ok := r.PublicKey.(ed25519.PublicKey)
	if !ok {
		return nil, none, errors.New("the certificate request is not for an Ed25519 key")
	}
	if err := r.CheckSignature(); err != nil {
		return nil, none, fmt.Errorf("the certificate request's signature is wrong: %w", err)
	}
	wg, err := parseWGURI(r.URIs)
	return pub, wg, err
}

// Subject is what the authentication service puts into a node's certificate.
type Subject struct {
	Node, Network string
	Addresses     []netip.Addr // IPv6, IPv4
	Groups        []string
	Devices       []wire.Device // with both addresses
	Key           ed25519.PublicKey
	WGKey         [32]byte
}

// Issue signs a node's certificate that is valid from ClockSlack before now for NodeLife. It returns the DER of the
// chain without the root, as Verify takes it, and the certificate.
func (a *Authority) Issue(s Subject, now time.Time) ([]byte, *x509.Certificate, error) {
	serial, err := newSerial()
	if err != nil {
		return nil, nil, err
	}
	groups, err := marshalGroups(s.Groups)
	if err != nil {
		return nil, nil, err
	}
	t := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: wire.NodeFQDN(s.Node, s.Network)},
		NotBefore: now.Add(-ClockSlack), NotAfter: now.Add(NodeLife),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		BasicConstraintsValid: true,
		DNSNames:              []string{wire.NodeFQDN(s.Node, s.Network)},
		URIs:                  []*url.URL{WGURI(s.WGKey)},
		ExtraExtensions:       []pkix.Extension{{Id: groupsOID, Value: groups}},
	}
	if len(t.Subject.CommonName) > 64 { // upper bound of X.520; the name is in the SAN anyway
		t.Subject.CommonName = s.Node
	}
	for _, addr := range s.Addresses {
		t.IPAddresses = append(t.IPAddresses, addr.AsSlice())
	}
	for _, d := range s.Devices {
		t.DNSNames = append(t.DNSNames, wire.DeviceFQDN(d.Name, s.Node, s.Network))
		t.IPAddresses = append(t.IPAddresses, d.Addr6.AsSlice(), d.Addr4.AsSlice())
	}
	der, err := x509.CreateCertificate(rand.Reader, t, a.Chain[0], s.Key, a.Key)
	if err != nil {
		return nil, nil, err
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, nil, err
	}
	chain := append(der, a.intermediates()...)
	if _, err := Verify(chain, a.Pool(), nil, now); err != nil { // never hand out what peers would refuse
		return nil, nil, err
	}
	return chain, c, nil
}

func marshalGroups(groups []string) ([]byte, error) {
	list := make([]asn1.RawValue, len(groups))
	for i, g := range groups {
		list[i] = asn1.RawValue{Tag: asn1.TagUTF8String, Bytes: []byte(g)}
	}
	return asn1.Marshal(list)
}

func parseGroups(c *x509.Certificate) ([]string, error) {
	var groups []string
	found := 0
	for _, e := range c.Extensions {
		if !e.Id.Equal(groupsOID) {
			continue
		}
		found++
		var list []asn1.RawValue
		if rest, err := asn1.Unmarshal(e.Value, &list); err != nil || len(rest) > 0 {
			return nil, errors.New("the certificate's list of groups cannot be read")
		}
		if len(list) > wire.MaxGroups {
			return nil, fmt.Errorf("the certificate has %d groups, the limit is %d", len(list), wire.MaxGroups)
		}
		for _, v := range list {
			if v.Class != asn1.ClassUniversal || v.Tag != asn1.TagUTF8String {
				return nil, errors.New("a group in the certificate is not a UTF8String")
			}
			if err := wire.CheckLabel("the group", string(v.Bytes)); err != nil {
				return nil, err
			}
			groups = append(groups, string(v.Bytes))
		}
	}
	if found != 1 {
		return nil, errors.New("the certificate has not exactly one list of groups")
	}
	return groups, nil
}

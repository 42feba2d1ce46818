package identity

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"seganet.internal/overlay/internal/wire"
)

var now = time.Date(2026, 11, 23, 20, 0, 0, 0, time.UTC)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func subject(k *Keys, node string, n int) Subject {
	addr := func(i int) (six, four netip.Addr) {
		return netip.MustParseAddr(fmt.Sprintf("fd12:3456:789a::%x", i)), netip.AddrFrom4([4]byte{198, 18, byte(i >> 8), byte(i)})
	}
	six, four := addr(n)
	return Subject{Node: node, Network: "plant", Addresses: []netip.Addr{six, four}, Groups: []string{"gateways", "hall-3"},
		Key: k.Identity.Public().(ed25519.PublicKey), WGKey: k.WGPublic()}
}

func TestVerifyReadsWhatIssueWrote(t *testing.T) {
	a, k := must(NewAuthority("plant", now)), must(NewKeys())
	s := subject(k, "gw-1", 1)
	for i := range wire.MaxDevices {
		s.Devices = append(s.Devices, wire.Device{Name: fmt.Sprintf("a-rather-long-device-name-%d", i), Addr4: netip.AddrFrom4([4]byte{198, 18, 1, byte(i)}),
			Addr6: netip.MustParseAddr(fmt.Sprintf("fd12:3456:789a::1:%x", i))})
	}
	for name, signer := range map[string]*Authority{"a root": a, "an intermediate": must(a.Intermediate("plant", now))} {
		der, _, err := signer.Issue(s, now)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		p, err := Verify(der, a.Pool(), func(string) bool { return false }, now.Add(NodeLife))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if p.FQDN != "gw-1.plant.seganet.internal" || p.WGKey != k.WGPublic() || strings.Join(p.Groups, " ") != "gateways hall-3" ||
			len(p.Devices) != wire.MaxDevices || len(p.AllowedIPs()) != 2+2*wire.MaxDevices || !p.Addresses[0].Is6() || !p.Addresses[1].Is4() {
			t.Errorf("%s: %+v", name, p)
		}
		if len(der) > wire.MaxCertificateBytes {
			t.Errorf("the certificate has %d bytes", len(der))
		}
	}
}

func TestVerifyRefuses(t *testing.T) {
	a, other, k := must(NewAuthority("plant", now)), must(NewAuthority("plant", now)), must(NewKeys())
	der, c, err := a.Issue(subject(k, "gw-1", 1), now)
	if err != nil {
		t.Fatal(err)
	}
	// A node's own certificate cannot sign another one.
	stolen := &Authority{Key: k.Identity, Chain: []*x509.Certificate{c, a.Root()}}
	byNode, _ := x509.CreateCertificate(rand.Reader, template(func(*x509.Certificate) {}), c, k.Identity.Public(), k.Identity)
	server := must(a.IssueServer(NodeService, k.Identity.Public().(ed25519.PublicKey), []string{"localhost"}, now))
	flipped := append([]byte(nil), der...)
	flipped[len(flipped)/2] ^= 1
	for name, try := range map[string]func() error{
		"nothing":             func() error { _, err := Verify(nil, a.Pool(), nil, now); return err },
		"no roots":            func() error { _, err := Verify(der, nil, nil, now); return err },
		"no root in the pool": func() error { _, err := Verify(der, x509.NewCertPool(), nil, now); return err },
		"another network":     func() error { _, err := Verify(der, other.Pool(), nil, now); return err },
		"too early":           func() error { _, err := Verify(der, a.Pool(), nil, now.Add(-ClockSlack-time.Second)); return err },
		"too late":            func() error { _, err := Verify(der, a.Pool(), nil, now.Add(NodeLife+time.Second)); return err },
		"revoked": func() error {
			_, err := Verify(der, a.Pool(), func(s string) bool { return s == Serial(c) }, now)
			return err
		},
		"a flipped bit":  func() error { _, err := Verify(flipped, a.Pool(), nil, now); return err },
		"bytes after it": func() error { _, err := Verify(append(der[:len(der):len(der)], 0), a.Pool(), nil, now); return err },
		"a long chain":   func() error { _, err := Verify(repeat(der, 5), a.Pool(), nil, now); return err },
		"too many bytes": func() error {
			_, err := Verify(make([]byte, wire.MaxCertificateBytes+1), a.Pool(), nil, now)
			return err
		},
		"signed by a node": func() error { _, err := Verify(append(byNode, c.Raw...), a.Pool(), nil, now); return err },
		"issued by a node": func() error { _, _, err := stolen.Issue(subject(k, "gw-2", 2), now); return err },
		"a service's":      func() error { _, err := Verify(server[0], a.Pool(), nil, now); return err },
		"the root itself":  func() error { _, err := Verify(a.Root().Raw, a.Pool(), nil, now); return err },
		"a service named so": func() error {
			_, err := a.IssueServer(NodeService, c.PublicKey.(ed25519.PublicKey), []string{"gw-1.plant.seganet.internal"}, now)
			return err
		},
		"a service of no name": func() error {
			_, err := a.IssueServer(NodeService, c.PublicKey.(ed25519.PublicKey), nil, now)
			return err
		},
		"a pool without a root": func() error { _, err := Pool([][]byte{der}); return err },
	} {
		if err := try(); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func repeat(der []byte, n int) (list []byte) {
	for range n {
		list = append(list, der...)
	}
	return list
}

// template is a certificate that fits the profile; change makes it differ in one point.
func template(change func(*x509.Certificate)) *x509.Certificate {
	groups, _ := marshalGroups([]string{"g"})
	c := &x509.Certificate{
		SerialNumber: big.NewInt(77), NotBefore: now.Add(-ClockSlack), NotAfter: now.Add(NodeLife), BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		DNSNames: []string{"a.n.seganet.internal", "d.a.n.seganet.internal"}, URIs: []*url.URL{WGURI([32]byte{1})},
	}
	for _, s := range []string{"fd00::1", "198.18.0.1", "fd00::2", "198.18.0.2"} {
		c.IPAddresses = append(c.IPAddresses, netip.MustParseAddr(s).AsSlice())
	}
	c.ExtraExtensions = append(c.ExtraExtensions, pkix.Extension{Id: groupsOID, Value: groups})
	change(c)
	return c
}

func TestProfileIsEnforced(t *testing.T) {
	a, k := must(NewAuthority("plant", now)), must(NewKeys())
	ip := func(s string) []byte { return netip.MustParseAddr(s).AsSlice() }
	many := func(n int) func(*x509.Certificate) {
		return func(c *x509.Certificate) {
			g := make([]string, n)
			for i := range g {
				g[i] = fmt.Sprint("g", i)
			}
			der, _ := marshalGroups(g)
			c.ExtraExtensions[0] = pkix.Extension{Id: groupsOID, Value: der}
		}
	}
	good := map[string]func(*x509.Certificate){"as it is": func(*x509.Certificate) {}, "16 groups": many(16)}
	bad := map[string]func(*x509.Certificate){
		"17 groups":             many(17),
		"a CA":                  func(c *x509.Certificate) { c.IsCA = true },
		"more key usage":        func(c *x509.Certificate) { c.KeyUsage |= x509.KeyUsageCertSign },
		"more extended usage":   func(c *x509.Certificate) { c.ExtKeyUsage = append(c.ExtKeyUsage, x509.ExtKeyUsageServerAuth) },
		"no extended usage":     func(c *x509.Certificate) { c.ExtKeyUsage = nil },
		"a longer life":         func(c *x509.Certificate) { c.NotAfter = c.NotAfter.Add(time.Second) },
		"no name":               func(c *x509.Certificate) { c.DNSNames = nil; c.IPAddresses = nil },
		"a public name":         func(c *x509.Certificate) { c.DNSNames[0] = "a.example.com" },
		"a wildcard":            func(c *x509.Certificate) { c.DNSNames[0] = "*.n.seganet.internal" },
		"a device first":        func(c *x509.Certificate) { c.DNSNames[0] = "x.a.n.seganet.internal" },
		"a device of another":   func(c *x509.Certificate) { c.DNSNames[1] = "d.b.n.seganet.internal" },
		"another network's":     func(c *x509.Certificate) { c.DNSNames[1] = "d.a.m.seganet.internal" },
		"an address less":       func(c *x509.Certificate) { c.IPAddresses = c.IPAddresses[:3] },
		"a public address":      func(c *x509.Certificate) { c.IPAddresses[1] = ip("192.0.2.1") },
		"a public IPv6 address": func(c *x509.Certificate) { c.IPAddresses[0] = ip("2001:db8::1") },
		"addresses in disorder": func(c *x509.Certificate) { c.IPAddresses[0], c.IPAddresses[1] = c.IPAddresses[1], c.IPAddresses[0] },
		"an address twice":      func(c *x509.Certificate) { c.IPAddresses[2] = c.IPAddresses[0] },
		"no WireGuard key":      func(c *x509.Certificate) { c.URIs = nil },
		"two WireGuard keys":    func(c *x509.Certificate) { c.URIs = append(c.URIs, WGURI([32]byte{2})) },
		"a zero WireGuard key":  func(c *x509.Certificate) { c.URIs[0] = WGURI([32]byte{}) },
		"a short WireGuard key": func(c *x509.Certificate) { c.URIs[0] = &url.URL{Scheme: wgScheme, Opaque: "AQ"} },
		"another URI":           func(c *x509.Certificate) { c.URIs[0] = &url.URL{Scheme: "https", Host: "example.com"} },
		"an e-mail address":     func(c *x509.Certificate) { c.EmailAddresses = []string{"a@example.com"} },
		"no groups":             func(c *x509.Certificate) { c.ExtraExtensions = nil },
		"groups not readable": func(c *x509.Certificate) {
			c.ExtraExtensions[0] = pkix.Extension{Id: groupsOID, Value: []byte{1, 2, 3}}
		},
		"bytes after the groups": func(c *x509.Certificate) { c.ExtraExtensions[0].Value = append(c.ExtraExtensions[0].Value, 5, 0) },
	}
	try := func(change func(*x509.Certificate)) error {
		der, err := x509.CreateCertificate(rand.Reader, template(change), a.Root(), k.Identity.Public(), a.Key)
		if err != nil {
			return err
		}
		_, err = Verify(der, a.Pool(), nil, now)
		return err
	}
	for name, change := range good {
		if err := try(change); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, change := range bad {
		if try(change) == nil {
			t.Errorf("a certificate with %s is accepted", name)
		}
	}
}

func TestRequestBindsBothKeys(t *testing.T) {
	k := must(NewKeys())
	der := must(Request(k))
	pub, wg, err := ParseRequest(der)
	if err != nil || !pub.Equal(k.Identity.Public()) || wg != k.WGPublic() {
		t.Fatal(pub, wg, err)
	}
	for i := range der { // a changed bit anywhere is noticed
		bad := append([]byte(nil), der...)
		bad[i] ^= 4
		if p, w, err := ParseRequest(bad); err == nil && (!p.Equal(pub) || w != wg) {
			t.Fatalf("byte %d can be changed", i)
		}
	}
}

func TestKeyFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	k := must(LoadOrCreateKeys(dir))
	for _, name := range []string{IdentityKeyFile, WireGuardKeyFile} {
		info := must(os.Stat(filepath.Join(dir, name)))
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has the mode %v", name, info.Mode())
		}
	}
	again := must(LoadOrCreateKeys(dir))
	if !again.Identity.Equal(k.Identity) || again.WGPrivate() != k.WGPrivate() {
		t.Error("the keys have changed")
	}
	if err := os.Chmod(filepath.Join(dir, WireGuardKeyFile), 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadKeys(dir); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a file that others may read: %v", err)
	}
	if _, err := LoadKeys(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	for _, text := range []string{"", "x", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"} {
		if _, err := ParseIdentityKey([]byte(text)); err == nil {
			t.Errorf("%q is a key", text)
		}
	}
}

func TestOnlyTheAuthoritySignsDocuments(t *testing.T) {
	a, other, k := must(NewAuthority("plant", now)), must(NewAuthority("plant", now)), must(NewKeys())
	inter := must(a.Intermediate("plant", now))
	list := &wire.Revocations{Network: "plant", Number: 3, Issued: now, Serials: []string{"ab"}}
	_, c, err := a.Issue(subject(k, "gw-1", 1), now)
	if err != nil {
		t.Fatal(err)
	}
	for name, signer := range map[string]*Authority{"root": a, "intermediate": inter} {
		var back wire.Revocations
		if err := Open(DocRevocations, must(signer.Sign(DocRevocations, list)), a.Pool(), now, &back); err != nil || back.Number != 3 || back.Serials[0] != "ab" {
			t.Errorf("%s: %v %v", name, back, err)
		}
	}
	s := must(a.Sign(DocRevocations, list))
	changed := s
	changed.Payload = strings.Replace(s.Payload, "ab", "cd", 1)
	byNode := must((&Authority{Key: k.Identity, Chain: []*x509.Certificate{c, a.Root()}}).Sign(DocRevocations, list))
	for name, try := range map[string]error{
		"another kind":      Open(DocPolicy, s, a.Pool(), now, &wire.Revocations{}),
		"another network":   Open(DocRevocations, s, other.Pool(), now, &wire.Revocations{}),
		"a changed payload": Open(DocRevocations, changed, a.Pool(), now, &wire.Revocations{}),
		"a node's":          Open(DocRevocations, byNode, a.Pool(), now, &wire.Revocations{}),
		"no signature":      Open(DocRevocations, wire.Signed{Payload: s.Payload, Chain: s.Chain}, a.Pool(), now, &wire.Revocations{}),
		"an expired signer": Open(DocRevocations, s, a.Pool(), now.Add(RootLife+time.Hour), &wire.Revocations{}),
	} {
		if try == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func TestSignalsAreBoundToSenderReceiverAndRound(t *testing.T) {
	a, k, evil := must(NewAuthority("plant", now)), must(NewKeys()), must(NewKeys())
	der, _, err := a.Issue(subject(k, "gw-1", 1), now)
	if err != nil {
		t.Fatal(err)
	}
	p := must(Verify(der, a.Pool(), nil, now))
	sig := k.SignSignal(p.FQDN, "hub", "offer", 7, "data")
	if !CheckSignal(p, "hub", "offer", 7, "data", sig) {
		t.Error("a good signature is refused")
	}
	for i, bad := range []bool{CheckSignal(p, "hub2", "offer", 7, "data", sig), CheckSignal(p, "hub", "candidate", 7, "data", sig), CheckSignal(p, "hub", "offer", 8, "data", sig),
		CheckSignal(p, "hub", "offer", 7, "dat", sig), CheckSignal(p, "hub", "offer", 7, "data", nil), CheckSignal(p, "hub", "offer", 7, "data", evil.SignSignal(p.FQDN, "hub", "offer", 7, "data"))} {
		if bad {
			t.Errorf("bad signature %d is accepted", i)
		}
	}
}

func TestMemberMustOwnItsCertificate(t *testing.T) {
	a, k, other := must(NewAuthority("plant", now)), must(NewKeys()), must(NewKeys())
	der, _, err := a.Issue(subject(k, "gw-1", 1), now)
	if err != nil {
		t.Fatal(err)
	}
	m := wire.Membership{Network: "plant", Name: "gw-1", FQDN: "gw-1.plant.seganet.internal", Certificate: der, Roots: [][]byte{a.Root().Raw}}
	dir := t.TempDir()
	if err := k.Save(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadMember(dir, now); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if err := SaveMembership(dir, m); err != nil {
		t.Fatal(err)
	}
	back, err := LoadMember(dir, now)
	if err != nil || back.Self.FQDN != m.FQDN {
		t.Fatal(back, err)
	}
	if _, err := NewMember(other, m, now); err == nil {
		t.Error("another node's keys are accepted")
	}
}

func FuzzVerify(f *testing.F) {
	a, k := must(NewAuthority("plant", now)), must(NewKeys())
	der, _, err := a.Issue(subject(k, "gw-1", 1), now)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(der)
	f.Add(append(der[:len(der):len(der)], a.Root().Raw...))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		chain, err := ParseChain(data)
		if err != nil {
			return
		}
		_, _ = profile(chain[0]) // must not panic on what no authority signed
		if p, err := Verify(data, a.Pool(), nil, now); err == nil && string(p.Certificate.Raw) != string(der) {
			t.Fatal("a certificate that the authority did not make is accepted")
		}
	})
}

func FuzzParseRequest(f *testing.F) {
	f.Add(must(Request(must(NewKeys()))))
	f.Fuzz(func(t *testing.T, der []byte) {
		if _, wg, err := ParseRequest(der); err == nil && wg == [32]byte{} {
			t.Fatal("a zero key is accepted")
		}
	})
}

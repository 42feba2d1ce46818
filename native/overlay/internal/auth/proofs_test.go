package auth

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"seganet.internal/overlay/internal/identity"
	"seganet.internal/overlay/internal/wire"
)

// issuer is an identity provider with the parts that this service uses: discovery and keys over HTTP.
type issuer struct {
	*httptest.Server
	key *rsa.PrivateKey
}

func newIssuer(t *testing.T) *issuer {
	i := &issuer{key: must(rsa.GenerateKey(rand.Reader, 2048))}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"issuer": i.URL, "jwks_uri": i.URL + "/keys", "authorization_endpoint": i.URL, "token_endpoint": i.URL,
			"id_token_signing_alg_values_supported": []string{"RS256", "HS256", "none"}})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: i.key.Public(), KeyID: "1", Algorithm: "RS256", Use: "sig"}}})
	})
	i.Server = httptest.NewServer(mux)
	t.Cleanup(i.Close)
	return i
}

func sign(t *testing.T, alg jose.SignatureAlgorithm, key any, claims map[string]any) string {
	t.Helper()
	s := must(jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: jose.JSONWebKey{Key: key, KeyID: "1"}}, nil))
	return must(must(s.Sign(must(json.Marshal(claims)))).CompactSerialize())
}

func TestJoinByJWT(t *testing.T) {
	i := newIssuer(t)
	s, c := open(t, func(o *Options) { o.OIDC = OIDC{Issuer: i.URL, Audience: "overlay", Groups: []string{"gateways"}} })
	claims := func(change map[string]any) map[string]any {
		m := map[string]any{"iss": i.URL, "aud": "overlay", "sub": "1", "iat": c.now().Unix(), "exp": c.now().Add(time.Hour).Unix(), "seganet_node": "hall-3",
			"seganet_groups": []string{"gateways", "admins"}}
		for k, v := range change {
			if v == nil {
				delete(m, k)
			} else {
				m[k] = v
			}
		}
		return m
	}
	join := func(token string) (wire.Membership, error) {
		return s.Join(context.Background(), wire.JoinRequest{CSR: must(identity.Request(must(identity.NewKeys()))), JWT: token}, nil)
	}
	other := must(rsa.GenerateKey(rand.Reader, 2048))
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: must(x509.MarshalPKIXPublicKey(i.key.Public()))})
	good := sign(t, jose.RS256, i.key, claims(nil))
	parts := strings.Split(good, ".")
	b64 := base64.RawURLEncoding.EncodeToString
	for name, token := range map[string]string{
		"another key":       sign(t, jose.RS256, other, claims(nil)),
		"an expired one":    sign(t, jose.RS256, i.key, claims(map[string]any{"exp": c.now().Add(-time.Minute).Unix()})),
		"another audience":  sign(t, jose.RS256, i.key, claims(map[string]any{"aud": "mail"})),
		"no audience":       sign(t, jose.RS256, i.key, claims(map[string]any{"aud": nil})),
		"another issuer":    sign(t, jose.RS256, i.key, claims(map[string]any{"iss": "https://evil.example.com"})),
		"no name":           sign(t, jose.RS256, i.key, claims(map[string]any{"seganet_node": nil})),
		"a bad name":        sign(t, jose.RS256, i.key, claims(map[string]any{"seganet_node": "a.b"})),
		"the public key":    sign(t, jose.HS256, public, claims(nil)), // HMAC with what everybody knows
		"no signature":      b64([]byte(`{"alg":"none"}`)) + "." + parts[1] + ".",
		"an empty one":      parts[0] + "." + parts[1] + ".",
		"a changed payload": parts[0] + "." + b64(must(json.Marshal(claims(map[string]any{"seganet_node": "hub"})))) + "." + parts[2],
		"rubbish":           "a.b.c",
	} {
		if _, err := join(token); !isCode(err, wire.CodeDenied) {
			t.Errorf("a JWT with %s: %v", name, err)
		}
	}
	m, err := join(good)
	if err != nil || m.Name != "hall-3" || !slices.Equal(m.Groups, []string{"gateways"}) {
		t.Fatalf("%+v %v", m, err)
	}
	if _, err := join(good); !isCode(err, wire.CodeTaken) {
		t.Errorf("the same JWT again: %v", err)
	}
	c.add(time.Minute)
	if err := s.Revoke(wire.RevokeRequest{Name: "hall-3"}); err != nil {
		t.Fatal(err)
	}
	if _, err := join(good); !isCode(err, wire.CodeDenied) {
		t.Errorf("a JWT from before the revocation: %v", err)
	}
	c.add(time.Minute)
	if _, err := join(sign(t, jose.RS256, i.key, claims(nil))); err != nil {
		t.Errorf("a JWT from after the revocation: %v", err)
	}
	down, _ := open(t, func(o *Options) { o.OIDC = OIDC{Issuer: "http://127.0.0.1:1", Audience: "overlay"} })
	if _, err := down.Join(context.Background(), wire.JoinRequest{CSR: must(identity.Request(must(identity.NewKeys()))), JWT: good}, nil); !isCode(err, wire.CodeUnavailable) {
		t.Errorf("a provider that is down: %v", err)
	}
	none, _ := open(t, nil)
	if _, err := none.Join(context.Background(), wire.JoinRequest{CSR: must(identity.Request(must(identity.NewKeys()))), JWT: good}, nil); !isCode(err, wire.CodeDenied) {
		t.Errorf("no provider: %v", err)
	}
}

// testCA is the CA of a company, with ECDSA keys, which such CAs usually have.
type testCA struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

func newTestCA() *testCA {
	ca := &testCA{key: must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))}
	t := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "company"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	ca.cert = must(x509.ParseCertificate(must(x509.CreateCertificate(rand.Reader, t, t, ca.key.Public(), ca.key))))
	return ca
}

func (ca *testCA) issue(name string, usage x509.ExtKeyUsage, until time.Duration) tls.Certificate {
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	t := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(until),
		ExtKeyUsage: []x509.ExtKeyUsage{usage}, KeyUsage: x509.KeyUsageDigitalSignature}
	der := must(x509.CreateCertificate(rand.Reader, t, ca.cert, crypto.PublicKey(key.Public()), ca.key))
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: must(x509.ParseCertificate(der))}
}

// Joins go through real TLS, so that the client proves that it has the certificate's key.
func TestJoinByATrustedCA(t *testing.T) {
	company, foreign := newTestCA(), newTestCA()
	s, _ := open(t, func(o *Options) {
		o.TrustedCA, o.CAGroups = x509.NewCertPool(), []string{"gateways"}
		o.TrustedCA.AddCert(company.cert)
	})
	server := httptest.NewUnstartedServer(s.Handler())
	server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	server.StartTLS()
	defer server.Close()
	join := func(certs ...tls.Certificate) (int, string) {
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: certs}}}
		body := must(wire.Marshal(wire.JoinRequest{CSR: must(identity.Request(must(identity.NewKeys())))}))
		res, err := client.Post(server.URL+"/v1/join", "application/json", strings.NewReader(string(body)))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		var m wire.Membership
		_ = json.NewDecoder(res.Body).Decode(&m)
		return res.StatusCode, m.Name
	}
	for name, certs := range map[string][]tls.Certificate{
		"none":                    nil,
		"a foreign CA's":          {foreign.issue("gw-9", x509.ExtKeyUsageClientAuth, time.Hour)},
		"an expired one":          {company.issue("gw-9", x509.ExtKeyUsageClientAuth, -time.Minute)},
		"a server's":              {company.issue("gw-9", x509.ExtKeyUsageServerAuth, time.Hour)},
		"one without a name":      {company.issue("", x509.ExtKeyUsageClientAuth, time.Hour)},
		"one with a person in it": {company.issue("Jane Doe", x509.ExtKeyUsageClientAuth, time.Hour)},
	} {
		if code, _ := join(certs...); code != http.StatusForbidden {
			t.Errorf("certificate: %s: %d", name, code)
		}
	}
	cert := company.issue("GW-9.example.com", x509.ExtKeyUsageClientAuth, time.Hour)
	if code, name := join(cert); code != http.StatusOK || name != "gw-9" {
		t.Fatal(code, name)
	}
	if code, _ := join(cert); code != http.StatusConflict {
		t.Errorf("the same certificate again: %d", code)
	}
	if err := s.Revoke(wire.RevokeRequest{Name: "gw-9"}); err != nil {
		t.Fatal(err)
	}
	if code, _ := join(cert); code != http.StatusForbidden {
		t.Errorf("a revoked node lets itself in again: %d", code)
	}
	none, _ := open(t, nil)
	if _, err := none.Join(context.Background(), wire.JoinRequest{CSR: must(identity.Request(must(identity.NewKeys())))}, []*x509.Certificate{cert.Leaf}); !isCode(err, wire.CodeDenied) {
		t.Errorf("no trusted CA: %v", err)
	}
}

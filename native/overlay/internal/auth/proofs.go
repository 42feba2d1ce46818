package auth

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"seganet.internal/overlay/internal/wire"
)

// OIDC is an identity provider whose JWTs let nodes join.
type OIDC struct {
	Issuer      string   // URL; its discovery document names the keys
	Audience    string   // "aud" that a token must have
	NameClaim   string   // claim with the node's name; empty: "seganet_node"
	GroupsClaim string   // claim with a list of groups; empty: "seganet_groups"
	Groups      []string // groups that a token may give; others in the claim are ignored
}

// Validate checks the options; no issuer is valid, too.
func (o *OIDC) Validate() error {
	if o.Issuer == "" {
		return nil
	}
	u, err := url.Parse(o.Issuer)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return fmt.Errorf("the identity provider's issuer %q is not a URL", o.Issuer)
	}
	if h := u.Hostname(); u.Scheme == "http" && h != "localhost" && h != "127.0.0.1" && h != "::1" {
		return errors.New("the identity provider's issuer must be an https URL, as its keys come from there")
	}
	if o.Audience == "" {
		return errors.New("the identity provider needs an audience: without it, a token for any other service could join. Give --oidc-audience")
	}
	return nil
}

// proof is the result of one way of joining: the proven facts about the node.
type proof struct {
	by     string // "invite", "jwt", "ca"
	name   string
	groups []string
	issued time.Time // of a JWT
}

// jwtVerifier checks JWTs with the issuer's keys, which it fetches at first use and again when an unknown key signs.
type jwtVerifier struct {
	OIDC
	client *http.Client
	now    func() time.Time
	mu     sync.Mutex
	oidc   *oidc.IDTokenVerifier
	asking *discovery // nil: no request runs
}

// discovery is a request for the issuer's document. Its results are set when done is closed.
type discovery struct {
	done chan struct{}
	oidc *oidc.IDTokenVerifier
	err  error
}

// algorithms excludes HMAC, because the issuer's published keys are public keys, and "none".
var algorithms = []string{oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA}

// verifier returns the verifier of JWTs. Concurrent callers share one request to the issuer; each waits until its own
// context ends.
func (v *jwtVerifier) verifier(ctx context.Context) (*oidc.IDTokenVerifier, error) {
	v.mu.Lock()
	if v.oidc != nil {
		defer v.mu.Unlock()
		return v.oidc, nil
	}
	d := v.asking
	if d == nil {
		d = &discovery{done: make(chan struct{})}
		v.asking = d
		go v.discover(d)
	}
	v.mu.Unlock()
	select {
	case <-d.done:
		return d.oidc, d.err
	case <-ctx.Done():
		return nil, &wire.Error{Code: wire.CodeUnavailable, Text: clip("The identity provider " + v.Issuer + " does not answer.")}
	}
}

func (v *jwtVerifier) discover(d *discovery) {
	client := v.client
	if client == nil {
		client = &http.Client{Timeout: 10 * time.Second}
	}
	// The provider keeps the context for later requests, so it must not be a request's.
	p, err := oidc.NewProvider(oidc.ClientContext(context.Background(), client), v.Issuer)
	if err == nil {
		d.oidc = p.Verifier(&oidc.Config{ClientID: v.Audience, SupportedSigningAlgs: algorithms, Now: v.now})
	} else {
		d.err = &wire.Error{Code: wire.CodeUnavailable, Text: clip("The identity provider " + v.Issuer + " cannot be reached: " + err.Error())}
	}
	v.mu.Lock()
	v.oidc, v.asking = d.oidc, nil
	v.mu.Unlock()
	close(d.done)
}

func (v *jwtVerifier) check(ctx context.Context, token string) (proof, error) {
	if v.Issuer == "" {
		return proof{}, &wire.Error{Code: wire.CodeDenied, Text: "This network has no identity provider. Join with an invitation's token."}
	}
	verifier, err := v.verifier(ctx)
	if err != nil {
		return proof{}, err
	}
	t, err := verifier.Verify(ctx, token)
	if err != nil {
		return proof{}, &wire.Error{Code: wire.CodeDenied, Text: clip("The JWT is refused: " + err.Error())}
	}
	var claims map[string]any
	if err := t.Claims(&claims); err != nil {
		return proof{}, &wire.Error{Code: wire.CodeDenied, Text: "The JWT's claims cannot be read."}
	}
	nameClaim, groupsClaim := v.NameClaim, v.GroupsClaim
	if nameClaim == "" {
		nameClaim = "seganet_node"
	}
	if groupsClaim == "" {
		groupsClaim = "seganet_groups"
	}
	p := proof{by: "jwt", issued: t.IssuedAt}
	p.name, _ = claims[nameClaim].(string)
	if err := wire.CheckLabel("the node's name in the claim "+nameClaim, p.name); err != nil {
		return proof{}, &wire.Error{Code: wire.CodeDenied, Text: clip("The JWT is refused: " + err.Error())}
	}
	list, _ := claims[groupsClaim].([]any)
	for _, g := range list {
		if s, ok := g.(string); ok && slices.Contains(v.Groups, s) && !slices.Contains(p.groups, s) {
			p.groups = append(p.groups, s)
		}
	}
	return p, nil
}

// checkTrusted reads the proof of a client certificate of a trusted CA. TLS has proved that the client has its key.
func (s *Service) checkTrusted(chain []*x509.Certificate) (proof, error) {
	if len(chain) == 0 {
		return proof{}, &wire.Error{Code: wire.CodeDenied, Text: "The request has no proof. Give an invitation's token, a JWT, or a client certificate."}
	}
	if s.opts.TrustedCA == nil {
		return proof{}, &wire.Error{Code: wire.CodeDenied, Text: "This network trusts no other CA. Join with an invitation's token."}
	}
	between := x509.NewCertPool()
	for _, c := range chain[1:] {
		between.AddCert(c)
	}
	_, err := chain[0].Verify(x509.VerifyOptions{Roots: s.opts.TrustedCA, Intermediates: between, CurrentTime: s.now(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	if err != nil {
		return proof{}, &wire.Error{Code: wire.CodeDenied, Text: clip("The client certificate is not of a CA that this network trusts: " + err.Error())}
	}
	name := chain[0].Subject.CommonName
	if len(chain[0].DNSNames) > 0 {
		name = chain[0].DNSNames[0]
	}
	name, _, _ = strings.Cut(strings.ToLower(name), ".")
	if err := wire.CheckLabel("the node's name in the client certificate", name); err != nil {
		return proof{}, &wire.Error{Code: wire.CodeDenied, Text: clip(err.Error())}
	}
	return proof{by: "ca", name: name, groups: s.opts.CAGroups}, nil
}

// clip shortens an external text to the limit of an Error.
func clip(s string) string {
	if len(s) <= wire.MaxTextBytes {
		return s
	}
	return strings.ToValidUTF8(s[:wire.MaxTextBytes-3], "") + "..."
}

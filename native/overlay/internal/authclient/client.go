// Package authclient asks the authentication service: a node's join and renew, a node service's feed, and the
// administration over the Unix socket.
package authclient

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"seganet.internal/overlay/internal/identity"
	"seganet.internal/overlay/internal/nat64"
	"seganet.internal/overlay/internal/wire"
)

const (
	requestTimeout = 15 * time.Second
	maxAnswerBytes = 16 << 20 // list of all nodes
)

// Client sends requests to one service at one of its URLs.
//
// Thread safety: safe for concurrent use.
type Client struct {
	urls   []string
	http   *http.Client
	header http.Header
	trust  func(list wire.Signed) (*x509.CertPool, error) // roots that may sign the list of roots
}

func newClient(urls []string, conf *tls.Config) *Client {
	// No connection is kept: requests are rare, and a renewed certificate must be the one of the next request.
	return &Client{urls: urls, http: &http.Client{Timeout: requestTimeout, Transport: &http.Transport{DialContext: nat64.Default.Dialer(&net.Dialer{}), TLSClientConfig: conf, DisableKeepAlives: true, Proxy: http.ProxyFromEnvironment}}}
}

// New makes a client for a node that has joined. conf is Member.ClientTLS. It tries the URLs in turn.
func New(urls []string, conf *tls.Config) *Client {
	conf = conf.Clone()
	conf.VerifyConnection = isAuth
	c := newClient(urls, conf)
	c.trust = func(wire.Signed) (*x509.CertPool, error) { return conf.RootCAs, nil }
	return c
}

// NewToJoin makes a client for a node that knows nothing but the fingerprint of the network's root ("sha256:<hex>"). certs
// is the client certificate of a trusted CA, if that is the proof.
func NewToJoin(urls []string, root string, certs ...tls.Certificate) *Client {
	pins := NewPins(root)
	conf := pins.tls()
	conf.Certificates = certs
	c := newClient(urls, conf)
	c.trust = pins.pool
	return c
}

// NewForServices makes a client for a node service that knows the services' secret. The caller adds roots to the pins
// when it learns of them.
func NewForServices(url, secret string, pins *Pins) *Client {
	c := newClient([]string{url}, pins.tls())
	c.http.Timeout = time.Minute // a feed waits
	c.header = http.Header{"Authorization": {"Bearer " + secret}}
	return c
}

// NewAdmin makes a client of an administration socket.
func NewAdmin(socket string) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}
	return &Client{urls: []string{"http://admin"}, http: &http.Client{Timeout: requestTimeout, Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}}
}

// Join asks for a first certificate with these keys. The request's proof must be set; Join fills in the CSR.
func (c *Client) Join(ctx context.Context, k *identity.Keys, r wire.JoinRequest) (*identity.Member, error) {
	var err error
	if r.CSR, err = identity.Request(k); err != nil {
		return nil, err
	}
	return c.membership(ctx, "/v1/join", &r, k)
}

// Renew asks for the next certificate with these keys, which may be new ones. The client's TLS configuration has the
// current certificate. devices are all devices from now on.
func (c *Client) Renew(ctx context.Context, k *identity.Keys, devices []string) (*identity.Member, error) {
	csr, err := identity.Request(k)
	if err != nil {
		return nil, err
	}
	return c.membership(ctx, "/v1/renew", &wire.RenewRequest{CSR: csr, Devices: devices}, k)
}

func (c *Client) membership(ctx context.Context, path string, q any, k *identity.Keys) (*identity.Member, error) {
	var m wire.Membership
	if err := c.do(ctx, http.MethodPost, path, q, &m); err != nil {
		return nil, err
	}
	// The answer names the roots that the node trusts from now on, so TLS alone is not enough to believe it.
	roots, err := c.trust(m.RootList)
	if err != nil {
		return nil, err
	}
	var list wire.Roots
	if err := identity.Open(identity.DocRoots, m.RootList, roots, time.Now(), &list); err != nil {
		return nil, fmt.Errorf("the answer's list of roots: %w", err)
	}
	m.Roots = list.Certificates
	return identity.NewMember(k, m, time.Now())
}

// Revocations returns the current revocation list, still signed.
func (c *Client) Revocations(ctx context.Context) (s wire.Signed, err error) {
	return s, c.do(ctx, http.MethodGet, "/v1/revocations", nil, &s)
}

// Feed returns the documents as soon as their version is not after, or the same ones after some time.
func (c *Client) Feed(ctx context.Context, after int64) (d wire.Documents, err error) {
	return d, c.do(ctx, http.MethodGet, fmt.Sprintf("/v1/services/feed?suspended=1&after=%d", after), nil, &d)
}

// ServerCertificate asks for a certificate for a service.
func (c *Client) ServerCertificate(ctx context.Context, r wire.ServerRequest) (s wire.ServerCertificate, err error) {
	return s, c.do(ctx, http.MethodPost, "/v1/services/certificate", &r, &s)
}

// Seen reports who is connected to a node service. An earlier version of the service does not accept reports, which is
// no error.
func (c *Client) Seen(ctx context.Context, r wire.SeenReport) error {
	err := c.do(ctx, http.MethodPost, "/v1/services/seen", &r, nil)
	if errors.Is(err, errNotFound) {
		return nil
	}
	return err
}

var errNotFound = errors.New("not found")

// Invite makes an invitation.
func (c *Client) Invite(ctx context.Context, r wire.InviteRequest) (i wire.Invite, err error) {
	return i, c.do(ctx, http.MethodPost, "/v1/invite", &r, &i)
}

// Revoke ends a node.
func (c *Client) Revoke(ctx context.Context, r wire.RevokeRequest) error {
	return c.do(ctx, http.MethodPost, "/v1/revoke", &r, nil)
}

// Resume ends the suspension of a node.
func (c *Client) Resume(ctx context.Context, r wire.ResumeRequest) error {
	return c.do(ctx, http.MethodPost, "/v1/resume", &r, nil)
}

// Nodes lists the nodes.
func (c *Client) Nodes(ctx context.Context) (list []wire.NodeInfo, err error) {
	return list, c.do(ctx, http.MethodGet, "/v1/nodes", nil, &list)
}

// Policy returns the policy.
func (c *Client) Policy(ctx context.Context) (p wire.Policy, err error) {
	return p, c.do(ctx, http.MethodGet, "/v1/policy", nil, &p)
}

// SetPolicy replaces the policy and returns it with its version.
func (c *Client) SetPolicy(ctx context.Context, q wire.PolicyText) (n wire.Policy, err error) {
	return n, c.do(ctx, http.MethodPut, "/v1/policy", &q, &n)
}

// CheckPolicy tells which rules let one side reach the other.
func (c *Client) CheckPolicy(ctx context.Context, q wire.PolicyQuestion) (a wire.PolicyAnswer, err error) {
	return a, c.do(ctx, http.MethodPost, "/v1/policy/check", &q, &a)
}

// Rotate makes a new CA.
func (c *Client) Rotate(ctx context.Context, r wire.RotateRequest) error {
	return c.do(ctx, http.MethodPost, "/v1/rotate", &r, nil)
}

// Invitations lists the open invitations.
func (c *Client) Invitations(ctx context.Context) (list wire.InvitationList, err error) {
	return list, c.do(ctx, http.MethodGet, "/v1/invitations", nil, &list)
}

// Withdraw ends an open invitation.
func (c *Client) Withdraw(ctx context.Context, r wire.WithdrawRequest) error {
	return c.do(ctx, http.MethodPost, "/v1/withdraw", &r, nil)
}

// do sends a request to the first URL that answers. An answer that is a *wire.Error ends the search. If a proxy is not
// in the way, do connects to the URLs as package eyeballs does, and sends the request by one connection only.
func (c *Client) do(ctx context.Context, method, path string, q, v any) error {
	var body []byte
	if q != nil {
		var err error
		if body, err = wire.Marshal(q); err != nil {
			return err
		}
	}
	failed := errors.New("no URL of the service is known. Give one, for example https://overlay.example.com")
	var errs []error
	for left := slices.Clone(c.urls); len(left) > 0; {
		client, at, done := c.http, 0, func() {}
		if targets := c.targets(left); targets != nil {
			conn, i, err := connect(ctx, targets)
			if err != nil {
				errs = append(errs, err)
				break
			}
			client, at, done = c.by(conn), i, func() { _ = conn.Close() }
		}
		err := c.try(ctx, client, method, strings.TrimSuffix(left[at], "/")+path, body, v)
		done()
		if err == nil || errors.As(err, new(*wire.Error)) {
			return err
		}
		errs = append(errs, err)
		left = slices.Delete(left, at, at+1)
	}
	if len(errs) > 0 {
		failed = errors.Join(errs...)
	}
	return failed
}

func (c *Client) try(ctx context.Context, client *http.Client, method, url string, body []byte, v any) error {
	r, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	for k, list := range c.header {
		r.Header[k] = list
	}
	res, err := client.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswerBytes+1))
	if err != nil {
		return err
	}
	if len(text) > maxAnswerBytes {
		return fmt.Errorf("the answer of %s is larger than %d bytes", url, maxAnswerBytes)
	}
	if res.StatusCode != http.StatusOK {
		var e wire.Error
		if wire.Decode(text, wire.MaxFrameBytes, &e) != nil {
			err := fmt.Errorf("%s answers %s, which is not the overlay's authentication service", url, res.Status)
			if res.StatusCode == http.StatusNotFound {
				err = fmt.Errorf("%w: %w", err, errNotFound)
			}
			return err
		}
		return &e
	}
	switch v := v.(type) {
	case nil:
		return nil
	case wire.Validator:
		return wire.Decode(text, maxAnswerBytes, v)
	default: // only lists of the administration
		return json.Unmarshal(text, v)
	}
}

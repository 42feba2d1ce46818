package wire

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"time"
)

// JoinRequest asks the authentication service for a first certificate: POST /v1/join. The proof is Token, JWT, or a
// client certificate of a trusted CA in the TLS connection.
type JoinRequest struct {
	CSR     []byte   `json:"csr"`             // DER, by identity.Request
	Token   string   `json:"token,omitempty"` // of an invitation
	JWT     string   `json:"jwt,omitempty"`   // of the identity provider
	Devices []string `json:"devices,omitempty"`
}

// Validate checks the sizes and that at most one proof is given.
func (r *JoinRequest) Validate() error {
	if r.Token != "" && r.JWT != "" {
		return errors.New("give either an invitation's token or a JWT, not both")
	}
	return errors.Join(checkBytes("the certificate request", r.CSR, MaxRequestBytes), checkText("the token", r.Token, MaxTextBytes),
		checkText("the JWT", r.JWT, MaxTokenBytes), checkLabels("devices", r.Devices, MaxDevices))
}

// RenewRequest asks for the next certificate: POST /v1/renew with the current one as client certificate. Name, groups
// and addresses stay.
type RenewRequest struct {
	CSR     []byte   `json:"csr"`
	Devices []string `json:"devices,omitempty"` // all devices of the node from now on
}

// Validate checks the sizes.
func (r *RenewRequest) Validate() error {
	return errors.Join(checkBytes("the certificate request", r.CSR, MaxRequestBytes), checkLabels("devices", r.Devices, MaxDevices))
}

// Membership answers join and renew.
type Membership struct {
	Network     string       `json:"network"`
	Name        string       `json:"name"` // first label of FQDN
	FQDN        string       `json:"fqdn"`
	Groups      []string     `json:"groups"`
	Addresses   []netip.Addr `json:"addresses"` // IPv6, IPv4
	Devices     []Device     `json:"devices"`
	Certificate []byte       `json:"certificate"` // DER of the chain, without the root
	Roots       [][]byte     `json:"roots"`       // DER
	RootList    Signed       `json:"rootList"`    // a Roots document under a root that the node trusts already; it counts, not Roots
	Auth        []string     `json:"auth"`        // https URLs of the authentication service
	Nodes       []string     `json:"nodes"`       // wss URLs of the node services
	RenewAfter  time.Time    `json:"renewAfter"`  // a third of the certificate's life is left then
}

// Validate checks forms and sizes.
func (m *Membership) Validate() error {
	if n, err := ParseFQDN(m.FQDN); err != nil {
		return err
	} else if n.Device != "" || n.Node != m.Name || n.Network != m.Network {
		return fmt.Errorf("the name %s is not that of the node %q in the network %q", m.FQDN, m.Name, m.Network)
	}
	roots := Roots{Network: m.Network, Certificates: m.Roots}
	if m.RootList.Payload != "" {
		if err := m.RootList.Validate(); err != nil {
			return err
		}
	}
	return errors.Join(checkLabels("groups", m.Groups, MaxGroups), checkAddresses(m.Addresses, 2), checkDevices(m.Devices),
		checkBytes("the certificate", m.Certificate, MaxCertificateBytes), roots.Validate(), checkURLs(m.Auth), checkURLs(m.Nodes))
}

// InviteRequest makes an invitation: POST /v1/invite on the administration socket.
type InviteRequest struct {
	Name            string   `json:"name"`
	Groups          []string `json:"groups"`
	LifetimeSeconds int64    `json:"lifetimeSeconds"` // 0: one hour
	By              string   `json:"by,omitempty"`    // who asks
}

// Validate checks name, groups and life.
func (r *InviteRequest) Validate() error {
	if r.LifetimeSeconds < 0 || r.LifetimeSeconds > 7*86400 {
		return fmt.Errorf("the invitation's life of %d s is not within 0 to 7 days", r.LifetimeSeconds)
	}
	return errors.Join(CheckLabel("the node's name", r.Name), checkLabels("groups", r.Groups, MaxGroups), checkBy(r.By))
}

// Invite is a new invitation. The service keeps only a hash of the token.
type Invite struct {
	Token   string    `json:"token"`
	Name    string    `json:"name"`
	Expires time.Time `json:"expires"`
	Root    string    `json:"root"` // "sha256:<hex>" of the root's DER, so that join can trust the service
	Auth    []string  `json:"auth"`
}

// Validate checks the sizes.
func (i *Invite) Validate() error {
	return errors.Join(checkText("the token", i.Token, MaxTextBytes), CheckLabel("the node's name", i.Name), checkURLs(i.Auth))
}

// RevokeRequest ends a node: POST /v1/revoke on the administration socket.
type RevokeRequest struct {
	Name   string `json:"name"`
	Reason string `json:"reason,omitempty"`
	By     string `json:"by,omitempty"` // who asks
}

// Validate checks the name.
func (r *RevokeRequest) Validate() error {
	return errors.Join(CheckLabel("the node's name", r.Name), checkText("the reason", r.Reason, MaxTextBytes), checkBy(r.By))
}

// ServerRequest asks for a certificate for a service that runs in another process: POST /v1/services/certificate.
type ServerRequest struct {
	Key   []byte   `json:"key"`   // Ed25519 public key
	Hosts []string `json:"hosts"` // names and addresses by which nodes reach the service
}

// Validate checks the sizes.
func (r *ServerRequest) Validate() error {
	if len(r.Key) != 32 {
		return fmt.Errorf("the key has %d bytes, an Ed25519 key has 32", len(r.Key))
	}
	if n := len(r.Hosts); n == 0 || n > MaxURLs {
		return fmt.Errorf("%d host names; 1 to %d are possible", n, MaxURLs)
	}
	for _, h := range r.Hosts {
		if len(h) == 0 || len(h) > 253 {
			return fmt.Errorf("the host name %.80q has %d characters; 1 to 253 are possible", h, len(h))
		}
	}
	return nil
}

// ServerCertificate answers a ServerRequest.
type ServerCertificate struct {
	Chain [][]byte `json:"chain"` // DER, with the root
}

// Validate checks the sizes.
func (c *ServerCertificate) Validate() error {
	if n := len(c.Chain); n == 0 || n > MaxRoots {
		return fmt.Errorf("the chain has %d certificates; 1 to %d are possible", n, MaxRoots)
	}
	for _, der := range c.Chain {
		if err := checkBytes("a certificate", der, MaxRequestBytes); err != nil {
			return err
		}
	}
	return nil
}

// NodeInfo is one row of the list of nodes.
type NodeInfo struct {
	Name      string       `json:"name"`
	FQDN      string       `json:"fqdn"`
	Groups    []string     `json:"groups"`
	Addresses []netip.Addr `json:"addresses"`
	Devices   []Device     `json:"devices"`
	Joined    time.Time    `json:"joined"`
	By        string       `json:"by"` // "invite", "jwt", "ca"
	Expires   time.Time    `json:"expires"`
	Revoked   time.Time    `json:"revoked,omitzero"`
	Reason    string       `json:"reason,omitempty"`
	Online    bool         `json:"online"`            // connected to a node service
	Seen      time.Time    `json:"seen,omitzero"`     // since when, or when it was seen last; zero: never
	From      string       `json:"from,omitempty"`    // address
	Version   string       `json:"version,omitempty"` // of its program
	Twice     time.Time    `json:"twice,omitzero"`    // when two programs were last seen to use its identity
	TwiceFrom []string     `json:"twiceFrom,omitempty"`
	Suspended time.Time    `json:"suspended,omitzero"` // since when no service and no peer accepts it
}

// Error is the answer to a request that failed, in HTTP bodies and as a signalling message.
type Error struct {
	ID   string `json:"id,omitempty"` // of the lookup
	Code string `json:"code"`         // one of the Code constants
	Text string `json:"text"`         // a sentence with a remedy
}

// Codes of an Error.
const (
	CodeInvalid     = "invalid"     // the message is malformed
	CodeDenied      = "denied"      // the proof is wrong, used, expired or revoked
	CodeTaken       = "taken"       // the name or key belongs to another node
	CodeUnknown     = "unknown"     // no such node, device or address
	CodeTwice       = "twice"       // another program uses the node's identity, too
	CodeOffline     = "offline"     // the node is not connected
	CodeFull        = "full"        // a limit is reached
	CodeUnavailable = "unavailable" // a service behind this one cannot be reached; try again
)

// SuspendedText is the error text that a suspended node receives.
const SuspendedText = "This node is suspended, because two programs used its identity at once. An operator of the services decides: " +
	"seganet-overlay nodes names both addresses, resume ends the suspension, revoke and a new invitation replace stolen keys."

func (e *Error) Error() string { return e.Text }
func (*Error) Kind() string    { return "error" }

// Validate checks the sizes.
func (e *Error) Validate() error {
	if e.ID != "" {
		if err := checkID(e.ID); err != nil {
			return err
		}
	}
	return errors.Join(CheckLabel("the error's code", e.Code), checkText("the error's text", e.Text, MaxTextBytes))
}

func checkURLs(list []string) error {
	if len(list) > MaxURLs {
		return fmt.Errorf("%d URLs, the limit is %d", len(list), MaxURLs)
	}
	for _, s := range list {
		if len(s) > MaxURLBytes {
			return fmt.Errorf("a URL has %d bytes, the limit is %d", len(s), MaxURLBytes)
		}
		if u, err := url.Parse(s); err != nil || u.Scheme == "" {
			return fmt.Errorf("%q is not a URL", s)
		}
	}
	return nil
}

// Package serve runs the services: authentication, node management and relay, in one process or in several.
package serve

import (
	"crypto/rand"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"seganet.internal/overlay/internal/auth"
	"seganet.internal/overlay/internal/bus"
	"seganet.internal/overlay/internal/identity"
)

// Roles of a process.
const (
	RoleAuth  = "auth"
	RoleNodes = "nodes"
	RoleRelay = "relay"
)

// AdminOff is the Config.Admin of a service without an administration socket.
const AdminOff = "off"

// What an authentication service does about a node whose identity two programs use at once.
const (
	TwiceSuspend = "suspend" // refuses both programs until an operator decides
	TwiceReport  = "report"  // reports it
)

// Config configures a process of the services.
type Config struct {
	Roles   []string // empty: all
	Dir     string   // state folder
	Network string   // name of the network; needed at the first start of the auth role

	Listen string   // TCP address of HTTPS, WebSocket and TURN over TLS
	Public []string // host names and addresses by which nodes reach this process

	RelayListen  string         // UDP and TCP address of the relay
	RelayAddress []netip.Addr   // the relay's public addresses; empty: those in Public
	RelayAllow   []netip.Prefix // private addresses that may be relayed to

	Metrics string // TCP address of /metrics and /healthz; empty: none

	Admin string // Unix socket of the administration; empty: in the state folder; AdminOff: none

	AuthURL  string   // of the auth role, if it runs in another process
	Root     string   // fingerprint of its root, then
	NodeURLs []string // of the nodes role, if it runs in other processes
	TURNURLs []string // of the relay, if it runs in another process or is a coturn

	UsedTwice string // what happens to a node whose identity two programs use: TwiceSuspend (also if empty) or TwiceReport

	NATS bus.Options // joins several node services; without URLs this one is alone

	CACertFile, CAKeyFile string // CA to import at the first start: chain from the signer to the root, and the signer's key
	TrustedCAFile         string // CAs whose client certificates may join
	CAGroups              []string
	OIDC                  auth.OIDC
}

func (c *Config) has(role string) bool { return len(c.Roles) == 0 || slices.Contains(c.Roles, role) }

// Validate returns an error that names the option and a remedy.
func (c *Config) Validate() error {
	for _, r := range c.Roles {
		if r != RoleAuth && r != RoleNodes && r != RoleRelay {
			return fmt.Errorf("the role %q is none of auth, nodes, relay", r)
		}
	}
	if len(c.Public) == 0 {
		return errors.New("nodes must know where the services are. Give the name or address by which they reach this machine: --public <host>")
	}
	if !c.has(RoleAuth) && c.has(RoleNodes) && c.AuthURL == "" {
		return errors.New("the nodes role needs the authentication service. Give its URL: --auth https://<host>")
	}
	if !c.has(RoleAuth) && c.AuthURL != "" && !strings.HasPrefix(c.Root, "sha256:") {
		return errors.New("the authentication service's root is unknown. Give its fingerprint, which serve and invite print: --root sha256:<hex>")
	}
	if c.has(RoleAuth) && !c.has(RoleNodes) && len(c.NodeURLs) == 0 {
		return errors.New("nodes must know where the node service is. Give its URL: --nodes-url wss://<host>/v1/signal")
	}
	if c.has(RoleNodes) && !c.has(RoleRelay) && len(c.TURNURLs) == 0 {
		return errors.New("nodes must know where the relay is. Give its URL: --turn-url 'turn:<host>:3478?transport=udp'")
	}
	if len(c.NATS.URLs) > 0 && !c.has(RoleNodes) {
		return errors.New("NATS joins node services, and this process is none. Give --role nodes, or leave --nats out")
	}
	if c.Admin != "" && c.Admin != AdminOff && !filepath.IsAbs(c.Admin) {
		return fmt.Errorf("the administration socket %q is not an absolute path. Give one: --admin /run/seganet/admin.sock, or --admin off", c.Admin)
	}
	if c.UsedTwice != "" && c.UsedTwice != TwiceSuspend && c.UsedTwice != TwiceReport {
		return fmt.Errorf("--used-twice %s is not possible. Write --used-twice suspend or --used-twice report", c.UsedTwice)
	}
	if _, _, err := net.SplitHostPort(c.Metrics); c.Metrics != "" && err != nil {
		return fmt.Errorf("the address of the metrics %q has no host and port. Give both: --metrics 127.0.0.1:9464", c.Metrics)
	}
	return errors.Join(c.NATS.Validate(), c.OIDC.Validate())
}

// Names of the secret files in the state folder.
const (
	ServicesSecretFile = "services.secret" // authenticates node services in other processes to the authentication service
	RelaySecretFile    = "relay.secret"    // shared by node services and relays, also coturn's static-auth-secret
)

// secret reads a secret of the state folder. It makes one if create is true.
func secret(dir, name string, create bool) (string, error) {
	path := filepath.Join(dir, name)
	text, err := os.ReadFile(path)
	if err == nil {
		info, err := os.Stat(path)
		if err != nil {
			return "", err
		}
		if err := identity.Private(path, info); err != nil {
			return "", err
		}
		s := strings.TrimSpace(string(text))
		if len(s) < 32 {
			return "", fmt.Errorf("%s has less than 32 characters. Delete it, so that a new one is made, and copy that to the other services", path)
		}
		return s, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if !create {
		return "", fmt.Errorf("%s is missing. Copy it from the state folder of the authentication service", path)
	}
	var b [32]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", err
	}
	s := hex.EncodeToString(b[:])
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	return s, identity.WriteFile(path, []byte(s+"\n"))
}

// certificates reads a PEM file.
func certificates(path string) (list []*x509.Certificate, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			break
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		list = append(list, c)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s has no certificate in PEM", path)
	}
	return list, nil
}

func (c *Config) trustedCA() (*x509.CertPool, error) {
	if c.TrustedCAFile == "" {
		return nil, nil
	}
	list, err := certificates(c.TrustedCAFile)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	for _, cert := range list {
		pool.AddCert(cert)
	}
	return pool, nil
}

func (c *Config) authority() (*identity.Authority, error) {
	if c.CACertFile == "" && c.CAKeyFile == "" {
		return nil, nil
	}
	chain, err := certificates(c.CACertFile)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(c.CAKeyFile)
	if err != nil {
		return nil, err
	}
	key, err := identity.ParseIdentityKey(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.CAKeyFile, err)
	}
	return &identity.Authority{Key: key, Chain: chain}, nil
}

package command

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"seganet.internal/overlay/internal/auth"
	"seganet.internal/overlay/internal/serve"
)

func runServe(ctx context.Context, args []string, out io.Writer) error {
	f := flags("serve", out)
	var c serve.Config
	var roles, public, relayAddress, relayAllow, nodeURLs, turnURLs, natsURLs, caGroups, oidcGroups words
	state := stateFlag(f)
	eof := untilEOFFlag(f)
	f.Var(&roles, "role", "`role` of this process: auth, nodes, relay; may be given several times (all)")
	f.StringVar(&c.Network, "network", "", "`name` of the network; needed at the first start of the auth role")
	f.StringVar(&c.Listen, "listen", ":443", "TCP `address` of HTTPS, WebSocket, and TURN over TLS")
	f.Var(&public, "public", "`host` name or address by which nodes reach this machine; may be given several times")
	f.StringVar(&c.RelayListen, "relay-listen", ":3478", "UDP and TCP `address` of the relay")
	f.Var(&relayAddress, "relay-address", "public IP `address` of the relay, one IPv4 and one IPv6 (the addresses in --public)")
	f.Var(&relayAllow, "relay-allow", "private `prefix` that may be relayed to, besides public addresses")
	f.StringVar(&c.Metrics, "metrics", "", "TCP `address` of /metrics (Prometheus) and /healthz, without a password, such as 127.0.0.1:9464")
	f.StringVar(&c.Admin, "admin", "", "Unix `socket` of the administration, or off; the commands on this machine need it ("+auth.AdminSocket+" in the state folder)")
	f.StringVar(&c.AuthURL, "auth", "", "`URL` of the auth role, if it runs in another process")
	f.StringVar(&c.Root, "root", "", "`fingerprint` of that service's root, sha256:…")
	f.Var(&nodeURLs, "nodes-url", "`URL` of a node service in another process, wss://host/v1/signal")
	f.Var(&natsURLs, "nats", "`URL` of a NATS server that joins several node services: tls://user:password@host:4222")
	f.StringVar(&c.NATS.Creds, "nats-creds", "", "`file` with the credentials of the NATS account")
	f.StringVar(&c.NATS.CA, "nats-ca", "", "PEM `file` of the NATS servers' CA (the system's)")
	f.Var(&turnURLs, "turn-url", "`URL` of a relay elsewhere, for example a coturn: turn:host:3478?transport=udp")
	f.StringVar(&c.CACertFile, "ca-cert", "", "PEM `file` of an own CA, signer to root; imported at the first start")
	f.StringVar(&c.CAKeyFile, "ca-key", "", "PEM `file` of the signer's Ed25519 key")
	f.StringVar(&c.TrustedCAFile, "trusted-ca", "", "PEM `file` of CAs whose client certificates may join")
	f.Var(&caGroups, "trusted-group", "`group` of the nodes that join by such a certificate")
	f.StringVar(&c.UsedTwice, "used-twice", serve.TwiceSuspend, "what happens to a node whose identity two programs use: suspend or report")
	f.StringVar(&c.OIDC.Issuer, "oidc-issuer", "", "`URL` of an identity provider whose JWTs may join")
	f.StringVar(&c.OIDC.Audience, "oidc-audience", "", "`audience` that a JWT must have")
	f.StringVar(&c.OIDC.NameClaim, "oidc-name", "seganet_node", "`claim` with the node's name")
	f.StringVar(&c.OIDC.GroupsClaim, "oidc-groups-claim", "seganet_groups", "`claim` with the node's groups")
	f.Var(&oidcGroups, "oidc-group", "`group` that a JWT may give")
	if err := parse(f, args, 0, out); err != nil {
		return err
	}
	var err error
	if c.RelayAddress, err = relayAddress.addresses(); err != nil {
		return err
	}
	if c.RelayAllow, err = relayAllow.prefixes(); err != nil {
		return err
	}
	c.NATS.URLs = natsURLs
	c.Roles, c.Dir, c.Public, c.NodeURLs, c.TURNURLs, c.CAGroups, c.OIDC.Groups = roles, *state, public, nodeURLs, turnURLs, caGroups, oidcGroups
	if err := c.Validate(); err != nil {
		return wrongConfig(err)
	}
	if *eof {
		var stop context.CancelFunc
		ctx, stop = untilEOF(ctx, os.Stdin)
		defer stop()
	}
	r, err := serve.Start(ctx, c)
	if err != nil {
		return wrongConfig(err)
	}
	defer r.Close()
	if r.Auth != nil {
		fmt.Fprintf(out, "network %s, root %s\nauthentication: %s\n", r.Auth.Network(), r.Root, strings.Join(r.AuthURLs, " "))
	}
	if r.Nodes != nil {
		fmt.Fprintf(out, "node management: %s\n", strings.Join(r.NodeURLs, " "))
	}
	if r.Relay != nil {
		fmt.Fprintf(out, "relay: %s\n", strings.Join(r.TURNURLs, " "))
	}
	fmt.Fprintln(out, "ready")
	<-ctx.Done()
	return nil
}

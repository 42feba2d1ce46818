package command

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"seganet.internal/overlay/internal/authclient"
	"seganet.internal/overlay/internal/identity"
	"seganet.internal/overlay/internal/wire"
)

// tokenVariable is an environment variable, which keeps the token out of the list of processes.
const tokenVariable = "SEGANET_OVERLAY_TOKEN"

func runJoin(ctx context.Context, args []string, out io.Writer) error {
	f := flags("join", out)
	state := stateFlag(f)
	var urls, devices words
	f.Var(&urls, "url", "`URL` of the authentication service; may be given several times")
	root := f.String("root", "", "`fingerprint` of the network's root, sha256:…, which invite and serve print")
	token := f.String("token", "", "`token` of an invitation; better by --token-file or the variable "+tokenVariable)
	tokenFile := f.String("token-file", "", "`file` with the token; - reads the standard input")
	jwtFile := f.String("jwt-file", "", "`file` with a JWT of the network's identity provider; - reads the standard input")
	cert := f.String("cert", "", "PEM `file` of a certificate of a CA that the network trusts")
	key := f.String("key", "", "PEM `file` of its key")
	f.Var(&devices, "device", "`name` of an ordinary device behind this node; may be given several times")
	again := f.Bool("again", false, "join although this machine is a node already, with new keys")
	if err := parse(f, args, 0, out); err != nil {
		return err
	}
	switch {
	case len(urls) == 0:
		return usage("the service's URL is missing. Give --url https://<host>")
	case !strings.HasPrefix(*root, "sha256:"):
		return usage("the fingerprint of the network's root is missing. Give --root sha256:…, which invite and serve print")
	}
	r := wire.JoinRequest{Devices: devices}
	certs, err := proof(&r, *token, *tokenFile, *jwtFile, *cert, *key)
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(*state, identity.MembershipFile)); err == nil && !*again {
		return wrongConfig(fmt.Errorf("%s holds a node that has joined already. Choose another folder with --state, or join with new keys: --again", *state))
	}
	keys, pending, err := joinKeys(*state, *again)
	if err != nil {
		return err
	}
	m, err := authclient.NewToJoin(urls, *root, certs...).Join(ctx, keys, r)
	if err != nil {
		return err
	}
	if err := keys.Save(*state); err != nil {
		return err
	}
	if err := identity.SaveMembership(*state, m.Membership); err != nil {
		return err
	}
	if pending != "" {
		if err := os.RemoveAll(pending); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "This machine is %s (%s, %s). Its certificate is valid until %s.\n", m.FQDN, m.Self.Addresses[0], m.Self.Addresses[1],
		m.Self.Certificate.NotAfter.Local().Format(time.DateTime))
	for _, d := range m.Devices {
		fmt.Fprintf(out, "Device %s (%s, %s)\n", wire.DeviceFQDN(d.Name, m.Name, m.Network), d.Addr6, d.Addr4)
	}
	return nil
}

// joiningFolder is the folder in the state folder with the new keys of "join --again", until the node has joined with them.
const joiningFolder = "joining"

// joinKeys keeps the keys of an attempt whose answer was lost, so that the same token works again. Fresh keys are in
// the folder pending until the caller removes it; a running node keeps using its own.
func joinKeys(dir string, fresh bool) (keys *identity.Keys, pending string, err error) {
	if fresh {
		pending = filepath.Join(dir, joiningFolder)
		dir = pending
	}
	keys, err = identity.LoadOrCreateKeys(dir)
	return keys, pending, err
}

// proof fills in the token or the JWT, or returns the certificate.
func proof(r *wire.JoinRequest, token, tokenFile, jwtFile, cert, key string) (certs []tls.Certificate, err error) {
	if token == "" {
		token = os.Getenv(tokenVariable)
	}
	if tokenFile != "" {
		text, err := readSmall(tokenFile, wire.MaxTextBytes)
		if err != nil {
			return nil, wrongConfig(err)
		}
		token = string(text)
	}
	r.Token = strings.TrimSpace(token)
	if jwtFile != "" {
		text, err := readSmall(jwtFile, wire.MaxTokenBytes)
		if err != nil {
			return nil, wrongConfig(err)
		}
		r.JWT = strings.TrimSpace(string(text))
	}
	if cert != "" {
		c, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, wrongConfig(fmt.Errorf("--cert and --key: %w", err))
		}
		certs = append(certs, c)
	}
	given := 0
	for _, yes := range []bool{r.Token != "", r.JWT != "", cert != ""} {
		if yes {
			given++
		}
	}
	if given != 1 {
		return nil, usage("give exactly one proof: a token (--token-file), a JWT (--jwt-file), or a certificate (--cert and --key)")
	}
	return certs, nil
}

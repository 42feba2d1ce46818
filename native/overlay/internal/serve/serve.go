package serve

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"seganet.internal/overlay/internal/auth"
	"seganet.internal/overlay/internal/authclient"
	"seganet.internal/overlay/internal/bus"
	"seganet.internal/overlay/internal/identity"
	"seganet.internal/overlay/internal/nodes"
	"seganet.internal/overlay/internal/relay"
	"seganet.internal/overlay/internal/udpbuf"
	"seganet.internal/overlay/internal/wire"
)

const (
	maintainEach = time.Hour
	relayBuffer  = 4 << 20     // of the relay's socket, on which the packets of all nodes arrive
	renewRetry   = time.Minute // after a failed renewal of the server's certificate
)

// Running is a process of the services.
type Running struct {
	Auth     *auth.Service // nil without the role
	Nodes    *nodes.Server // nil without the role
	Relay    *relay.Server // nil without the role
	AuthURLs []string
	NodeURLs []string
	TURNURLs []string
	Root     string // fingerprint of the root
	// MetricsAddr is the address of the metrics; nil: none.
	MetricsAddr net.Addr

	conf    Config
	front   *front
	packets net.PacketConn // relay, UDP
	stream  net.Listener   // relay, TCP
	bus     *bus.NATS      // nil: none
	started time.Time
	trouble trouble
	cancel  context.CancelFunc
	wait    sync.WaitGroup
	closers []func()
}

// Start starts the roles. ctx bounds the start only, for example the wait for an authentication service elsewhere;
// Close ends the process's work.
func Start(ctx context.Context, c Config) (r *Running, err error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	r = &Running{conf: c, started: time.Now()}
	run, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	defer func() {
		if err != nil {
			r.Close()
			r = nil
		}
	}()
	if err := r.listen(); err != nil {
		return r, err
	}
	servicesSecret, relaySecret, err := r.secrets()
	if err != nil {
		return r, err
	}
	var source nodes.Source
	var options nodes.Options
	key, err := newServerKey(nil)
	if err != nil {
		return r, err
	}
	maintain := func() error { return nil }
	each := 24 * time.Hour
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	switch {
	case c.has(RoleAuth):
		if err := r.openAuth(servicesSecret, mux); err != nil {
			return r, err
		}
		source, maintain, each = r.Auth, r.Auth.Maintain, maintainEach
		pool, _ := r.Auth.Roots()
		options = nodes.Options{Source: source, Roots: pool, Report: func(_ context.Context, s wire.SeenReport) error { return r.Auth.Seen(s) }}
		key.issue = func(pub ed25519.PublicKey) ([][]byte, error) {
			return r.Auth.IssueServer(identity.AuthService, pub, c.Public)
		}
		key.signer = r.Auth.ServerSigner
	case c.AuthURL != "":
		pins := authclient.NewPins(strings.Split(c.Root, ",")...)
		client := authclient.NewForServices(c.AuthURL, servicesSecret, pins)
		f, err := openFeed(ctx, client, pins, &r.trouble)
		if err != nil {
			return r, err
		}
		source = f
		pool, err := identity.Pool(f.roots)
		if err != nil {
			return r, err
		}
		r.Root = c.Root
		r.spawn(func() { f.run(run) })
		options = nodes.Options{Source: f, Roots: pool, Report: client.Seen}
		key.issue = func(pub ed25519.PublicKey) ([][]byte, error) {
			s, err := client.ServerCertificate(run, wire.ServerRequest{Key: pub, Hosts: c.Public})
			return s.Chain, err
		}
	}
	if c.has(RoleNodes) {
		options.TURN = nodes.TURNOptions{URLs: r.TURNURLs, Secret: relaySecret}
		if len(c.NATS.URLs) > 0 {
			b, err := bus.Open(c.NATS)
			if err != nil {
				return r, err
			}
			r.closers = append(r.closers, b.Close)
			options.Bus, r.bus = b, b
		}
		if r.Nodes, err = nodes.New(options); err != nil {
			return r, err
		}
		r.closers = append(r.closers, r.Nodes.Close)
		mux.Handle(nodes.Path, r.Nodes)
	}
	if c.has(RoleRelay) {
		if err := r.startRelay(relaySecret); err != nil {
			return r, err
		}
		if source != nil {
			r.spawn(func() { revokeAtRelay(run, source, r.Relay) })
		}
	}
	if r.front != nil {
		if err := key.refresh(); err != nil {
			return r, err
		}
		r.serveHTTPS(key, mux)
		r.spawn(func() { upkeep(run, each, key, maintain, &r.trouble) })
	}
	if c.Metrics != "" {
		if err := r.serveMetrics(); err != nil {
			return r, err
		}
	}
	return r, nil
}

// Close ends all roles.
func (r *Running) Close() {
	r.cancel()
	for i := len(r.closers) - 1; i >= 0; i-- {
		r.closers[i]()
	}
	r.wait.Wait()
}

func (r *Running) spawn(f func()) {
	r.wait.Add(1)
	go func() {
		defer r.wait.Done()
		f()
	}()
}

// listen opens the sockets, so that ports that are 0 in the configuration are known for the URLs.
func (r *Running) listen() error {
	c := &r.conf
	tlsNeeded := c.has(RoleAuth) || c.has(RoleNodes) || c.AuthURL != ""
	if tlsNeeded {
		// Without TCP's keepalives, which metered nodes would pay for: each protocol has a limit for silent connections.
		l, err := (&net.ListenConfig{KeepAlive: -1}).Listen(context.Background(), "tcp", c.Listen)
		if err != nil {
			return fmt.Errorf("%w. Choose another address with --listen; ports under 1024 need CAP_NET_BIND_SERVICE", err)
		}
		r.closers = append(r.closers, func() { l.Close() })
		r.front = newFront(l, c.has(RoleRelay))
		port := l.Addr().(*net.TCPAddr).Port
		for _, h := range c.Public {
			at := net.JoinHostPort(h, strconv.Itoa(port))
			r.AuthURLs = append(r.AuthURLs, "https://"+at)
			r.NodeURLs = append(r.NodeURLs, "wss://"+at+nodes.Path)
			if c.has(RoleRelay) {
				r.TURNURLs = append(r.TURNURLs, "turns:"+at+"?transport=tcp")
			}
		}
	}
	if len(c.NodeURLs) > 0 {
		r.NodeURLs = c.NodeURLs
	}
	if c.has(RoleRelay) {
		if err := r.listenRelay(); err != nil {
			return err
		}
	}
	if len(c.TURNURLs) > 0 {
		r.TURNURLs = c.TURNURLs
	}
	if n := len(r.TURNURLs); n > wire.MaxURLs {
		return fmt.Errorf("%d relay URLs, the limit is %d. Give fewer host names with --public", n, wire.MaxURLs)
	}
	return nil
}

func (r *Running) listenRelay() error {
	c := &r.conf
	var err error
	if r.stream, err = net.Listen("tcp", c.RelayListen); err != nil {
		return fmt.Errorf("the relay: %w. Choose another address with --relay-listen", err)
	}
	host, _, _ := net.SplitHostPort(c.RelayListen)
	port := strconv.Itoa(r.stream.Addr().(*net.TCPAddr).Port)
	if r.packets, err = net.ListenPacket("udp", net.JoinHostPort(host, port)); err != nil {
		r.stream.Close()
		return fmt.Errorf("the relay: %w. Choose another address with --relay-listen", err)
	}
	udpbuf.Grow(r.packets, relayBuffer)
	var plain []string
	for _, h := range c.Public {
		at := net.JoinHostPort(h, port)
		plain = append(plain, "turn:"+at+"?transport=udp", "turn:"+at+"?transport=tcp")
	}
	r.TURNURLs = append(plain, r.TURNURLs...)
	return nil
}

// secrets reads the two secrets. The process with the auth role makes them.
func (r *Running) secrets() (services, forRelay string, err error) {
	c := &r.conf
	if c.has(RoleAuth) || c.AuthURL != "" {
		if services, err = secret(c.Dir, ServicesSecretFile, c.has(RoleAuth)); err != nil {
			return "", "", err
		}
	}
	forRelay, err = secret(c.Dir, RelaySecretFile, c.has(RoleAuth))
	return services, forRelay, err
}

func (r *Running) openAuth(servicesSecret string, mux *http.ServeMux) error {
	c := &r.conf
	pool, err := c.trustedCA()
	if err != nil {
		return err
	}
	authority, err := c.authority()
	if err != nil {
		return err
	}
	r.Auth, err = auth.Open(auth.Options{Dir: c.Dir, Network: c.Network, Authority: authority, AuthURLs: r.AuthURLs, NodeURLs: r.NodeURLs,
		OIDC: c.OIDC, TrustedCA: pool, CAGroups: c.CAGroups, ReportTwice: c.UsedTwice == TwiceReport})
	if err != nil {
		return err
	}
	r.closers = append(r.closers, func() { r.Auth.Close() })
	r.Root = r.Auth.Fingerprint()
	handler := r.Auth.Handler()
	mux.Handle("POST /v1/join", handler)
	mux.Handle("POST /v1/renew", handler)
	mux.Handle("GET /v1/revocations", handler)
	mux.Handle("/v1/services/", r.Auth.ServicesHandler(servicesSecret))
	if c.Admin == AdminOff {
		return nil
	}
	socket := c.Admin
	if socket == "" {
		socket = filepath.Join(c.Dir, auth.AdminSocket)
	}
	l, err := auth.ListenAdmin(socket)
	if err != nil {
		return fmt.Errorf("the administration socket: %w", err)
	}
	r.serve(&http.Server{Handler: r.Auth.AdminHandler(), ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, MaxHeaderBytes: 16 << 10,
		ErrorLog: slog.NewLogLogger(slog.Default().Handler(), slog.LevelDebug)}, l)
	return nil
}

func (r *Running) startRelay(relaySecret string) error {
	addresses := r.conf.RelayAddress
	if len(addresses) == 0 {
		for _, h := range r.conf.Public {
			if a, err := netip.ParseAddr(h); err == nil {
				addresses = append(addresses, a)
			}
		}
	}
	o := relay.Options{Packets: []net.PacketConn{r.packets}, Listeners: []net.Listener{r.stream}, Public: addresses, Secret: relaySecret, Allow: r.conf.RelayAllow}
	if r.front != nil {
		o.Listeners = append(o.Listeners, r.front.turn)
	}
	var err error
	if r.Auth != nil {
		o.Overlay, err = r.Auth.Prefix6()
	}
	if err == nil {
		r.Relay, err = relay.New(o)
	}
	if err != nil {
		r.packets.Close()
		r.stream.Close()
		return err
	}
	r.closers = append(r.closers, func() { r.Relay.Close() })
	return nil
}

func (r *Running) serveHTTPS(key *serverKey, mux http.Handler) {
	r.front.setCertificate(key.get)
	s := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: time.Minute,
		IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10, ErrorLog: slog.NewLogLogger(slog.Default().Handler(), slog.LevelDebug)}
	r.serve(s, r.front.http)
	r.spawn(r.front.run)
}

// serve runs an HTTP server until Close.
func (r *Running) serve(s *http.Server, l net.Listener) {
	r.closers = append(r.closers, func() { s.Close() })
	r.spawn(func() {
		if err := s.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
			slog.Error("a server stopped", "error", err)
		}
	})
}

// revokeAtRelay passes the revoked certificates to the relay, until ctx ends.
func revokeAtRelay(ctx context.Context, source nodes.Source, relay *relay.Server) {
	for ctx.Err() == nil {
		docs, changed := source.Documents()
		var list wire.Revocations
		if err := wire.Decode([]byte(docs.Revocations.Payload), wire.MaxFrameBytes, &list); err != nil {
			slog.Error("the relay cannot read the revocation list; the previous one stays in force", "error", err)
		} else {
			relay.Revoke(list.Set())
		}
		select {
		case <-ctx.Done():
		case <-changed:
		}
	}
}

// upkeep renews the server's certificate and lets the authentication service drop what has expired.
func upkeep(ctx context.Context, each time.Duration, key *serverKey, maintain func() error, problems *trouble) {
	wait := each
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		wait = each
		err := errors.Join(maintain(), key.refresh())
		problems.set("the upkeep of the services", err)
		if err != nil && ctx.Err() == nil {
			slog.Error("the services' upkeep failed; trying again", "error", err)
			wait = renewRetry
		}
	}
}

package serve

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	"seganet.internal/overlay/internal/quota"
)

const (
	alpnTURN          = "stun.turn" // RFC 7443
	handshakeTimeout  = 10 * time.Second
	maxHandshakes     = 512 // TLS handshakes that run at once
	maxHandshakesEach = 64  // of one client address
)

// front ends TLS on one port and divides its connections by ALPN: TURN to the relay, everything else to HTTP. So a
// network that allows only port 443 still reaches the relay.
type front struct {
	net.Listener
	conf       *tls.Config
	http, turn *side
}

// side is the listener of one protocol.
type side struct {
	front *front
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (s *side) Accept() (net.Conn, error) {
	select {
	case c := <-s.conns:
		return c, nil
	case <-s.done:
		return nil, net.ErrClosed
	}
}

func (s *side) Close() error {
	s.once.Do(func() { close(s.done) })
	return nil
}

func (s *side) Addr() net.Addr { return s.front.Addr() }

// newFront makes a front on l. withTURN is false if there is no relay here. setCertificate must be called before run.
func newFront(l net.Listener, withTURN bool) *front {
	f := &front{Listener: l, conf: &tls.Config{MinVersion: tls.VersionTLS13, ClientAuth: tls.RequestClientCert, SessionTicketsDisabled: true,
		NextProtos: []string{"http/1.1"}}}
	f.http = &side{front: f, conns: make(chan net.Conn), done: make(chan struct{})}
	if withTURN {
		f.conf.NextProtos = append(f.conf.NextProtos, alpnTURN)
		f.turn = &side{front: f, conns: make(chan net.Conn), done: make(chan struct{})}
	}
	return f
}

// setCertificate makes every later handshake use the result of get.
func (f *front) setCertificate(get func() *tls.Certificate) {
	f.conf.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return get(), nil }
}

// run accepts connections until the listener is closed.
func (f *front) run() {
	handshakes := quota.New(maxHandshakes, maxHandshakesEach)
	refused := quota.NewRefusals(handshakes, "TLS handshakes")
	for {
		c, err := f.Listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // for example too many open files
			time.Sleep(50 * time.Millisecond)
			continue
		}
		from := c.RemoteAddr().String()
		end, ok := handshakes.Take(from)
		if !ok {
			c.Close()
			refused.Add(from)
			continue
		}
		go func() {
			defer end()
			f.divide(c)
		}()
	}
}

func (f *front) divide(raw net.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), handshakeTimeout)
	defer cancel()
	c := tls.Server(raw, f.conf)
	if c.HandshakeContext(ctx) != nil {
		raw.Close()
		return
	}
	to := f.http
	if f.turn != nil && c.ConnectionState().NegotiatedProtocol == alpnTURN {
		to = f.turn
	}
	select {
	case to.conns <- c:
	case <-to.done:
		c.Close()
	case <-ctx.Done():
		c.Close()
	}
}

// serverKey is the certificate of this process, renewed by refresh.
type serverKey struct {
	key    ed25519.PrivateKey
	issue  func(ed25519.PublicKey) ([][]byte, error)
	signer func() *x509.Certificate // of this process's authentication service; nil: elsewhere
	mu     sync.Mutex
	cert   *tls.Certificate
}

func newServerKey(issue func(ed25519.PublicKey) ([][]byte, error)) (*serverKey, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	return &serverKey{key: key, issue: issue}, err
}

func (k *serverKey) refresh() error {
	chain, err := k.issue(k.key.Public().(ed25519.PublicKey))
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.cert = &tls.Certificate{Certificate: chain, PrivateKey: k.key}
	return nil
}

// get returns the certificate. If an old root has been removed since the certificate was made, get makes another one.
func (k *serverKey) get() *tls.Certificate {
	k.mu.Lock()
	cert := k.cert
	k.mu.Unlock()
	if k.signer == nil || bytes.Equal(cert.Certificate[1], k.signer().Raw) {
		return cert
	}
	if err := k.refresh(); err != nil {
		slog.Error("the service's certificate cannot be renewed", "error", err)
		return cert
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.cert
}

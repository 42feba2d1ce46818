package nodes

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/coder/websocket"

	"seganet.internal/overlay/internal/identity"
	"seganet.internal/overlay/internal/policy"
	"seganet.internal/overlay/internal/wire"
)

// Source gives the signed documents, and a channel that is closed when there are newer ones.
type Source interface {
	Documents() (wire.Documents, <-chan struct{})
}

// Options configure a Server.
type Options struct {
	Source Source
	Roots  *x509.CertPool // trusted at the start; the list of roots replaces them
	TURN   TURNOptions
	Bus    Bus              // joins several services of the network; nil: this one is alone
	Now    func() time.Time // nil: time.Now
	// Report reports to the authentication service who is connected; nil: no reports.
	Report func(context.Context, wire.SeenReport) error
}

// TURNOptions name the relay for nodes. Secret is the relay's, for the TURN REST scheme.
type TURNOptions struct {
	URLs   []string
	Secret string
}

// Server is a running service. Close ends it.
type Server struct {
	opts   Options
	now    func() time.Time
	ctx    context.Context
	cancel context.CancelFunc
	wait   sync.WaitGroup

	mu      sync.Mutex
	docs    wire.Documents
	roots   *x509.CertPool
	revoked map[string]struct{}
	// suspended are the serial numbers in revoked whose node is suspended.
	suspended map[string]struct{}
	sessions  map[string]*session // FQDN → connection
	dir       *directory
	cluster   *cluster // nil: this service is alone
	numbers   numbers
	sight     *policy.Sight
	id        string              // of this start
	dirty     map[string]struct{} // FQDNs whose presence is to be reported
	probing   map[string]struct{} // FQDNs whose replaced connection is checked
	twice     uint64              // how often an identity was proven to be in use by two programs
}

// numbers are those of the documents in force.
type numbers struct{ roots, revocations, policy int64 }

// New starts a service. It fails if the source's documents are not signed under the roots.
func New(o Options) (*Server, error) {
	s := &Server{opts: o, now: o.Now, roots: o.Roots, sessions: map[string]*session{}, dir: newDirectory(), dirty: map[string]struct{}{},
		probing: map[string]struct{}{}}
	var id [8]byte
	if _, err := rand.Read(id[:]); err != nil {
		return nil, err
	}
	s.id = hex.EncodeToString(id[:])
	if s.now == nil {
		s.now = time.Now
	}
	docs, changed := o.Source.Documents()
	if err := s.take(docs); err != nil {
		return nil, err
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.wait.Add(1)
	go func() {
		defer s.wait.Done()
		s.follow(changed)
	}()
	if o.Report != nil {
		s.wait.Add(1)
		go func() {
			defer s.wait.Done()
			s.reporting()
		}()
	}
	if o.Bus != nil {
		if err := s.join(o.Bus); err != nil {
			s.Close()
			return nil, err
		}
	}
	return s, nil
}

// join makes this service one of several.
func (s *Server) join(bus Bus) error {
	var list wire.Revocations
	if err := wire.Decode([]byte(s.docs.Revocations.Payload), wire.MaxFrameBytes, &list); err != nil {
		return err
	}
	c, err := newCluster(s, bus, list.Network)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.cluster = c
	s.mu.Unlock()
	c.reportAll("all") // nodes may have connected meanwhile
	s.wait.Add(1)
	go func() {
		defer s.wait.Done()
		c.run()
	}()
	return nil
}

// Close ends all connections and waits for their goroutines.
func (s *Server) Close() {
	s.cancel()
	s.wait.Wait()
}

// Online returns the number of connected nodes.
func (s *Server) Online() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sessions)
}

// opened are documents that have been checked.
type opened struct {
	pool    *x509.CertPool
	revoked map[string]struct{}
	numbers numbers
	sight   *policy.Sight
	// suspended are the serial numbers in revoked whose node is suspended.
	suspended map[string]struct{}
}

// open checks documents. Roots come first: they may have signed the others.
func (s *Server) open(docs wire.Documents) (o opened, err error) {
	s.mu.Lock()
	trusted := s.roots
	s.mu.Unlock()
	var roots wire.Roots
	if err := identity.Open(identity.DocRoots, docs.Roots, trusted, s.now(), &roots); err != nil {
		return o, fmt.Errorf("the list of roots: %w", err)
	}
	if o.pool, err = identity.Pool(roots.Certificates); err != nil {
		return o, fmt.Errorf("the list of roots: %w", err)
	}
	var list wire.Revocations
	if err := identity.Open(identity.DocRevocations, docs.Revocations, o.pool, s.now(), &list); err != nil {
		return o, fmt.Errorf("the revocation list: %w", err)
	}
	var p wire.Policy
	if err := identity.Open(identity.DocPolicy, docs.Policy, o.pool, s.now(), &p); err != nil {
		return o, fmt.Errorf("the policy: %w", err)
	}
	o.suspended = (&wire.Revocations{Serials: docs.Suspended}).Set()
	o.revoked, o.numbers, o.sight = list.Set(), numbers{roots.Number, list.Number, p.Version}, policy.NewSight(p)
	return o, nil
}

// take makes new documents of the source the current ones.
func (s *Server) take(docs wire.Documents) error {
	o, err := s.open(docs)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.force(docs, o)
	return nil
}

// force applies documents. REQUIRES: s.mu.
func (s *Server) force(docs wire.Documents, o opened) {
	s.docs, s.roots, s.revoked, s.numbers, s.sight = docs, o.pool, o.revoked, o.numbers, o.sight
	s.suspended = o.suspended
}

// takeNewer takes documents of another service if the authentication service signed them after those in force.
func (s *Server) takeNewer(docs wire.Documents) error {
	o, err := s.open(docs)
	if err != nil {
		return err
	}
	s.mu.Lock()
	old, now, n := s.docs, s.numbers, o.numbers
	if n == now || n.roots < now.roots || n.revocations < now.revocations || n.policy < now.policy {
		s.mu.Unlock()
		return nil
	}
	s.force(docs, o)
	s.mu.Unlock()
	s.push(old, docs)
	return nil
}

// follow pushes new documents to all nodes and disconnects those that are revoked.
func (s *Server) follow(changed <-chan struct{}) {
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-changed:
		}
		var docs wire.Documents
		docs, changed = s.opts.Source.Documents()
		s.mu.Lock()
		old, c := s.docs, s.cluster
		s.mu.Unlock()
		if err := s.take(docs); err != nil {
			slog.Error("the authentication service's documents are refused; the old ones stay", "error", err)
			continue
		}
		s.push(old, docs)
		if c != nil {
			docs.Suspended = nil // services of an earlier version accept no such key
			c.publish("all", &wire.News{Documents: docs})
		}
	}
}

func (s *Server) push(old, docs wire.Documents) {
	var frames [][]byte
	add := func(before, after wire.Signed, m wire.Message) {
		if before.Payload == after.Payload {
			return
		}
		frame, err := wire.Encode(m)
		if err != nil {
			slog.Error("a document cannot be pushed", "error", err)
			return
		}
		frames = append(frames, frame)
	}
	add(old.Roots, docs.Roots, &wire.RootsUpdate{Roots: docs.Roots})
	add(old.Revocations, docs.Revocations, &wire.Revoked{List: docs.Revocations})
	add(old.Policy, docs.Policy, &wire.PolicyUpdate{Policy: docs.Policy})
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.sessions {
		for _, f := range frames {
			c.send(f)
		}
		if s.isRevoked(c.peer.Serial) {
			slog.Info("a revoked node is disconnected", "node", c.peer.FQDN)
			c.end(websocket.StatusPolicyViolation, s.ban(c.peer.Serial))
		}
		if old.Policy.Payload != docs.Policy.Payload {
			s.forgetUnseen(c)
		}
	}
	s.dir.drop(func(p identity.Peer) bool { return s.isRevoked(p.Serial) })
}

func (s *Server) isRevoked(serial string) bool { _, yes := s.revoked[serial]; return yes } // REQUIRES: s.mu

func (s *Server) isSuspended(serial string) bool { _, yes := s.suspended[serial]; return yes } // REQUIRES: s.mu

// ban says why a revoked certificate is refused. REQUIRES: s.mu.
func (s *Server) ban(serial string) string {
	if s.isSuspended(serial) {
		return "the node is suspended"
	}
	return "the certificate is revoked"
}

// verify checks the client certificate of a TLS connection.
func (s *Server) verify(r *http.Request) (identity.Peer, []byte, error) {
	var der []byte
	if r.TLS != nil {
		for _, c := range r.TLS.PeerCertificates {
			der = append(der, c.Raw...)
		}
	}
	if len(der) == 0 {
		return identity.Peer{}, nil, fmt.Errorf("a node connects with its certificate")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p, err := identity.Verify(der, s.roots, s.isRevoked, s.now())
	if err != nil {
		if own, e := identity.Verify(der, s.roots, nil, s.now()); e == nil && s.isSuspended(own.Serial) {
			err = &wire.Error{Code: wire.CodeDenied, Text: wire.SuspendedText}
		}
	}
	return p, der, err
}

// ServeHTTP takes a node's WebSocket. The TLS server must ask for a client certificate and not check it.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	peer, der, err := s.verify(r)
	if err != nil {
		slog.Warn("a connection is refused", "from", r.RemoteAddr, "error", err)
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	if s.Online() >= maxSessions {
		http.Error(w, "the service has too many nodes; use another one", http.StatusServiceUnavailable)
		return
	}
	a := readGreeting(r, len(peer.Devices) > 0)
	if a.silence > 0 {
		w.Header().Set(headerSilence, strconv.Itoa(int(a.silence/time.Second)))
	}
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return // Accept has answered
	}
	conn.SetReadLimit(wire.MaxFrameBytes)
	s.wait.Add(1)
	defer s.wait.Done()
	newSession(s, conn, peer, der, a).run()
}

package auth

import (
	"context"
	"crypto/subtle"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"seganet.internal/overlay/internal/audit"
	"seganet.internal/overlay/internal/identity"
	"seganet.internal/overlay/internal/quota"
	"seganet.internal/overlay/internal/wire"
)

const (
	renewGrace   = 90 * 24 * time.Hour // a node that was off can renew this long after its certificate's end
	feedWait     = 25 * time.Second    // a feed request without news is answered after this time
	maxJoins     = 32                  // join requests that run at once; an identity provider may keep them waiting
	maxRenewals  = 32                  // renew requests that run at once
	maxFeeds     = 64                  // node services that wait for news at once
	maxReads     = 256                 // join and renew requests whose body arrives
	maxReadsEach = 32                  // of one client address
	failuresEach = 30                  // refused requests of one client a minute: an IPv4 address, an IPv6 /64, or a node
)

// Handler returns the API for nodes: join, renew, revocations. The TLS server must ask for a client certificate
// (tls.RequestClientCert) and not check it; the handlers do.
func (s *Service) Handler() http.Handler {
	mux := http.NewServeMux()
	failed := newFailures(failuresEach, time.Minute, s.now)
	reads := quota.New(maxReads, maxReadsEach)
	mux.HandleFunc("POST /v1/join", limited(maxJoins, reads, failed, stranger, s.refused, func(w http.ResponseWriter, r *http.Request, q wire.JoinRequest) error {
		m, err := s.Join(r.Context(), q, clientChain(r))
		if err == nil {
			slog.Info("a node joined", "node", m.FQDN, "from", r.RemoteAddr)
			s.counts.joins.Add(1)
			s.audit.Add(audit.Entry{Event: audit.Joined, Node: m.Name, From: clientHost(r), Text: strings.Join(m.Groups, " ")})
			answer(w, &m)
		}
		return err
	}))
	verify := func(r *http.Request) (identity.Peer, error) {
		roots, _ := s.Roots()
		return identity.VerifyForRenewal(rawChain(r), roots, s.banned, s.now(), renewGrace)
	}
	// A node's failures are counted separately from those of its address: strangers behind the same NAT must not keep
	// it from renewing.
	node := func(r *http.Request) string {
		if peer, err := verify(r); err == nil {
			return peer.FQDN
		}
		return stranger(r)
	}
	mux.HandleFunc("POST /v1/renew", limited(maxRenewals, reads, failed, node, s.refused, func(w http.ResponseWriter, r *http.Request, q wire.RenewRequest) error {
		peer, err := verify(r)
		if err != nil {
			return &wire.Error{Code: wire.CodeDenied, Text: clip(err.Error())}
		}
		m, err := s.Renew(q, peer)
		if err == nil {
			s.counts.renewals.Add(1)
			s.audit.Add(audit.Entry{Event: audit.Renewed, Node: m.Name, From: clientHost(r)})
			answer(w, &m)
		}
		return err
	}))
	mux.HandleFunc("GET /v1/revocations", func(w http.ResponseWriter, _ *http.Request) {
		docs, _ := s.Documents()
		answer(w, &docs.Revocations)
	})
	return mux
}

// refused records a join or renewal that was refused. The sender is a stranger, so the entry has no name.
func (s *Service) refused(r *http.Request, err error) {
	s.counts.refused.Add(1)
	s.audit.Add(audit.Entry{Event: audit.Refused, From: clientHost(r), Text: clip(path.Base(r.URL.Path) + ": " + err.Error())})
}

// clientHost returns the client's address without its port.
func clientHost(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// stranger names the client of a request by its address.
func stranger(r *http.Request) string { return quota.ClientOf(r.RemoteAddr).String() }

// limited bounds the requests that run at once. A request counts only once its body has arrived, so that slow senders
// do not use up the limit. who returns the client whose refused requests are counted, and refused reports each of them.
func limited[T any, V interface {
	*T
	wire.Validator
}](most int, reads *quota.Quota, failed *failures, who func(*http.Request) string, refused func(*http.Request, error), f func(http.ResponseWriter, *http.Request, T) error) http.HandlerFunc {
	slots := make(chan struct{}, most)
	return func(w http.ResponseWriter, r *http.Request) {
		client := who(r)
		if failed.over(client) {
			fail(w, &wire.Error{Code: wire.CodeUnavailable, Text: "Too many requests of this client were refused. Try again in a minute."})
			return
		}
		leave, ok := reads.Take(r.RemoteAddr)
		if !ok {
			fail(w, &wire.Error{Code: wire.CodeUnavailable, Text: "Too many requests arrive at once. Try again in a second."})
			return
		}
		var q T
		err := read(r, V(&q))
		leave()
		if err == nil {
			select {
			case slots <- struct{}{}:
				defer func() { <-slots }()
			default:
				fail(w, &wire.Error{Code: wire.CodeUnavailable, Text: "Too many requests run at once. Try again in a second."})
				return
			}
			err = f(w, r, q)
		}
		if err != nil {
			failed.add(client)
			refused(r, err)
			fail(w, err)
		}
	}
}

// ServicesHandler returns the API for node services in other processes, which know the secret: a feed of the documents
// and server certificates.
func (s *Service) ServicesHandler(secret string) http.Handler {
	mux := http.NewServeMux()
	slots := make(chan struct{}, maxFeeds)
	mux.HandleFunc("GET /v1/services/feed", func(w http.ResponseWriter, r *http.Request) {
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
		default:
			fail(w, &wire.Error{Code: wire.CodeUnavailable, Text: "Too many services wait for news. Try again in a second."})
			return
		}
		after, err := strconv.ParseInt(r.URL.Query().Get("after"), 10, 64)
		if err != nil {
			fail(w, &wire.Error{Code: wire.CodeInvalid, Text: "The feed needs after=<version>."})
			return
		}
		docs, changed := s.Documents()
		ctx, cancel := context.WithTimeout(r.Context(), feedWait)
		defer cancel()
		for docs.Version == after && ctx.Err() == nil {
			select {
			case <-changed:
			case <-ctx.Done():
			}
			docs, changed = s.Documents()
		}
		if r.URL.Query().Get("suspended") == "" { // a node service of an earlier version
			docs.Suspended = nil
		}
		answer(w, &docs)
	})
	mux.HandleFunc("POST /v1/services/seen", func(w http.ResponseWriter, r *http.Request) {
		var q wire.SeenReport
		err := read(r, &q)
		if err == nil {
			err = s.Seen(q)
		}
		if err != nil {
			fail(w, err)
			return
		}
		answer(w, struct{}{})
	})
	mux.HandleFunc("POST /v1/services/certificate", func(w http.ResponseWriter, r *http.Request) {
		var q wire.ServerRequest
		if err := read(r, &q); err != nil {
			fail(w, err)
			return
		}
		chain, err := s.IssueServer(identity.NodeService, q.Key, q.Hosts)
		if err != nil {
			fail(w, invalid(err))
			return
		}
		answer(w, &wire.ServerCertificate{Chain: chain})
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+secret)) != 1 || secret == "" {
			fail(w, &wire.Error{Code: wire.CodeDenied, Text: "The services' secret is wrong. Copy services.secret from the authentication service's folder."})
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func clientChain(r *http.Request) []*x509.Certificate {
	if r.TLS == nil {
		return nil
	}
	return r.TLS.PeerCertificates
}

func rawChain(r *http.Request) (der []byte) {
	for _, c := range clientChain(r) {
		der = append(der, c.Raw...)
	}
	return der
}

// read decodes a body of at most wire.MaxFrameBytes.
func read(r *http.Request, v wire.Validator) error {
	body, err := io.ReadAll(io.LimitReader(r.Body, wire.MaxFrameBytes+1))
	if err != nil {
		return &wire.Error{Code: wire.CodeInvalid, Text: "The request's body cannot be read."}
	}
	if err := wire.Decode(body, wire.MaxFrameBytes, v); err != nil {
		return invalid(err)
	}
	return nil
}

func answer(w http.ResponseWriter, v any) {
	body, err := wire.Marshal(v)
	if err != nil {
		fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(body) // the client notices an incomplete answer
}

var statusOf = map[string]int{wire.CodeInvalid: http.StatusBadRequest, wire.CodeDenied: http.StatusForbidden, wire.CodeTaken: http.StatusConflict,
	wire.CodeUnknown: http.StatusNotFound, wire.CodeFull: http.StatusInsufficientStorage, wire.CodeUnavailable: http.StatusServiceUnavailable}

func fail(w http.ResponseWriter, err error) {
	var e *wire.Error
	if !errors.As(err, &e) { // do not reveal database errors to a client
		slog.Error("a request failed", "error", err)
		e = &wire.Error{Code: wire.CodeUnavailable, Text: "The authentication service has a fault. Its log says more."}
	}
	body, _ := wire.Marshal(e)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(statusOf[e.Code])
	_, _ = w.Write(body)
}

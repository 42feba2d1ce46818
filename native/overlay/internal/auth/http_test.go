package auth

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"seganet.internal/overlay/internal/identity"
	"seganet.internal/overlay/internal/wire"
)

// drip is a body that never ends. It says when it is read.
type drip struct {
	reading func()
	end     <-chan struct{}
}

func (d drip) Read([]byte) (int, error) {
	d.reading()
	<-d.end
	return 0, io.ErrUnexpectedEOF
}

func TestSlowRequestsDoNotStopRenewals(t *testing.T) {
	end := make(chan struct{})
	provider := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-end }))
	s, _ := open(t, func(o *Options) { o.OIDC = OIDC{Issuer: provider.URL, Audience: "overlay"} })
	h := s.Handler()
	var running sync.WaitGroup
	t.Cleanup(func() {
		close(end)
		running.Wait()
		provider.Close()
	})
	m, k := enter(t, s, "a")
	renewed := func() int {
		r := httptest.NewRequest(http.MethodPost, "/v1/renew", bytes.NewReader(must(wire.Marshal(wire.RenewRequest{CSR: must(identity.Request(k))}))))
		r.RemoteAddr = "192.0.2.200:1000"
		r.TLS = &tls.ConnectionState{PeerCertificates: must(identity.ParseChain(m.Certificate))}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}

	const slow = 2 * (maxJoins + maxRenewals)
	begun := make(chan struct{}, slow)
	for i := range slow {
		running.Go(func() {
			var once sync.Once
			read := func() { once.Do(func() { begun <- struct{}{} }) }
			r := httptest.NewRequest(http.MethodPost, []string{"/v1/renew", "/v1/join"}[i%2], drip{read, end})
			r.RemoteAddr = fmt.Sprintf("198.51.100.%d:1000", i%8)
			r.TLS = &tls.ConnectionState{PeerCertificates: must(identity.ParseChain(m.Certificate))}
			h.ServeHTTP(httptest.NewRecorder(), r)
			read() // refused at once
		})
	}
	for range slow {
		<-begun
	}
	if code := renewed(); code != http.StatusOK {
		t.Errorf("while bodies drip, a renewal gets %d", code)
	}

	var clients atomic.Int32
	join := func(ctx context.Context) *http.Request { // of a client that was never refused
		body := must(wire.Marshal(wire.JoinRequest{CSR: must(identity.Request(must(identity.NewKeys()))), JWT: "a.b.c"}))
		r := httptest.NewRequest(http.MethodPost, "/v1/join", bytes.NewReader(body)).WithContext(ctx)
		r.RemoteAddr = fmt.Sprintf("[2001:db8:0:%x::1]:1000", clients.Add(1))
		return r
	}
	isFull := func(ctx context.Context) bool { // a join that finds a place waits there until ctx ends
		w := httptest.NewRecorder()
		h.ServeHTTP(w, join(ctx))
		return strings.Contains(w.Body.String(), "Too many requests run")
	}
	waiting, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel) // before the cleanup above
	for range maxJoins {
		running.Go(func() {
			for isFull(waiting) { // of the join below
				time.Sleep(time.Millisecond)
			}
		})
	}
	full := func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		return isFull(ctx)
	}
	for start := time.Now(); !full(); {
		if time.Since(start) > 20*time.Second {
			t.Fatal("the places of joins are never taken")
		}
	}
	if code := renewed(); code != http.StatusOK {
		t.Errorf("while joins wait for the identity provider, a renewal gets %d", code)
	}
}

func TestBodiesThatArriveSlowlyAreBounded(t *testing.T) {
	s, _ := open(t, nil)
	h := s.Handler()
	end := make(chan struct{})
	var running sync.WaitGroup
	t.Cleanup(func() { close(end); running.Wait() })
	// begin returns true if the body is read, false if the request is refused before.
	begin := func(from string) bool {
		is := make(chan bool, 1)
		running.Go(func() {
			var once sync.Once
			r := httptest.NewRequest(http.MethodPost, "/v1/join", drip{func() { once.Do(func() { is <- true }) }, end})
			r.RemoteAddr = from
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			once.Do(func() { is <- false })
			if w.Code != http.StatusServiceUnavailable && w.Code != http.StatusBadRequest {
				t.Errorf("status %d", w.Code)
			}
		})
		return <-is
	}
	for client, count := 0, 0; client < 2*maxReads/maxReadsEach; client++ {
		for i := range maxReadsEach + 1 {
			want := i < maxReadsEach && count < maxReads
			if begin(fmt.Sprintf("192.0.2.%d:%d", client, i+1)) != want {
				t.Fatalf("request %d of client %d is read: %v", i, client, !want)
			}
			if want {
				count++
			}
		}
	}
}

// A plant has one outside address, or an IPv6 /64. Strangers there, and joins that fail, must not keep its nodes from renewing.
func TestRefusedRequestsOfAPlantDoNotStopItsRenewals(t *testing.T) {
	s, _ := open(t, nil)
	h := s.Handler()
	m, k := enter(t, s, "a")
	other, _ := enter(t, s, "b")
	post := func(from, path, body string, cert []byte) int {
		r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
		r.RemoteAddr = from
		if cert != nil {
			r.TLS = &tls.ConnectionState{PeerCertificates: must(identity.ParseChain(cert))}
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	for i := range failuresEach {
		if code := post(fmt.Sprintf("[2001:db8:1:2::%x]:1000", i+1), []string{"/v1/join", "/v1/renew"}[i%2], `{}`, nil); code == http.StatusServiceUnavailable {
			t.Fatalf("the request %d is over the limit", i)
		}
	}
	for _, path := range []string{"/v1/join", "/v1/renew"} {
		if code := post("[2001:db8:1:2:3::1]:1000", path, `{}`, nil); code != http.StatusServiceUnavailable {
			t.Errorf("another address of the /64 has its own limit at %s: %d", path, code)
		}
		if code := post("[2001:db8:1:3::1]:1000", path, `{}`, nil); code == http.StatusServiceUnavailable {
			t.Errorf("the limit holds for another /64 at %s", path)
		}
	}
	good := string(must(wire.Marshal(wire.RenewRequest{CSR: must(identity.Request(k))})))
	if code := post("[2001:db8:1:2::1]:1000", "/v1/renew", good, m.Certificate); code != http.StatusOK {
		t.Errorf("a node of the plant cannot renew: %d", code)
	}
	for range failuresEach {
		post("[2001:db8:1:2::2]:1000", "/v1/renew", `{}`, other.Certificate)
	}
	if code := post("192.0.2.1:1000", "/v1/renew", `{}`, other.Certificate); code != http.StatusServiceUnavailable {
		t.Errorf("a node's refused renewals have no limit: %d", code)
	}
	if code := post("[2001:db8:1:2::1]:1000", "/v1/renew", good, m.Certificate); code != http.StatusOK {
		t.Errorf("a node cannot renew, as another one made mistakes: %d", code)
	}
}

func TestACountOfRefusedRequestsStaysWhileThereIsRoom(t *testing.T) {
	now := time.Unix(1000, 0)
	f := newFailures(2, time.Minute, func() time.Time { return now })
	f.add("first")
	f.add("first")
	now = now.Add(time.Second)
	for i := range maxFailureRows - 1 {
		f.add(fmt.Sprint(i))
	}
	f.add("0")
	if !f.over("first") || !f.over("0") || f.over("1") {
		t.Error("counts are lost or wrong in a full table")
	}
	f.add("one more") // takes the place of the oldest
	if f.over("first") || !f.over("0") || len(f.rows) != maxFailureRows || f.order.Len() != maxFailureRows {
		t.Error("not the oldest made room")
	}
	now = now.Add(time.Minute)
	if f.over("0") {
		t.Error("the window does not end")
	}
}

package auth

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"seganet.internal/overlay/internal/identity"
	"seganet.internal/overlay/internal/wire"
)

// clock is a time that tests move.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

func open(t testing.TB, change func(*Options)) (*Service, *clock) {
	t.Helper()
	c := &clock{t: time.Now()}
	o := Options{Dir: t.TempDir(), Network: "plant", Now: c.now, AuthURLs: []string{"https://127.0.0.1"}, NodeURLs: []string{"wss://127.0.0.1"}}
	if change != nil {
		change(&o)
	}
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, c
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func isCode(err error, code string) bool {
	var e *wire.Error
	return errors.As(err, &e) && e.Code == code
}

// joinWith joins with these keys by an invitation's token.
func joinWith(s *Service, k *identity.Keys, token string, devices ...string) (wire.Membership, error) {
	return s.Join(context.Background(), wire.JoinRequest{CSR: must(identity.Request(k)), Token: token, Devices: devices}, nil)
}

// enter makes a node by an invitation.
func enter(t testing.TB, s *Service, name string, devices ...string) (wire.Membership, *identity.Keys) {
	t.Helper()
	k := must(identity.NewKeys())
	i, err := s.Invite(wire.InviteRequest{Name: name, Groups: []string{"g"}})
	if err != nil {
		t.Fatal(err)
	}
	m, err := joinWith(s, k, i.Token, devices...)
	if err != nil {
		t.Fatal(err)
	}
	return m, k
}

func peerOf(t testing.TB, s *Service, m wire.Membership, now time.Time) identity.Peer {
	t.Helper()
	roots, _ := s.Roots()
	p, err := identity.VerifyForRenewal(m.Certificate, roots, s.Revoked, now, renewGrace)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestATokenWorksOnce(t *testing.T) {
	s, c := open(t, nil)
	i := must(s.Invite(wire.InviteRequest{Name: "a"}))
	k, thief := must(identity.NewKeys()), must(identity.NewKeys())
	first, err := joinWith(s, k, i.Token)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := joinWith(s, thief, i.Token); !isCode(err, wire.CodeDenied) {
		t.Errorf("a second node by the same token: %v", err)
	}
	// The same node may repeat a request whose answer was lost. It gets the same certificate.
	again, err := joinWith(s, k, i.Token)
	if err != nil || !bytes.Equal(again.Certificate, first.Certificate) {
		t.Error(err, "the answer to a repeated request differs")
	}
	c.add(InviteLife + time.Second)
	if _, err := joinWith(s, k, i.Token); !isCode(err, wire.CodeDenied) {
		t.Errorf("after the token's end: %v", err)
	}
	late := must(s.Invite(wire.InviteRequest{Name: "b", LifetimeSeconds: 10}))
	c.add(11 * time.Second)
	for name, token := range map[string]string{"an expired token": late.Token, "no such token": tokenPrefix + "x", "another form": "x", "its hash": string(tokenHash(i.Token))} {
		if _, err := joinWith(s, thief, token); !isCode(err, wire.CodeDenied) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := s.Maintain(); err != nil {
		t.Fatal(err)
	}
	_ = s.db.View(func(tx *bbolt.Tx) error {
		if n := tx.Bucket(bucketInvites).Stats().KeyN; n != 0 {
			t.Errorf("%d expired invitations are kept", n)
		}
		return nil
	})
}

func TestTheTokenIsNotStored(t *testing.T) {
	s, _ := open(t, nil)
	i := must(s.Invite(wire.InviteRequest{Name: "a"}))
	path := filepath.Join(s.opts.Dir, databaseFile)
	if info := must(os.Stat(path)); info.Mode().Perm() != 0o600 {
		t.Errorf("the database has the mode %v", info.Mode())
	}
	if text := must(os.ReadFile(path)); bytes.Contains(text, []byte(strings.TrimPrefix(i.Token, tokenPrefix))) {
		t.Error("the database has the token")
	}
}

func TestOneOfManyWinsAToken(t *testing.T) {
	s, _ := open(t, nil)
	i := must(s.Invite(wire.InviteRequest{Name: "a"}))
	var wait sync.WaitGroup
	results := make([]error, 16)
	for n := range results {
		k := must(identity.NewKeys())
		wait.Add(1)
		go func() {
			defer wait.Done()
			_, results[n] = joinWith(s, k, i.Token)
		}()
	}
	wait.Wait()
	won := 0
	for _, err := range results {
		if err == nil {
			won++
		} else if !isCode(err, wire.CodeDenied) {
			t.Error(err)
		}
	}
	if list := must(s.Nodes()); won != 1 || len(list) != 1 {
		t.Errorf("%d joined, %d nodes", won, len(list))
	}
}

func TestNamesAndKeysAreUnique(t *testing.T) {
	s, _ := open(t, nil)
	early := must(s.Invite(wire.InviteRequest{Name: "a"}))
	m, k := enter(t, s, "a")
	if _, err := s.Invite(wire.InviteRequest{Name: "a"}); !isCode(err, wire.CodeTaken) {
		t.Errorf("an invitation for a name that is taken: %v", err)
	}
	if _, err := joinWith(s, must(identity.NewKeys()), early.Token); !isCode(err, wire.CodeTaken) {
		t.Errorf("an earlier invitation for it: %v", err)
	}
	// Another node must not take a's WireGuard key, because peers find a node by its key.
	b := must(identity.NewKeys())
	b.WireGuard = k.WireGuard
	i := must(s.Invite(wire.InviteRequest{Name: "b"}))
	if _, err := joinWith(s, b, i.Token); !isCode(err, wire.CodeTaken) {
		t.Errorf("another node's WireGuard key: %v", err)
	}
	b = must(identity.NewKeys())
	if _, err := joinWith(s, b, i.Token); err != nil {
		t.Errorf("a refused request used the token up: %v", err)
	}
	thief := *b
	thief.WireGuard = k.WireGuard
	bm, _ := joinWith(s, b, i.Token)
	if _, err := s.Renew(wire.RenewRequest{CSR: must(identity.Request(&thief))}, peerOf(t, s, bm, time.Now())); !isCode(err, wire.CodeTaken) {
		t.Errorf("a renewal with another node's key: %v", err)
	}
	// After a revocation the name can be invited again, with new keys and other addresses.
	if err := s.Revoke(wire.RevokeRequest{Name: "a", Reason: "stolen"}); err != nil {
		t.Fatal(err)
	}
	i = must(s.Invite(wire.InviteRequest{Name: "a"}))
	if _, err := joinWith(s, k, i.Token); !isCode(err, wire.CodeTaken) {
		t.Errorf("a revoked node's keys: %v", err)
	}
	again, err := joinWith(s, must(identity.NewKeys()), i.Token)
	if err != nil || again.FQDN != m.FQDN || again.Addresses[0] == m.Addresses[0] || again.Addresses[1] == m.Addresses[1] {
		t.Error(err, again.Addresses, m.Addresses)
	}
	if err := s.Revoke(wire.RevokeRequest{Name: "nobody"}); !isCode(err, wire.CodeUnknown) {
		t.Error(err)
	}
}

func TestAddressesRestForAYear(t *testing.T) {
	s, c := open(t, nil)
	enter(t, s, "a", "pump")
	if err := s.Revoke(wire.RevokeRequest{Name: "a"}); err != nil {
		t.Fatal(err)
	}
	// Wrap around: all other numbers are in use, so the next ones would be those of a and its device.
	fill := func() (given map[uint16]bool, err error) {
		given = map[uint16]bool{}
		return given, s.db.Update(func(tx *bbolt.Tx) error {
			for {
				n, err := allocate(tx, "x", c.now())
				if err != nil {
					return nil //nolint:nilerr // the pool is used up
				}
				if given[n] {
					return fmt.Errorf("%d is given twice", n)
				}
				given[n] = true
			}
		})
	}
	given, err := fill()
	if err != nil || len(given) != lastNumber-2 || given[1] || given[2] || given[0] || given[65535] {
		t.Fatal(err, len(given))
	}
	i := must(s.Invite(wire.InviteRequest{Name: "b"}))
	if _, err := joinWith(s, must(identity.NewKeys()), i.Token); !isCode(err, wire.CodeFull) {
		t.Errorf("a full pool: %v", err)
	}
	c.add(AddressRest - time.Hour)
	if given, err = fill(); err != nil || len(given) != 0 {
		t.Errorf("an address is given after less than a year: %v %v", given, err)
	}
	c.add(2 * time.Hour)
	if given, err = fill(); err != nil || len(given) != 2 || !given[1] || !given[2] {
		t.Errorf("after a year: %v %v", given, err)
	}
}

func TestThePrefixHasTheNodesAndDevices(t *testing.T) {
	s, _ := open(t, nil)
	m, _ := enter(t, s, "a", "pump")
	p := must(s.Prefix6())
	if p.Bits() != 48 || !p.Contains(m.Addresses[0]) || !p.Contains(m.Devices[0].Addr6) {
		t.Errorf("%s has not %s and %s", p, m.Addresses[0], m.Devices[0].Addr6)
	}
}

func TestRenewalKeepsEverythingButTheCertificate(t *testing.T) {
	s, c := open(t, nil)
	m, k := enter(t, s, "a", "pump", "fan")
	renew := func(devices ...string) wire.Membership {
		next, err := s.Renew(wire.RenewRequest{CSR: must(identity.Request(k)), Devices: devices}, peerOf(t, s, m, c.now()))
		if err != nil {
			t.Fatal(err)
		}
		return next
	}
	var second wire.Membership
	for i := range 3 { // a device that goes and comes back keeps its address
		without := renew("fan")
		if i == 0 {
			second = without
		}
		with := renew("fan", "pump")
		if len(without.Devices) != 1 || with.Devices[1] != m.Devices[0] || with.Devices[0] != m.Devices[1] || !slices.Equal(with.Addresses, m.Addresses) ||
			!slices.Equal(with.Groups, m.Groups) || bytes.Equal(with.Certificate, m.Certificate) {
			t.Fatalf("%+v became %+v", m, with)
		}
	}
	if want := m.RenewAfter.Sub(c.now()); want < 2*identity.NodeLife/3-time.Minute || want > 2*identity.NodeLife/3+time.Minute {
		t.Errorf("renewal is due after %s", want)
	}
	for range maxCertificates - 7 {
		renew("fan")
	}
	// A further certificate replaces the oldest one, which is revoked, because the node's devices change often. The
	// certificate that the node presents stays valid: a node with a full disk has no other.
	first, oldest := peerOf(t, s, m, c.now()), peerOf(t, s, second, c.now())
	last := renew("pump")
	if _, revoked := s.current().revoked[oldest.Serial]; !revoked {
		t.Error("the oldest certificate is valid beside as many as a node may have")
	}
	if _, revoked := s.current().revoked[first.Serial]; revoked {
		t.Error("the certificate that the node presented is revoked")
	}
	if _, err := s.Renew(wire.RenewRequest{CSR: must(identity.Request(k))}, oldest); !isCode(err, wire.CodeDenied) {
		t.Errorf("by a revoked certificate: %v", err)
	}
	m = last
	for range maxCertificates - 1 {
		renew("fan")
	}
	if _, err := s.Renew(wire.RenewRequest{CSR: must(identity.Request(k))}, peerOf(t, s, m, c.now())); !isCode(err, wire.CodeFull) {
		t.Errorf("more than %d valid certificates and as many that are revoked: %v", maxCertificates, err)
	}
	// A node that was off for some weeks can still renew; after the grace it cannot.
	c.add(5 * identity.NodeLife)
	if next := renew("pump"); next.Devices[0] != m.Devices[0] {
		t.Error("the device has another address")
	}
	c.add(renewGrace)
	roots, _ := s.Roots()
	if _, err := identity.VerifyForRenewal(m.Certificate, roots, s.Revoked, c.now(), renewGrace); err == nil {
		t.Error("a certificate that ended long ago can be renewed")
	}
}

func TestManyRefusedRequestsStopAnAddress(t *testing.T) {
	s, c := open(t, nil)
	h := s.Handler()
	post := func(from, body string) int {
		r := httptest.NewRequest(http.MethodPost, "/v1/join", strings.NewReader(body))
		r.RemoteAddr = from + ":1000"
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	for range failuresEach {
		if code := post("192.0.2.1", `{}`); code != http.StatusBadRequest {
			t.Fatal(code)
		}
	}
	if post("192.0.2.1", `{}`) != http.StatusServiceUnavailable || post("192.0.2.2", `{}`) != http.StatusBadRequest {
		t.Error("the limit does not hold, or holds for others")
	}
	c.add(time.Minute)
	if post("192.0.2.1", `{}`) != http.StatusBadRequest {
		t.Error("the limit never ends")
	}
	if post("192.0.2.3", strings.Repeat(" ", wire.MaxFrameBytes+1)) != http.StatusBadRequest {
		t.Error("a large body is accepted")
	}
}

func FuzzJoin(f *testing.F) {
	s, _ := open(f, nil)
	k := must(identity.NewKeys())
	body := must(wire.Marshal(wire.JoinRequest{CSR: must(identity.Request(k)), Token: tokenPrefix + "x", Devices: []string{"a"}}))
	f.Add("/v1/join", body)
	f.Add("/v1/join", []byte(`{"csr":"AQ==","jwt":"a.b.c"}`))
	f.Add("/v1/renew", []byte(`{"csr":"AQ=="}`))
	f.Fuzz(func(t *testing.T, path string, body []byte) {
		to := "/v1/join"
		if strings.Contains(path, "renew") {
			to = "/v1/renew"
		}
		w := httptest.NewRecorder()
		// Each handler has its own limit of refused requests.
		s.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodPost, to, bytes.NewReader(body)))
		if w.Code == http.StatusOK {
			t.Fatalf("%q is accepted", body)
		}
		if list := must(s.Nodes()); len(list) != 0 {
			t.Fatal("a node was made")
		}
	})
}

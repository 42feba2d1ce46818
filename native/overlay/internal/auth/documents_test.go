package auth

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"seganet.internal/overlay/internal/identity"
	"seganet.internal/overlay/internal/wire"
)

func TestTheRevocationListForgetsExpiredCertificates(t *testing.T) {
	s, c := open(t, nil)
	m, k := enter(t, s, "a")
	if _, err := s.Renew(wire.RenewRequest{CSR: must(identity.Request(k))}, peerOf(t, s, m, c.now())); err != nil {
		t.Fatal(err)
	}
	if err := s.Revoke(wire.RevokeRequest{Name: "a"}); err != nil {
		t.Fatal(err)
	}
	list := func() (r wire.Revocations) {
		docs, _ := s.Documents()
		roots, _ := s.Roots()
		if err := identity.Open(identity.DocRevocations, docs.Revocations, roots, c.now(), &r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	first := list()
	if len(first.Serials) != 2 || first.Number == 0 {
		t.Errorf("%+v: both valid certificates must be on it", first)
	}
	_, changed := s.Documents()
	c.add(identity.NodeLife + time.Hour)
	if err := s.Maintain(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-changed:
	default:
		t.Error("a changed list is not published")
	}
	if l := list(); len(l.Serials) != 0 || l.Number <= first.Number {
		t.Errorf("%+v", l)
	}
}

func TestTheRevocationListIsBounded(t *testing.T) {
	s, c := open(t, nil)
	_ = s.db.Update(func(tx *bbolt.Tx) error {
		for n := range wire.MaxRevocations - 1 {
			if err := putJSON(tx.Bucket(bucketRevoked), []byte(fmt.Sprintf("%020x", n)), revokedRecord{Node: "x", NotAfter: c.now().Add(time.Hour)}); err != nil {
				return err
			}
		}
		return nil
	})
	enter(t, s, "a")
	enter(t, s, "b")
	if err := s.Revoke(wire.RevokeRequest{Name: "a"}); err != nil {
		t.Error(err)
	}
	if err := s.Revoke(wire.RevokeRequest{Name: "b"}); !isCode(err, wire.CodeFull) {
		t.Error(err)
	}
	docs, _ := s.Documents()
	if _, err := wire.Encode(&wire.Revoked{List: docs.Revocations}); err != nil {
		t.Errorf("the largest list does not fit a frame: %v", err)
	}
}

func TestRotationLosesNoNode(t *testing.T) {
	s, c := open(t, nil)
	oldRoots, _ := s.Roots()
	m, k := enter(t, s, "a")
	if err := s.Rotate(false, ""); err != nil {
		t.Fatal(err)
	}
	if err := s.Rotate(false, ""); !isCode(err, wire.CodeTaken) {
		t.Errorf("two rotations at once: %v", err)
	}
	learn := func() *x509.CertPool { // a node that only knows the old root
		docs, _ := s.Documents()
		var r wire.Roots
		if err := identity.Open(identity.DocRoots, docs.Roots, oldRoots, c.now(), &r); err != nil {
			t.Fatalf("a node with the old root cannot learn the new one: %v", err)
		}
		return must(identity.Pool(r.Certificates))
	}
	signedBy := func(m wire.Membership, roots *x509.CertPool) bool {
		_, err := identity.VerifyForRenewal(m.Certificate, roots, nil, c.now(), renewGrace)
		return err == nil
	}
	both := learn()
	second, _ := enter(t, s, "b")
	if !signedBy(second, oldRoots) {
		t.Error("the new CA signs before nodes know it")
	}
	c.add(identity.NodeLife + time.Minute)
	if err := s.Maintain(); err != nil {
		t.Fatal(err)
	}
	renewed, err := s.Renew(wire.RenewRequest{CSR: must(identity.Request(k))}, peerOf(t, s, m, c.now()))
	if err != nil || signedBy(renewed, oldRoots) || !signedBy(renewed, both) || !signedBy(second, both) {
		t.Error(err, "the new CA does not sign after a week")
	}
	learn()
	if _, roots := s.Roots(); len(roots) != 2 {
		t.Errorf("%d roots", len(roots))
	}
	c.add(rootOverlap)
	if err := s.Maintain(); err != nil {
		t.Fatal(err)
	}
	if _, roots := s.Roots(); len(roots) != 1 || !signedBy(renewed, must(identity.Pool(roots))) {
		t.Errorf("%d roots after the rotation", len(roots))
	}
	if err := s.Rotate(true, ""); err != nil {
		t.Errorf("the next rotation: %v", err)
	}
}

func TestAnImportedIntermediateSigns(t *testing.T) {
	root := must(identity.NewAuthority("plant", time.Now()))
	signer := must(root.Intermediate("plant", time.Now()))
	s, _ := open(t, func(o *Options) { o.Authority = signer })
	m, _ := enter(t, s, "a")
	if _, err := identity.Verify(m.Certificate, root.Pool(), nil, time.Now()); err != nil {
		t.Error(err)
	}
	if len(m.Roots) != 1 || !bytes.Equal(m.Roots[0], root.Root().Raw) {
		t.Error("the root is not the imported one")
	}
	wrong := &identity.Authority{Key: root.Key, Chain: signer.Chain}
	if s, err := Open(Options{Dir: t.TempDir(), Network: "plant", Authority: wrong}); err == nil {
		s.Close()
		t.Error("a key that does not belong to the chain is accepted")
	}
}

func TestThePolicyIsBounded(t *testing.T) {
	s, _ := open(t, nil)
	p := wire.Policy{}
	for range wire.MaxRules {
		p.Allow = append(p.Allow, wire.Rule{From: "group:" + strings.Repeat("a", 40), To: "*", Ports: []string{"icmp"}})
	}
	if _, err := s.SetPolicy(p, PolicyChange{}); !isCode(err, wire.CodeFull) {
		t.Error(err)
	}
	if _, err := s.SetPolicy(wire.Policy{Allow: []wire.Rule{{From: "x"}}}, PolicyChange{}); !isCode(err, wire.CodeInvalid) {
		t.Error(err)
	}
	if p := must(s.Policy()); p.Version != 0 || len(p.Allow) != 0 {
		t.Errorf("%+v", p)
	}
}

// numbersOf returns the numbers of the service's documents.
func numbersOf(t *testing.T, s *Service, now time.Time) map[string]int64 {
	t.Helper()
	var p wire.Policy
	var r wire.Revocations
	var l wire.Roots
	docs, _ := s.Documents()
	roots, _ := s.Roots()
	if err := errors.Join(identity.Open(identity.DocPolicy, docs.Policy, roots, now, &p), identity.Open(identity.DocRevocations, docs.Revocations, roots, now, &r),
		identity.Open(identity.DocRoots, docs.Roots, roots, now, &l)); err != nil {
		t.Fatal(err)
	}
	return map[string]int64{"policy": p.Version, "revocations": r.Number, "roots": l.Number, "all": docs.Version}
}

func TestDocumentsAreNewerAfterARestoreFromABackup(t *testing.T) {
	c := &clock{t: time.Now()}
	o := Options{Dir: t.TempDir(), Network: "plant", Now: c.now}
	file := filepath.Join(o.Dir, databaseFile)
	change := func(s *Service, revoked string) {
		t.Helper()
		c.add(time.Second)
		_, err := s.SetPolicy(wire.Policy{}, PolicyChange{})
		if err = errors.Join(err, s.Revoke(wire.RevokeRequest{Name: revoked}), s.Rotate(true, "")); err != nil {
			t.Fatal(err)
		}
	}
	s := must(Open(o))
	enter(t, s, "a")
	enter(t, s, "b")
	s.Close()
	backup := must(os.ReadFile(file))

	s = must(Open(o))
	for range 5 {
		_ = must(s.SetPolicy(wire.Policy{}, PolicyChange{}))
	}
	change(s, "a")
	seen := numbersOf(t, s, c.now())
	s.Close()
	if err := os.WriteFile(file, backup, 0o600); err != nil {
		t.Fatal(err)
	}

	s = must(Open(o))
	defer s.Close()
	c.add(10 * time.Second)
	change(s, "b")
	for document, n := range numbersOf(t, s, c.now()) {
		if n <= seen[document] {
			t.Errorf("%s: nodes have number %d, and the service makes %d", document, seen[document], n)
		}
	}
}

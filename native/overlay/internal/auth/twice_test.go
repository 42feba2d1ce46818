package auth

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"seganet.internal/overlay/internal/audit"
	"seganet.internal/overlay/internal/identity"
	"seganet.internal/overlay/internal/wire"
)

// overlap reports that two programs use the identity of a node now, by a clock of the node service that is skew ahead.
func overlap(t *testing.T, s *Service, name, service string, skew time.Duration) {
	t.Helper()
	at := s.now().Add(skew).UTC().Truncate(time.Second)
	n := wire.Seen{Name: name + ".plant.seganet.internal", Online: true, At: at, From: "192.0.2.7", Twice: at, TwiceFrom: []string{"192.0.2.7", "2001:db8::9"}}
	if err := s.Seen(wire.SeenReport{Service: service, Nodes: []wire.Seen{n}}); err != nil {
		t.Fatal(err)
	}
}

func info(t *testing.T, s *Service, name string) wire.NodeInfo {
	t.Helper()
	for _, n := range must(s.Nodes()) {
		if n.Name == name {
			return n
		}
	}
	t.Fatalf("there is no node %s", name)
	return wire.NodeInfo{}
}

func isSuspended(t *testing.T, s *Service, name string) bool {
	return !info(t, s, name).Suspended.IsZero()
}

func events(t *testing.T, s *Service, name string) string {
	t.Helper()
	var list []string
	for _, e := range must(audit.Read(s.opts.Dir, name, 100)) {
		if e.Event != audit.Connected && e.Event != audit.Invited {
			list = append(list, e.Event)
		}
	}
	return strings.Join(list, " ")
}

func TestANodeWhoseIdentityGoesOnBeingUsedTwiceIsSuspendedUntilItIsResumed(t *testing.T) {
	s, c := open(t, nil)
	m, k := enter(t, s, "a")
	peer := peerOf(t, s, m, c.now())
	_, changed := s.Documents()
	overlap(t, s, "a", "service1", 0)
	c.add(overlapLasts - time.Second)
	overlap(t, s, "a", "service1", 0)
	if isSuspended(t, s, "a") || s.Revoked(peer.Serial) {
		t.Fatal("a short overlap suspends a node")
	}
	c.add(time.Second)
	overlap(t, s, "a", "service1", 0)
	if !isSuspended(t, s, "a") || !s.Revoked(peer.Serial) {
		t.Fatal("an overlap that lasts does not suspend the node")
	}
	select {
	case <-changed:
	default:
		t.Error("the revocation list is not published")
	}
	if docs, _ := s.Documents(); len(docs.Suspended) != 1 || docs.Suspended[0] != peer.Serial {
		t.Errorf("%v are suspended", docs.Suspended)
	}
	if n := info(t, s, "a"); n.Online || n.Twice.IsZero() {
		t.Errorf("%+v", n)
	}
	if _, err := s.Renew(wire.RenewRequest{CSR: must(identity.Request(k))}, peer); !isCode(err, wire.CodeDenied) || !strings.Contains(err.Error(), "suspended") {
		t.Errorf("renewing: %v", err)
	}
	if o := must(s.Overview("", 1, 10)); o.Suspended != 1 || o.Online+o.Offline != 0 {
		t.Errorf("%+v", o)
	}
	if f := must(s.Figures()); f.Suspended != 1 || f.Suspensions != 1 || f.Nodes != 1 {
		t.Errorf("%+v", f)
	}
	if err := s.Resume(wire.ResumeRequest{Name: "a", By: "ann"}); err != nil { // within the same second
		t.Fatal(err)
	}
	if n := info(t, s, "a"); isSuspended(t, s, "a") || s.Revoked(peer.Serial) || n.Online || !n.Twice.IsZero() {
		t.Errorf("a resumed node, which has not connected yet: %+v", n)
	}
	if _, err := s.Renew(wire.RenewRequest{CSR: must(identity.Request(k))}, peer); err != nil {
		t.Errorf("renewing after it was resumed: %v", err)
	}
	if err := s.Resume(wire.ResumeRequest{Name: "a"}); !isCode(err, wire.CodeUnknown) {
		t.Errorf("resuming it again: %v", err)
	}
	if got := events(t, s, "a"); got != "twice suspended resumed" {
		t.Errorf("the audit log has %s", got)
	}
	c.add(time.Second)
	overlap(t, s, "a", "service1", 0)
	c.add(overlapLasts)
	overlap(t, s, "a", "service1", 0)
	if !isSuspended(t, s, "a") {
		t.Error("a resumed node that is used twice is not suspended again")
	}
}

func TestASuspensionSurvivesARestartAndEndsWithARevocation(t *testing.T) {
	s, c := open(t, nil)
	m, _ := enter(t, s, "a")
	serial := peerOf(t, s, m, c.now()).Serial
	if err := s.suspend("a"); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := Open(s.opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if !isSuspended(t, s, "a") || !s.Revoked(serial) {
		t.Fatal("the suspension is lost")
	}
	if err := s.Revoke(wire.RevokeRequest{Name: "a", Reason: "stolen"}); err != nil {
		t.Fatal(err)
	}
	if docs, _ := s.Documents(); isSuspended(t, s, "a") || !s.Revoked(serial) || len(docs.Suspended) != 0 {
		t.Errorf("after the revocation: %v", docs.Suspended)
	}
	if err := s.Resume(wire.ResumeRequest{Name: "a"}); !isCode(err, wire.CodeUnknown) {
		t.Errorf("a revoked node is resumed: %v", err)
	}
	enter(t, s, "a") // with new keys, by a new invitation
}

func TestWhatDoesNotSuspendANode(t *testing.T) {
	for name, report := range map[string]func(*testing.T, *Service, *clock){
		"one overlap that two services report, the second late": func(t *testing.T, s *Service, c *clock) {
			overlap(t, s, "a", "service1", 0)
			c.add(time.Minute)
			overlap(t, s, "a", "service2", -50*time.Second)
		},
		"two overlaps within seconds, reported by clocks that differ": func(t *testing.T, s *Service, c *clock) {
			overlap(t, s, "a", "service1", 0)
			c.add(2 * time.Second)
			overlap(t, s, "a", "service2", time.Minute)
		},
		"an update each hour": func(t *testing.T, s *Service, c *clock) {
			for range 5 {
				overlap(t, s, "a", "service1", 0)
				c.add(time.Hour)
			}
		},
		"--used-twice report": func(t *testing.T, s *Service, c *clock) {
			s.opts.ReportTwice = true
			for range 10 {
				overlap(t, s, "a", "service1", 0)
				c.add(overlapLasts)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, c := open(t, nil)
			enter(t, s, "a")
			report(t, s, c)
			if isSuspended(t, s, "a") {
				t.Error("it suspends the node")
			}
			if !strings.HasPrefix(events(t, s, "a"), "twice") {
				t.Error("the audit log does not have it")
			}
		})
	}
}

func TestAServiceThatTheNodeHasLeftReportsAnOverlap(t *testing.T) {
	s, c := open(t, nil)
	enter(t, s, "a")
	overlap(t, s, "a", "service2", 0)
	c.add(overlapLasts)
	at := c.now().UTC().Truncate(time.Second)
	n := wire.Seen{Name: "a.plant.seganet.internal", At: at, From: "192.0.2.7", Twice: at, TwiceFrom: []string{"192.0.2.7", "192.0.2.8"}}
	if err := s.Seen(wire.SeenReport{Service: "service1", Nodes: []wire.Seen{n}}); err != nil {
		t.Fatal(err)
	}
	if !isSuspended(t, s, "a") {
		t.Error("it is ignored")
	}
}

func TestTheSuspensionsOfAnHourAreBounded(t *testing.T) {
	s, c := open(t, nil)
	all := func(from, to int) {
		for range 2 {
			for i := from; i < to; i++ {
				overlap(t, s, fmt.Sprintf("n%d", i), "service1", 0)
			}
			c.add(overlapLasts)
		}
	}
	for i := range maxSuspensions + 2 {
		enter(t, s, fmt.Sprintf("n%d", i))
	}
	all(0, maxSuspensions+1)
	if f := must(s.Figures()); f.Suspended != maxSuspensions {
		t.Errorf("%d are suspended", f.Suspended)
	}
	last := fmt.Sprintf("n%d", maxSuspensions)
	if list := must(audit.Read(s.opts.Dir, last, 1)); len(list) != 1 || !strings.Contains(list[0].Text, "not suspended") {
		t.Errorf("%+v", list)
	}
	c.add(time.Hour)
	all(maxSuspensions+1, maxSuspensions+2)
	if f := must(s.Figures()); f.Suspended != maxSuspensions+1 {
		t.Errorf("an hour later, %d are suspended", f.Suspended)
	}
}

func TestSuspensionsLeaveRoomForRevocations(t *testing.T) {
	s, c := open(t, nil)
	_ = s.db.Update(func(tx *bbolt.Tx) error {
		for n := range wire.MaxRevocations / 2 {
			if err := putJSON(tx.Bucket(bucketRevoked), []byte(fmt.Sprintf("%020x", n)), revokedRecord{Node: "x", NotAfter: c.now().Add(time.Hour)}); err != nil {
				return err
			}
		}
		return nil
	})
	enter(t, s, "a")
	if err := s.suspend("a"); !isCode(err, wire.CodeFull) || isSuspended(t, s, "a") {
		t.Errorf("suspending: %v", err)
	}
	if err := s.Revoke(wire.RevokeRequest{Name: "a"}); err != nil {
		t.Errorf("revoking: %v", err)
	}
}

// A node service of an earlier version accepts no key that it does not know.
func TestOnlyNodeServicesThatAskForItLearnWhoIsSuspended(t *testing.T) {
	s, _ := open(t, nil)
	enter(t, s, "a")
	if err := s.suspend("a"); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]bool{"after=-1": false, "suspended=1&after=-1": true} {
		r := httptest.NewRequest(http.MethodGet, "/v1/services/feed?"+query, nil)
		r.Header.Set("Authorization", "Bearer secret")
		w := httptest.NewRecorder()
		s.ServicesHandler("secret").ServeHTTP(w, r)
		if got := strings.Contains(w.Body.String(), `"suspended"`); w.Code != http.StatusOK || got != want {
			t.Errorf("%s: status %d, has it: %t", query, w.Code, got)
		}
	}
}

package auth

import (
	"strings"
	"testing"
	"time"

	"seganet.internal/overlay/internal/audit"
	"seganet.internal/overlay/internal/wire"
)

func TestSessionsAreInTheAuditLogOnce(t *testing.T) {
	s, c := open(t, nil)
	dir := s.opts.Dir
	at := c.now().UTC().Truncate(time.Second)
	report := func(service string, online bool, since time.Time, twice time.Time) {
		t.Helper()
		n := wire.Seen{Name: "a.plant.seganet.internal", Online: online, At: since, From: "192.0.2.7", Version: "1.2", Twice: twice}
		if !twice.IsZero() {
			n.TwiceFrom = []string{"192.0.2.7", "192.0.2.8"}
		}
		if err := s.Seen(wire.SeenReport{Service: service, Nodes: []wire.Seen{n}}); err != nil {
			t.Fatal(err)
		}
	}
	report("service1", true, at, time.Time{})
	report("service1", true, at, time.Time{}) // each minute again
	report("service2", true, at.Add(time.Second), time.Time{})
	report("service1", false, at.Add(2*time.Second), time.Time{}) // of the older connection
	report("service2", true, at.Add(time.Second), at.Add(3*time.Second))
	report("service2", true, at.Add(time.Second), at.Add(3*time.Second))
	report("service2", false, at.Add(4*time.Second), at.Add(3*time.Second))
	report("service2", false, at.Add(4*time.Second), at.Add(3*time.Second))
	list, err := audit.Read(dir, "a", 100)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range list {
		got = append(got, e.Event)
		if e.Version != "1.2" || !strings.HasPrefix(e.From, "192.0.2.7") {
			t.Errorf("%+v", e)
		}
	}
	if want := "connected connected twice disconnected"; strings.Join(got, " ") != want {
		t.Errorf("%v, not %s", got, want)
	}
}

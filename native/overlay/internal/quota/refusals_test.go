package quota

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// lines makes refusals that log into a list, by a clock of the test.
func lines(p *Quota) (r *Refusals, now *time.Time, logged func() []string) {
	r = NewRefusals(p, "connections to the relay")
	now = new(time.Time)
	*now = time.Unix(1, 0)
	var list []string
	r.now = func() time.Time { return *now }
	r.log = func(message string, args ...any) {
		list = append(list, fmt.Sprintln(append([]any{message}, args...)...))
	}
	return r, now, func() []string { out := list; list = nil; return out }
}

func TestARefusedClientIsNamedOnceAMinute(t *testing.T) {
	p := New(10, 1)
	r, now, logged := lines(p)
	p.Take("192.0.2.1:1")
	for range 5 {
		r.Add("192.0.2.1:2")
	}
	list := logged()
	if len(list) != 1 || !strings.Contains(list[0], "192.0.2.1/32") || !strings.Contains(list[0], "limit 1") {
		t.Errorf("lines: %q", list)
	}
	*now = now.Add(refusalsEvery)
	r.Add("192.0.2.1:3")
	if list := logged(); len(list) != 1 || !strings.Contains(list[0], "refused 5") {
		t.Errorf("lines a minute later: %q", list)
	}
	if r.Count() != 6 {
		t.Errorf("%d are counted", r.Count())
	}
}

func TestALogLineDistinguishesTheTotalLimitFromThatOfAClient(t *testing.T) {
	p := New(1, 1)
	r, _, logged := lines(p)
	p.Take("192.0.2.1:1")
	r.Add("192.0.2.2:1")
	if list := logged(); len(list) != 1 || !strings.Contains(list[0], "all clients together") {
		t.Errorf("lines: %q", list)
	}
}

func TestManyRefusedClientsMakeFewLines(t *testing.T) {
	p := New(1000, 0)
	r, now, logged := lines(p)
	flood := func() {
		for i := range 1000 {
			r.Add(fmt.Sprintf("10.0.%d.%d:1", i/250, i%250))
		}
	}
	flood()
	if n := len(logged()); n != refusalsMost {
		t.Errorf("%d lines", n)
	}
	*now = now.Add(refusalsEvery)
	flood()
	if n := len(logged()); n != refusalsMost || len(r.said) > refusalsMost {
		t.Errorf("%d lines a minute later, %d clients are remembered", n, len(r.said))
	}
}

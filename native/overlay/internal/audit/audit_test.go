package audit

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func open(t *testing.T, dir string, now func() time.Time) *Log {
	t.Helper()
	l, err := Open(dir, now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

func read(t *testing.T, dir, node string, most int) []Entry {
	t.Helper()
	list, err := Read(dir, node, most)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestEntriesOfBothFilesAreReadInTheirOrder(t *testing.T) {
	dir, at := t.TempDir(), time.Now()
	l := open(t, dir, func() time.Time { at = at.Add(time.Second); return at })
	for _, e := range []Entry{{Event: Joined, Node: "a"}, {Event: Connected, Node: "a"}, {Event: Joined, Node: "b"}, {Event: Revoked, Node: "a", Text: "stolen"}} {
		l.Add(e)
	}
	var got []string
	for _, e := range read(t, dir, "", 100) {
		got = append(got, e.Event+" "+e.Node)
	}
	if want := "joined a, connected a, joined b, revoked a"; strings.Join(got, ", ") != want {
		t.Errorf("%s, not %s", strings.Join(got, ", "), want)
	}
	if list := read(t, dir, "a", 2); len(list) != 2 || list[1].Text != "stolen" || list[0].Event != Connected {
		t.Errorf("the newest two of a: %+v", list)
	}
	for _, name := range []string{changesFile, sessionsFile} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", name, info, err)
		}
	}
	if list := read(t, t.TempDir(), "", 10); len(list) != 0 {
		t.Errorf("an empty folder has %+v", list)
	}
}

func TestFilesAreBoundedAndSessionsPushNoJoinOut(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, nil)
	l.Add(Entry{Event: Joined, Node: "a"})
	text := strings.Repeat("x", 1000)
	for range 3 * MaxBytes / 1000 {
		l.Add(Entry{Event: Connected, Node: "b", Text: text})
	}
	total := int64(0)
	for _, name := range []string{sessionsFile, sessionsFile + ".1"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Size() > MaxBytes {
			t.Fatal(name, info, err)
		}
		total += info.Size()
	}
	if total <= MaxBytes {
		t.Errorf("%d bytes are kept: the file that was full is lost", total)
	}
	if list := read(t, dir, "a", 10); len(list) != 1 || list[0].Event != Joined {
		t.Errorf("%+v", list)
	}
}

func TestRefusalsOfAMinuteAreBoundedAndCounted(t *testing.T) {
	dir, at := t.TempDir(), time.Now()
	l := open(t, dir, func() time.Time { return at })
	for range RefusalsEach + 5 {
		l.Add(Entry{Event: Refused, From: "192.0.2.1"})
	}
	at = at.Add(time.Minute)
	l.Add(Entry{Event: Refused, From: "192.0.2.2"})
	list := read(t, dir, "", 1000)
	if last := list[len(list)-1]; len(list) != RefusalsEach+1 || last.LeftOut != 5 || last.From != "192.0.2.2" {
		t.Errorf("%d entries, the last is %+v", len(list), last)
	}
}

func TestACutLineCostsOneEntry(t *testing.T) {
	dir := t.TempDir()
	for i, cut := range []string{`{"time":"2026-01-0`, "\x00\xff", strings.Repeat("y", 2*maxLine), `[1]`, `{}`} {
		path := filepath.Join(dir, changesFile)
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(cut); err != nil {
			t.Fatal(err)
		}
		f.Close()
		l := open(t, dir, nil)
		l.Add(Entry{Event: Joined, Node: fmt.Sprint(i)})
		l.Close()
		if list := read(t, dir, "", 100); len(list) != i+1 || list[i].Node != fmt.Sprint(i) {
			t.Errorf("after %.20q: %+v", cut, list)
		}
	}
}

func TestAFailedWriteIsCountedAndTheNextOneTriesAgain(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, nil)
	l.changes.f.Close() // as a disk that fails
	l.Add(Entry{Event: Joined, Node: "a"})
	if l.Failures() != 1 || l.Failing() == nil {
		t.Errorf("%d failures, %v", l.Failures(), l.Failing())
	}
	l.Add(Entry{Event: Joined, Node: "b"})
	if list := read(t, dir, "", 10); l.Failures() != 1 || l.Failing() != nil || len(list) != 1 || list[0].Node != "b" {
		t.Errorf("%d failures, %+v", l.Failures(), list)
	}
}

// Package audit records what happens to the nodes of a network, in two files of JSON lines in the state folder:
//
//	audit.jsonl     invited, withdrawn, joined, renewed, revoked, suspended, resumed, policy, rotated
//	sessions.jsonl  connected, disconnected, twice (two programs use one identity), refused (a join or renewal)
//
// Each file has at most MaxBytes. A full one becomes FILE.1, in place of the previous FILE.1. Connections and refusals have a file
// of their own, so that a node that connects each second, or a stranger, cannot push joins and revocations out.
package audit

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// MaxBytes bounds a file.
	MaxBytes = 4 << 20
	// RefusalsEach bounds the refusals that are recorded in a minute. Others are only counted.
	RefusalsEach = 60

	maxLine    = 4 << 10     // of an entry that Read accepts, in bytes
	complained = time.Minute // minimum time between two log lines about a failed write
)

// Events.
const (
	Invited      = "invited"
	Withdrawn    = "withdrawn"
	Joined       = "joined"
	Renewed      = "renewed"
	Revoked      = "revoked"
	Suspended    = "suspended"
	Resumed      = "resumed"
	Policy       = "policy"
	Rotated      = "rotated"
	Connected    = "connected"
	Disconnected = "disconnected"
	Twice        = "twice"
	Refused      = "refused"
)

// Files of the state folder, by what they have.
const (
	changesFile  = "audit.jsonl"
	sessionsFile = "sessions.jsonl"
)

// Entry is one line.
type Entry struct {
	Time    time.Time `json:"time"`
	Event   string    `json:"event"`
	Node    string    `json:"node,omitempty"` // first label of its name
	From    string    `json:"from,omitempty"` // address
	Version string    `json:"version,omitempty"`
	By      string    `json:"by,omitempty"` // who asked for the change, as that program or command says
	Text    string    `json:"text,omitempty"`
	LeftOut int       `json:"leftOut,omitempty"` // refusals before this entry that were not recorded
}

// Log writes the entries of one state folder. A failed write is counted and logged, and stops nothing.
//
// Thread safety: all methods may be called concurrently.
type Log struct {
	now      func() time.Time
	failures atomic.Uint64

	mu         sync.Mutex
	changes    file
	sessions   file
	failing    error // of the last write
	complained time.Time
	minute     time.Time // begin of the minute that refusals counts
	refusals   int
	leftOut    int
}

// Open opens the files of a state folder. now may be nil.
func Open(dir string, now func() time.Time) (*Log, error) {
	if now == nil {
		now = time.Now
	}
	l := &Log{now: now, changes: file{path: filepath.Join(dir, changesFile)}, sessions: file{path: filepath.Join(dir, sessionsFile)}}
	if err := errors.Join(l.changes.open(), l.sessions.open()); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// Close closes the files.
func (l *Log) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changes.close()
	l.sessions.close()
}

// Failures returns the number of entries that could not be written.
func (l *Log) Failures() uint64 { return l.failures.Load() }

// Failing returns why the last entry could not be written, or nil.
func (l *Log) Failing() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failing
}

// Add writes an entry with the present time. An entry about a change is on the disk when Add returns.
func (l *Log) Add(e Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	e.Time = now.UTC().Truncate(time.Millisecond)
	if e.Event == Refused && !l.mayRefuse(now, &e) {
		return
	}
	to, durable := &l.changes, true
	switch e.Event {
	case Connected, Disconnected, Twice, Refused:
		to, durable = &l.sessions, false
	}
	line, err := json.Marshal(e)
	if err == nil {
		err = to.write(append(line, '\n'), durable)
	}
	l.failing = err
	if err == nil {
		return
	}
	l.failures.Add(1)
	if since := now.Sub(l.complained); since >= complained || since < 0 {
		l.complained = now
		slog.Error("the audit log cannot be written", "error", err, "missing", l.failures.Load())
	}
}

// mayRefuse is true if this minute's refusals leave room for one more. REQUIRES: l.mu.
func (l *Log) mayRefuse(now time.Time, e *Entry) bool {
	if since := now.Sub(l.minute); since >= time.Minute || since < 0 {
		l.minute, l.refusals = now, 0
	}
	if l.refusals >= RefusalsEach {
		l.leftOut++
		return false
	}
	l.refusals++
	e.LeftOut, l.leftOut = l.leftOut, 0
	return true
}

// file is one of the files, open for appending.
type file struct {
	path string
	f    *os.File
	size int64
}

func (f *file) open() error {
	var err error
	if f.f, err = os.OpenFile(f.path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600); err != nil {
		return err
	}
	info, err := f.f.Stat()
	if err != nil {
		return err
	}
	if f.size = info.Size(); f.size == 0 {
		return nil
	}
	last := make([]byte, 1)
	if _, err := f.f.ReadAt(last, f.size-1); err != nil {
		return err
	}
	if last[0] == '\n' {
		return nil
	}
	return f.append([]byte("\n")) // a crash has cut the last line
}

func (f *file) close() {
	if f.f != nil {
		_ = f.f.Close()
		f.f = nil
	}
}

func (f *file) append(b []byte) error {
	n, err := f.f.Write(b)
	f.size += int64(n)
	return err
}

// write appends a line. A file that it could not open before is opened again.
func (f *file) write(line []byte, durable bool) error {
	if f.f == nil {
		if err := f.open(); err != nil {
			f.close()
			return err
		}
	}
	if f.size+int64(len(line)) > MaxBytes {
		f.close()
		if err := errors.Join(os.Rename(f.path, f.path+".1"), f.open()); err != nil {
			f.close()
			return err
		}
	}
	if err := f.append(line); err != nil {
		f.close() // open ends the line that may be incomplete
		return err
	}
	if durable {
		return f.f.Sync()
	}
	return nil
}

// Read returns the newest entries of a state folder, oldest first: at most most, and those of one node unless node is
// empty. It skips what is no entry. The service need not run.
func Read(dir, node string, most int) ([]Entry, error) {
	var list []Entry
	for _, name := range []string{changesFile, sessionsFile} {
		for _, path := range []string{filepath.Join(dir, name+".1"), filepath.Join(dir, name)} {
			err := each(path, func(e Entry) {
				if node == "" || e.Node == node {
					list = append(list, e)
				}
			})
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
		}
	}
	slices.SortStableFunc(list, func(a, b Entry) int { return cmp.Compare(a.Time.UnixMilli(), b.Time.UnixMilli()) })
	return list[max(0, len(list)-most):], nil
}

// each calls take with the entries of a file, of at most MaxBytes.
func each(path string, take func(Entry)) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(make([]byte, 0, maxLine), MaxBytes)
	for lines.Scan() {
		var e Entry
		if b := lines.Bytes(); len(b) <= maxLine && json.Unmarshal(b, &e) == nil && e.Event != "" {
			take(e)
		}
	}
	return lines.Err()
}

package auth

import (
	"sync"
	"time"
)

const maxFailureRows = 10000 // client addresses that are counted at once

// failures counts refused requests of each client address in windows of fixed length.
type failures struct {
	limit  int
	window time.Duration
	now    func() time.Time
	mu     sync.Mutex
	since  time.Time
	count  map[string]int
}

func newFailures(limit int, window time.Duration, now func() time.Time) *failures {
	return &failures{limit: limit, window: window, now: now, count: map[string]int{}}
}

func (f *failures) turn() {
	if now := f.now(); now.Sub(f.since) >= f.window || now.Before(f.since) || len(f.count) >= maxFailureRows {
		f.since, f.count = now, map[string]int{}
	}
}

func (f *failures) over(client string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.turn()
	return f.count[client] >= f.limit
}

func (f *failures) add(client string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.turn()
	f.count[client]++
}

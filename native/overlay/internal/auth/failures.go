package auth

import (
	"container/list"
	"sync"
	"time"
)

const maxFailureRows = 10000 // clients that are counted at once; a further one replaces the oldest

// failures counts the refused requests of each client. A client's window begins with its first refused request.
//
// Thread safety: all methods may be called concurrently.
type failures struct {
	limit  int
	window time.Duration
	now    func() time.Time
	mu     sync.Mutex
	rows   map[string]*list.Element // of *failureRow
	order  *list.List               // the oldest window first
}

type failureRow struct {
	client string
	since  time.Time
	count  int
}

func newFailures(limit int, window time.Duration, now func() time.Time) *failures {
	return &failures{limit: limit, window: window, now: now, rows: map[string]*list.Element{}, order: list.New()}
}

// row returns the client's row of the present window, or nil. REQUIRES: f.mu.
func (f *failures) row(client string, now time.Time) *failureRow {
	e := f.rows[client]
	if e == nil {
		return nil
	}
	r := e.Value.(*failureRow)
	if now.Sub(r.since) >= f.window || now.Before(r.since) { // the clock may step back
		f.drop(e)
		return nil
	}
	return r
}

func (f *failures) drop(e *list.Element) {
	delete(f.rows, e.Value.(*failureRow).client)
	f.order.Remove(e)
}

func (f *failures) over(client string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.row(client, f.now())
	return r != nil && r.count >= f.limit
}

func (f *failures) add(client string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	if r := f.row(client, now); r != nil {
		r.count++
		return
	}
	if len(f.rows) >= maxFailureRows {
		f.drop(f.order.Front())
	}
	f.rows[client] = f.order.PushBack(&failureRow{client, now, 1})
}

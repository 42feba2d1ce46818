package quota

import (
	"log/slog"
	"net/netip"
	"sync"
	"time"
)

const (
	// refusalsEvery is the least time between two lines of the log about the same client.
	refusalsEvery = time.Minute
	// refusalsMost bounds the clients about which the log has a line in that time; refusals of others are only counted.
	refusalsMost = 64
)

// Refusals counts and logs what exceeds a quota. Thread safety: all methods may be called concurrently.
type Refusals struct {
	quota *Quota
	what  string // in the plural
	log   func(message string, args ...any)
	now   func() time.Time
	mu    sync.Mutex
	count uint64
	said  map[netip.Prefix]*report // the zero prefix stands for all clients
}

// report is the last line about a client.
type report struct {
	at    time.Time
	since uint64 // refusals since that line
}

// NewRefusals logs what exceeds the quota. what names it in the plural, such as "connections to the relay".
func NewRefusals(p *Quota, what string) *Refusals {
	return &Refusals{quota: p, what: what, log: slog.Warn, now: time.Now, said: map[netip.Prefix]*report{}}
}

// Add counts that the client at the address "host:port" got no place, and logs it once a minute for each client.
func (r *Refusals) Add(from string) {
	client := ClientOf(from)
	ofClient := r.quota.full(client)
	about := client
	if !ofClient {
		about = netip.Prefix{}
	}
	since, speak := r.note(about)
	switch {
	case !speak:
	case ofClient:
		r.log(r.what+" are refused: this client has reached the limit of one client", "client", client.String(), "limit", r.quota.each, "refused", since)
	default:
		r.log(r.what+" are refused: all clients together have reached the limit", "from", from, "limit", r.quota.all, "refused", since)
	}
}

// note counts a refusal. With speak true, a line is due, and since is the number of refusals since the last one.
func (r *Refusals) note(about netip.Prefix) (since uint64, speak bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count++
	now := r.now()
	last := r.said[about]
	if last == nil {
		if len(r.said) >= refusalsMost && !r.forget(now) {
			return 0, false
		}
		last = &report{}
		r.said[about] = last
	}
	last.since++
	if !last.at.IsZero() && now.Sub(last.at) < refusalsEvery {
		return 0, false
	}
	since, last.at, last.since = last.since, now, 0
	return since, true
}

// forget drops clients whose next line may come at once. It returns false if there are none.
func (r *Refusals) forget(now time.Time) (some bool) {
	for client, last := range r.said {
		if now.Sub(last.at) >= refusalsEvery {
			delete(r.said, client)
			some = true
		}
	}
	return some
}

// Count returns the number of refusals so far.
func (r *Refusals) Count() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count
}

// full is true if the client has as many places as one client may have.
func (p *Quota) full(client netip.Prefix) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.by[client] >= p.each
}

// Package names resolves the names of the overlay. A Table holds what this node knows; what it does not know it asks from the node services,
// which is also what begins the connection. Serve answers DNS queries for the network's domain at the node's virtual address, and SplitDNS makes
// systemd-resolved ask there. /etc/resolv.conf is never changed.
//
// Thread safety: all functions may be called from any goroutine.
package names

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"seganet.internal/overlay/internal/wire"
)

// Limits of a Table.
const (
	MaxNames   = 16384            // names in all; more are refused
	MaxMissing = 1024             // names that are known not to exist
	MissingFor = 5 * time.Second  // how long that is remembered
	AskTimeout = 3 * time.Second  // for an answer of the node services
	MaxAsking  = 64               // questions to the node services at once; more wait
	AnswerTTL  = 30 * time.Second // of an answer by DNS
)

// Record is a name with its virtual addresses, IPv6 first.
type Record struct {
	Name      string // full name
	Addresses []netip.Addr
}

// ErrUnknown is the error of Resolve for a name that does not exist.
var ErrUnknown = errors.New("no node or device has this name")

// Table maps names to addresses and back.
type Table struct {
	// Ask gets the records of the node that has the name, or ErrUnknown. Nil: only known names resolve. Set it before the first use.
	Ask func(ctx context.Context, name string) ([]Record, error)

	domain string // of the network, without dots around
	mu     sync.RWMutex
	names  map[string][]netip.Addr
	addrs  map[netip.Addr]string
	owned  map[string][]Record // by owner
	miss   map[string]time.Time
	asking map[string]*question
}

type question struct {
	done    chan struct{}
	records []Record
	err     error
}

// NewTable makes the table of a network. domain is "<network>.seganet.internal".
func NewTable(domain string) *Table {
	return &Table{domain: Normal(domain), names: map[string][]netip.Addr{}, addrs: map[netip.Addr]string{}, owned: map[string][]Record{},
		miss: map[string]time.Time{}, asking: map[string]*question{}}
}

// Domain returns the network's domain without a final dot.
func (t *Table) Domain() string { return t.domain }

// Normal returns a name in lower case without its final dot.
func Normal(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }

// Full completes a name of the network: "hub", "hub.plant" and the full name are the same.
func (t *Table) Full(name string) (string, error) {
	name = Normal(name)
	network := strings.TrimSuffix(t.domain, "."+wire.Domain)
	switch {
	case strings.HasSuffix(name, "."+wire.Domain):
	case strings.HasSuffix(name, "."+network):
		name += "." + wire.Domain
	default:
		name += "." + t.domain
	}
	if !strings.HasSuffix(name, "."+t.domain) {
		return "", fmt.Errorf("the name %.80q is not of this network, whose names end with .%s", name, t.domain)
	}
	if _, err := wire.ParseFQDN(name); err != nil {
		return "", err
	}
	return name, nil
}

// Set replaces the records of an owner, which is a peer's name. It refuses names outside the network, names and addresses of another owner, and
// more than MaxNames. On an error nothing changes.
func (t *Table) Set(owner string, records []Record) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	copied := make([]Record, 0, len(records))
	old := t.owned[owner]
	mine := func(name string) bool {
		return slices.ContainsFunc(old, func(r Record) bool { return r.Name == name })
	}
	for _, r := range records {
		name := Normal(r.Name)
		if !strings.HasSuffix(name, "."+t.domain) {
			return fmt.Errorf("the name %.300q does not end with .%s", name, t.domain)
		}
		if _, taken := t.names[name]; taken && !mine(name) {
			return fmt.Errorf("the name %s belongs to another node", name)
		}
		for _, a := range r.Addresses {
			if other, taken := t.addrs[a]; taken && !mine(other) {
				return fmt.Errorf("the address %s of %s belongs to %s", a, name, other)
			}
		}
		copied = append(copied, Record{name, slices.Clone(r.Addresses)})
	}
	if len(t.names)-len(old)+len(copied) > MaxNames {
		return fmt.Errorf("the table of names is full: the limit is %d names", MaxNames)
	}
	t.drop(owner)
	for _, r := range copied {
		t.names[r.Name] = r.Addresses
		delete(t.miss, r.Name)
		for _, a := range r.Addresses {
			t.addrs[a] = r.Name
		}
	}
	t.owned[owner] = copied
	return nil
}

// Remove drops the records of an owner.
func (t *Table) Remove(owner string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.drop(owner)
}

func (t *Table) drop(owner string) {
	for _, r := range t.owned[owner] {
		delete(t.names, r.Name)
		for _, a := range r.Addresses {
			delete(t.addrs, a)
		}
	}
	delete(t.owned, owner)
}

// Lookup returns the addresses of a full name that is known here.
func (t *Table) Lookup(name string) ([]netip.Addr, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	a, ok := t.names[Normal(name)]
	return a, ok
}

// Reverse returns the name of an address that is known here.
func (t *Table) Reverse(a netip.Addr) (string, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	name, ok := t.addrs[a]
	return name, ok
}

// Resolve returns the addresses of a name, which may be short. It asks the node services for an unknown one.
func (t *Table) Resolve(ctx context.Context, name string) ([]netip.Addr, error) {
	full, err := t.Full(name)
	if err != nil {
		return nil, err
	}
	var records []Record
	for asked := false; !asked && err == nil; {
		if a, ok := t.Lookup(full); ok {
			return a, nil
		}
		records, asked, err = t.ask(ctx, full)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", full, err)
	}
	for _, r := range records {
		if Normal(r.Name) == full {
			return r.Addresses, nil
		}
	}
	return nil, fmt.Errorf("%s: %w", full, ErrUnknown)
}

// ask asks each name once at a time, and remembers for a moment what does not exist. While MaxAsking names are being asked, it
// waits for one of the answers instead and returns false: the answer for a device has its node's other devices, too.
func (t *Table) ask(ctx context.Context, name string) (records []Record, asked bool, err error) {
	t.mu.Lock()
	if at, missing := t.miss[name]; missing && time.Since(at) < MissingFor || t.Ask == nil {
		t.mu.Unlock()
		return nil, true, ErrUnknown
	}
	q := t.asking[name]
	asked = q != nil || len(t.asking) < MaxAsking
	switch {
	case q != nil:
	case asked:
		q = &question{done: make(chan struct{})}
		t.asking[name] = q
		go t.put(name, q)
	default:
		for _, q = range t.asking {
			break
		}
	}
	t.mu.Unlock()
	select {
	case <-q.done:
		if !asked {
			return nil, false, nil
		}
		return q.records, true, q.err
	case <-ctx.Done():
		return nil, asked, ctx.Err()
	}
}

func (t *Table) put(name string, q *question) {
	ctx, cancel := context.WithTimeout(context.Background(), AskTimeout)
	defer cancel()
	q.records, q.err = t.Ask(ctx, name)
	t.mu.Lock()
	delete(t.asking, name)
	if errors.Is(q.err, ErrUnknown) {
		t.remember(name)
	}
	t.mu.Unlock()
	close(q.done)
}

func (t *Table) remember(name string) {
	if len(t.miss) >= MaxMissing {
		for n, at := range t.miss {
			if time.Since(at) >= MissingFor {
				delete(t.miss, n)
			}
		}
		if len(t.miss) >= MaxMissing {
			return
		}
	}
	t.miss[name] = time.Now()
}

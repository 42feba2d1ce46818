package paths

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// raceUDP, raceTCP and raceTLS are the delays after which race asks the relays of each transport. The first relay
	// that answers wins: by UDP that is the nearest one.
	raceUDP = 0
	raceTCP = 500 * time.Millisecond
	raceTLS = 800 * time.Millisecond
	// raceLimit bounds one attempt.
	raceLimit = 4 * time.Second
	// raceLate is how long an attempt then waits for the error of each request.
	raceLate = 200 * time.Millisecond
	// relayRetryFirst and relayRetryMost bound the pause between attempts. There is no last attempt.
	relayRetryFirst = 250 * time.Millisecond
	relayRetryMost  = 10 * time.Second
	// relayCheckBusy and relayCheckIdle are how often the allocation is checked.
	relayCheckBusy = 600 * time.Millisecond
	relayCheckIdle = 30 * time.Second
	// relayCheckLimit is how long an answer may take.
	relayCheckLimit = 800 * time.Millisecond
	// relayKeptRetry is the pause between attempts while the previous allocation still works.
	relayKeptRetry = 30 * time.Second
	// relayLinger is how long a replaced allocation keeps receiving: peers send there until they know the new address.
	relayLinger = 2 * time.Second
	// relayOther bounds the pause while the node has a relayed address of the other IP version: the relays may support
	// only that one.
	relayOther = 5 * time.Minute
	// relayUnneeded is how long an on-demand allocation is kept after it was last needed.
	relayUnneeded = time.Minute
	// raceByName is the delay of the request to the IPv6 address of a server's name after that to its IPv4 address.
	raceByName = 100 * time.Millisecond
	// relayBetter is the time after which a node that reaches its relay by TCP or TLS retries UDP.
	relayBetter = 5 * time.Minute
)

// relay keeps one allocation of one IP version open as long as there are servers and it is needed.
type relay struct {
	family  family
	needed  func() bool   // nil: always
	failed  func()        // called if an attempt has failed, or a relay has no such address; may be nil
	other   func() bool   // this node has a relayed address of the other IP version; nil: there is no such
	woken   chan struct{} // needed may have changed
	deliver func([]byte, netip.AddrPort)
	changed func(a *Allocation, why string) // nil: none at the moment
	busy    func() bool                     // data flows by the relay
	silent  func()                          // the relay does not answer
	refused atomic.Bool                     // a relay has no address of this version, and none was granted since
	recheck chan struct{}                   // asks hold to check the allocation at once

	mu      sync.Mutex
	turn    TURN
	current *Allocation
	again   chan string // a reason to open another one
	last    error
	leaving map[*Allocation]*time.Timer // replaced ones
}

func newRelay(deliver func([]byte, netip.AddrPort), busy func() bool, changed func(*Allocation, string)) *relay {
	return &relay{family: four, woken: make(chan struct{}, 1), deliver: deliver, changed: changed, busy: busy, silent: func() {}, again: make(chan string, 1),
		recheck: make(chan struct{}, 1), leaving: map[*Allocation]*time.Timer{}}
}

// set replaces servers and credentials. The allocation stays if its server is still there and the user is the same: new
// credentials of the same server do not end a path.
func (r *relay) set(t TURN) {
	r.mu.Lock()
	stay := r.current != nil && slices.Contains(t.Servers, r.current.Server) && t.User == r.turn.User && t.Password == r.turn.Password
	r.turn = t
	r.mu.Unlock()
	if !stay {
		r.reopen("the node service named relays")
	}
}

// reopen opens another allocation, as after a change of address.
func (r *relay) reopen(why string) {
	select {
	case r.again <- why:
	default:
	}
}

// check makes hold check the allocation within relayCheckBusy. It does not wait.
func (r *relay) check() {
	select {
	case r.recheck <- struct{}{}:
	default:
	}
}

// wake makes run check at once whether an allocation is needed, and end its pause between attempts.
func (r *relay) wake() {
	select {
	case r.woken <- struct{}{}:
	default:
	}
}

func (r *relay) isNeeded() bool { return r.needed == nil || r.needed() }

// note records the error of the last attempt; nil clears it.
func (r *relay) note(err error) {
	r.mu.Lock()
	r.last = err
	r.mu.Unlock()
	if err != nil && r.failed != nil {
		r.failed()
	}
}

func (r *relay) allocation() *Allocation {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.current
}

func (r *relay) servers() TURN {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.turn
}

func (r *relay) hasFailed() bool { return r.failure() != nil || r.refused.Load() }

func (r *relay) failure() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}

// run opens allocations until ctx ends. Nothing else ends it (CYPHONIC notes §2.2: a relay that was given up once stayed
// lost for hours).
func (r *relay) run(ctx context.Context) {
	defer r.leave()
	defer r.replace(nil, "shut down")
	why := ""
	pause := time.Duration(relayRetryFirst)
	for ctx.Err() == nil {
		select { // a reopen request up to this point is served by this attempt
		case why = <-r.again:
		default:
		}
		t := r.servers()
		if len(t.Servers) == 0 || !r.isNeeded() {
			if len(t.Servers) > 0 {
				r.replace(nil, "no peer needs it")
				r.note(nil)
			}
			select {
			case <-ctx.Done():
			case why = <-r.again:
			case <-r.woken:
				why = "it is needed"
			}
			pause = relayRetryFirst
			continue
		}
		a, err := r.race(ctx, t)
		if err != nil {
			if ctx.Err() == nil {
				r.note(err)
			}
			if old := r.allocation(); old != nil && ctx.Err() == nil && old.Check(relayCheckLimit) == nil {
				pause = relayRetryFirst
				if other := r.hold(ctx, old, relayKeptRetry); other != "" {
					why = other
				}
				continue
			}
			r.replace(nil, err.Error())
			select {
			case <-ctx.Done():
			case why = <-r.again:
				pause = relayRetryFirst
			case <-r.woken:
				pause = relayRetryFirst
			case <-time.After(pause):
				most := relayRetryMost
				if r.other != nil && r.other() {
					most = relayOther
				}
				pause = min(pause*2, most)
			}
			continue
		}
		pause = relayRetryFirst
		r.replace(a, why)
		why = r.hold(ctx, a, 0)
	}
}

// replace puts an allocation into force; nil is none. The previous allocation keeps receiving for relayLinger.
func (r *relay) replace(a *Allocation, why string) {
	r.mu.Lock()
	old := r.current
	r.current = a
	if a != nil {
		r.last = nil
		r.refused.Store(false)
	}
	r.mu.Unlock()
	if old == a {
		return
	}
	r.changed(a, why)
	switch {
	case old == nil:
	case a == nil:
		old.Close()
	default:
		r.linger(old)
	}
}

func (r *relay) linger(a *Allocation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leaving[a] = time.AfterFunc(relayLinger, func() {
		r.mu.Lock()
		delete(r.leaving, a)
		r.mu.Unlock()
		a.Close()
	})
}

// leave gives the replaced allocations back at once.
func (r *relay) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for a, t := range r.leaving {
		if t.Stop() {
			a.Close()
		}
	}
	clear(r.leaving)
}

// hold checks the allocation until another one is needed, and returns the reason. It returns "" after limit; 0 is no
// limit.
func (r *relay) hold(ctx context.Context, a *Allocation, limit time.Duration) string {
	tick := time.NewTicker(relayCheckBusy)
	defer tick.Stop()
	var late <-chan time.Time
	if limit > 0 {
		late = time.After(limit)
	}
	checked, opened, rechecking := time.Now(), time.Now(), false
	needed := time.Now()
	for {
		every := time.Duration(relayCheckIdle)
		select {
		case <-ctx.Done():
			return "shut down"
		case why := <-r.again:
			return why
		case <-late:
			return ""
		case <-a.Dead():
			r.silent()
			return "the connection to the relay ended"
		case <-r.recheck:
			rechecking, every = true, relayCheckBusy
		case now := <-tick.C:
			if a.Server.Transport != TransportUDP && now.Sub(opened) > relayBetter {
				if b := r.tryUDP(ctx); b != nil {
					r.replace(b, "UDP passes again")
					a, opened = b, now
				} else {
					opened = now
				}
			}
			if r.busy() || rechecking {
				every = 0
			}
			if r.isNeeded() {
				needed = now
			} else if now.Sub(needed) > relayUnneeded {
				return "no peer needs it"
			}
		}
		if time.Since(checked) < every {
			continue
		}
		checked, rechecking = time.Now(), false
		if err := a.Check(relayCheckLimit); err != nil {
			r.silent()
			a.kill() // if no other one is granted, this one is not kept
			return err.Error()
		}
	}
}

func (r *relay) tryUDP(ctx context.Context) *Allocation {
	t := r.servers()
	t.Servers = slices.DeleteFunc(slices.Clone(t.Servers), func(s Server) bool { return s.Transport != TransportUDP })
	if len(t.Servers) == 0 {
		return nil
	}
	a, err := r.race(ctx, t)
	if err != nil {
		return nil
	}
	return a
}

// race asks all servers, UDP first, and keeps the first allocation that is granted. Requests in flight continue, and an
// allocation that they obtain later is released. Otherwise each one would stay at its relay for ten minutes, and a
// relay limits the allocations of a node.
func (r *relay) race(ctx context.Context, t TURN) (*Allocation, error) {
	ctx, cancel := context.WithTimeout(ctx, raceLimit)
	waiting, taken := context.WithCancel(ctx) // ends when one is granted
	defer taken()
	type result struct {
		a   *Allocation
		err error
	}
	wishes := r.wishes(t)
	results := make(chan result, len(wishes))
	for _, w := range wishes {
		go func() {
			delay := map[Transport]time.Duration{TransportUDP: raceUDP, TransportTCP: raceTCP, TransportTLS: raceTLS}[w.Transport]
			if w.by == six {
				delay += raceByName
			}
			select {
			case <-time.After(delay):
			case <-waiting.Done():
			}
			if err := waiting.Err(); err != nil {
				results <- result{nil, err}
				return
			}
			a, err := openAllocation(ctx, w, t, r.deliver)
			if errors.Is(err, errFamily) && r.failed != nil {
				r.refused.Store(true)
				r.failed() // the others may take long
			}
			results <- result{a, err}
		}()
	}
	left := len(wishes)
	forget := func() { // others may be granted at the same moment, or later
		defer cancel()
		for range left {
			if late := <-results; late.a != nil {
				late.a.Close()
			}
		}
	}
	var errs []error
	ended, late := ctx.Done(), (<-chan time.Time)(nil)
	for left > 0 {
		select {
		case <-ended:
			ended, late = nil, time.After(raceLate)
		case <-late: // something of the system did not heed the limit
			go forget()
			return nil, fmt.Errorf("no relay answers within %v: %w", raceLimit, errors.Join(errs...))
		case res := <-results:
			left--
			if res.err != nil {
				errs = append(errs, res.err)
				continue
			}
			go forget()
			return res.a, nil
		}
	}
	cancel()
	return nil, fmt.Errorf("no relay answers: %w", errors.Join(errs...))
}

// wishes lists the requests of race. A name may have an address of each IP version, only one of which is reachable.
// TCP's dialer finds out which; for UDP, race asks both.
func (r *relay) wishes(t TURN) (list []wish) {
	for _, s := range t.Servers {
		if _, err := netip.ParseAddr(s.Host); err == nil || s.Transport != TransportUDP {
			list = append(list, wish{s, 0, r.family})
			continue
		}
		list = append(list, wish{s, four, r.family}, wish{s, six, r.family})
	}
	return list
}

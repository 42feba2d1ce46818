package paths

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// settle is how long Watch waits after a message before it looks, because an address and its route change one after
	// the other.
	settle = 30 * time.Millisecond
	// pollEvery is how often Watch looks without a message from the kernel, and retries a lost subscription.
	pollEvery = 30 * time.Second
)

// Watch calls changed, with a description of the change, whenever the host's addresses or default routes have changed.
// It returns when ctx ends, or with an error if netlink cannot be used. ignore reports interfaces and addresses of the
// overlay itself: the overlay's own TUN comes and goes.
func Watch(ctx context.Context, ignore func(name string, a netip.Addr) bool, changed func(what string)) error {
	return watch(ctx, subscribe, func() []string { return Snapshot(ignore) }, changed)
}

func watch(ctx context.Context, open func() (*subscription, error), snapshot func() []string, changed func(what string)) error {
	sub, err := open()
	if err != nil {
		return fmt.Errorf("cannot watch the network: %w. A change of address is noticed by silence only", err)
	}
	defer func() { sub.close() }()
	last := snapshot()
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	pending := false // the timer runs
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-sub.notices:
			if !pending { // a stream of messages must not postpone the look
				pending = true
				timer.Reset(settle)
			}
		case <-sub.lost: // for example because the socket's buffer overflowed
			sub.close()
			if sub, err = open(); err != nil {
				sub = &subscription{}
			}
			pending = true
			timer.Reset(settle)
		case <-poll.C:
			if sub.notices == nil {
				if again, err := open(); err == nil {
					sub = again
				}
			}
			pending = true
			timer.Reset(0)
		case <-timer.C:
			pending = false
			now := snapshot()
			if what := difference(last, now); what != "" {
				last = now
				changed(what)
			}
		}
	}
}

// subscription gets the kernel's messages about addresses, links and routes. The zero value gets none.
type subscription struct {
	notices chan struct{} // something has changed
	lost    chan struct{} // closed when no messages come any more
	done    chan struct{}
	once    sync.Once
}

func (s *subscription) close() {
	if s.done != nil {
		close(s.done)
		s.done = nil
	}
}

// difference names what is in one list and not in the other; it is empty if the lists are equal.
func difference(before, after []string) string {
	var out []string
	for _, a := range after {
		if !slices.Contains(before, a) {
			out = append(out, "new "+a)
		}
	}
	for _, b := range before {
		if !slices.Contains(after, b) {
			out = append(out, b+" is gone")
		}
	}
	return strings.Join(out, ", ")
}

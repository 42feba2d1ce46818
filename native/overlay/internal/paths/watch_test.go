package paths

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"seganet.internal/overlay/internal/busytest"
)

// host is a host whose addresses a test changes, with the kernel's messages about it.
type host struct {
	mu    sync.Mutex
	state []string
	looks int
	opens int
	fail  bool // no further subscription
	subs  []*subscription
}

func (h *host) snapshot() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.looks++
	return h.state
}

func (h *host) open() (*subscription, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.opens++
	if h.fail {
		return nil, errors.New("no netlink")
	}
	s := &subscription{notices: make(chan struct{}, 1), lost: make(chan struct{}), done: make(chan struct{})}
	h.subs = append(h.subs, s)
	return s, nil
}

func (h *host) watch(t *testing.T) (changes chan string) {
	changes = make(chan string, 16)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := watch(ctx, h.open, h.snapshot, func(what string) { changes <- what }); err != nil {
			t.Error(err)
		}
	}()
	t.Cleanup(func() { cancel(); <-ended })
	return changes
}

// get returns a field that watch changes.
func (h *host) get(f func() int) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return f()
}

func (h *host) eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for start := time.Now(); ; time.Sleep(time.Millisecond) {
		h.mu.Lock()
		done := f()
		h.mu.Unlock()
		if done {
			return
		}
		if time.Since(start) > busytest.Limit(30*time.Second) {
			t.Fatalf("not within 30 s: %s", what)
		}
	}
}

func receive(t *testing.T, c <-chan string) string {
	t.Helper()
	select {
	case s := <-c:
		return s
	case <-time.After(busytest.Limit(30 * time.Second)):
		t.Fatal("no change was reported")
		return ""
	}
}

func TestAWatchContinuesAfterNetlinkHasFailed(t *testing.T) {
	h := &host{state: []string{"address 192.0.2.1 at eth0"}}
	changes := h.watch(t)
	h.eventually(t, "the first look", func() bool { return h.looks == 1 })
	h.mu.Lock()
	h.state = []string{"address 192.0.2.2 at eth0"} // its message is lost with the subscription
	close(h.subs[0].lost)
	h.mu.Unlock()
	if got := receive(t, changes); got != "new address 192.0.2.2 at eth0, address 192.0.2.1 at eth0 is gone" {
		t.Errorf("%q", got)
	}
	h.eventually(t, "another subscription", func() bool { return h.opens == 2 })
	h.mu.Lock()
	h.state = nil
	h.subs[1].notices <- struct{}{}
	h.mu.Unlock()
	if got := receive(t, changes); got != "address 192.0.2.2 at eth0 is gone" {
		t.Errorf("%q", got)
	}
	if looks := h.get(func() int { return h.looks }); looks > 4 {
		t.Errorf("%d looks at the host for two changes", looks)
	}
}

func TestAWatchWithoutNetlinkDoesNotSpin(t *testing.T) {
	h := &host{}
	h.watch(t)
	h.eventually(t, "the first look", func() bool { return h.looks == 1 })
	h.mu.Lock()
	h.fail = true
	close(h.subs[0].lost)
	h.mu.Unlock()
	h.eventually(t, "a look after the loss", func() bool { return h.looks == 2 })
	time.Sleep(5 * settle)
	if looks, opens := h.get(func() int { return h.looks }), h.get(func() int { return h.opens }); looks != 2 || opens != 2 {
		t.Errorf("%d looks, %d subscriptions", looks, opens)
	}
}

func TestAStreamOfMessagesDoesNotDelayTheCheck(t *testing.T) {
	h := &host{}
	changes := h.watch(t)
	h.eventually(t, "the first look", func() bool { return h.looks == 1 })
	end := make(chan struct{})
	var sender sync.WaitGroup
	sender.Add(1)
	go func() {
		defer sender.Done()
		for {
			select {
			case <-end:
				return
			case h.subs[0].notices <- struct{}{}:
				time.Sleep(settle / 10)
			}
		}
	}()
	h.mu.Lock()
	h.state = []string{"address 192.0.2.1 at eth0"}
	h.mu.Unlock()
	receive(t, changes)
	close(end)
	sender.Wait()
}

package paths_test

import (
	"encoding/json"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"seganet.internal/overlay/internal/bind"
	"seganet.internal/overlay/internal/paths"
	"seganet.internal/overlay/internal/wire"
)

// stuckTunnel is an engine whose sender can be stuck, as with a relay by TCP that no longer reads.
type stuckTunnel struct {
	paths.Tunnel
	mu      sync.Mutex
	stuck   chan struct{} // SendControl waits for it; nil: it does not wait
	waiting int
	most    int      // calls at once
	signals []string // kinds of the signals, in order
	dropped int      // sessions
}

func (s *stuckTunnel) DropSession(key bind.Key) {
	s.mu.Lock()
	s.dropped++
	s.mu.Unlock()
	s.Tunnel.DropSession(key)
}

func (s *stuckTunnel) SendControl(to bind.Key, self netip.Addr, message []byte) bool {
	s.mu.Lock()
	var signal struct {
		Kind string `json:"kind"`
	}
	if json.Unmarshal(message[2:], &signal) == nil { // another message has no JSON
		s.signals = append(s.signals, signal.Kind)
	}
	stuck := s.stuck
	s.waiting++
	s.most = max(s.most, s.waiting)
	s.mu.Unlock()
	if stuck != nil {
		<-stuck
	}
	sent := s.Tunnel.SendControl(to, self, message)
	s.mu.Lock()
	s.waiting--
	s.mu.Unlock()
	return sent
}

// stick makes a's sender stuck until the function that it returns is called, and begins a round without a node service. It
// returns when the sender is stuck.
func stick(t *testing.T) (a, b *node, s *stuckTunnel, free func()) {
	t.Helper()
	h := &hub{nodes: map[string]*node{}}
	s = &stuckTunnel{}
	a = newNode(t, h, "a", 1, nodeOptions{paths: func(c *paths.Config) { s.Tunnel = c.Tunnel; c.Tunnel = s }})
	b = newNode(t, h, "b", 2, nodeOptions{})
	a.know(t, b)
	b.know(t, a)
	ping(t, a, b, patience)
	eventually(t, patience, "direct", func() bool { return a.isDirect(b) && b.isDirect(a) })
	h.set(true)
	stuck := make(chan struct{})
	var once sync.Once
	free = func() { once.Do(func() { close(stuck) }) }
	t.Cleanup(free) // before the nodes end
	eventually(t, patience, "no call of the engine", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.waiting > 0 {
			return false
		}
		s.stuck, s.signals, s.most = stuck, nil, 0
		return true
	})
	go a.paths.NetworkChanged("a test") // begins a round, whose offer goes inside the session
	eventually(t, patience, "a call of the engine", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.waiting > 0
	})
	return a, b, s, free
}

func TestAStuckSenderDelaysNothingElse(t *testing.T) {
	a, b, _, _ := stick(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.paths.Status()
		a.paths.Awake(b.name)
		a.paths.Add("c", [32]byte{1})
		a.paths.Remove("c")
	}()
	select {
	case <-done:
	case <-time.After(patience):
		t.Error("other calls wait for the sender")
	}
}

func TestSignalsInsideTheSessionKeepTheirOrder(t *testing.T) {
	_, _, s, free := stick(t)
	time.Sleep(100 * time.Millisecond) // candidates are found meanwhile
	free()
	eventually(t, patience, "the offer and a candidate", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return slices.Contains(s.signals, wire.SignalOffer) && slices.Contains(s.signals, wire.SignalCandidate)
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.signals[0] != wire.SignalOffer {
		t.Errorf("a candidate overtook its offer: %v", s.signals)
	}
	if s.most != 1 {
		t.Errorf("%d calls for one peer ran at once", s.most)
	}
}

// A node that renewed its certificate may be removed and be added again with the same key.
func TestCallsThatWaitForAPeerEndWithIt(t *testing.T) {
	a, b, s, free := stick(t)
	a.paths.Idle(b.name)
	eventually(t, patience, "sleep", func() bool { return !a.paths.Awake(b.name) })
	a.paths.Remove(b.name)
	a.paths.Add(b.name, b.public)
	free()
	for start := time.Now(); time.Since(start) < 300*time.Millisecond; time.Sleep(10 * time.Millisecond) {
		s.mu.Lock()
		dropped := s.dropped
		s.mu.Unlock()
		if dropped > 0 {
			t.Fatal("a call for the removed peer ended the session of the one that was added")
		}
	}
}

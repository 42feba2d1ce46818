package paths

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"seganet.internal/overlay/internal/bind"
	"seganet.internal/overlay/internal/busytest"
)

// keptRelay runs a relay's client. It returns its announcements, and a function that ends it.
func keptRelay(t *testing.T, options ...func(*relay)) (r *relay, announced chan *Allocation, end func()) {
	t.Helper()
	announced = make(chan *Allocation, 16)
	r = newRelay(noPacket, func() bool { return false }, func(a *Allocation, _ string) { announced <- a })
	for _, o := range options {
		o(r)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); r.run(ctx) }()
	end = func() { cancel(); <-done }
	t.Cleanup(end)
	return r, announced, end
}

func next(t *testing.T, announced chan *Allocation) *Allocation {
	t.Helper()
	select {
	case a := <-announced:
		return a
	case <-time.After(busytest.Limit(20 * time.Second)):
		t.Fatal("no allocation is announced")
		return nil
	}
}

func TestAnAllocationStaysWhileNoOtherOneIsGranted(t *testing.T) {
	_, at := testRelay(t, &fakeNetwork{})
	r, announced, _ := keptRelay(t)
	r.set(TURN{Servers: []Server{at}, User: testUser, Password: testPassword})
	a := next(t, announced)
	r.set(TURN{Servers: []Server{at}, User: testUser, Password: "wrong"})
	for start := time.Now(); r.failure() == nil; time.Sleep(5 * time.Millisecond) {
		if time.Since(start) > busytest.Limit(20*time.Second) {
			t.Fatal("the wrong password was taken")
		}
	}
	select {
	case b := <-announced:
		t.Fatalf("announced after a failed attempt: %+v", b)
	case <-time.After(relayCheckLimit + 200*time.Millisecond):
	}
	if r.allocation() != a || a.Check(10*time.Second) != nil {
		t.Fatal("the previous allocation does not work")
	}
	r.set(TURN{Servers: []Server{at}, User: testUser + "2", Password: testPassword})
	if b := next(t, announced); b == nil || b == a || r.failure() != nil {
		t.Fatalf("after the right password: %+v, %v", b, r.failure())
	}
}

// The side that only answers rarely checks its allocation. An offer of the peer may mean that the relay has forgotten
// it.
func TestARecheckFindsAnAllocationThatTheRelayHasForgotten(t *testing.T) {
	s, at := testRelay(t, &fakeNetwork{})
	var silent atomic.Int32
	r, announced, _ := keptRelay(t, func(r *relay) { r.silent = func() { silent.Add(1) } })
	r.set(TURN{Servers: []Server{at}, User: testUser, Password: testPassword})
	a := next(t, announced)
	// The servers may have come while the first allocation was being opened, which opens another one.
	for settled := false; !settled; {
		select {
		case c := <-announced:
			if c != nil {
				a = c
			}
		case <-time.After(relayCheckBusy):
			settled = true
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	testRelayAt(t, &fakeNetwork{}, at.Address())
	time.Sleep(relayCheckBusy)
	r.check()
	start := time.Now()
	for b := a; b == a || b == nil; b = next(t, announced) {
		if time.Since(start) > relayCheckIdle/2 {
			t.Fatal("the allocation is not checked")
		}
	}
	if d := time.Since(start); d > relayCheckIdle/3 {
		t.Errorf("another allocation came %v after the recheck", d)
	}
	if silent.Load() == 0 {
		t.Error("the silence was not reported")
	}
}

func TestAPeerThatIsSilentAfterItsDataIsBusyForAMinute(t *testing.T) {
	second := int64(time.Second)
	b := bind.New()
	p := &peer{endpoint: b.Endpoint(bind.Key{1}, true)}
	for _, c := range []struct {
		name          string
		last, now     int64
		metered, busy bool
	}{
		{"no data ever", 0, 100 * second, false, false},
		{"data just now", 100 * second, 104 * second, true, true},
		{"silence since the data", 100 * second, 150 * second, false, true},
		{"the same by a metered link", 100 * second, 150 * second, true, false},
		{"a long silence", 100 * second, 161 * second, false, false},
	} {
		p.lastData.Store(c.last)
		p.lastSent.Store(c.last)
		if got := p.busy(c.now, c.metered); got != c.busy {
			t.Errorf("%s: %v", c.name, got)
		}
		if got := p.active(c.now); got != (c.name == "data just now") {
			t.Errorf("%s: active %v", c.name, got) // memory is given back meanwhile
		}
	}
	p.lastData.Store(110 * second)
	p.lastSent.Store(0)
	if p.busy(150*second, false) {
		t.Error("a peer that only sends is rechecked after its last packet")
	}
}

func TestAReplacedAllocationReceivesForAWhile(t *testing.T) {
	s, at := testRelay(t, &fakeNetwork{})
	r, announced, _ := keptRelay(t)
	r.set(TURN{Servers: []Server{at}, User: testUser, Password: testPassword})
	a := next(t, announced)
	r.set(TURN{Servers: []Server{at}, User: testUser + "2", Password: testPassword})
	next(t, announced)
	replaced := time.Now()
	if err := a.Check(10 * time.Second); err != nil && time.Since(replaced) < relayLinger/2 {
		t.Fatalf("the previous allocation: %v", err)
	}
	for s.AllocationCount() > 1 {
		if time.Since(replaced) > busytest.Limit(20*time.Second) {
			t.Fatal("the previous allocation stays")
		}
		time.Sleep(5 * time.Millisecond)
	}
	if d := time.Since(replaced); d < relayLinger/2 {
		t.Errorf("the previous allocation ended after %v", d)
	}
}

func TestCloseReleasesReplacedAllocations(t *testing.T) {
	s, at := testRelay(t, &fakeNetwork{})
	r, announced, end := keptRelay(t)
	for _, user := range []string{testUser, testUser + "2"} {
		r.set(TURN{Servers: []Server{at}, User: user, Password: testPassword})
		next(t, announced)
	}
	end()
	noneLeft(t, s, "the relay")
}

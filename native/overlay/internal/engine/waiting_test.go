package engine

import (
	"testing"
	"time"
)

func TestWaitingPacketsAreBounded(t *testing.T) {
	w := newWaiting(1024, 128)
	if w.most != 11 {
		t.Fatalf("%d peers may wait", w.most)
	}
	now := time.Unix(1_800_000_000, 0)
	burst := func(n, packets int) (admitted int) {
		w.begin()
		for range packets {
			if w.admit(Key{byte(n)}, now) {
				admitted++
			}
		}
		return admitted
	}
	for n := range w.most {
		if got := burst(n, 128); got != waitingFirst {
			t.Fatalf("%d packets of the first batch of peer %d wait", got, n)
		}
		if got := burst(n, 128); got != 1 {
			t.Fatalf("%d packets of the second batch of peer %d wait", got, n)
		}
	}
	if burst(200, 1) != 0 {
		t.Error("one peer too many has packets that wait")
	}
	w.connected(Key{1})
	if burst(200, 3) != 3 || burst(201, 1) != 0 {
		t.Error("a peer that has a session does not give its place to one other")
	}
	now = now.Add(waitingLife)
	if burst(0, 1) != 1 || burst(201, 1) != 0 {
		t.Error("a peer has the place of packets that still wait")
	}
	now = now.Add(time.Second)
	if burst(201, 1) != 1 || len(w.peers) != 2 {
		t.Errorf("%d peers after the end of the others' packets", len(w.peers))
	}
}

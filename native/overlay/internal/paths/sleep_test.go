package paths_test

import (
	"testing"
	"time"

	"seganet.internal/overlay/internal/paths"
)

// sleep puts both sides of a pair to sleep. REQUIRES: no TCP, whose late acknowledgments are data.
func sleep(t *testing.T, a, b *node) {
	t.Helper()
	a.paths.Idle(b.name)
	b.paths.Idle(a.name)
	eventually(t, patience, "both sleep without a session", func() bool {
		return a.status(b).Sleeping && b.status(a).Sleeping && !a.engine.Active(b.public) && !b.engine.Active(a.public)
	})
}

func TestASleepingPeerAnswersWhileTheServicesAreDown(t *testing.T) {
	for name, relayed := range map[string]bool{"by its direct address": false, "by its relay": true} {
		t.Run(name, func(t *testing.T) {
			a, b, h := pair(t, nodeOptions{relayOnly: relayed})
			if relayed {
				r := newRelay(t, "127.0.0.1:0", true, true)
				a.paths.SetTURN(r.turn(t, "udp"))
				b.paths.SetTURN(r.turn(t, "udp"))
			}
			ping(t, a, b, patience)
			eventually(t, patience, "connected", func() bool { return relayed || a.isDirect(b) && b.isDirect(a) })
			h.set(true)
			sleep(t, a, b)
			rtt, _ := ping(t, a, b, patience)
			t.Logf("awake, %v", rtt)
			eventually(t, patience, "the previous path on both sides", func() bool {
				return relayed && a.status(b).Path == "relay" && b.status(a).Path == "relay" || a.isDirect(b) && b.isDirect(a)
			})
		})
	}
}

func TestAnOfferWakesAPeer(t *testing.T) {
	a, b, _ := pair(t, nodeOptions{})
	ping(t, a, b, patience)
	sleep(t, a, b)
	a.paths.Connect(b.name)
	eventually(t, patience, "direct without data", func() bool { return a.isDirect(b) && b.isDirect(a) })
}

// A pair without data must come to rest, regardless of which side wakes the other last.
func TestARousedPeerWithoutDataLetsTheOtherOneSleep(t *testing.T) {
	a, b, _ := relayedPair(t, true)
	eventually(t, patience, "both know their NAT, which an offer reports", func() bool {
		return a.paths.Node().NAT != paths.NATUnknown && b.paths.Node().NAT != paths.NATUnknown
	})
	sleep(t, a, b)
	ping(t, a, b, patience) // a ping is no data for b
	a.paths.Idle(b.name)
	eventually(t, patience, "a sleeps", func() bool { return a.status(b).Sleeping })
	if b.status(a).Sleeping {
		t.Fatal("b sleeps already")
	}
	for start := time.Now(); time.Since(start) < 2*time.Second; time.Sleep(10 * time.Millisecond) {
		b.paths.Due(a.name)
		if !a.status(b).Sleeping {
			t.Fatalf("b woke a after %v: %v", time.Since(start), a.status(b).LastChanges)
		}
	}
}

func TestAMeteredNodeHasARelayWhileAPeerIsAwake(t *testing.T) {
	a, b, _ := pair(t, nodeOptions{relayOnly: true, paths: func(c *paths.Config) { c.Metered = true }})
	r := newRelay(t, "127.0.0.1:0", true, true)
	a.paths.SetTURN(r.turn(t, "udp"))
	b.paths.SetTURN(r.turn(t, "udp"))
	time.Sleep(50 * time.Millisecond) // a request would take a millisecond
	for _, n := range []*node{a, b} {
		if s := n.paths.Node(); !s.RelayResting || s.RelayAddress != "" || s.RelayError != "" {
			t.Errorf("%s has the relay %q without a peer, error %q", n.name, s.RelayAddress, s.RelayError)
		}
	}
	for range 2 {
		ping(t, a, b, patience)
		for _, n := range []*node{a, b} {
			if s := n.paths.Node(); s.RelayResting || s.RelayAddress == "" {
				t.Errorf("%s has no relay while its peer is awake", n.name)
			}
		}
		sleep(t, a, b)
		eventually(t, patience, "no relay is needed", func() bool { return a.paths.Node().RelayResting && b.paths.Node().RelayResting })
	}
}

package paths

import (
	"net/netip"
	"testing"
	"time"

	"seganet.internal/overlay/internal/bind"
)

var (
	relayAt  = netip.MustParseAddrPort("192.0.2.1:49152")
	directAt = netip.MustParseAddrPort("198.51.100.7:5000")
	start    = int64(time.Hour)
)

func after(d time.Duration) int64 { return start + int64(d) }

func TestSTUNAloneMakesNoDirectPath(t *testing.T) {
	c := choice{relay: relayAt}
	c.tryDirect(directAt, start)
	for d := time.Duration(0); d < 3*time.Second; d += tickBusy {
		c.step(after(d), bind.Traffic{HeardRelay: after(d)}, after(d), KeepEvery)
	}
	if c.direct.IsValid() || c.trial.IsValid() || !c.unproven {
		t.Fatalf("%+v", c)
	}
}

func TestAPathIsDirectWhenBothSidesReceiveData(t *testing.T) {
	for _, c := range []struct {
		name               string
		receives, received bool
		wantPromotion      bool
	}{{"neither", false, false, false}, {"only this side receives", true, false, false}, {"only the peer receives", false, true, false}, {"both", true, true, true}} {
		p := choice{relay: relayAt}
		p.tryDirect(directAt, start)
		tr := bind.Traffic{}
		if c.receives {
			tr.HeardDirect = after(50 * time.Millisecond)
		}
		if c.received {
			p.reported(report{direct: true}, after(60*time.Millisecond))
		}
		e := p.step(after(100*time.Millisecond), tr, after(0), KeepEvery)
		if e.promoted != c.wantPromotion || p.direct.IsValid() != c.wantPromotion {
			t.Errorf("%s: %+v", c.name, e)
		}
	}
}

func TestASilentDirectPathIsAbandonedInTime(t *testing.T) {
	for _, active := range []bool{true, false} {
		c := choice{relay: relayAt, direct: directAt, directSince: start}
		var left time.Duration
		for d := time.Duration(0); d < 2*time.Minute && left == 0; d += tickBusy {
			last := int64(1)
			if active {
				last = after(d)
			}
			if e := c.step(after(d), bind.Traffic{HeardDirect: start, SentDirect: after(d)}, last, KeepEvery); e.changed {
				left = d
				if e.report == nil || e.report.direct || !e.search {
					t.Errorf("%+v", e)
				}
			}
		}
		limit := LostAfter
		if !active {
			limit = IdleLost*KeepEvery + LostAfter
		}
		if left < limit || left > limit+2*tickBusy || c.trial != directAt {
			t.Errorf("active %v: left after %v, limit %v", active, left, limit)
		}
	}
}

func TestAnOldDirectPathEndsAfterItsGrace(t *testing.T) {
	c := choice{relay: relayAt, direct: directAt, directSince: start}
	c.distrust(start)
	if p := c.path(); !p.Both || p.Direct != directAt || p.Relay != relayAt || p.Trial != directAt {
		t.Errorf("%+v", p)
	}
	if e := c.step(after(0), bind.Traffic{}, 0, KeepEvery); !e.ask || !e.probe {
		t.Errorf("an idle peer is not asked: %+v", e)
	}
	if e := c.step(after(Grace-tickBusy), bind.Traffic{}, after(0), KeepEvery); !c.direct.IsValid() || !e.probe {
		t.Fatalf("before the grace ended: %+v", e)
	}
	if e := c.step(after(Grace), bind.Traffic{}, after(0), KeepEvery); c.direct.IsValid() || e.report == nil || e.report.direct {
		t.Fatalf("after the grace: %+v", e)
	}
	c = choice{relay: relayAt, direct: directAt, directSince: start}
	c.distrust(start)
	received := bind.Traffic{HeardDirect: after(time.Millisecond)}
	if c.step(after(graceLeast-tickBusy), received, after(0), KeepEvery); !c.distrusted() {
		t.Fatal("no time for the peer's probes")
	}
	if e := c.step(after(graceLeast), received, after(0), KeepEvery); !c.direct.IsValid() || c.distrusted() || !e.changed || c.path().Both {
		t.Fatalf("a path with new packets: %+v", e)
	}
}

func TestANewRelayAddressOfThePeerDistrustsTheDirectPath(t *testing.T) {
	c := choice{relay: relayAt, direct: directAt, directSince: start}
	if c.moved(bind.Source{Addr: relayAt, Relay: true}, start); c.distrusted() {
		t.Error("the previous relay address")
	}
	if changed, _ := c.moved(bind.Source{Addr: directAt, Relay: true}, start); !changed || !c.distrusted() {
		t.Error("the path is still trusted")
	}
}

func TestThePathFollowsAnAuthenticatedPacket(t *testing.T) {
	other := netip.MustParseAddrPort("203.0.113.9:6000")
	c := choice{relay: relayAt, direct: directAt, directSince: start}
	if changed, _ := c.moved(bind.Source{Addr: other}, start); !changed || c.direct != other {
		t.Errorf("%+v", c)
	}
	if changed, _ := c.moved(bind.Source{Addr: other, Relay: true}, start); !changed || c.relay != other || c.direct != other {
		t.Errorf("a packet by the relay replaced the direct path: %+v", c)
	}
}

// Without a relay, the peer has no other sign that its packets arrive.
func TestAPeerThatSearchesGetsReportsOfItsPackets(t *testing.T) {
	c := choice{direct: directAt, directSince: start}
	long := after(time.Minute)
	received := bind.Traffic{HeardDirect: long, SentDirect: long}
	if e := c.step(long, received, long, KeepEvery); e.report != nil {
		t.Errorf("a needless report: %+v", e.report)
	}
	c.reportUntil = long + int64(time.Second)
	if e := c.step(long, received, long, KeepEvery); e.report == nil || !e.report.direct {
		t.Error("no report")
	}
	late := long + int64(2*time.Second)
	if e := c.step(late, bind.Traffic{HeardDirect: late, SentDirect: late}, late, KeepEvery); e.report != nil {
		t.Error("the reports do not end")
	}
}

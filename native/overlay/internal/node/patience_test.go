package node

import (
	"testing"
	"time"
)

// behind simulates checks through a NAT that forgets connections after a silence. It returns how many connections died.
func (p *patience) behind(forgets time.Duration, checks int) (deaths int) {
	now := time.Unix(1e9, 0)
	for range checks {
		silence := p.interval(patienceMost)
		now = now.Add(silence)
		if silence < forgets {
			p.answered(silence)
			continue
		}
		deaths++
		p.unanswered(silence, now)
		p.connected(now.Add(time.Second))
	}
	return deaths
}

func TestPatienceFindsTheLongestSilenceOfANAT(t *testing.T) {
	for _, forgets := range []time.Duration{45 * time.Second, 61 * time.Second, 2 * time.Minute, 4 * time.Minute, time.Hour} {
		p := patience{metered: true}
		deaths := p.behind(forgets, 30)
		found := p.interval(patienceMost)
		if found >= forgets || found < min(forgets, patienceMost)-2*patienceFine {
			t.Errorf("a NAT that forgets after %v: checks each %v", forgets, found)
		}
		if deaths > 5 {
			t.Errorf("a NAT that forgets after %v: %d connections died", forgets, deaths)
		}
		if more := p.behind(forgets, 100); more > 0 {
			t.Errorf("a NAT that forgets after %v: %d connections died after the search", forgets, more)
		}
	}
}

func TestPatienceEndsAtWhatTheServicesGrant(t *testing.T) {
	p := patience{metered: true}
	if p.behind(time.Hour, 30); p.interval(0) != pingMetered || p.interval(2*time.Minute) != 2*time.Minute {
		t.Errorf("services that grant nothing: %v, 2 minutes: %v", p.interval(0), p.interval(2*time.Minute))
	}
	if p.wish() != patienceMost || (&patience{}).wish() != 0 {
		t.Errorf("a metered node asks for %v, another one for %v", p.wish(), (&patience{}).wish())
	}
}

func TestPatienceBlamesTheSilenceOnlyIfTheNetworkWorks(t *testing.T) {
	p := patience{metered: true}
	now := time.Unix(1e9, 0)
	p.answered(3 * time.Minute)
	p.unanswered(4*time.Minute, now)
	p.connected(now.Add(time.Minute)) // the network was down
	if d := p.interval(patienceMost); d != 270*time.Second {
		t.Errorf("after a break of the network: %v", d)
	}
	p.unanswered(time.Second, now)
	p.connected(now) // busy: no silence
	if d := p.interval(patienceMost); d != 270*time.Second {
		t.Errorf("after a death without a silence: %v", d)
	}
	p.unanswered(2*time.Minute, now)
	p.connected(now) // the NAT has become less patient
	if d := p.interval(patienceMost); d >= 2*time.Minute {
		t.Errorf("after a shorter silence was too long: %v", d)
	}
	p.forget()
	if d := p.interval(patienceMost); d != pingMetered*3/2 {
		t.Errorf("in another network: %v", d)
	}
}

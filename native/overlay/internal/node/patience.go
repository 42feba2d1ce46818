package node

import (
	"sync"
	"time"
)

const (
	// patienceMost is the longest time between two checks. A node whose connection died is out of reach until its next
	// check.
	patienceMost = 5 * time.Minute
	// patienceFine ends the search: closer bounds would save little.
	patienceFine = 20 * time.Second
	// patienceJudged is how soon after the death of a connection another one must work. If it takes longer, the network
	// was down, which has nothing to do with the silence before.
	patienceJudged = 10 * time.Second
)

// patience finds the longest silence that the connection of an idle metered node to the node services survives. NATs and
// firewalls forget silent connections after a time of their own, without notice. So the interval between two checks grows
// while they are answered, and after one that was not, the search goes on between the two intervals.
//
// Thread safety: all methods may be called concurrently.
type patience struct {
	metered bool

	mu        sync.Mutex
	good, bad time.Duration // the longest silence before an answered check, and the shortest before another one; 0: unknown
	suspect   time.Duration // silence before the death of the last connection
	died      time.Time     // of that
}

// wish is the silence that the node asks the services for; 0 if it is not metered.
func (p *patience) wish() time.Duration {
	if !p.metered {
		return 0
	}
	return patienceMost
}

// interval returns the time until the next check. granted is the silence that the services allow, 0 if they do not say.
func (p *patience) interval(granted time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	good := max(p.good, pingMetered)
	if p.bad != 0 {
		good = min(good, max(p.bad/2, p.good, pingIdle))
	}
	next := good + good/2
	switch {
	case p.bad != 0 && p.bad-good <= patienceFine:
		next = good
	case p.bad != 0:
		next = min(next, (good+p.bad)/2)
	}
	return min(next, max(granted, pingMetered))
}

// answered notes that a check after a silence was answered.
func (p *patience) answered(silence time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.good = max(p.good, silence); p.bad != 0 && p.bad <= p.good {
		p.bad = 0 // that connection died of something else
	}
}

// unanswered notes that the connection died during a check after a silence.
func (p *patience) unanswered(silence time.Duration, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.suspect, p.died = silence, now
}

// connected notes that a connection works.
func (p *patience) connected(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.suspect; s >= pingIdle && now.Sub(p.died) < patienceJudged && (p.bad == 0 || s < p.bad) {
		p.bad = s
		if p.good >= s { // the NAT has become less patient
			p.good = 0
		}
	}
	p.suspect = 0
}

// forget begins the search again, because the node is behind another NAT.
func (p *patience) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.good, p.bad, p.suspect = 0, 0, 0
}

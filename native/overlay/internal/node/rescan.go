package node

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"time"

	"seganet.internal/overlay/internal/names"
)

const (
	// rescanMost bounds the nodes that wait to be looked up again.
	rescanMost = 256
	// rescanEvery is the minimum time between two such lookups: the node services throttle a node that asks too often.
	rescanEvery = 50 * time.Millisecond
	// rescanAgain is the pause after a question without an answer. When the node services are reached again, all peers begin
	// rounds, and a full queue of messages takes ten seconds.
	rescanAgain = 5 * time.Second
	// rescanTries bounds the unanswered lookups of one node.
	rescanTries = 3
)

// rescanner repeats the lookup of peers whose certificate was revoked while in use. The authentication service revokes
// old certificates of a node that renews often, and peers may still hold one of these. If the node itself was revoked,
// the node services no longer know it, and all its certificates are on the list.
type rescanner struct {
	woken chan struct{} // something waits, or the node services are reached again
	mu    sync.Mutex
	tries map[string]int // by name, of those that wait
}

func newRescanner() *rescanner {
	return &rescanner{woken: make(chan struct{}, 1), tries: map[string]int{}}
}

// add queues a node. A node beyond rescanMost is not queued; it is looked up when it is next needed.
func (r *rescanner) add(fqdn string) {
	r.mu.Lock()
	if _, waits := r.tries[fqdn]; !waits && len(r.tries) < rescanMost {
		r.tries[fqdn] = 0
	}
	r.mu.Unlock()
	r.wake()
}

func (r *rescanner) wake() {
	select {
	case r.woken <- struct{}{}:
	default:
	}
}

// next returns a node that waits, or "".
func (r *rescanner) next() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for fqdn := range r.tries {
		return fqdn
	}
	return ""
}

// done records a lookup. A node without an answer stays queued for rescanTries lookups.
func (r *rescanner) done(fqdn string, answered bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tries[fqdn]++; answered || r.tries[fqdn] >= rescanTries {
		delete(r.tries, fqdn)
	}
}

// run asks for one node after the other while the node services are reached.
func (r *rescanner) run(ctx context.Context, n *Node) {
	for ctx.Err() == nil {
		fqdn := r.next()
		if fqdn == "" || !n.linked() {
			select {
			case <-ctx.Done():
			case <-r.woken:
			}
			continue
		}
		p, err := n.lookup(ctx, fqdn, netip.Addr{})
		if err == nil {
			n.log.Info("a peer has a newer certificate", "peer", fqdn)
			n.paths.Load().Connect(p.FQDN)
		} else if n.peers.byName(fqdn) != nil && errors.Is(err, names.ErrUnknown) {
			n.removePeer(fqdn)
			n.log.Info("a peer was removed, as the node services do not know it, or the policy allows it nothing with this node any more", "peer", fqdn)
			n.emit("down", fqdn, "the node services do not name it any more")
		} else {
			n.log.Debug("a peer whose certificate was revoked is not found again", "peer", fqdn, "error", err)
		}
		pause, answered := rescanEvery, isAnswer(err)
		if !answered {
			pause = rescanAgain
		}
		r.done(fqdn, answered)
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// isAnswer is false for an error of a lookup that the node services did not answer.
func isAnswer(err error) bool {
	return !errors.Is(err, errNoServices) && !errors.Is(err, errNoAnswer) && !errors.Is(err, errBusy)
}

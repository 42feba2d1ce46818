package node

import "time"

const (
	// pingBusy, pingIdle and pingMetered are how often the connection to the node services is checked; pongLimit is how long
	// an answer may take. An outside address that changes is noticed by that and by the relay's check alone.
	pingBusy    = time.Second
	pingIdle    = 20 * time.Second
	pingMetered = 60 * time.Second
	pongLimit   = 2 * time.Second
	// checkIdle is the time between two checks of an idle node that has a relay: of the connection and of the relay by turns.
	// The relay alone would be checked each 30 s, so this is as much traffic as pingIdle and that, and either of them
	// notices a new outside address for both.
	checkIdle = 12 * time.Second
)

// checks says which check is due. The zero value begins with the connection.
type checks struct{ relay bool }

// next is called when a check is due. It returns which one is, and the time until the next.
func (c *checks) next(busy, metered, hasRelay bool) (relay bool, wait time.Duration) {
	alternates := hasRelay && !busy && !metered
	relay = c.relay && alternates
	c.relay = alternates && !relay
	switch {
	case alternates:
		return relay, checkIdle
	case metered:
		return false, pingMetered
	case busy:
		return false, pingBusy
	}
	return false, pingIdle
}

// doubt has the connection checked at once. It does not wait.
func (n *Node) doubt() {
	select {
	case n.doubts <- struct{}{}:
	default:
	}
}

package node

import "time"

const (
	// pingBusy, pingIdle and pingMetered are the intervals at which the connection to the node services is checked; patience
	// lengthens the last one while the node is idle. pongLimit is how long an answer may take. Only this check and the relay's detect a changed outside address.
	pingBusy    = time.Second
	pingIdle    = 20 * time.Second
	pingMetered = 60 * time.Second
	pongLimit   = 2 * time.Second
	// checkIdle is the time between two checks of an idle node that has a relay. The checks alternate between the
	// connection to the node services and the relay; either detects a new outside address for both. The traffic is the
	// same as that of separate checks, each pingIdle (20 s) for the connection and each 30 s for the relay.
	checkIdle = 12 * time.Second
)

// checks decides which check is due. The zero value begins with the connection.
type checks struct{ relay bool }

// next is called when a check is due. It returns which one is, and the time until the next. resting is that time for an
// idle metered node.
func (c *checks) next(busy, metered, hasRelay bool, resting time.Duration) (relay bool, wait time.Duration) {
	alternates := hasRelay && !busy && !metered
	relay = c.relay && alternates
	c.relay = alternates && !relay
	switch {
	case alternates:
		return relay, checkIdle
	case metered && busy:
		return false, pingMetered
	case metered:
		return false, resting
	case busy:
		return false, pingBusy
	}
	return false, pingIdle
}

// recheck makes write check the connection at once. It does not wait.
func (n *Node) recheck() {
	select {
	case n.rechecks <- struct{}{}:
	default:
	}
}

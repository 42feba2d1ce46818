// Package nodes is the node management service (NMS): nodes connect to it by WebSocket over TLS 1.3 with their
// certificates, look each other up, and exchange the signals from which they build their paths. It pushes revocations,
// policy and roots, and gives credentials for the relay.
//
// All state is soft: a restarted service knows nothing until the nodes connect again and report. It cannot read what
// nodes exchange, and it cannot pose as a node, because peers verify certificates themselves.
//
// Thread safety: Server is safe for concurrent use.
package nodes

import "time"

const (
	// Path is where nodes connect: wss://host/v1/signal.
	Path = "/v1/signal"
	// TURNLife is how long credentials for the relay are valid; new ones come at half of it.
	TURNLife = time.Hour

	maxSessions     = 10000            // connected nodes
	maxDirectory    = 20000            // nodes that are or were connected
	maxQueue        = 256              // frames that wait for a slow node; one more ends its connection
	maxInterest     = 1024             // nodes that one node watches
	messagesASecond = 100              // of one node; it is read more slowly beyond
	messagesAtOnce  = 400              // that a node may send in a burst
	helloEvery      = time.Second      // between two hellos that count; the newest of those between them counts then
	helloTimeout    = 10 * time.Second // from the connection to the first hello
	idleTimeout     = 90 * time.Second // without a message, the node is gone; nodes send pings
	silenceMost     = 5 * time.Minute  // that a metered node may be silent instead
	silenceSlack    = 30 * time.Second // that its ping may be late
	writeTimeout    = 10 * time.Second
	closeTimeout    = time.Second // a node that does not answer the close frame is cut off
)

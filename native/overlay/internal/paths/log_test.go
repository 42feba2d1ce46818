package paths_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"seganet.internal/overlay/internal/paths"
)

// text is a log that may be read while it is written.
type text struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (t *text) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.Write(p)
}

func (t *text) has(words ...string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
lines:
	for _, line := range strings.Split(t.b.String(), "\n") {
		for _, w := range words {
			if !strings.Contains(line, w) {
				continue lines
			}
		}
		return true
	}
	return false
}

// TestCopiesAndOtherRelaysAreLogged is for readers of a log who look for the reason of packets out of order.
func TestCopiesAndOtherRelaysAreLogged(t *testing.T) {
	var log text
	a, b, _ := pair(t, nodeOptions{paths: func(c *paths.Config) {
		c.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})).With("self", c.Self)
	}})
	r := newRelay(t, "127.0.0.1:0", true, true)
	a.paths.SetTURN(r.turn(t, "udp"))
	b.paths.SetTURN(r.turn(t, "udp"))
	stream(t, a, b)(patience)
	eventually(t, patience, "direct", func() bool { return a.isDirect(b) && b.isDirect(a) })
	a.paths.NetworkChanged("a test")
	eventually(t, patience, "copies are logged", func() bool {
		return log.has("self="+a.v6.String(), "msg=path", "peer=b", "copies=true", `why="the network changed"`)
	})
	eventually(t, patience, "the peer's other relay address is logged", func() bool {
		at := a.paths.Node().RelayAddress
		return at != "" && log.has("self="+b.v6.String(), "msg=path", "peer=a", "relay="+at)
	})
}

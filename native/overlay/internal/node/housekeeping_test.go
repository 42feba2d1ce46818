package node_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"seganet.internal/overlay/internal/node"
)

func TestTheCacheIsWrittenOnlyWhenItChanges(t *testing.T) {
	const every = 10 * time.Millisecond
	_, _, hub, gateway := network(t)
	run(t, hub, offerEcho(t))
	g, _ := run(t, gateway, func(o *node.Options) { o.HousekeepingEvery = every })
	eventually(t, "a direct path", func() bool {
		_ = g.Ask("ping", map[string]string{"name": "hub"}, &struct{}{}, 9*time.Second)
		p := status(t, g).Peers
		return len(p) == 1 && p[0].Path == "direct"
	})
	file := filepath.Join(gateway, "peers.json")
	version := func() uint64 { // each writing makes another file
		st, err := os.Stat(file)
		if err != nil {
			return 0
		}
		return st.Sys().(*syscall.Stat_t).Ino
	}
	eventually(t, "the cache names the hub", func() bool {
		text, _ := os.ReadFile(file)
		return strings.Contains(string(text), `"hub.plant.seganet.internal"`)
	})
	eventually(t, "the cache stays as it is", func() bool {
		before := version()
		time.Sleep(10 * every)
		return version() == before
	})
	if st, err := os.Stat(file); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
}

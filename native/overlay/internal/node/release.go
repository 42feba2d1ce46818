package node

import (
	"runtime"
	"runtime/debug"

	"seganet.internal/overlay/internal/pages"
)

// releaseLeast is the number of bytes that an idle node allocates before it gives memory back once more.
const releaseLeast = 1 << 20

// releaser gives memory back to the system while the node is idle. Go alone does so minutes later, and never with the
// buffers that WireGuard holds.
type releaser struct {
	allocated uint64 // by the last release, since the start
	removed   uint64 // peers, by the last release
}

// idle is called again and again while no data flows. It does nothing if little has happened since the last release.
func (r *releaser) idle(n *Node) (released bool) {
	removed := n.engine.Counters.PeersRemoved.Load()
	if removed == r.removed && runtimeFigures().AllocatedBytes < r.allocated+releaseLeast {
		return false
	}
	n.engine.Release()
	runtime.GC() // a pool's content survives one collection, and FreeOSMemory is the second one
	debug.FreeOSMemory()
	if err := pages.DropProgram(); err != nil {
		n.log.Debug("the program's pages stay mapped", "error", err)
	}
	r.removed, r.allocated = removed, runtimeFigures().AllocatedBytes
	return true
}

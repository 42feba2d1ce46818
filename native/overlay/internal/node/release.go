package node

import (
	"runtime"
	"runtime/debug"

	"seganet.internal/overlay/internal/residentmem"
)

// releaseLeast is the number of bytes that an idle node allocates before it gives memory back once more.
const releaseLeast = 1 << 20

// releaser returns memory to the system while the node is idle. Go's runtime does so minutes later, and never for the
// buffers that WireGuard holds.
type releaser struct {
	allocated uint64 // by the last release, since the start
	removed   uint64 // peers, by the last release
}

// idle releases memory, unless no peer was removed and fewer than releaseLeast bytes were allocated since the last
// release. Housekeeping calls it while no data flows.
func (r *releaser) idle(n *Node) (released bool) {
	removed := n.engine.Counters.PeersRemoved.Load()
	if removed == r.removed && runtimeFigures().AllocatedBytes < r.allocated+releaseLeast {
		return false
	}
	n.engine.Release()
	runtime.GC() // a pool's content survives one collection, and FreeOSMemory is the second one
	debug.FreeOSMemory()
	if err := residentmem.DropProgram(); err != nil {
		n.log.Debug("the program's pages stay mapped", "error", err)
	}
	r.removed, r.allocated = removed, runtimeFigures().AllocatedBytes
	return true
}

package node

import "runtime/metrics"

// Runtime is what the program itself takes: the figures 7 and 8 of the paper.
type Runtime struct {
	Goroutines     uint64 `json:"goroutines"`
	HeapBytes      uint64 `json:"heapBytes"`      // of objects, also of those that are garbage now
	AllocatedBytes uint64 `json:"allocatedBytes"` // since the start
	ReleasedBytes  uint64 `json:"releasedBytes"`  // of the heap, given back to the system
}

// runtimeFigures stops no goroutine, so it may be asked for under load.
func runtimeFigures() Runtime {
	names := []string{"/sched/goroutines:goroutines", "/memory/classes/heap/objects:bytes", "/gc/heap/allocs:bytes",
		"/memory/classes/heap/released:bytes"}
	samples := make([]metrics.Sample, len(names))
	for i, name := range names {
		samples[i].Name = name
	}
	metrics.Read(samples)
	figure := func(i int) uint64 {
		if samples[i].Value.Kind() != metrics.KindUint64 {
			return 0 // a later Go may not have it
		}
		return samples[i].Value.Uint64()
	}
	return Runtime{figure(0), figure(1), figure(2), figure(3)}
}

package node

import (
	"runtime"
	"testing"
)

func TestRuntimeFigures(t *testing.T) {
	before := runtimeFigures()
	if before.Goroutines < 2 || before.HeapBytes == 0 || before.AllocatedBytes < before.HeapBytes {
		t.Fatalf("implausible: %+v", before)
	}
	end := make(chan struct{})
	defer close(end)
	for range 100 {
		go func() { <-end }()
	}
	block := make([]byte, 8<<20)
	after := runtimeFigures()
	// Goroutines of tests before this one may end meanwhile.
	if after.Goroutines < 100 || after.AllocatedBytes < before.AllocatedBytes+uint64(len(block)) {
		t.Errorf("before %+v, with 100 goroutines and %d bytes more %+v", before, len(block), after)
	}
	runtime.KeepAlive(block)
}

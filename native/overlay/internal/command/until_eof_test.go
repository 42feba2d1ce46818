package command

import (
	"context"
	"io"
	"testing"
	"time"
)

func TestUntilEOFEndsWithItsInputAndNotBySignals(t *testing.T) {
	in, write := io.Pipe()
	signals, signal := context.WithCancel(context.Background())
	ctx, stop := untilEOF(signals, in)
	defer stop()
	signal()
	if _, err := write.Write([]byte("input is ignored\n")); err != nil {
		t.Fatal(err)
	}
	if ctx.Err() != nil {
		t.Fatal("a signal ended it")
	}
	_ = write.Close()
	select {
	case <-ctx.Done():
	case <-time.After(10 * time.Second):
		t.Fatal("the end of the input did not end it")
	}
}

package control

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"seganet.internal/overlay/internal/busytest"
)

var patience = busytest.Limit(30 * time.Second)

// silent is a node whose dialed connections never answer.
type silent struct {
	Node
	far chan net.Conn
}

func (s *silent) Status(bool) any { return empty{} }

func (s *silent) Dial(context.Context, string, string) (net.Conn, error) {
	a, b := net.Pipe()
	s.far <- b
	return a, nil
}

// flaky is a listener whose first calls fail.
type flaky struct {
	net.Listener
	failures atomic.Int32
}

func (l *flaky) Accept() (net.Conn, error) {
	if l.failures.Add(-1) >= 0 {
		return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
	}
	return l.Listener.Accept()
}

func serveSocket(t *testing.T, failures int32) (path string, n *silent, end context.CancelFunc, done chan error) {
	t.Helper()
	path = filepath.Join(t.TempDir(), SocketFile)
	inner, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	l := &flaky{Listener: inner}
	l.failures.Store(failures)
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	n, done = &silent{far: make(chan net.Conn, 1)}, make(chan error, 1)
	go func() { done <- Serve(ctx, l, n, slog.New(slog.DiscardHandler)) }()
	return path, n, cancel, done
}

func ended(t *testing.T, done <-chan error) {
	t.Helper()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Fatal("Serve does not end")
	}
}

func TestServeContinuesWithoutFreeDescriptors(t *testing.T) {
	path, _, end, done := serveSocket(t, 3)
	c, err := Connect(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Ask("status", nil, &empty{}, patience); err != nil {
		t.Error(err)
	}
	end()
	ended(t, done)
}

func TestServeEndsWhileADialedSideIsSilent(t *testing.T) {
	path, n, end, done := serveSocket(t, 0)
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, `{"id":1,"method":"dial","params":{"to":"hub:1883"}}`+"\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(c).ReadString('\n'); err != nil || line != `{"id":1,"result":{}}`+"\n" {
		t.Fatalf("%q, %v", line, err)
	}
	far := <-n.far
	end()
	ended(t, done)
	_ = far.SetReadDeadline(time.Now().Add(patience))
	if _, err := far.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the dialed side: %v", err)
	}
}

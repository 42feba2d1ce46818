package command

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"seganet.internal/overlay/internal/control"
	"seganet.internal/overlay/internal/identity"
)

// pinged is a node that answers each ping with the result of answer for the number of the ping.
type pinged struct {
	control.Node
	answer func(n int) error
	count  int
}

func (p *pinged) Ping(context.Context, string) (any, error) {
	p.count++
	return map[string]any{"name": "hub", "rttMs": 1, "path": "relay"}, p.answer(p.count)
}

func TestPingSucceedsWithOneAnswer(t *testing.T) {
	lost := errors.New("hub does not answer")
	for name, c := range map[string]struct {
		answer func(int) error
		ends   time.Duration // as by Ctrl-C; 0: never
		want   int
	}{
		"all are answered":             {func(int) error { return nil }, 0, exitOK},
		"the last one is lost":         {func(n int) error { return map[bool]error{true: lost}[n == 3] }, 0, exitOK},
		"all are lost":                 {func(int) error { return lost }, 0, exitFailure},
		"all are lost, until a signal": {func(int) error { return lost }, 50 * time.Millisecond, exitFailure},
	} {
		dir := t.TempDir()
		l, err := control.Listen(dir)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _ = control.Serve(ctx, l, &pinged{answer: c.answer}, slog.New(slog.DiscardHandler)) }()
		pinging, stop := context.WithCancel(ctx)
		every := "1ms"
		if c.ends > 0 {
			every = "10s"
			time.AfterFunc(c.ends, stop)
		}
		var out, errs output
		if code := run(pinging, []string{"ping", "--state", dir, "--count", "3", "--every", every, "hub"}, &out, &errs); code != c.want {
			t.Errorf("%s: ends with %d: %s%s", name, code, out.String(), errs.String())
		}
		stop()
		cancel()
	}
}

func TestJoiningAgainKeepsItsKeysUntilTheNodeHasJoined(t *testing.T) {
	dir := t.TempDir()
	before, pending, err := joinKeys(dir, false)
	if err != nil || pending != "" {
		t.Fatal(pending, err)
	}
	first, pending, err := joinKeys(dir, true)
	if err != nil || filepath.Dir(pending) != dir {
		t.Fatal(pending, err)
	}
	second, _, err := joinKeys(dir, true)
	if err != nil || second.WGPublic() != first.WGPublic() || !second.Identity.Equal(first.Identity) {
		t.Errorf("another attempt has other keys: %v", err)
	}
	if first.WGPublic() == before.WGPublic() {
		t.Error("the keys are not new")
	}
	if now, err := identity.LoadKeys(dir); err != nil || now.WGPublic() != before.WGPublic() {
		t.Errorf("the running node has lost its keys: %v", err)
	}
}

package paths_test

import (
	"testing"
	"time"
)

func TestDirectPathsCanBeDisabledAndEnabled(t *testing.T) {
	a, b, _ := pair(t, nodeOptions{})
	r := newRelay(t, "127.0.0.1:0", true, true)
	a.paths.SetTURN(r.turn(t, "udp"))
	b.paths.SetTURN(r.turn(t, "udp"))
	echo := stream(t, a, b)
	both := func(direct bool) func() bool {
		return func() bool {
			// It fails if an echo is missing: the path changes without a gap, even on a busy machine.
			echo(3 * time.Second)
			return a.isDirect(b) == direct && b.isDirect(a) == direct
		}
	}
	echo(3 * time.Second)
	eventually(t, 5*time.Second, "direct", both(true))
	for range 2 {
		a.paths.SetRelayOnly(true)
		t.Logf("relayed after %v", eventually(t, 10*time.Second, "relayed", both(false)))
		if why := a.status(b).Why; why != "this node is configured to use the relay only" {
			t.Errorf("why: %q", why)
		}
		for start := time.Now(); time.Since(start) < time.Second; {
			if !both(false)() {
				t.Fatal("a direct path was used while they were switched off")
			}
			time.Sleep(20 * time.Millisecond)
		}
		a.paths.SetRelayOnly(false)
		t.Logf("direct again after %v", eventually(t, 15*time.Second, "direct again", both(true)))
	}
}

package node

import (
	"log/slog"
	"net"
	"slices"
	"testing"
	"time"

	"seganet.internal/overlay/internal/busytest"
	"seganet.internal/overlay/internal/servetest"
)

func TestTheServiceThatAnsweredIsTriedFirst(t *testing.T) {
	urls := []string{"a", "b", "c"}
	for best, want := range map[string][]string{"": {"a", "b", "c"}, "b": {"b", "c", "a"}, "c": {"c", "a", "b"}, "gone": {"a", "b", "c"}} {
		if got := inOrder(urls, best); !slices.Equal(got, want) {
			t.Errorf("after %q: %v", best, got)
		}
	}
}

func TestAServiceThatDoesNotAnswerDelaysTheOthersByASecond(t *testing.T) {
	r := servetest.Start(t, servetest.Config(t))
	member := servetest.Join(t, r, "hall-3", nil)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	n, err := open(t.Context(), Options{State: servetest.Save(t, member), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer n.close()
	urls, best := []string{"wss://" + l.Addr().String() + "/v1/signal", member.Nodes[0]}, ""
	for try, limits := range [][2]time.Duration{{dialDelay, servetest.Wait}, {0, busytest.Limit(dialDelay)}} {
		start := time.Now()
		c, url, err := n.dial(t.Context(), inOrder(urls, best), member)
		if err != nil || url != member.Nodes[0] {
			t.Fatalf("%s, %v", url, err)
		}
		c.Close()
		if took := time.Since(start); took < limits[0] || took > limits[1] {
			t.Errorf("attempt %d took %v", try, took)
		}
		best = url
	}
}

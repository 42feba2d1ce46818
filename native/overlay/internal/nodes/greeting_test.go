package nodes

import (
	"net/http"
	"testing"
	"time"
)

func TestTheSilenceOfANodeIsBounded(t *testing.T) {
	for text, want := range map[string]time.Duration{"": 0, "60": time.Minute, "0": 0, "99999": 0, "3600": silenceMost, "-1": 0, "1e3": 0, "300 ": 0, "300": silenceMost} {
		h := http.Header{}
		if text != "" {
			h.Set(headerSilence, text)
		}
		if got := readSilence(h); got != want {
			t.Errorf("%q is %v, not %v", text, got, want)
		}
	}
	g := Greeting{Instance: "x", Silence: 90 * time.Second}
	if got := readSilence(g.header()); got != 90*time.Second {
		t.Errorf("a node that asks for 90 s gets %v", got)
	}
	if h := (Greeting{Instance: "x"}).header(); h.Get(headerSilence) != "" {
		t.Error("a node that is not metered asks for silence")
	}
}

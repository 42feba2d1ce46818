package nodes

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"seganet.internal/overlay/internal/busytest"
)

func TestARefusedConnectionIsClosed(t *testing.T) {
	var open atomic.Int32
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "the certificate is revoked", http.StatusForbidden)
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			open.Add(1)
		case http.StateClosed:
			open.Add(-1)
		}
	}
	s.Start()
	defer s.Close()
	for range 5 {
		_, err := Dial(t.Context(), "ws"+strings.TrimPrefix(s.URL, "http"), nil, Greeting{})
		if err == nil || !strings.Contains(err.Error(), "the certificate is revoked") {
			t.Fatalf("%v", err)
		}
	}
	for start := time.Now(); open.Load() > 0; time.Sleep(time.Millisecond) {
		if time.Since(start) > busytest.Limit(10*time.Second) {
			t.Fatalf("%d connections stay open", open.Load())
		}
	}
}

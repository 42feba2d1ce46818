package serve_test

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"seganet.internal/overlay/internal/serve"
	"seganet.internal/overlay/internal/servetest"
	"seganet.internal/overlay/internal/wire"
)

func get(t *testing.T, r *serve.Running, path string) (int, string) {
	t.Helper()
	res, err := http.Get("http://" + r.MetricsAddr.String() + path)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// awaitPage repeats the request until the page has the line.
func awaitPage(t *testing.T, r *serve.Running, path, line string) {
	t.Helper()
	text := ""
	for start := time.Now(); time.Since(start) < servetest.Wait; time.Sleep(50 * time.Millisecond) {
		if _, text = get(t, r, path); strings.Contains(text, line) {
			return
		}
	}
	t.Fatalf("%s is not in:\n%s", line, text)
}

func TestMetricsCountNodesAndRequests(t *testing.T) {
	c := servetest.Config(t)
	c.Metrics = "127.0.0.1:0"
	r := servetest.Start(t, c)
	a := servetest.Connect(t, servetest.Join(t, r, "a", nil), wire.Hello{})
	servetest.Join(t, r, "b", nil)
	servetest.Join(t, r, "c", nil)
	if err := r.Auth.Revoke(wire.RevokeRequest{Name: "c"}); err != nil {
		t.Fatal(err)
	}
	awaitPage(t, r, "/metrics", `seganet_overlay_network_nodes{state="online"} 1`) // reported within a second
	awaitPage(t, r, "/metrics", `seganet_overlay_network_nodes{state="offline"} 1`)
	awaitPage(t, r, "/metrics", `seganet_overlay_network_nodes{state="revoked"} 1`)
	awaitPage(t, r, "/metrics", `seganet_overlay_requests_total{result="joined"} 3`)
	awaitPage(t, r, "/metrics", "seganet_overlay_service_sessions 1\n")
	awaitPage(t, r, "/metrics", "seganet_overlay_relay_allocations 0\n")
	code, text := get(t, r, "/metrics")
	if code != http.StatusOK || strings.Contains(text, a.Name) && strings.Contains(text, a.FQDN) {
		t.Errorf("%d: %s", code, text)
	}
	sample := regexp.MustCompile(`^(# (HELP|TYPE) .+|[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [0-9.e+]+)$`)
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		if !sample.MatchString(line) {
			t.Errorf("no line of Prometheus: %s", line)
		}
	}
	if n := strings.Count(text, "# TYPE seganet_overlay_network_nodes "); n != 1 {
		t.Errorf("%d types of one metric", n)
	}
	if code, text := get(t, r, "/healthz"); code != http.StatusOK || !strings.Contains(text, `"ok":true`) {
		t.Errorf("%d: %s", code, text)
	}
}

func TestHealthNamesAnAuthenticationServiceThatIsDown(t *testing.T) {
	c := servetest.Config(t)
	c.Roles, c.NodeURLs = []string{serve.RoleAuth}, []string{"wss://127.0.0.1:1/v1/signal"}
	first, err := serve.Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	n := servetest.Config(t)
	n.Dir, n.Roles, n.Metrics = c.Dir, []string{serve.RoleNodes}, "127.0.0.1:0"
	n.AuthURL, n.Root, n.TURNURLs = first.AuthURLs[0], first.Root, []string{"turn:127.0.0.1:1"}
	second := servetest.Start(t, n)
	if code, text := get(t, second, "/healthz"); code != http.StatusOK {
		t.Errorf("%d: %s", code, text)
	}
	first.Close()
	awaitPage(t, second, "/healthz", "authentication service")
	if code, _ := get(t, second, "/healthz"); code != http.StatusServiceUnavailable {
		t.Errorf("a process with a problem answers %d", code)
	}
}

func TestTheMetricsNeedAnAddress(t *testing.T) {
	c := servetest.Config(t)
	c.Metrics = "9464"
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "--metrics 127.0.0.1:9464") {
		t.Error(err)
	}
}

package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"seganet.internal/overlay/internal/version"
)

// metricsLife is how long a page of metrics is used again: a client that asks without a pause costs no more.
const metricsLife = time.Second

// trouble keeps the errors of this process's tasks, by task.
//
// Thread safety: all methods may be called concurrently.
type trouble struct {
	mu   sync.Mutex
	list map[string]string
}

// set records the state of a task; err may be nil.
func (t *trouble) set(task string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil {
		delete(t.list, task)
		return
	}
	if t.list == nil {
		t.list = map[string]string{}
	}
	t.list[task] = task + ": " + err.Error()
}

func (t *trouble) all() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := []string{}
	for _, s := range t.list {
		out = append(out, s)
	}
	return out
}

// Problems returns a sentence for each thing that does not work in this process.
func (r *Running) Problems() []string {
	list := r.trouble.all()
	if r.Auth != nil {
		if err := r.Auth.AuditFailing(); err != nil {
			list = append(list, "the audit log cannot be written: "+err.Error())
		}
	}
	if r.bus != nil && !r.bus.Connected() {
		list = append(list, "NATS is out of reach; this node service works alone")
	}
	return list
}

// serveMetrics serves GET /metrics (Prometheus) and GET /healthz on a port of its own.
func (r *Running) serveMetrics() error {
	l, err := net.Listen("tcp", r.conf.Metrics)
	if err != nil {
		return fmt.Errorf("the metrics: %w. Choose another address with --metrics", err)
	}
	if a, err := netip.ParseAddrPort(l.Addr().String()); err == nil && !a.Addr().IsLoopback() {
		slog.Warn("the metrics have no password, and other machines can read them; a firewall must restrict that", "address", l.Addr())
	}
	r.MetricsAddr = l.Addr()
	mux := http.NewServeMux()
	var mu sync.Mutex
	var page []byte
	var made time.Time
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		if since := time.Since(made); page == nil || since > metricsLife {
			page, made = r.metrics(), time.Now()
		}
		body := page
		mu.Unlock()
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = w.Write(body)
	})
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		problems := r.Problems()
		w.Header().Set("Content-Type", "application/json")
		if len(problems) > 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"ok": len(problems) == 0, "problems": problems})
	})
	r.serve(&http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 5 * time.Second, WriteTimeout: 10 * time.Second,
		IdleTimeout: time.Minute, MaxHeaderBytes: 8 << 10}, l)
	return nil
}

// metrics writes the page. It has numbers only, and no name of a node.
func (r *Running) metrics() []byte {
	var b bytes.Buffer
	add := func(kind, name, help string, value any, labels ...string) {
		name = "seganet_overlay_" + name
		if !bytes.Contains(b.Bytes(), []byte("# HELP "+name+" ")) {
			fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
		}
		if len(labels) > 0 {
			name += "{" + strings.Join(labels, ",") + "}"
		}
		fmt.Fprintf(&b, "%s %v\n", name, value)
	}
	gauge := func(name, help string, value any, labels ...string) { add("gauge", name, help, value, labels...) }
	counter := func(name, help string, value any, labels ...string) { add("counter", name, help, value, labels...) }
	gauge("service_info", "Version of the program.", 1, fmt.Sprintf("version=%q", version.String()))
	gauge("service_start_seconds", "Start of the program, since 1970.", r.started.Unix())
	gauge("service_problems", "Problems that /healthz lists.", len(r.Problems()))
	if r.Auth != nil {
		if f, err := r.Auth.Figures(); err == nil {
			const nodes, joins = "Nodes of the network by state.", "Joins and renewals since the start, by result."
			gauge("network_nodes", nodes, f.Online, `state="online"`)
			gauge("network_nodes", nodes, f.Nodes-f.Online-f.Suspended, `state="offline"`)
			gauge("network_nodes", nodes, f.Suspended, `state="suspended"`)
			gauge("network_nodes", nodes, f.Revoked, `state="revoked"`)
			gauge("network_invitations", "Invitations that have not expired, used ones included.", f.Invitations)
			gauge("network_revoked_certificates", "Certificates on the revocation list, which has room for 1000.", f.RevokedCertificates)
			gauge("network_policy_rules", "Rules of the policy.", f.PolicyRules)
			gauge("network_policy_version", "Version of the policy.", f.PolicyVersion)
			counter("requests_total", joins, f.Joins, `result="joined"`)
			counter("requests_total", joins, f.Renewals, `result="renewed"`)
			counter("requests_total", joins, f.Refused, `result="refused"`)
			counter("suspensions_total", "Nodes that were suspended because two programs used their identity.", f.Suspensions)
			counter("audit_failures_total", "Entries of the audit log that could not be written.", f.AuditFailures)
		}
	}
	if r.Nodes != nil {
		gauge("service_sessions", "Nodes that are connected to this node service.", r.Nodes.Online())
		counter("used_twice_total", "How often two programs were proven to use one identity at once.", r.Nodes.UsedTwice())
	}
	if r.Relay != nil {
		gauge("relay_allocations", "Relayed addresses in use.", r.Relay.Allocations())
		counter("relay_refused_total", "TCP and TLS connections to the relay that were over a limit.", r.Relay.Refused())
	}
	return b.Bytes()
}

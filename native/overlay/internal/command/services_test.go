package command

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// output collects what a command prints while it runs.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// try runs a command line and returns its exit code and both outputs.
func try(args ...string) (int, string, string) {
	var out, errs output
	code := run(context.Background(), args, &out, &errs)
	return code, out.String(), errs.String()
}

// serveInBackground runs "serve" until the test ends.
func serveInBackground(t *testing.T, dir string, more ...string) *output {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var out, errs output
	done := make(chan int, 1)
	go func() {
		done <- run(ctx, append([]string{"serve", "--state", dir, "--network", "plant", "--listen", "127.0.0.1:0", "--relay-listen", "127.0.0.1:0", "--public", "127.0.0.1,localhost"}, more...), &out, &errs)
	}()
	t.Cleanup(func() {
		cancel()
		if code := <-done; code != exitOK {
			t.Errorf("serve ends with %d: %s", code, errs.String())
		}
	})
	for deadline := time.Now().Add(20 * time.Second); !strings.Contains(out.String(), "ready\n"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("serve is not ready: %s %s", out.String(), errs.String())
		}
	}
	return &out
}

func TestFromInvitationToRevocation(t *testing.T) {
	services, node := t.TempDir(), filepath.Join(t.TempDir(), "node")
	if code, _, errs := try("invite", "--state", services, "--name", "hall-3"); code != exitFailure || !strings.Contains(errs, "seganet-overlay serve") {
		t.Errorf("without services: %d %s", code, errs)
	}
	serveInBackground(t, services)
	if info, err := os.Stat(filepath.Join(services, "admin.sock")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the administration socket: %v %v", info, err)
	}
	code, out, errs := try("invite", "--state", services, "--name", "hall-3", "--group", "gateways,hall")
	if strings.Count(out, "--url https://") != 2 {
		t.Errorf("the command does not name both addresses of the services: %s", out)
	}
	line := regexp.MustCompile(`seganet-overlay (join .*)`).FindStringSubmatch(out)
	if code != exitOK || line == nil {
		t.Fatal(code, out, errs)
	}
	args := append(strings.Fields(line[1]), "--state", node, "--device", "pump")
	if code, out, errs = try(args...); code != exitOK || !strings.Contains(out, "hall-3.plant.seganet.internal (fd") || !strings.Contains(out, "Device pump.hall-3.plant") {
		t.Fatal(code, out, errs)
	}
	for _, name := range []string{"identity.key", "wireguard.key", "membership.json"} {
		if info, err := os.Stat(filepath.Join(node, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", name, info, err)
		}
	}
	if code, _, errs = try(args...); code != exitConfiguration || !strings.Contains(errs, "--again") {
		t.Errorf("join twice: %d %s", code, errs)
	}
	if code, _, errs = try(append(args, "--again")...); code != exitFailure || !strings.Contains(errs, "was used") {
		t.Errorf("the token a second time: %d %s", code, errs)
	}
	if code, out, errs = try("revoke", "--state", services, "hall-3"); code != exitOK {
		t.Fatal(code, out, errs)
	}
	_, out, _ = try("invite", "--state", services, "--name", "hall-3", "--group", "gateways,hall")
	line = regexp.MustCompile(`seganet-overlay (join .*)`).FindStringSubmatch(out)
	if line == nil {
		t.Fatal(out)
	}
	// The previous attempt did not use its keys, so this one can.
	if code, out, errs = try(append(strings.Fields(line[1]), "--state", node, "--device", "pump", "--again")...); code != exitOK {
		t.Fatal(code, out, errs)
	}
	if _, err := os.Stat(filepath.Join(node, joiningFolder)); !os.IsNotExist(err) {
		t.Errorf("the keys of a node that has joined are left: %v", err)
	}
	policy := filepath.Join(node, "policy.json")
	if err := os.WriteFile(policy, []byte(`{"version":0,"allow":[{"from":"group:gateways","to":"*","ports":["tcp/8883"]}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, errs = try("policy", "--state", services, "--set", policy); code != exitOK || !strings.Contains(out, " and 1 rules") {
		t.Error(code, out, errs)
	}
	if code, out, _ = try("policy", "--state", services); code != exitOK || !strings.Contains(out, `"tcp/8883"`) {
		t.Error(code, out)
	}
	for line, want := range map[string]struct {
		code int
		text string
	}{
		"hall-3 hall-3 tcp/8883":               {exitOK, "rule 1  group:gateways -> *  tcp/8883"},
		"hall-3 -> pump.hall-3":                {exitOK, "Yes: "},
		"group:hall hall-3 tcp/8883":           {exitFailure, "No: none of the 1 rules"},
		"hall-3 group:new tcp/8000-9000":       {exitFailure, "No: "},
		"hall-3 hall-9":                        {exitFailure, ""},
		"hall-3 valve.hall-3":                  {exitFailure, ""},
		"hall-3 hall-3.plant.seganet.internal": {exitOK, "Yes: "},
	} {
		args := append([]string{"policy", "check", "--state", services}, strings.Fields(line)...)
		if code, out, errs := try(args...); code != want.code || !strings.Contains(out, want.text) {
			t.Errorf("policy check %s: %d %s%s", line, code, out, errs)
		}
	}
	draft := filepath.Join(node, "draft.json")
	if err := os.WriteFile(draft, []byte(`{"version":0,"allow":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, _ := try("policy", "check", "--state", services, "--file", draft, "hall-3 -> hall-3"); code != exitFailure || !strings.Contains(out, "none of the 0 rules") {
		t.Error(code, out)
	}
	if err := os.WriteFile(policy, []byte(`{"allow":[{"from":"everyone","to":"*","ports":["tcp/8883"]}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, errs = try("policy", "--state", services, "--set", policy); code != exitConfiguration || !strings.Contains(errs, "rule 1") {
		t.Error(code, errs)
	}
	if code, out, errs = try("revoke", "--state", services, "--reason", "stolen", "hall-3"); code != exitOK {
		t.Error(code, out, errs)
	}
	if code, out, _ = try("nodes", "--state", services); code != exitOK || !strings.Contains(out, "revoked") || !strings.Contains(out, "stolen") {
		t.Error(code, out)
	}
	if code, _, errs = try("revoke", "--state", services, "hall-4"); code != exitFailure || !strings.Contains(errs, "no node") {
		t.Error(code, errs)
	}
	if code, out, _ = try("policy", "check", "--state", services, "hall-3", "hall-3"); code != exitFailure || !strings.Contains(out, "is revoked") {
		t.Error(code, out)
	}
	code, out, errs = try("audit", "--state", services, "--node", "hall-3")
	for _, event := range []string{"invited .* gateways hall", "joined .*127.0.0.1", "revoked .*stolen"} {
		if code != exitOK || !regexp.MustCompile(event).MatchString(out) {
			t.Errorf("%s is not in the audit log: %s%s", event, out, errs)
		}
	}
	if _, out, _ := try("audit", "--state", services); !strings.Contains(out, "join: The token") || !strings.Contains(out, "1 rules") {
		t.Errorf("a refusal or the policy is not in the audit log: %s", out)
	}
	if _, out, _ := try("audit", "--state", services, "--json", "--last", "1"); strings.Count(out, "\n") != 1 || !strings.Contains(out, `"event":"revoked"`) {
		t.Errorf("the newest entry: %s", out)
	}
	_, out, _ = try("invite", "--state", services, "--name", "hall-8")
	_, list, _ := try("invitations", "--state", services)
	open := regexp.MustCompile(`([0-9a-f]{16})  hall-8`).FindStringSubmatch(list)
	if open == nil {
		t.Fatal(out, list)
	}
	if code, out, errs := try("invitations", "--state", services, "--withdraw", open[1]); code != exitOK {
		t.Error(code, out, errs)
	}
	if code, out, errs := try("invitations", "--state", services, "--withdraw", open[1]); code != exitFailure || !strings.Contains(errs, "no such open invitation") {
		t.Error(code, out, errs)
	}
	if _, out, _ := try("audit", "--state", services, "--node", "hall-8"); !regexp.MustCompile(`withdrawn .*\(by .+\)`).MatchString(out) {
		t.Errorf("the audit log does not say who withdrew an invitation: %s", out)
	}
	if code, out, errs = try("rotate", "--state", services); code != exitOK || !strings.Contains(out, "7 days") {
		t.Error(code, out, errs)
	}
}

func TestTheAdministrationSocketMovesOrIsOff(t *testing.T) {
	moved, socket := t.TempDir(), filepath.Join(t.TempDir(), "a.sock")
	serveInBackground(t, moved, "--admin", socket)
	if code, out, errs := try("nodes", "--admin", socket); code != exitOK {
		t.Error(code, out, errs)
	}
	off := t.TempDir()
	serveInBackground(t, off, "--admin", "off")
	for _, dir := range []string{moved, off} {
		if code, _, errs := try("nodes", "--state", dir); code != exitFailure || !strings.Contains(errs, "--admin") {
			t.Errorf("%d %s", code, errs)
		}
	}
	if code, _, errs := try("serve", "--public", "x", "--admin", "a.sock"); code != exitConfiguration || !strings.Contains(errs, "absolute path") {
		t.Errorf("%d %s", code, errs)
	}
}

func TestUsageErrors(t *testing.T) {
	dir := t.TempDir()
	for line, want := range map[string]int{
		"":                                     exitUsage,
		"--help":                               exitOK,
		"fly":                                  exitUsage,
		"serve --fly":                          exitUsage,
		"serve --state " + dir:                 exitConfiguration,
		"serve --relay-address x":              exitUsage,
		"serve extra":                          exitUsage,
		"invite --name A":                      exitUsage,
		"invite --name a --life 1000h":         exitUsage,
		"revoke":                               exitUsage,
		"revoke a b":                           exitUsage,
		"join":                                 exitUsage,
		"join --url https://x":                 exitUsage,
		"join --url https://x --root sha256:x": exitUsage,
		"join --url https://x --root sha256:x --token-file /nowhere": exitConfiguration,
		"policy --set /nowhere":       exitConfiguration,
		"policy check":                exitUsage,
		"policy check a":              exitUsage,
		"policy check a b tcp/1 x":    exitUsage,
		"policy check a b web":        exitUsage,
		"policy check A b":            exitUsage,
		"policy check --file /no a b": exitConfiguration,
		"audit --last 0":              exitUsage,
		"audit --state " + dir:        exitOK,
	} {
		if code, out, errs := try(strings.Fields(line)...); code != want {
			t.Errorf("%q ends with %d, not %d: %s %s", line, code, want, out, errs)
		}
	}
	for _, c := range all() {
		if code, out, _ := try(append(strings.Fields(c.Name), "--help")...); code != exitOK || !strings.Contains(out, "Example:") || !strings.Contains(out, c.Name) {
			t.Errorf("%s --help: %d %s", c.Name, code, out)
		}
	}
}

func TestPortMappingIsAutoOrOff(t *testing.T) {
	if code, _, errs := try("node", "--state", t.TempDir(), "--port-mapping", "on"); code != exitUsage || !strings.Contains(errs, "write auto or off") {
		t.Errorf("%d: %s", code, errs)
	}
}

func TestTheProgramHasAVersion(t *testing.T) {
	for _, word := range []string{"version", "--version"} {
		if code, out, errs := try(word); code != exitOK || !strings.HasPrefix(out, "seganet-overlay ") || len(strings.Fields(out)) < 3 {
			t.Errorf("%s: %d %q %s", word, code, out, errs)
		}
	}
}

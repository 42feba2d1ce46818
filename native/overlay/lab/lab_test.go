package main

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// testLab returns a lab that ends with the test. more are programs that it needs, and their packages of Debian.
func testLab(t *testing.T, name string, more map[string]string) *lab {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: needs root for network namespaces")
	}
	needs := map[string]string{"ip": "iproute2", "nft": "nftables"}
	maps.Copy(needs, more)
	for program, pack := range needs {
		if _, err := exec.LookPath(program); err == nil {
			continue
		}
		if os.Getenv("SEGANET_REQUIRE_TOOLS") == "1" {
			t.Fatalf("needs %s (Debian: %s), and SEGANET_REQUIRE_TOOLS=1 does not allow skipping", program, pack)
		}
		t.Skipf("SKIPPED: needs %s (Debian: %s)", program, pack)
	}
	program := filepath.Join(t.TempDir(), "seganet-overlay")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Dir, build.Env = "..", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	l, err := newLab(context.Background(), name, program)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		l.end()
		if err := l.crashes(); err != nil {
			t.Error(err)
		}
		l.down()
	})
	return l
}

// TestMain lets the lab run this program as one of its tools, in its namespaces.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && slices.Contains(tools, os.Args[1]) {
		tool(os.Args[1], os.Args[2:])
		return
	}
	os.Exit(m.Run())
}

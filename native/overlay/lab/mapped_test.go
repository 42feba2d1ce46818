package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// TestMain lets the lab run this program as one of its tools, in its namespaces.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && slices.Contains(tools, os.Args[1]) {
		tool(os.Args[1], os.Args[2:])
		return
	}
	os.Exit(m.Run())
}

func TestOneRouterThatMapsPortsMakesSymmetricNATsDirect(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: needs root for network namespaces")
	}
	for program, pack := range map[string]string{"ip": "iproute2", "nft": "nftables", mapperDaemon: "miniupnpd-nftables"} {
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
	l, err := newLab(t.Context(), "m", program)
	if err != nil {
		t.Fatal(err)
	}
	defer l.down()
	if err := mapped(l); err != nil {
		t.Error(err)
	}
	if err := l.crashes(); err != nil {
		t.Error(err)
	}
}

package stacktest

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

const inNamespace = "SEGANET_TEST_NAMESPACE"

// Namespace runs the test again in a process with its own network, where interfaces do not affect the host. It returns
// true there.
func Namespace(t *testing.T) bool {
	t.Helper()
	if os.Getenv(inNamespace) != "" {
		IP(t, "link set lo up")
		return true
	}
	if _, err := os.Stat("/dev/net/tun"); err != nil || os.Getuid() != 0 {
		t.Skip("needs root for a network namespace, and /dev/net/tun")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("needs the command ip (package iproute2)")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), inNamespace+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s%v", out, err)
	}
	t.Logf("%s", out)
	return false
}

// IP runs the command ip in the network of the calling thread.
func IP(t *testing.T, args string) {
	t.Helper()
	if out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput(); err != nil {
		t.Errorf("ip %s: %s %v", args, out, err)
	}
}

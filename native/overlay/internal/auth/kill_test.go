package auth

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"seganet.internal/overlay/internal/identity"
	"seganet.internal/overlay/internal/wire"
)

const childVariable = "SEGANET_OVERLAY_TEST_CHILD"

// TestMain turns the test's program into the process that is killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv(childVariable); dir != "" {
		child(dir)
	}
	os.Exit(m.Run())
}

// child makes nodes, and revokes every third, without end. It prints what has been acknowledged.
func child(dir string) {
	s, err := Open(Options{Dir: dir, Network: "plant"})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	fmt.Println("open")
	for n := len(must(s.Nodes())); ; n++ {
		name := fmt.Sprintf("n%d", n)
		i := must(s.Invite(wire.InviteRequest{Name: name}))
		m, err := joinWith(s, must(identity.NewKeys()), i.Token)
		if err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		fmt.Println("joined", name, m.Addresses[1])
		if n%3 == 2 {
			if err := s.Revoke(wire.RevokeRequest{Name: name}); err != nil {
				fmt.Println("error", err)
				os.Exit(1)
			}
			fmt.Println("revoked", name)
		}
	}
}

func TestTheDatabaseSurvivesSIGKILL(t *testing.T) {
	dir := t.TempDir()
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 1))
	t.Logf("seed %d", seed)
	addresses, revoked := map[string]string{}, map[string]bool{}
	for range 5 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childVariable+"="+dir)
		pipe := must(cmd.StdoutPipe())
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(pipe)
		var kill *time.Timer
		for lines.Scan() {
			words := strings.Fields(lines.Text())
			switch words[0] {
			case "open":
				kill = time.AfterFunc(time.Duration(20+random.IntN(150))*time.Millisecond, func() { _ = cmd.Process.Kill() })
			case "joined":
				if addresses[words[1]] != "" {
					t.Errorf("%s joined twice", words[1])
				}
				addresses[words[1]] = words[2]
			case "revoked":
				revoked[words[1]] = true
			default:
				t.Error(lines.Text())
			}
		}
		_ = cmd.Wait()
		if kill == nil {
			t.Fatal("the child did not open the database")
		}
		kill.Stop()

		s, err := Open(Options{Dir: dir})
		if err != nil {
			t.Fatalf("after the kill: %v", err)
		}
		seen, found := map[string]string{}, 0
		for _, n := range must(s.Nodes()) {
			at := n.Addresses[1].String()
			if other := seen[at]; other != "" {
				t.Errorf("%s and %s have the address %s", n.Name, other, at)
			}
			seen[at] = n.Name
			if want := addresses[n.Name]; want != "" {
				found++
				if want != at {
					t.Errorf("%s had %s, has %s", n.Name, want, at)
				}
			} else {
				addresses[n.Name] = at // it was written, and the child died before it reported it
				found++
			}
			if revoked[n.Name] && n.Revoked.IsZero() {
				t.Errorf("the revocation of %s is lost", n.Name)
			}
		}
		if found != len(addresses) {
			t.Errorf("%d of %d acknowledged nodes are there", found, len(addresses))
		}
		docs, _ := s.Documents()
		roots, _ := s.Roots()
		var list wire.Revocations
		if err := identity.Open(identity.DocRevocations, docs.Revocations, roots, time.Now(), &list); err != nil || len(list.Serials) < len(revoked) {
			t.Errorf("%d revoked certificates, %d on the list: %v", len(revoked), len(list.Serials), err)
		}
		s.Close()
	}
	if len(addresses) == 0 {
		t.Error("no child wrote anything")
	}
}

package node

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"seganet.internal/overlay/internal/identity"
	"seganet.internal/overlay/internal/wire"
)

func TestAnOlderDocumentIsIgnoredWithAWarning(t *testing.T) {
	a, err := identity.NewAuthority("plant", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	signed := func(kind string, doc wire.Validator) wire.Signed {
		s, err := a.Sign(kind, doc)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	var log bytes.Buffer
	n := &Node{log: slog.New(slog.NewTextHandler(&log, nil)), member: &identity.Member{Roots: a.Pool()}, policy: wire.Policy{Version: 8}, revision: 8, roots: 8,
		revoked: map[string]struct{}{"ab": {}}}
	n.takePolicy(signed(identity.DocPolicy, &wire.Policy{Version: 7, Allow: []wire.Rule{{From: "*", To: "*", Ports: []string{"tcp/*"}}}}))
	n.takeRevocations(signed(identity.DocRevocations, &wire.Revocations{Network: "plant", Number: 7}))
	n.takeRoots(signed(identity.DocRoots, &wire.Roots{Network: "plant", Number: 7, Certificates: [][]byte{a.Root().Raw}}))
	if len(n.policy.Allow) != 0 || n.policy.Version != 8 || n.revision != 8 || len(n.revoked) != 1 || n.roots != 8 {
		t.Errorf("an older document is in force: %+v, %d, %v, %d", n.policy, n.revision, n.revoked, n.roots)
	}
	for _, document := range []string{"policy", `"revocation list"`, `"list of roots"`} {
		if want := "level=WARN"; !strings.Contains(log.String(), want) || !strings.Contains(log.String(), "document="+document+" number=7 inForce=8") {
			t.Errorf("no warning for the %s: %s", document, log.String())
		}
	}
	log.Reset()
	n.takeRoots(signed(identity.DocRoots, &wire.Roots{Network: "plant", Number: 8, Certificates: [][]byte{a.Root().Raw}})) // each connection brings it
	if log.Len() > 0 {
		t.Error(log.String())
	}
}

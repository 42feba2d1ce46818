package authclient_test

import (
	"net"
	"strings"
	"testing"
	"time"

	"seganet.internal/overlay/internal/authclient"
	"seganet.internal/overlay/internal/busytest"
	"seganet.internal/overlay/internal/identity"
	"seganet.internal/overlay/internal/servetest"
	"seganet.internal/overlay/internal/wire"
)

// silent accepts connections and answers nothing, like an address behind a firewall. It returns its URL.
func silent(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return "https://" + l.Addr().String()
}

func closed(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "https://" + l.Addr().String()
}

func TestANodeJoinsByTheFirstURLThatAnswers(t *testing.T) {
	c := servetest.Config(t)
	c.Listen, c.Public = ":0", []string{"127.0.0.1", "::1"}
	r := servetest.Start(t, c)
	other := servetest.Start(t, servetest.Config(t)) // of another network
	for name, before := range map[string][]string{
		"silent":  {silent(t), silent(t)},
		"closed":  {closed(t), closed(t)},
		"strange": {other.AuthURLs[0]},
		"none":    nil,
	} {
		i, err := r.Auth.Invite(wire.InviteRequest{Name: name})
		if err != nil || len(i.Auth) != 2 {
			t.Fatalf("%v, %v", i.Auth, err)
		}
		keys, err := identity.NewKeys()
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		m, err := authclient.NewToJoin(append(before, i.Auth...), i.Root).Join(t.Context(), keys, wire.JoinRequest{Token: i.Token})
		if err != nil || m.Name != name {
			t.Errorf("%s: %v", name, err)
		}
		if took := time.Since(start); took > busytest.Limit(8*time.Second) {
			t.Errorf("%s: it took %v", name, took)
		}
	}
	if f, err := r.Auth.Figures(); err != nil || f.Joins != 4 || f.Refused != 0 {
		t.Errorf("%+v, %v", f, err)
	}
}

func TestAFailureNamesEachURL(t *testing.T) {
	urls := []string{closed(t), closed(t)}
	keys, err := identity.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	_, err = authclient.NewToJoin(urls, "sha256:0").Join(t.Context(), keys, wire.JoinRequest{Token: "x"})
	for _, u := range urls {
		if err == nil || !strings.Contains(err.Error(), strings.TrimPrefix(u, "https://")) {
			t.Errorf("%v does not name %s", err, u)
		}
	}
}

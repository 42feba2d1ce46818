package auth

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"seganet.internal/overlay/internal/audit"
	"seganet.internal/overlay/internal/identity"
	"seganet.internal/overlay/internal/wire"
)

// desk is an administration socket of a service.
type desk struct {
	t    *testing.T
	path string
	http *http.Client
}

func openDesk(t *testing.T, s *Service) desk {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.sock")
	l, err := ListenAdmin(path)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: s.AdminHandler(), ReadTimeout: time.Second}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { server.Close() })
	dial := func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", path) }
	return desk{t, path, &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}}
}

// ask returns the status and the text of the answer, and decodes it into v unless v is nil.
func (d desk) ask(method, path string, body, v any) (int, string) {
	d.t.Helper()
	text, raw := body.(string)
	if !raw && body != nil {
		text = string(must(json.Marshal(body)))
	}
	res, err := d.http.Do(must(http.NewRequest(method, "http://admin/v1/"+path, strings.NewReader(text))))
	if err != nil {
		d.t.Fatal(err)
	}
	defer res.Body.Close()
	answer := must(io.ReadAll(res.Body))
	if v != nil && json.Unmarshal(answer, v) != nil {
		d.t.Errorf("%s: %s", path, answer)
	}
	return res.StatusCode, string(answer)
}

func TestInvitationsAreListedAndWithdrawn(t *testing.T) {
	s, c := open(t, nil)
	d := openDesk(t, s)
	var made wire.Invite
	d.ask("POST", "invite", wire.InviteRequest{Name: "late", Groups: []string{"g"}, By: "ann"}, &made)
	enter(t, s, "in")
	d.ask("POST", "invite", wire.InviteRequest{Name: "soon", LifetimeSeconds: 60}, nil)
	var list wire.InvitationList
	if d.ask("GET", "invitations", nil, &list); len(list.Open) != 2 || list.Open[0].Name != "soon" || list.Open[1].Name != "late" {
		t.Fatal(list)
	}
	c.add(2 * time.Minute)
	id := list.Open[1].ID
	if d.ask("GET", "invitations", nil, &list); len(list.Open) != 1 {
		t.Errorf("an expired invitation is listed: %v", list)
	}
	if status, text := d.ask("POST", "withdraw", wire.WithdrawRequest{ID: id, By: "ann"}, nil); status != http.StatusOK {
		t.Error(status, text)
	}
	if _, err := joinWith(s, must(identity.NewKeys()), made.Token); !isCode(err, wire.CodeDenied) {
		t.Errorf("a withdrawn invitation: %v", err)
	}
	for _, id := range []string{id, "0", strings.Repeat("0", 16), "zz", ""} {
		if status, _ := d.ask("POST", "withdraw", wire.WithdrawRequest{ID: id}, nil); status == http.StatusOK {
			t.Errorf("%q is withdrawn", id)
		}
	}
	var entries []audit.Entry
	d.ask("GET", "audit?last=2&node=late", nil, &entries)
	if len(entries) != 2 || entries[0].Event != audit.Invited || entries[1].Event != audit.Withdrawn || entries[0].By != "ann" || entries[1].By != "ann" {
		t.Error(entries)
	}
}

func TestAnOverviewHasAPageOfWhatMatches(t *testing.T) {
	s, _ := open(t, nil)
	d := openDesk(t, s)
	for _, name := range []string{"hall-1", "hall-2", "hub"} {
		enter(t, s, name, "pump")
	}
	if err := s.Revoke(wire.RevokeRequest{Name: "hall-2"}); err != nil {
		t.Fatal(err)
	}
	fqdn := wire.NodeFQDN("hub", "plant")
	if err := s.Seen(wire.SeenReport{Service: "service1", Nodes: []wire.Seen{{Name: fqdn, Online: true, At: s.now(), From: "192.0.2.7", Version: "1.2.3"}}}); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		"":                      "3 of page 1/1: hall-1 hall-2 hub",
		"size=2":                "3 of page 1/2: hall-1 hall-2",
		"size=2&page=9":         "3 of page 2/2: hub",
		"match=HALL":            "2 of page 1/1: hall-1 hall-2",
		"match=192.0.2":         "1 of page 1/1: hub",
		"match=1.2.3":           "1 of page 1/1: hub",
		"match=nothing":         "0 of page 1/1:",
		"match=a%0Ahub&size=99": "0 of page 1/1:",
	} {
		var o wire.Overview
		d.ask("GET", "overview?"+query, nil, &o)
		got := fmt.Sprintf("%d of page %d/%d:", o.Found, o.Page, o.Pages)
		for _, n := range o.Nodes {
			got += " " + n.Name
			if n.Devices != 1 {
				t.Errorf("%d devices", n.Devices)
			}
		}
		if got != want || o.Online != 1 || o.Offline != 1 || o.Revoked != 1 || o.Network != "plant" || o.Root != s.Fingerprint() {
			t.Errorf("%s: %s, %+v", query, got, o)
		}
	}
	for _, query := range []string{"size=0", "size=101", "page=0", "page=-1", "page=x", "page=99999999999999999999", "match=" + strings.Repeat("x", 65)} {
		if status, text := d.ask("GET", "overview?"+query, nil, nil); status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", query, status, text)
		}
	}
}

func TestAPolicyIsReviewedAndReplacesOnlyTheOneThatWasRead(t *testing.T) {
	s, _ := open(t, nil)
	d := openDesk(t, s)
	for i := range 12 {
		enter(t, s, fmt.Sprintf("n%02d", i))
	}
	if err := s.Revoke(wire.RevokeRequest{Name: "n00"}); err != nil {
		t.Fatal(err)
	}
	text := "{\"allow\":[\n{\"from\":\"*\",\"to\":\"node:n01\",\"ports\":[\"tcp/1\"]},\n{\"from\":\"group:g\",\"to\":\"node:n00\",\"ports\":[\"icmp\"]}]}"
	var r wire.PolicyReview
	d.ask("POST", "policy/review", wire.PolicyText{Text: text}, &r)
	if len(r.Problems) != 0 || len(r.Rules) != 2 || r.Rules[1].Line != 3 || r.Rules[0].Sources.Count != 11 || len(r.Rules[0].Sources.Names) != wire.MaxNames ||
		r.Rules[0].Targets.Count != 1 || r.Rules[1].Sources.Count != 11 || r.Rules[1].Targets.Count != 0 {
		t.Errorf("%+v", r)
	}
	bad := strings.Replace(text, "icmp", "icmp/9", 1)
	if d.ask("POST", "policy/review", wire.PolicyText{Text: bad}, &r); len(r.Problems) != 1 || r.Problems[0].Line != 3 || len(r.Rules) != 0 {
		t.Errorf("%+v", r)
	}
	if status, answer := d.ask("PUT", "policy", wire.PolicyText{Text: bad}, nil); status != http.StatusBadRequest || !strings.Contains(answer, "line 3") {
		t.Error(status, answer)
	}
	before := must(s.Policy())
	var set wire.Policy
	if status, answer := d.ask("PUT", "policy", wire.PolicyText{Text: text, From: &before.Version, By: "ann"}, &set); status != http.StatusOK || set.Version <= before.Version {
		t.Error(status, answer)
	}
	if status, answer := d.ask("PUT", "policy", wire.PolicyText{Text: `{"allow":[]}`, From: &before.Version}, nil); status != http.StatusConflict || !strings.Contains(answer, "changed meanwhile") {
		t.Error(status, answer)
	}
	if p := must(s.Policy()); p.Version != set.Version || len(p.Allow) != 2 {
		t.Error(p)
	}
	if last := must(audit.Read(s.opts.Dir, "", 1)); last[0].Event != audit.Policy || last[0].By != "ann" {
		t.Error(last)
	}
}

func TestHostileRequestsOfTheAdministrationAreRefused(t *testing.T) {
	s, _ := open(t, nil)
	d := openDesk(t, s)
	for _, path := range []string{"invite", "withdraw", "revoke", "rotate", "policy/check", "policy/review"} {
		for _, body := range []string{"", "{", "[]", "\x00", `{"x":1}`, `{"by":"a\nb"}`, `{"by":"` + strings.Repeat("x", 129) + `"}`, `{"text":"` + strings.Repeat("x", 64<<10)} {
			if path == "policy/review" && strings.HasPrefix(body, `{"b`) && len(body) < 20 {
				continue
			}
			if status, text := d.ask("POST", path, body, nil); status != http.StatusBadRequest {
				t.Errorf("%s %.20q: %d %s", path, body, status, text)
			}
		}
	}
	for _, path := range []string{"audit?last=0", "audit?last=1001", "audit?last=x"} {
		if status, _ := d.ask("GET", path, nil, nil); status != http.StatusBadRequest {
			t.Errorf("%s: %d", path, status)
		}
	}
	if status, _ := d.ask("DELETE", "policy", nil, nil); status != http.StatusMethodNotAllowed {
		t.Errorf("DELETE: %d", status)
	}
	// Silent connections take all places; their time ends.
	var silent []net.Conn
	for range MaxAdminConnections {
		silent = append(silent, must(net.Dial("unix", d.path)))
	}
	over := must(net.Dial("unix", d.path))
	defer over.Close()
	_ = over.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := bufio.NewReader(over).ReadByte(); err != io.EOF {
		t.Errorf("one connection too many: %v", err)
	}
	for _, c := range silent {
		_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
		_, _ = io.Copy(io.Discard, c) // the server closes it
		c.Close()
	}
	if status, text := d.ask("GET", "overview", nil, nil); status != http.StatusOK {
		t.Error(status, text)
	}
	if list := must(s.Nodes()); len(list) != 0 || must(s.Policy()).Version != 0 {
		t.Error("a refused request changed something")
	}
}

func TestTheAdministrationSocketReplacesOnlyADeadOne(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.sock")
	l := must(ListenAdmin(path))
	if info := must(os.Stat(path)); info.Mode().Perm() != 0o600 {
		t.Error(info.Mode())
	}
	if _, err := ListenAdmin(path); err == nil || !strings.Contains(err.Error(), "another process answers") {
		t.Error(err)
	}
	l.(*fewConns).Listener.(*net.UnixListener).SetUnlinkOnClose(false) // as a killed process leaves it
	l.Close()
	must(ListenAdmin(path)).Close()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{file: "is not a socket", filepath.Join(dir, strings.Repeat("x", 110)): "107 bytes", filepath.Join(dir, "no", "a.sock"): "no such file"} {
		if _, err := ListenAdmin(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

package wire

import (
	"encoding/base64"
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestDecodeIsStrict(t *testing.T) {
	for name, text := range map[string]string{
		"an empty frame":           "",
		"one byte":                 "{",
		"an array":                 `[]`,
		"a string":                 `"ping"`,
		"no body":                  `{"type":"ping"}`,
		"a null body":              `{"type":"ping","body":null}`,
		"a body that is an array":  `{"type":"ping","body":[]}`,
		"an unknown type":          `{"type":"pang","body":{}}`,
		"an unknown field":         `{"type":"ping","body":{},"x":1}`,
		"an unknown field inside":  `{"type":"ping","body":{"x":1}}`,
		"a key twice":              `{"type":"ping","type":"ping","body":{}}`,
		"a key twice in two cases": `{"type":"ping","Type":"ping","body":{}}`,
		"a key twice inside":       `{"type":"lookup","body":{"id":"1","id":"2","name":"a.b.seganet.internal"}}`,
		"bytes after the object":   `{"type":"ping","body":{}} {}`,
		"NUL":                      "{\"type\":\"ping\",\"body\":{}}\x00",
		"invalid UTF-8":            "{\"type\":\"ping\xff\",\"body\":{}}",
		"deep nesting":             `{"type":"ping","body":{"a":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}}`,
		"a frame over the limit":   `{"type":"ping","body":{}` + strings.Repeat(" ", MaxFrameBytes) + `}`,
		"a message of services":    `{"type":"pong","body":{}}`,
	} {
		if m, err := DecodeFromNode([]byte(text)); err == nil {
			t.Errorf("%s gives %#v", name, m)
		}
	}
	if _, err := DecodeFromNode([]byte(` {"type":"ping","body":{}} `)); err != nil {
		t.Error(err)
	}
}

func TestMessagesSurviveEncodingAndDecoding(t *testing.T) {
	now := time.Date(2026, 11, 23, 20, 0, 0, 0, time.UTC)
	signed := Signed{Payload: `{"version":1,"allow":[]}`, Signature: make([]byte, 64), Chain: []byte{1}}
	device := Device{Name: "pump", Addr4: netip.MustParseAddr("198.18.0.2"), Addr6: netip.MustParseAddr("fd00::2")}
	service := Service{"broker", "tcp", 8883}
	relay := netip.MustParseAddrPort("192.0.2.1:5000")
	fromNode := []Message{
		&Hello{Relays: []netip.AddrPort{relay}, Services: []Service{service}, Devices: []Device{device}},
		&Lookup{ID: "1", Name: "a.n.seganet.internal"}, &Lookup{ID: "2", Address: netip.MustParseAddr("fd00::1")},
		&Signal{To: "a.n.seganet.internal", Type: SignalOffer, Epoch: 7, Data: `{"user":"<&>"}`, Signature: make([]byte, 64)}, &Ping{},
	}
	fromServices := []Message{
		&Welcome{TURN: TURN{URLs: []string{"turn:192.0.2.1:3478?transport=udp"}, User: "1:a", Password: "x", Expires: now},
			Policy: signed, Revocations: signed, Roots: signed},
		&Found{ID: "1", Name: "a.n.seganet.internal", Certificate: []byte{1}, Addresses: []netip.Addr{netip.MustParseAddr("fd00::1")},
			Services: []Service{service}, Devices: []Device{device}, Online: true},
		&Signal{From: "a.n.seganet.internal", Type: SignalCandidate, Data: "x", Certificate: []byte{1}},
		&Gone{Name: "a.n.seganet.internal"}, &Revoked{List: signed}, &PolicyUpdate{Policy: signed}, &RootsUpdate{Roots: signed}, &Pong{},
		&TURN{URLs: []string{"turn:relay:3478"}, Expires: now}, &Error{ID: "1", Code: CodeUnknown, Text: "x"},
	}
	check := func(list []Message, decode func([]byte) (Message, error)) {
		for _, m := range list {
			frame, err := Encode(m)
			if err != nil {
				t.Fatalf("%s: %v", m.Kind(), err)
			}
			back, err := decode(frame)
			if err != nil {
				t.Fatalf("%s: %v", frame, err)
			}
			if !reflect.DeepEqual(m, back) {
				t.Errorf("%#v came back as %#v", m, back)
			}
		}
	}
	check(fromNode, DecodeFromNode)
	check(fromServices, DecodeFromServices)
}

func TestLimitsAreExact(t *testing.T) {
	repeat := func(n int) (list []string) {
		for i := range n {
			list = append(list, fmt.Sprintf("d%d", i))
		}
		return list
	}
	services := func(n int) (list []Service) {
		for _, s := range repeat(n) {
			list = append(list, Service{s, "udp", 1})
		}
		return list
	}
	devices := func(n int) (list []Device) {
		for _, s := range repeat(n) {
			list = append(list, Device{Name: s})
		}
		return list
	}
	rules := func(n int) *Policy { return &Policy{Allow: make([]Rule, n)} }
	fill := func(p *Policy) *Policy {
		for i := range p.Allow {
			p.Allow[i] = Rule{"*", "*", []string{"icmp"}}
		}
		return p
	}
	serials := func(n int) *Revocations {
		return &Revocations{Network: "n", Serials: strings.Split(strings.Repeat("a ", n-1)+"a", " ")}
	}
	signal := func(n int) *Signal {
		return &Signal{To: "a.n.seganet.internal", Type: SignalOffer, Data: strings.Repeat("x", n)}
	}
	for name, pair := range map[string][2]Validator{
		"services":    {&Hello{Services: services(MaxServices)}, &Hello{Services: services(MaxServices + 1)}},
		"devices":     {&Hello{Devices: devices(MaxDevices)}, &Hello{Devices: devices(MaxDevices + 1)}},
		"groups":      {&InviteRequest{Name: "a", Groups: repeat(MaxGroups)}, &InviteRequest{Name: "a", Groups: repeat(MaxGroups + 1)}},
		"rules":       {fill(rules(MaxRules)), fill(rules(MaxRules + 1))},
		"revocations": {serials(MaxRevocations), serials(MaxRevocations + 1)},
		"signal data": {signal(MaxSignalDataBytes), signal(MaxSignalDataBytes + 1)},
		"CSR":         {&RenewRequest{CSR: make([]byte, MaxRequestBytes)}, &RenewRequest{CSR: make([]byte, MaxRequestBytes+1)}},
		"JWT":         {&JoinRequest{CSR: []byte{1}, JWT: strings.Repeat("x", MaxTokenBytes)}, &JoinRequest{CSR: []byte{1}, JWT: strings.Repeat("x", MaxTokenBytes+1)}},
		"roots": {&Roots{Network: "n", Certificates: [][]byte{{1}, {1}, {1}, {1}}},
			&Roots{Network: "n", Certificates: [][]byte{{1}, {1}, {1}, {1}, {1}}}},
	} {
		if err := pair[0].Validate(); err != nil {
			t.Errorf("%s at the limit: %v", name, err)
		}
		if pair[1].Validate() == nil {
			t.Errorf("%s: one more than the limit is accepted", name)
		}
	}
}

// The largest welcome and the largest answer must fit a frame, else a node with much to say could never connect.
func TestLargestMessagesFitAFrame(t *testing.T) {
	serials := make([]string, MaxRevocations)
	for i := range serials {
		serials[i] = fmt.Sprintf("%020x", i)
	}
	payload := func(v any) string {
		b, err := Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	chain := make([]byte, 1500) // a root and an intermediate
	list := Signed{payload(Revocations{Network: "n", Serials: serials}), make([]byte, 64), chain}
	if _, err := Encode(&Revoked{list}); err != nil {
		t.Error(err)
	}
	root := make([]byte, 600)
	roots := Signed{payload(Roots{Network: "n", Certificates: [][]byte{root, root, root, root}}), make([]byte, 64), chain}
	policy := Signed{strings.Repeat("x", MaxPolicyBytes), make([]byte, 64), chain}
	if _, err := Encode(&Welcome{TURN{}, policy, list, roots}); err != nil {
		t.Error(err)
	}
	f := &Found{Name: "a.n.seganet.internal", Certificate: make([]byte, MaxCertificateBytes)}
	for i := range MaxDevices {
		f.Devices = append(f.Devices, Device{fmt.Sprintf("a-device-with-a-rather-long-name-%d", i), netip.MustParseAddr("198.18.100.100"), netip.MustParseAddr("fd12:3456:789a::1234")})
	}
	for i := range MaxServices {
		f.Services = append(f.Services, Service{fmt.Sprintf("a-service-of-a-gateway-%d", i), "tcp", 60000})
	}
	if _, err := Encode(f); err != nil {
		t.Error(err)
	}
}

func TestNames(t *testing.T) {
	for _, s := range []string{"a.n.seganet.internal", "pump.hall-3.plant.seganet.internal", "0.0.seganet.internal"} {
		n, err := ParseFQDN(s)
		if err != nil || n.FQDN() != s {
			t.Errorf("%s: %v %v", s, n, err)
		}
	}
	for _, s := range []string{"", "seganet.internal", "n.seganet.internal", "a.b.c.d.seganet.internal", "A.n.seganet.internal", "-a.n.seganet.internal",
		"a-.n.seganet.internal", "a_b.n.seganet.internal", ".n.seganet.internal", "a.n.seganet.internal.", "a.n.example.com",
		strings.Repeat("a", 64) + ".n.seganet.internal", "ä.n.seganet.internal"} {
		if n, err := ParseFQDN(s); err == nil {
			t.Errorf("%q gives %v", s, n)
		}
	}
}

func TestPolicyForms(t *testing.T) {
	for text, want := range map[string]Ports{"tcp/8883": {"tcp", 8883, 8883}, "udp/1-65535": {"udp", 1, 65535}, "tcp/*": {"tcp", 1, 65535}, "icmp": {Proto: "icmp"}} {
		if got, err := ParsePorts(text); err != nil || got != want {
			t.Errorf("%s: %v %v", text, got, err)
		}
	}
	for _, text := range []string{"", "tcp", "tcp/", "tcp/0", "tcp/65536", "tcp/-1", "tcp/+1", "tcp/01", "tcp/2-1", "sctp/1", "icmp/1", "TCP/1", "tcp/1-", "tcp/1-2-3"} {
		if got, err := ParsePorts(text); err == nil {
			t.Errorf("%q gives %v", text, got)
		}
	}
	for _, text := range []string{"", "**", "group:", "group:A", "hubs", "node:a.n", "user:x"} {
		if got, err := ParseSelector(text); err == nil {
			t.Errorf("%q gives %v", text, got)
		}
	}
	all, _ := ParseSelector("*")
	group, _ := ParseSelector("group:hubs")
	node, _ := ParseSelector("node:h1")
	if !all.Matches("x", nil) || !group.Matches("x", []string{"a", "hubs"}) || group.Matches("hubs", []string{"a"}) || !node.Matches("h1", nil) || node.Matches("h2", []string{"h1"}) {
		t.Error("a selector matches wrongly")
	}
}

func FuzzDecodeFromNode(f *testing.F) {
	for _, s := range []string{`{"type":"ping","body":{}}`, `{"type":"lookup","body":{"id":"1","name":"a.n.seganet.internal"}}`,
		`{"type":"hello","body":{"services":[{"name":"b","proto":"tcp","port":1}],"devices":[{"name":"d","addr4":"198.18.0.1"}]}}`,
		`{"type":"signal","body":{"to":"a.n.seganet.internal","kind":"offer","epoch":1,"data":"x"}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, frame []byte) { fuzzMessage(t, frame, DecodeFromNode) })
}

func FuzzDecodeFromServices(f *testing.F) {
	sig := base64.StdEncoding.EncodeToString(make([]byte, 64))
	for _, s := range []string{`{"type":"pong","body":{}}`, `{"type":"gone","body":{"name":"a.n.seganet.internal"}}`,
		`{"type":"revoked","body":{"list":{"payload":"{}","signature":"` + sig + `","chain":"AQ=="}}}`,
		`{"type":"turn","body":{"urls":["turn:a:1"],"user":"u","password":"p","expires":"2026-11-23T20:00:00Z"}}`,
		`{"type":"found","body":{"name":"a.n.seganet.internal","certificate":"AQ==","addresses":["fd00::1"],"services":null,"devices":null,"online":true}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, frame []byte) { fuzzMessage(t, frame, DecodeFromServices) })
}

func FuzzDecodeCluster(f *testing.F) {
	sig := base64.StdEncoding.EncodeToString(make([]byte, 64))
	signed := `{"payload":"{}","signature":"` + sig + `","chain":"AQ=="}`
	for _, s := range []string{`{"type":"beat","body":{"service":"0123456789abcdef","sync":true}}`,
		`{"type":"presence","body":{"service":"0123456789abcdef","name":"a.n.seganet.internal","since":1,"online":true,"certificate":"AQ==","hello":{"services":[],"devices":[]}}}`,
		`{"type":"deliver","body":{"to":"b.n.seganet.internal","signal":{"from":"a.n.seganet.internal","kind":"offer","epoch":1,"data":"x"}}}`,
		`{"type":"news","body":{"documents":{"version":1,"policy":` + signed + `,"revocations":` + signed + `,"roots":` + signed + `}}}`} {
		if _, err := DecodeCluster([]byte(s)); err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := DecodeCluster(text)
		if err != nil {
			return
		}
		if again, err := EncodeCluster(m); err == nil {
			if _, err := DecodeCluster(again); err != nil {
				t.Fatalf("%s was encoded as %s: %v", text, again, err)
			}
		}
	})
}

// fuzzMessage checks that what is decoded can be encoded and decodes to the same again.
func fuzzMessage(t *testing.T, frame []byte, decode func([]byte) (Message, error)) {
	m, err := decode(frame)
	if err != nil {
		return
	}
	again, err := Encode(m)
	if err != nil {
		return // it may grow over the limit, for example by escapes
	}
	back, err := decode(again)
	if err != nil {
		t.Fatalf("%s was encoded as %s: %v", frame, again, err)
	}
	third, err := Encode(back)
	if err != nil || string(third) != string(again) {
		t.Fatalf("%s and %s differ (%v)", again, third, err)
	}
}

func FuzzPolicy(f *testing.F) {
	f.Add([]byte(`{"version":1,"allow":[{"from":"group:gateways","to":"group:hubs","ports":["tcp/8883","udp/1-2","tcp/*","icmp"]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var p Policy
		if Decode(text, MaxPolicyBytes, &p) != nil {
			return
		}
		for _, r := range p.Allow {
			for _, s := range r.Ports {
				if ports, err := ParsePorts(s); err != nil || ports.First > ports.Last {
					t.Fatalf("%q passed: %v %v", s, ports, err)
				}
			}
		}
	})
}

func FuzzJoinRequest(f *testing.F) {
	f.Add([]byte(`{"csr":"AQ==","token":"t","devices":["a","b"]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var r JoinRequest
		if Decode(text, MaxFrameBytes, &r) == nil && (len(r.CSR) > MaxRequestBytes || len(r.Devices) > MaxDevices) {
			t.Fatal("a limit is not enforced")
		}
	})
}

package nodes_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"seganet.internal/overlay/internal/busytest"
	"seganet.internal/overlay/internal/identity"
	"seganet.internal/overlay/internal/servetest"
	"seganet.internal/overlay/internal/wire"
)

// raw connects a node without this package's client, so that it can send anything.
func raw(t testing.TB, m *identity.Member) *websocket.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), servetest.Wait)
	defer cancel()
	c, _, err := websocket.Dial(ctx, m.Nodes[0], &websocket.DialOptions{HTTPClient: &http.Client{Transport: &http.Transport{TLSClientConfig: m.ClientTLS()}}})
	if err != nil {
		t.Fatal(err)
	}
	c.SetReadLimit(1 << 20)
	t.Cleanup(func() { _ = c.CloseNow() })
	return c
}

func frame(t testing.TB, m wire.Message) []byte {
	t.Helper()
	f, err := wire.Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// closed waits for the connection's end and returns its code.
func closed(c *websocket.Conn) websocket.StatusCode {
	ctx, cancel := context.WithTimeout(context.Background(), servetest.Wait)
	defer cancel()
	for {
		if _, _, err := c.Read(ctx); err != nil {
			return websocket.CloseStatus(err)
		}
	}
}

func TestMalformedSignallingEndsOnlyItsConnection(t *testing.T) {
	r := servetest.Start(t, servetest.Config(t))
	honest := servetest.Connect(t, servetest.Join(t, r, "honest", nil), wire.Hello{})
	m := servetest.Join(t, r, "bad", nil)
	hello := frame(t, &wire.Hello{})
	for name, c := range map[string]struct {
		frames []string
		kind   websocket.MessageType
		want   websocket.StatusCode
	}{
		"an empty frame":           {[]string{string(hello), ""}, websocket.MessageText, websocket.StatusInvalidFramePayloadData},
		"rubbish":                  {[]string{string(hello), "rubbish"}, websocket.MessageText, websocket.StatusInvalidFramePayloadData},
		"an unknown type":          {[]string{string(hello), `{"type":"root","body":{}}`}, websocket.MessageText, websocket.StatusInvalidFramePayloadData},
		"an unknown field":         {[]string{string(hello), `{"type":"ping","body":{"x":1}}`}, websocket.MessageText, websocket.StatusInvalidFramePayloadData},
		"a frame over the limit":   {[]string{string(hello), strings.Repeat(" ", wire.MaxFrameBytes+1)}, websocket.MessageText, websocket.StatusMessageTooBig},
		"a binary frame":           {[]string{string(hello)}, websocket.MessageBinary, websocket.StatusUnsupportedData},
		"no hello at first":        {[]string{string(frame(t, &wire.Ping{}))}, websocket.MessageText, websocket.StatusPolicyViolation},
		"a second WebSocket frame": {[]string{string(hello), string(hello), "\xff"}, websocket.MessageText, websocket.StatusInvalidFramePayloadData},
	} {
		conn := raw(t, m)
		for _, f := range c.frames {
			_ = conn.Write(context.Background(), c.kind, []byte(f))
		}
		if got := closed(conn); got != c.want {
			t.Errorf("%s ends with %v", name, got)
		}
	}
	honest.Say(&wire.Ping{})
	servetest.Await[*wire.Pong](honest)
}

func TestANodeSpeaksOnlyForItself(t *testing.T) {
	r := servetest.Start(t, servetest.Config(t))
	a := servetest.Connect(t, servetest.Join(t, r, "a", nil), wire.Hello{})
	b := servetest.Connect(t, servetest.Join(t, r, "b", nil), wire.Hello{})
	// Only the node management service sets From.
	a.Say(&wire.Signal{From: b.FQDN, Type: wire.SignalOffer})
	if e := servetest.Await[*wire.Error](a); e.Code != wire.CodeInvalid {
		t.Errorf("%+v", e)
	}
	// A device of another node, or one that is not in the certificate.
	a.Say(&wire.Hello{Devices: []wire.Device{{Name: "pump"}}})
	if e := servetest.Await[*wire.Error](a); e.Code != wire.CodeDenied {
		t.Errorf("%+v", e)
	}
}

func TestANodeThatRepeatsItsHelloReachesItsWatchersOnceASecond(t *testing.T) {
	r := servetest.Start(t, servetest.Config(t))
	a := servetest.Connect(t, servetest.Join(t, r, "a", nil), wire.Hello{})
	watcher := servetest.Connect(t, servetest.Join(t, r, "w", nil), wire.Hello{})
	watcher.Say(&wire.Lookup{ID: "1", Name: a.FQDN})
	servetest.Await[*wire.Found](watcher)
	start := time.Now()
	const last = 100
	for i := range last + 1 {
		a.Say(&wire.Hello{}) // says nothing new
		if i > 0 {
			a.Say(&wire.Hello{Services: []wire.Service{{Name: fmt.Sprintf("s%d", i), Proto: "tcp", Port: 1}}})
		}
	}
	told := 0
	for {
		f := servetest.Await[*wire.Found](watcher)
		told++
		if len(f.Services) == 1 && f.Services[0].Name == fmt.Sprintf("s%d", last) {
			break
		}
	}
	if most := 2 + int(time.Since(start)/time.Second); told > most {
		t.Errorf("the watcher received %d announcements in %v", told, time.Since(start))
	}
	a.Say(&wire.Ping{})
	servetest.Await[*wire.Pong](a)
}

func TestASecondConnectionReplacesTheFirst(t *testing.T) {
	r := servetest.Start(t, servetest.Config(t))
	m := servetest.Join(t, r, "a", nil)
	first := servetest.Connect(t, m, wire.Hello{})
	servetest.Connect(t, m, wire.Hello{})
	ctx, cancel := context.WithTimeout(context.Background(), servetest.Wait)
	defer cancel()
	for {
		m, err := first.Receive(ctx)
		if e, ok := m.(*wire.Error); err == nil && ok && e.Code == wire.CodeTwice {
			continue
		}
		if websocket.CloseStatus(err) != websocket.StatusPolicyViolation {
			t.Errorf("%v, %v", m, err)
		}
		break
	}
	if n := r.Nodes.Online(); n != 1 {
		t.Errorf("%d nodes are online", n)
	}
}

// The service slows down a node that floods, and disconnects one that does not read. Other nodes are not affected, and
// memory is bounded.
func TestAFloodIsBounded(t *testing.T) {
	r := servetest.Start(t, servetest.Config(t))
	victim := raw(t, servetest.Join(t, r, "victim", nil)) // never reads
	if err := victim.Write(context.Background(), websocket.MessageText, frame(t, &wire.Hello{})); err != nil {
		t.Fatal(err)
	}
	a := servetest.Connect(t, servetest.Join(t, r, "a", nil), wire.Hello{})
	honest := servetest.Connect(t, servetest.Join(t, r, "honest", nil), wire.Hello{})
	to := "victim.plant.seganet.internal"
	big := strings.Repeat("x", wire.MaxSignalDataBytes)
	stop := time.Now().Add(4 * time.Second)
	go func() {
		for time.Now().Before(stop) {
			ctx, cancel := context.WithTimeout(context.Background(), servetest.Wait)
			err := a.Send(ctx, &wire.Signal{To: to, Type: wire.SignalCandidate, Data: big})
			cancel()
			if err != nil {
				return
			}
		}
	}()
	var worst time.Duration
	for time.Now().Before(stop) {
		start := time.Now()
		honest.Say(&wire.Ping{})
		servetest.Await[*wire.Pong](honest)
		worst = max(worst, time.Since(start))
		time.Sleep(20 * time.Millisecond)
	}
	if worst > busytest.Limit(time.Second) {
		t.Errorf("another node waited %s", worst)
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if m.HeapInuse > 200<<20 {
		t.Errorf("the process uses %d MiB", m.HeapInuse>>20)
	}
}

// Random messages, well-formed and not, from a node that has joined: the service keeps running.
func FuzzSession(f *testing.F) {
	r := servetest.Start(f, servetest.Config(f))
	m := servetest.Join(f, r, "fuzz", nil, "pump")
	other := servetest.Connect(f, servetest.Join(f, r, "other", nil), wire.Hello{})
	for _, s := range []wire.Message{&wire.Hello{Services: []wire.Service{{Name: "a", Proto: "tcp", Port: 1}}}, &wire.Lookup{ID: "1", Name: other.FQDN},
		&wire.Lookup{ID: "1", Address: netip.MustParseAddr("198.18.0.1")}, &wire.Signal{To: other.FQDN, Type: wire.SignalOffer, Data: "x"}, &wire.Ping{}} {
		f.Add(frame(f, s), uint64(1))
	}
	hello := frame(f, &wire.Hello{})
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 2))
		conn := raw(t, m)
		ctx, cancel := context.WithTimeout(context.Background(), servetest.Wait)
		defer cancel()
		_ = conn.Write(ctx, websocket.MessageText, hello)
		for range 4 {
			if conn.Write(ctx, websocket.MessageText, data) != nil {
				break
			}
			if len(data) > 0 {
				data[random.IntN(len(data))] ^= byte(1 << random.IntN(8))
			}
		}
		_ = conn.CloseNow()
		if seed%16 == 0 {
			honest := servetest.Connect(t, other.Member, wire.Hello{})
			honest.Say(&wire.Lookup{ID: fmt.Sprint(seed), Name: other.FQDN})
			servetest.Await[*wire.Found](honest)
		}
	})
}

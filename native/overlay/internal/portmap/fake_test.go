package portmap

import (
	"context"
	"encoding/binary"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"seganet.internal/overlay/internal/busytest"
)

func TestMain(m *testing.M) {
	resend = []time.Duration{100 * time.Millisecond, 100 * time.Millisecond, 100 * time.Millisecond, 100 * time.Millisecond}
	searchPause, searchLimit = 100*time.Millisecond, 300*time.Millisecond
	os.Exit(m.Run())
}

const insidePort = 41641

var (
	loopback = netip.MustParseAddr("127.0.0.1")
	here     = Gateway{Address: loopback, Inside: loopback}
)

// udpRouter is a fake router's UDP port. answer returns the datagrams that answer a request.
type udpRouter struct {
	conn *net.UDPConn
	mu   sync.Mutex
	got  [][]byte
}

func (r *udpRouter) address() netip.AddrPort { return r.conn.LocalAddr().(*net.UDPAddr).AddrPort() }

func (r *udpRouter) requests() [][]byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

func newUDPRouter(t *testing.T, answer func(request []byte) [][]byte) *udpRouter {
	t.Helper()
	c, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(loopback, 0)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	r := &udpRouter{conn: c}
	go func() {
		buf := make([]byte, 2048)
		for {
			n, from, err := c.ReadFromUDPAddrPort(buf)
			if err != nil {
				return
			}
			request := slices.Clone(buf[:n])
			r.mu.Lock()
			r.got = append(r.got, request)
			r.mu.Unlock()
			for _, a := range answer(request) {
				_, _ = c.WriteToUDPAddrPort(a, from)
			}
		}
	}()
	return r
}

func silent([]byte) [][]byte { return nil }

// closedPort returns an address where nothing listens.
func closedPort(t *testing.T) netip.AddrPort {
	r := newUDPRouter(t, silent)
	_ = r.conn.Close()
	return r.address()
}

// pcpAnswerTo returns the answer of a router that grants a MAP request.
func pcpAnswerTo(request []byte, outside netip.AddrPort, lifetime, epoch uint32) []byte {
	b := slices.Clone(request)
	b[1] |= pcpResponse
	b[3] = 0
	if binary.BigEndian.Uint32(request[4:]) != 0 {
		binary.BigEndian.PutUint32(b[4:], lifetime)
	}
	for i := 8; i < 24; i++ {
		b[i] = 0
	}
	binary.BigEndian.PutUint32(b[8:], epoch)
	binary.BigEndian.PutUint16(b[42:], outside.Port())
	a := outside.Addr().As16()
	copy(b[44:60], a[:])
	return b
}

// natpmpAnswers answers requests of NAT-PMP, and other requests as RFC 6886 §9 requires.
func natpmpAnswers(outside netip.AddrPort, lifetime, epoch uint32) func([]byte) [][]byte {
	return func(request []byte) [][]byte {
		if request[0] != natpmpVersion {
			return [][]byte{binary.BigEndian.AppendUint32([]byte{0, request[1] | pcpResponse, 0, 1}, epoch)}
		}
		b := binary.BigEndian.AppendUint32([]byte{0, request[1] | pcpResponse, 0, 0}, epoch)
		if request[1] == natpmpAddress {
			return [][]byte{append(b, outside.Addr().AsSlice()...)}
		}
		b = append(b, request[4:6]...)
		b = binary.BigEndian.AppendUint16(b, outside.Port())
		if binary.BigEndian.Uint32(request[8:]) == 0 {
			lifetime = 0
		}
		return [][]byte{binary.BigEndian.AppendUint32(b, lifetime)}
	}
}

// mapping is a Mapper that runs in a test.
type mapping struct {
	*Mapper
	stop    func()
	changes chan []netip.AddrPort
}

// start runs a Mapper with the gateway on loopback. If the test sets no addresses, nothing answers there.
func start(t *testing.T, change func(*Config)) *mapping {
	t.Helper()
	m := &mapping{changes: make(chan []netip.AddrPort, 16)}
	log := slog.New(slog.DiscardHandler)
	if testing.Verbose() {
		log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	conf := Config{Port: insidePort, Log: log, Gateways: func() ([]Gateway, error) { return []Gateway{here}, nil },
		Changed: func(a []netip.AddrPort) { m.changes <- a }, server: closedPort(t), group: closedPort(t),
		announcements: netip.AddrPortFrom(loopback, 0), renewLeast: 20 * time.Millisecond, askPause: 20 * time.Millisecond}
	change(&conf)
	m.Mapper = New(conf)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); m.Run(ctx) }()
	m.stop = func() { cancel(); <-done }
	t.Cleanup(m.stop)
	return m
}

// expect waits for a change of the outside addresses.
func (m *mapping) expect(t *testing.T, outside ...netip.AddrPort) {
	t.Helper()
	select {
	case got := <-m.changes:
		if !slices.Equal(got, outside) {
			t.Fatalf("the outside addresses are %v instead of %v: %s", got, outside, m.Status().Text)
		}
	case <-time.After(10 * time.Second):
		t.Fatalf("no change to %v: %s", outside, m.Status().Text)
	}
}

func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for begun := time.Now(); !f(); time.Sleep(5 * time.Millisecond) {
		if time.Since(begun) > busytest.Limit(10*time.Second) {
			t.Fatal("not within 10 s: " + what)
		}
	}
}

// refused waits until the Mapper has given up, and fails if it has mapped anything.
func (m *mapping) refused(t *testing.T) string {
	t.Helper()
	text := ""
	eventually(t, "the router is given up", func() bool {
		text = m.Status().Text
		return strings.HasPrefix(text, "the router 127.0.0.1 maps no port (")
	})
	if s := m.Status(); len(s.Mappings) != 0 || len(m.changes) != 0 {
		t.Fatalf("mapped: %+v", s)
	}
	return text
}

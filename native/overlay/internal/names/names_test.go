package names

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"
)

const domain = "plant.seganet.internal"

var (
	hub6, hub4 = netip.MustParseAddr("fd00:1::2"), netip.MustParseAddr("198.18.0.2")
	pump4      = netip.MustParseAddr("198.18.0.9")
)

func table(t testing.TB) *Table {
	t.Helper()
	tb := NewTable(domain)
	err := tb.Set("hub", []Record{{"hub." + domain, []netip.Addr{hub6, hub4}}, {"pump.hub." + domain, []netip.Addr{pump4}}})
	if err != nil {
		t.Fatal(err)
	}
	return tb
}

func TestResolve(t *testing.T) {
	tb := table(t)
	for name, want := range map[string][]netip.Addr{
		"hub": {hub6, hub4}, "HUB": {hub6, hub4}, "hub.plant": {hub6, hub4}, "hub." + domain: {hub6, hub4}, "hub." + domain + ".": {hub6, hub4},
		"pump.hub": {pump4}, "pump.hub.plant": {pump4},
	} {
		if got, err := tb.Resolve(t.Context(), name); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v %v", name, got, err)
		}
	}
	for _, name := range []string{"", ".", "gone", "a.b.c.d", "hub.other.seganet.internal", "-", "a_b", strings.Repeat("a", 64), "plant", "hub.plant.seganet.internal.x"} {
		if got, err := tb.Resolve(t.Context(), name); err == nil {
			t.Errorf("%q resolved to %v", name, got)
		}
	}
	if name, ok := tb.Reverse(pump4); !ok || name != "pump.hub."+domain {
		t.Error(name, ok)
	}
}

func TestOwners(t *testing.T) {
	tb := table(t)
	for what, r := range map[string]Record{
		"name of another":    {"pump.hub." + domain, nil},
		"address of another": {"mine." + domain, []netip.Addr{hub4}},
		"outside":            {"www.example.com", nil},
		"other network":      {"hub.other.seganet.internal", nil},
	} {
		if err := tb.Set("thief", []Record{{"fine." + domain, nil}, r}); err == nil {
			t.Errorf("%s was accepted", what)
		}
	}
	if _, ok := tb.Lookup("fine." + domain); ok {
		t.Error("half of a refused set is there")
	}
	if err := tb.Set("hub", []Record{{"hub." + domain, []netip.Addr{hub4}}}); err != nil {
		t.Fatal(err)
	}
	if _, ok := tb.Lookup("pump.hub." + domain); ok {
		t.Error("a removed device is still there")
	}
	if _, ok := tb.Reverse(hub6); ok {
		t.Error("a removed address is still there")
	}
	tb.Remove("hub")
	if _, err := tb.Resolve(t.Context(), "hub"); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
	var many []Record
	for i := range MaxNames {
		many = append(many, Record{fmt.Sprintf("n%d.%s", i, domain), nil})
	}
	if err := tb.Set("many", many); err != nil {
		t.Fatal(err)
	}
	if err := tb.Set("hub", []Record{{"hub." + domain, nil}}); err == nil {
		t.Error("the limit of names is not enforced")
	}
}

func TestLookupsBeyondTheLimitWait(t *testing.T) {
	tb := NewTable(domain)
	var most, now atomic.Int32
	begin := make(chan struct{})
	tb.Ask = func(_ context.Context, name string) ([]Record, error) {
		if n := now.Add(1); n > most.Load() {
			most.Store(n)
		}
		defer now.Add(-1)
		<-begin
		return []Record{{name, []netip.Addr{hub4}}}, nil
	}
	var done sync.WaitGroup
	for i := range MaxAsking + 20 {
		done.Go(func() {
			if got, err := tb.Resolve(t.Context(), fmt.Sprintf("d%d.hub", i)); err != nil || !slices.Equal(got, []netip.Addr{hub4}) {
				t.Errorf("device %d: %v %v", i, got, err)
			}
		})
	}
	for now.Load() < MaxAsking {
		time.Sleep(time.Millisecond)
	}
	stuck, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := tb.Resolve(stuck, "late.hub"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a question without room ended with %v", err)
	}
	close(begin)
	done.Wait()
	if most.Load() > MaxAsking {
		t.Errorf("%d lookups at once", most.Load())
	}
}

func TestAskOnceAtATime(t *testing.T) {
	tb := NewTable(domain)
	var asked atomic.Int32
	begin := make(chan struct{})
	tb.Ask = func(_ context.Context, name string) ([]Record, error) {
		asked.Add(1)
		<-begin
		if strings.HasPrefix(name, "gone") {
			return nil, ErrUnknown
		}
		return []Record{{name, []netip.Addr{hub4}}}, nil
	}
	var done sync.WaitGroup
	for range 50 {
		done.Go(func() {
			if a, err := tb.Resolve(t.Context(), "hub"); err != nil || len(a) != 1 {
				t.Error(a, err)
			}
		})
	}
	for { // all 50 wait for one question, or have not begun
		tb.mu.Lock()
		n := len(tb.asking)
		tb.mu.Unlock()
		if n == 1 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := tb.Resolve(ctx, "hub"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	close(begin)
	done.Wait()
	before := asked.Load()
	for range 100 {
		if _, err := tb.Resolve(t.Context(), "gone"); !errors.Is(err, ErrUnknown) {
			t.Error(err)
		}
	}
	if n := asked.Load() - before; n > 3 {
		t.Errorf("%d lookups of a missing name", n)
	}
	for i := range MaxMissing + 100 {
		tb.Resolve(t.Context(), fmt.Sprintf("gone%d", i))
	}
	if len(tb.miss) > MaxMissing {
		t.Errorf("%d missing names are remembered", len(tb.miss))
	}
}

// serve starts the responder on loopback.
func serve(t testing.TB, tb *Table) (udp, tcp string) {
	t.Helper()
	p, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- Serve(ctx, tb, p, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return p.LocalAddr().String(), l.Addr().String()
}

func TestDNS(t *testing.T) {
	tb := table(t)
	var many []netip.Addr
	for i := range 200 {
		many = append(many, netip.AddrFrom4([4]byte{198, 18, 9, byte(i)}))
	}
	if err := tb.Set("many", []Record{{"many." + domain, many}}); err != nil {
		t.Fatal(err)
	}
	tb.Ask = func(_ context.Context, name string) ([]Record, error) {
		if strings.HasPrefix(name, "asked.") {
			return []Record{{name, []netip.Addr{hub4}}}, nil
		}
		if strings.HasPrefix(name, "broken.") {
			return nil, errors.New("the node services do not answer")
		}
		return nil, ErrUnknown
	}
	udp, tcp := serve(t, tb)
	for _, c := range []struct {
		name  string
		kind  uint16
		rcode int
		count int
	}{
		{"hub." + domain, dns.TypeA, dns.RcodeSuccess, 1},
		{"hub." + domain, dns.TypeAAAA, dns.RcodeSuccess, 1},
		{"HuB." + domain, dns.TypeANY, dns.RcodeSuccess, 2},
		{"hub." + domain, dns.TypeMX, dns.RcodeSuccess, 0},
		{"pump.hub." + domain, dns.TypeA, dns.RcodeSuccess, 1},
		{"pump.hub." + domain, dns.TypeAAAA, dns.RcodeSuccess, 0},
		{"asked." + domain, dns.TypeA, dns.RcodeSuccess, 1},
		{"broken." + domain, dns.TypeA, dns.RcodeServerFailure, 0},
		{"gone." + domain, dns.TypeA, dns.RcodeNameError, 0},
		{"a.b.c." + domain, dns.TypeA, dns.RcodeNameError, 0},
		{"_x." + domain, dns.TypeA, dns.RcodeNameError, 0},
		{domain, dns.TypeSOA, dns.RcodeSuccess, 1},
		{domain, dns.TypeA, dns.RcodeSuccess, 0},
		{"2.0.18.198.in-addr.arpa", dns.TypePTR, dns.RcodeSuccess, 1},
		{"1.0.0.127.in-addr.arpa", dns.TypePTR, dns.RcodeRefused, 0},
		{"2.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.1.0.0.0.0.0.d.f.ip6.arpa", dns.TypePTR, dns.RcodeSuccess, 1},
		{"example.com", dns.TypeA, dns.RcodeRefused, 0},
		{"xplant.seganet.internal", dns.TypeA, dns.RcodeRefused, 0},
		{".", dns.TypeNS, dns.RcodeRefused, 0},
	} {
		for network, at := range map[string]string{"udp": udp, "tcp": tcp} {
			q := new(dns.Msg).SetQuestion(dns.Fqdn(c.name), c.kind)
			m, _, err := (&dns.Client{Net: network, Timeout: 30 * time.Second}).Exchange(q, at)
			if err != nil {
				t.Fatalf("%s by %s: %v", c.name, network, err)
			}
			if m.Rcode != c.rcode || len(m.Answer) != c.count {
				t.Errorf("%s %s by %s: %s with %d answers", c.name, dns.TypeToString[c.kind], network, dns.RcodeToString[m.Rcode], len(m.Answer))
			}
			if m.RecursionAvailable {
				t.Errorf("%s: recursion is offered", c.name)
			}
		}
	}
	for size, most := range map[uint16]int{0: plainUDP, 100: plainUDP, 4096: mostUDP} {
		q := new(dns.Msg).SetQuestion("many."+domain+".", dns.TypeA)
		if size > 0 {
			q.SetEdns0(size, false)
		}
		m, _, err := (&dns.Client{UDPSize: 4096, Timeout: 30 * time.Second}).Exchange(q, udp)
		if err != nil {
			t.Fatal(err)
		}
		m.Compress = true // as it was sent
		if !m.Truncated || m.Len() > most {
			t.Errorf("EDNS of %d: %v, truncated %v, %d bytes", size, err, m.Truncated, m.Len())
		}
	}
	m, _, err := (&dns.Client{Net: "tcp", Timeout: 30 * time.Second}).Exchange(new(dns.Msg).SetQuestion("many."+domain+".", dns.TypeA), tcp)
	if err != nil || len(m.Answer) != 200 {
		t.Errorf("by TCP: %v", err)
	}
	update := new(dns.Msg).SetUpdate(domain + ".")
	if m, _, err := (&dns.Client{Timeout: 30 * time.Second}).Exchange(update, udp); err != nil || m.Rcode != dns.RcodeNotImplemented {
		t.Errorf("UPDATE: %v %v", m, err)
	}
}

func TestSplitDNSWithoutResolved(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	err := SplitDNS(t.Context(), "ov0", hub4, domain)
	if !errors.Is(err, ErrNoResolved) || !strings.Contains(err.Error(), "198.18.0.2") || !strings.Contains(err.Error(), domain) {
		t.Fatal(err)
	}
	if got := splitCommands("ov0", hub4, domain)[1]; !slices.Equal(got, []string{"domain", "ov0", "~" + domain}) {
		t.Fatal(got)
	}
}

func FuzzDNS(f *testing.F) {
	pack := func(m *dns.Msg) []byte { b, _ := m.Pack(); return b }
	f.Add(pack(new(dns.Msg).SetQuestion("hub."+domain+".", dns.TypeA)))
	f.Add(pack(new(dns.Msg).SetQuestion("2.0.18.198.in-addr.arpa.", dns.TypePTR)))
	f.Add(pack(new(dns.Msg).SetQuestion(strings.Repeat("0.", 32)+"ip6.arpa.", dns.TypePTR)))
	f.Add(pack(new(dns.Msg).SetQuestion("a.hub."+domain+".", dns.TypeANY).SetEdns0(1400, true)))
	f.Add(make([]byte, 12))
	s := &server{table: table(f)}
	f.Fuzz(func(t *testing.T, b []byte) {
		q := new(dns.Msg)
		if q.Unpack(b) != nil || len(q.Question) != 1 {
			return
		}
		m := s.answer(q)
		m.Truncate(plainUDP)
		out, err := m.Pack()
		if err != nil {
			t.Fatalf("%v\n%v", err, m)
		}
		if len(out) > max(plainUDP, len(b)+100) {
			t.Fatalf("%d bytes", len(out))
		}
	})
}

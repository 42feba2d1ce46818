package paths_test

import (
	"encoding/json"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"seganet.internal/overlay/internal/paths"
	"seganet.internal/overlay/internal/wire"
)

// recorder notes the candidates that a node signals.
type recorder struct {
	paths.Signaller
	mu         sync.Mutex
	candidates []string
}

func (r *recorder) Signal(to, kind string, epoch int64, data string) error {
	if kind == wire.SignalCandidate {
		r.mu.Lock()
		r.candidates = append(r.candidates, data)
		r.mu.Unlock()
	}
	return r.Signaller.Signal(to, kind, epoch, data)
}

func (r *recorder) count(address string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.candidates {
		if strings.Contains(c, " "+strings.Replace(address, ":", " ", 1)+" typ srflx") {
			n++
		}
	}
	return n
}

func TestAMappedAddressIsACandidate(t *testing.T) {
	var mu sync.Mutex
	all := &recorder{}
	a, b, _ := pair(t, nodeOptions{paths: func(c *paths.Config) {
		mu.Lock()
		defer mu.Unlock()
		if all.Signaller == nil { // the first node is a
			all.Signaller = c.Signaller
			c.Signaller = all
		}
	}})
	r := newRelay(t, "127.0.0.1:0", true, true)
	a.paths.SetTURN(r.turn(t, "udp"))
	b.paths.SetTURN(r.turn(t, "udp"))
	const first, second, own = "127.0.0.9:50000", "127.0.0.9:50001", "198.18.0.9:50000"
	a.direct.Store(true)
	a.paths.SetMapped([]netip.AddrPort{netip.MustParseAddrPort(first), netip.MustParseAddrPort(own)})
	echo := stream(t, a, b)
	echo(3 * time.Second)
	eventually(t, 5*time.Second, "the mapped address is signalled", func() bool { return all.count(first) > 0 })
	if all.count(own) != 0 {
		t.Error("an address of the overlay is signalled")
	}
	eventually(t, 10*time.Second, "the round ends", func() bool {
		return slices.ContainsFunc(a.status(b).LastChanges, func(e paths.Event) bool { return strings.HasPrefix(e.Why, "no direct path: ") })
	})
	rounds := a.status(b).Rounds
	a.paths.SetMapped([]netip.AddrPort{netip.MustParseAddrPort(second)})
	eventually(t, time.Second, "a relayed peer is tried at once", func() bool { return all.count(second) > 0 })
	if now := a.status(b).Rounds; now <= rounds {
		t.Errorf("%d rounds after %d", now, rounds)
	}
	a.direct.Store(false)
	a.paths.NetworkChanged("test")
	eventually(t, 10*time.Second, "direct", func() bool { echo(3 * time.Second); return a.isDirect(b) })
	rounds = a.status(b).Rounds
	a.paths.SetMapped([]netip.AddrPort{netip.MustParseAddrPort(first)})
	time.Sleep(200 * time.Millisecond)
	if now := a.status(b).Rounds; now != rounds || !a.isDirect(b) {
		t.Errorf("a direct peer is tried again: %d rounds after %d", now, rounds)
	}
}

// All addresses of this machine but loopback's play those of the overlay.
func TestANodeNamesEachUsableAddressOnce(t *testing.T) {
	var mu sync.Mutex
	all := &recorder{}
	own, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	var overlay []netip.Prefix
	for _, a := range own {
		if p, err := netip.ParsePrefix(a.String()); err == nil && !p.Addr().IsLoopback() {
			overlay = append(overlay, netip.PrefixFrom(p.Addr(), p.Addr().BitLen()))
		}
	}
	a, b, _ := pair(t, nodeOptions{paths: func(c *paths.Config) {
		c.Overlay = append(c.Overlay, overlay...)
		mu.Lock()
		defer mu.Unlock()
		if all.Signaller == nil {
			all.Signaller = c.Signaller
			c.Signaller = all
		}
	}})
	r := newRelay(t, "127.0.0.1:0", true, true)
	a.paths.SetTURN(r.turn(t, "udp"))
	b.paths.SetTURN(r.turn(t, "udp"))
	echo := stream(t, a, b)
	eventually(t, 10*time.Second, "direct", func() bool { echo(3 * time.Second); return a.isDirect(b) })
	all.mu.Lock()
	defer all.mu.Unlock()
	seen := map[string]bool{}
	for _, text := range all.candidates {
		var c wire.Candidate
		if err := json.Unmarshal([]byte(text), &c); err != nil {
			t.Fatal(err)
		}
		fields := strings.Fields(c.Candidate)
		_, user, _ := strings.Cut(c.Candidate, " ufrag ") // of the round
		key := strings.Join(fields[4:8], " ") + " " + user
		if at := netip.MustParseAddr(fields[4]); !at.IsLoopback() {
			t.Errorf("%v of the overlay is named", at)
		}
		if seen[key] {
			t.Errorf("%q is named twice", key)
		}
		seen[key] = true
	}
	if len(seen) == 0 {
		t.Error("no candidate is named")
	}
}

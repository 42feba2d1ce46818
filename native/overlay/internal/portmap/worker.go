package portmap

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"time"
)

const (
	// lifetimeAsked is the requested lifetime of a mapping in seconds.
	lifetimeAsked = 3600
	// lifetimeMost bounds what a gateway grants; the renewal comes at half of it.
	lifetimeMost = 24 * time.Hour
	// renewLeast bounds how often a mapping is renewed, whatever lifetime the gateway grants.
	renewLeast = 30 * time.Second
	// RetryFirst and RetryMost bound the pause before the next request to a gateway that maps nothing.
	RetryFirst = 2 * time.Minute
	RetryMost  = time.Hour
	// askPause is the minimum time between two attempts.
	askPause = 3 * time.Second
	// askLimit bounds one attempt by one protocol.
	askLimit = 20 * time.Second
	// releaseLimit is how long the end waits for the gateway to remove the mapping.
	releaseLimit = 800 * time.Millisecond
)

// grant is what a gateway gives.
type grant struct {
	outside  netip.AddrPort
	lifetime time.Duration
}

// protocol requests a mapping from a gateway. Not safe for concurrent use.
type protocol interface {
	name() string
	// ask makes or renews the mapping of the UDP port. wish is the preferred outside address.
	ask(ctx context.Context, port uint16, wish netip.AddrPort) (grant, error)
	release(ctx context.Context, port uint16, outside netip.AddrPort) error
}

// worker keeps the mapping of one gateway.
type worker struct {
	conf    *Config
	gateway Gateway
	changed func()
	kick    chan string // why the mapping must be requested again

	mu      sync.Mutex
	epoch   epoch
	mapping *Mapping
	why     string // there is no mapping
}

func newWorker(conf *Config, g Gateway, changed func()) *worker {
	return &worker{conf: conf, gateway: g, changed: changed, kick: make(chan string, 1)}
}

// again requests the mapping again soon, and ends the back-off pause.
func (w *worker) again(why string) {
	select {
	case w.kick <- why:
	default:
	}
}

// run keeps the mapping until ctx ends, and removes it then.
func (w *worker) run(ctx context.Context) {
	if c, err := w.openAnnouncements(); err != nil {
		w.conf.Log.Debug("port mapping: announcements of the router cannot be received", "router", w.gateway.Address, "error", err)
	} else {
		go w.listen(ctx, c)
	}
	var active protocol
	retry := w.conf.retryFirst
	for onTime := true; ctx.Err() == nil; {
		begun := time.Now()
		wait := retry
		p, g, err := w.ask(ctx, active)
		switch m := w.current(); {
		case err == nil:
			active, retry = p, w.conf.retryFirst
			wait = max(min(g.lifetime, lifetimeMost)/2, w.conf.renewLeast)
			w.set(&Mapping{Protocol: p.name(), Gateway: w.gateway.Address, Outside: g.outside, Until: begun.Add(min(g.lifetime, lifetimeMost))}, "")
		case ctx.Err() != nil:
		case onTime && m != nil && time.Until(m.Until) > 0: // a renewal failed
			wait = max(time.Until(m.Until)/2, w.conf.renewLeast)
		default:
			active, retry = nil, min(2*retry, w.conf.retryMost)
			w.set(nil, err.Error())
		}
		if onTime = w.pause(ctx, begun, wait); !onTime {
			retry = w.conf.retryFirst
		}
	}
	if m := w.current(); m != nil && active != nil {
		limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseLimit)
		defer cancel()
		if err := active.release(limit, w.conf.Port, m.Outside); err != nil {
			w.conf.Log.Debug("port mapping: the mapping is not removed", "router", w.gateway.Address, "error", plainText(err))
		}
	}
	w.set(nil, "the router is no longer asked")
}

// pause waits. It returns false if the mapping must be requested again for another reason than time.
func (w *worker) pause(ctx context.Context, begun time.Time, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return true
	case <-timer.C:
		return true
	case why := <-w.kick:
		w.conf.Log.Debug("port mapping: asking again", "router", w.gateway.Address, "why", why)
	}
	select {
	case <-ctx.Done():
	case <-time.After(w.conf.askPause - time.Since(begun)):
	}
	return false
}

// ask requests the mapping by the protocol that worked before, and then by each of them.
func (w *worker) ask(ctx context.Context, active protocol) (protocol, grant, error) {
	wish := netip.AddrPortFrom(netip.IPv4Unspecified(), w.conf.Port)
	if m := w.current(); m != nil {
		wish = m.Outside
	}
	list := w.protocols()
	if active != nil {
		list = append([]protocol{active}, list...)
	}
	var failures []string
	for _, p := range list {
		if p != active {
			w.forget()
		}
		limit, cancel := context.WithTimeout(ctx, askLimit)
		g, err := p.ask(limit, w.conf.Port, wish)
		cancel()
		if err == nil && g.lifetime <= 0 {
			err = fmt.Errorf("a lifetime of %v", g.lifetime)
		}
		if err == nil {
			if err = checkOutside(g.outside); err != nil {
				_ = p.release(ctx, w.conf.Port, g.outside)
			}
		}
		if err == nil {
			return p, g, nil
		}
		if p != active {
			failures = append(failures, p.name()+": "+plainText(err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, grant{}, fmt.Errorf("%s", strings.Join(failures, "; "))
}

func (w *worker) protocols() []protocol {
	server := w.conf.pcpServer(w.gateway)
	return []protocol{
		&pcp{gateway: w.gateway, server: server, nonce: w.nonce(), clock: w.clock((*epoch).valid)},
		&natpmp{gateway: w.gateway, server: server, clock: w.clock((*epoch).validNATPMP)},
		&upnp{gateway: w.gateway, group: w.conf.searchGroup()},
	}
}

// nonce returns the same value for this gateway in each run. A node that was killed needs it to get its mapping again:
// the gateway refuses another nonce while the mapping lives (RFC 6887 §11.3).
func (w *worker) nonce() (n [12]byte) {
	if len(w.conf.Secret) == 0 {
		_, _ = rand.Read(n[:])
		return n
	}
	h := hmac.New(sha256.New, w.conf.Secret)
	fmt.Fprintf(h, "port mapping nonce %v %v %d", w.gateway.Address, w.gateway.Inside, w.conf.Port)
	copy(n[:], h.Sum(nil))
	return n
}

// clock returns a function that records the gateway's time. A jump needs no action: the answer that shows it belongs to
// a request that has renewed the mapping.
func (w *worker) clock(valid func(*epoch, uint32, time.Time) bool) func(uint32) {
	return func(server uint32) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if !valid(&w.epoch, server, time.Now()) {
			w.conf.Log.Info("port mapping: the router has lost its mappings", "router", w.gateway.Address)
		}
	}
}

func (w *worker) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.epoch = epoch{}
}

func (w *worker) current() *Mapping {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mapping
}

func (w *worker) set(m *Mapping, why string) {
	w.mu.Lock()
	before := w.mapping
	w.mapping, w.why = m, why
	w.mu.Unlock()
	switch {
	case m != nil && (before == nil || before.Outside != m.Outside):
		w.conf.Log.Info("port mapping", "router", m.Gateway, "protocol", m.Protocol, "outside", m.Outside)
	case m == nil && before != nil:
		w.conf.Log.Info("port mapping: the mapping ended", "router", w.gateway.Address, "reason", why)
	case m == nil:
		w.conf.Log.Debug("port mapping: none", "router", w.gateway.Address, "reason", why)
	}
	w.changed()
}

// sentence describes what the gateway maps, or why it does not.
func (w *worker) sentence() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.mapping != nil:
		return fmt.Sprintf("the router %v maps %v to UDP port %d here by %s until %s", w.gateway.Address, w.mapping.Outside, w.conf.Port,
			w.mapping.Protocol, w.mapping.Until.Local().Format(time.DateTime))
	case w.why == "":
		return fmt.Sprintf("the router %v is being asked to map UDP port %d", w.gateway.Address, w.conf.Port)
	}
	return fmt.Sprintf("the router %v maps no port (%s)", w.gateway.Address, w.why)
}

// plainText returns an error's text, bounded and in one line.
func plainText(err error) string {
	text := strings.Join(strings.Fields(strings.ToValidUTF8(err.Error(), "?")), " ")
	if len(text) > 160 {
		text = strings.ToValidUTF8(text[:160], "") + "…"
	}
	return text
}

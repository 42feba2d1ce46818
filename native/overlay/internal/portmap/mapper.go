package portmap

import (
	"context"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
)

// Config configures a Mapper.
type Config struct {
	Port     uint16                         // UDP, on this host
	Secret   []byte                         // of this node; may be empty
	Gateways func() ([]Gateway, error)      // the default gateways now
	Changed  func(outside []netip.AddrPort) // receives all outside addresses after a change; must not block for long
	Log      *slog.Logger

	// Tests set these; zero values are the real ones.
	server, group, announcements                netip.AddrPort
	retryFirst, retryMost, renewLeast, askPause time.Duration
}

func (c *Config) pcpServer(g Gateway) netip.AddrPort {
	if c.server.IsValid() {
		return c.server
	}
	return netip.AddrPortFrom(g.Address, pcpPort)
}

func (c *Config) searchGroup() netip.AddrPort {
	if c.group.IsValid() {
		return c.group
	}
	return netip.AddrPortFrom(ssdpGroup, ssdpPort)
}

// Mapping is a port that a gateway maps.
type Mapping struct {
	Protocol string         `json:"protocol"` // "PCP", "NAT-PMP", "UPnP"
	Gateway  netip.Addr     `json:"gateway"`
	Outside  netip.AddrPort `json:"outside"`
	Until    time.Time      `json:"until"`
}

// Status lists what the gateways map, or why they do not.
type Status struct {
	Text     string    `json:"text"` // a sentence
	Mappings []Mapping `json:"mappings"`
}

// Mapper keeps the mappings of one UDP port.
//
// Thread safety: all methods may be called concurrently; Run runs once.
type Mapper struct {
	conf    Config
	refresh chan struct{}
	report  sync.Mutex // one call of Changed at a time

	mu       sync.Mutex
	workers  map[Gateway]*running
	problem  string // the gateways are unknown
	reported []netip.AddrPort
}

type running struct {
	*worker
	stop  context.CancelFunc
	ended func() error // its context's error
	done  chan struct{}
	gone  bool // the gateway is no longer one
}

// New returns a Mapper that does nothing before Run.
func New(conf Config) *Mapper {
	if conf.Log == nil {
		conf.Log = slog.New(slog.DiscardHandler)
	}
	set := func(d *time.Duration, standard time.Duration) {
		if *d == 0 {
			*d = standard
		}
	}
	set(&conf.retryFirst, RetryFirst)
	set(&conf.retryMost, RetryMost)
	set(&conf.renewLeast, renewLeast)
	set(&conf.askPause, askPause)
	return &Mapper{conf: conf, refresh: make(chan struct{}, 1), problem: "the routers are not asked yet", workers: map[Gateway]*running{}}
}

// Run keeps the mappings until ctx ends, and removes them then.
func (m *Mapper) Run(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	m.follow(ctx, &all)
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.refresh:
			m.follow(ctx, &all)
		}
	}
}

// Refresh reports that an address or a route has changed. It requests all mappings again, also from new gateways.
func (m *Mapper) Refresh() {
	select {
	case m.refresh <- struct{}{}:
	default:
	}
}

// follow starts a worker for each new gateway and ends those of gateways that have gone.
func (m *Mapper) follow(ctx context.Context, all *sync.WaitGroup) {
	list, err := m.conf.Gateways()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.problem = ""
	if err != nil {
		m.problem = "the default gateway is unknown: " + plainText(err)
	}
	for g, r := range m.workers {
		if r.gone = !slices.Contains(list, g); r.gone {
			r.stop()
		}
	}
	for _, g := range list {
		old := m.workers[g]
		if old != nil && old.ended() == nil {
			old.again("the network changed")
			continue
		}
		m.start(ctx, all, g, old)
	}
}

// start starts a worker. old is the gateway's previous worker, which may still be removing its mapping.
func (m *Mapper) start(ctx context.Context, all *sync.WaitGroup, g Gateway, old *running) {
	own, stop := context.WithCancel(ctx)
	r := &running{worker: newWorker(&m.conf, g, m.changed), stop: stop, ended: own.Err, done: make(chan struct{})}
	m.workers[g] = r
	all.Add(1)
	go func() {
		defer all.Done()
		defer close(r.done)
		defer stop()
		if old != nil {
			<-old.done
		}
		r.run(own)
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.workers[g] == r && r.gone {
			delete(m.workers, g)
		}
	}()
}

// changed reports the outside addresses if they have changed.
func (m *Mapper) changed() {
	m.report.Lock()
	defer m.report.Unlock()
	var now []netip.AddrPort
	for _, x := range m.Status().Mappings {
		now = append(now, x.Outside)
	}
	if slices.Equal(now, m.reported) {
		return
	}
	m.reported = now
	m.conf.Changed(now)
}

// Status returns what the gateways map, or why they do not.
func (m *Mapper) Status() Status {
	s := Status{Mappings: []Mapping{}}
	var text []string
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.workers {
		if r.gone {
			continue
		}
		text = append(text, r.sentence())
		if x := r.current(); x != nil {
			s.Mappings = append(s.Mappings, *x)
		}
	}
	slices.Sort(text)
	slices.SortFunc(s.Mappings, func(a, b Mapping) int { return a.Outside.Compare(b.Outside) })
	switch {
	case m.problem != "":
		s.Text = m.problem
	case len(text) == 0:
		s.Text = "there is no default gateway to ask for a mapping"
	default:
		s.Text = strings.Join(text, "; ")
	}
	return s
}

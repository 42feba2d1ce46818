package paths

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/pion/ice/v4"
	"github.com/pion/stun/v4"

	"seganet.internal/overlay/internal/nat64"
	"seganet.internal/overlay/internal/wire"
)

const (
	// roundLimit is how long a round may search for an address pair.
	roundLimit = 5 * time.Second
	// roundFresh is the age up to which a running round is kept when there is another reason to search; an older one is
	// replaced.
	roundFresh = 2 * time.Second
	// roundAfter is how long a side keeps answering checks after it has found its pair: the other side may need them.
	roundAfter = 2 * time.Second
	// outsideCache is how long ICE reuses the outside address that a STUN server reported. With pion's default of 25 s
	// a node would offer its old outside address after a change of network.
	outsideCache = time.Second
)

// round is one run of ICE with a peer. Both sides use the same number.
type round struct {
	epoch      int64
	agent      *ice.Agent
	user, pass string
	started    int64
	answered   bool // the peer's offer of this round has come
	candidates int  // of the peer
	families   families
	named      map[string]struct{} // candidates of this node that the peer has got
	ended      bool
}

// families are the IP versions of the candidates of both sides.
type families struct{ local4, local6, remote4, remote6 bool }

func (f families) noCommon() bool {
	return (f.local4 || f.local6) && (f.remote4 || f.remote6) && !(f.local4 && f.remote4) && !(f.local6 && f.remote6)
}

func (f *families) add(c ice.Candidate, remote bool) {
	a, err := netip.ParseAddr(c.Address())
	if err != nil {
		return
	}
	is4 := a.Unmap().Is4()
	switch {
	case remote && is4:
		f.remote4 = true
	case remote:
		f.remote6 = true
	case is4:
		f.local4 = true
	default:
		f.local6 = true
	}
}

// usable is false for addresses that must not be candidates. With an address of the overlay itself, ICE would find a
// path through the tunnel that the path is meant to carry.
func (m *Manager) usable(a netip.Addr) bool {
	a = a.Unmap()
	if !a.IsValid() || a.IsMulticast() || a.IsUnspecified() || a.Is6() && a.IsLinkLocalUnicast() {
		return false
	}
	if a.IsLoopback() && !m.conf.Loopback {
		return false
	}
	for _, p := range m.conf.Overlay {
		if p.Contains(a) {
			return false
		}
	}
	return true
}

func (m *Manager) newAgent() (*ice.Agent, error) {
	usable := func(ip net.IP) bool {
		a, ok := netip.AddrFromSlice(ip)
		return ok && m.usable(a)
	}
	var urls []*stun.URI
	for _, s := range m.relays.servers().Servers {
		if s.Transport == TransportUDP {
			host := s.Host
			if a, err := netip.ParseAddr(host); err == nil {
				host = nat64.Default.ReachNow(a).String()
			}
			urls = append(urls, &stun.URI{Scheme: stun.SchemeTypeSTUN, Proto: stun.ProtoTypeUDP, Host: host, Port: s.Port})
		}
	}
	options := []ice.AgentOption{
		ice.WithUrls(urls),
		ice.WithNetworkTypes([]ice.NetworkType{ice.NetworkTypeUDP4, ice.NetworkTypeUDP6}),
		ice.WithCandidateTypes([]ice.CandidateType{ice.CandidateTypeHost, ice.CandidateTypeServerReflexive}),
		ice.WithUDPMux(m.mux.UDPMuxDefault), ice.WithUDPMuxSrflx(m.mux),
		ice.WithMulticastDNSMode(ice.MulticastDNSModeDisabled),
		ice.WithKeepaliveInterval(CheckEvery), ice.WithDisconnectedTimeout(LostAfter), ice.WithFailedTimeout(roundLimit - LostAfter),
		ice.WithHostAcceptanceMinWait(0), ice.WithSrflxAcceptanceMinWait(0), ice.WithPrflxAcceptanceMinWait(0),
		ice.WithCheckInterval(50 * time.Millisecond), ice.WithMaxBindingRequests(20), ice.WithSTUNGatherTimeout(time.Second),
		ice.WithInterfaceFilter(func(name string) bool { return name != m.conf.Interface }),
		ice.WithIPFilter(usable), ice.WithRemoteIPFilter(usable), ice.WithLoggerFactory(quiet{}),
	}
	if m.conf.Loopback {
		options = append(options, ice.WithIncludeLoopback())
	}
	return ice.NewAgentWithOptions(options...)
}

// begin starts the round's agent and sends this side's offer. The caller holds m.mu.
func (m *Manager) begin(p *peer, epoch int64) {
	m.end(p)
	if p.round != nil {
		p.replaced = p.round.epoch
	}
	r := &round{epoch: epoch, started: m.now(), user: randomText(8), pass: randomText(24), named: map[string]struct{}{}}
	p.round = r
	p.rounds++
	if m.relayOnly.Load() {
		r.ended = true
		m.offer(p)
		return
	}
	a, err := m.newAgent()
	if err != nil {
		r.ended = true
		m.event(p, "the search for a direct path cannot start:  "+err.Error())
		m.offer(p)
		return
	}
	r.agent = a
	if r.user, r.pass, err = a.GetLocalUserCredentials(); err != nil {
		m.endRound(p, r, err.Error())
		return
	}
	m.offer(p)
	m.signalMapped(p, m.mapped)
	_ = a.OnCandidate(func(c ice.Candidate) {
		if c == nil {
			return
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		if p.round == r && !r.ended && m.isNew(r, c) {
			r.families.add(c, false)
			m.signal(p, wire.SignalCandidate, r.epoch, &wire.Candidate{Candidate: c.Marshal()})
		}
	})
	_ = a.OnSelectedCandidatePairChange(func(local, remote ice.Candidate) {
		ip, err := netip.ParseAddr(remote.Address())
		if err != nil {
			return
		}
		to := netip.AddrPortFrom(ip.Unmap(), uint16(remote.Port()))
		what := strings.ToLower(local.Type().String() + " to " + remote.Type().String())
		m.mu.Lock()
		defer m.mu.Unlock()
		if p.round == r && !r.ended {
			m.pairFound(p, r, to, what)
		}
	})
	_ = a.OnConnectionStateChange(func(s ice.ConnectionState) {
		if s != ice.ConnectionStateFailed {
			return
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		if p.round == r {
			m.endRound(p, r, "no pair of addresses answers")
		}
	})
	if err := a.GatherCandidates(); err != nil {
		m.endRound(p, r, err.Error())
	}
}

// isNew is true for a usable candidate of this node that the peer does not have. ICE's library does not filter the
// addresses of a shared port, among them those of the overlay, and finds an outside address once for each of them. The
// caller holds m.mu.
func (m *Manager) isNew(r *round, c ice.Candidate) bool {
	a, err := netip.ParseAddr(c.Address())
	if err != nil || !m.usable(a) {
		return false
	}
	name := fmt.Sprintf("%s %s %d", c.Type(), a.Unmap(), c.Port())
	_, known := r.named[name]
	r.named[name] = struct{}{}
	return !known
}

// join takes the peer's offer of the round. The caller holds m.mu.
func (m *Manager) join(p *peer, o wire.Offer) {
	r := p.round
	if r.answered {
		return
	}
	r.answered = true
	if r.agent == nil {
		return
	}
	var err error
	if p.begins {
		_, err = r.agent.StartDial(o.User, o.Password)
	} else {
		_, err = r.agent.StartAccept(o.User, o.Password)
	}
	if err != nil {
		m.endRound(p, r, err.Error())
	}
}

// addCandidate takes a candidate of the peer. The caller holds m.mu.
func (m *Manager) addCandidate(p *peer, text string) {
	r := p.round
	if r == nil || r.agent == nil || r.ended || r.candidates >= CandidatesMost {
		return
	}
	c, err := ice.UnmarshalCandidate(text)
	if err != nil || c.NetworkType().IsTCP() || c.Type() == ice.CandidateTypeRelay {
		return
	}
	a, err := netip.ParseAddr(c.Address()) // a name is refused: a peer may not make this node resolve it
	if err != nil || !m.usable(a) {
		return
	}
	r.candidates++
	if by := nat64.Default.ReachNow(a.Unmap()); by != a.Unmap() {
		if c, err = translated(c, by); err != nil {
			return
		}
	}
	r.families.add(c, true)
	_ = r.agent.AddRemoteCandidate(c)
}

// translated returns a candidate of the peer with the address by which this node's NAT64 reaches it.
func translated(c ice.Candidate, by netip.Addr) (ice.Candidate, error) {
	return ice.NewCandidateHost(&ice.CandidateHostConfig{Network: "udp", Address: by.String(), Port: c.Port(), Component: c.Component(),
		Priority: c.Priority(), Foundation: c.Foundation()})
}

// endRound closes the agent, records the reason, and schedules the next round. The caller holds m.mu.
func (m *Manager) endRound(p *peer, r *round, why string) {
	if r.ended {
		return
	}
	r.ended = true
	if r.agent != nil {
		go r.agent.Close()
	}
	p.wait(m.now())
	m.event(p, "no direct path: "+why)
}

// end stops the peer's round without reporting an event. The caller holds m.mu.
func (m *Manager) end(p *peer) {
	if r := p.round; r != nil && !r.ended {
		r.ended = true
		if r.agent != nil {
			go r.agent.Close()
		}
	}
}

// findNAT6 is findNAT with one destination, the relay's STUN: a node that reaches the relay by IPv6 cannot reach its
// own IPv4 relayed address, unless a NAT64 does.
func (m *Manager) findNAT6(ctx context.Context, a *Allocation) NAT {
	x, err := m.mux.GetXORMappedAddr(net.UDPAddrFromAddrPort(a.at), time.Second)
	if err != nil || ctx.Err() != nil {
		return NATBlocked
	}
	ip, _ := netip.AddrFromSlice(x.IP)
	return classify(netip.AddrPortFrom(ip.Unmap(), uint16(x.Port)), netip.AddrPort{}, hostAddresses())
}

func hostAddresses() (host []netip.Addr) {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	for _, h := range addresses {
		if n, ok := h.(*net.IPNet); ok {
			b, _ := netip.AddrFromSlice(n.IP)
			host = append(host, b.Unmap())
		}
	}
	return host
}

// findNAT asks two destinations for this node's outside address: the relay's STUN server, and this node's own relayed
// address, which reports where a datagram came from.
func (m *Manager) findNAT(ctx context.Context, a *Allocation) NAT {
	target := netip.AddrPortFrom(nat64.Default.ReachNow(a.Address.Addr()), a.Address.Port())
	if a.at.Addr().Is6() && target.Addr().Is4() {
		return m.findNAT6(ctx, a)
	}
	x, err := m.mux.GetXORMappedAddr(net.UDPAddrFromAddrPort(a.at), time.Second)
	if err != nil || ctx.Err() != nil {
		return NATBlocked
	}
	ip, _ := netip.AddrFromSlice(x.IP)
	first := netip.AddrPortFrom(ip.Unmap(), uint16(x.Port))
	host := hostAddresses()
	magic := []byte("SGNP" + randomText(16))
	seen := make(chan netip.AddrPort, 1)
	f := func(packet []byte, from netip.AddrPort) bool {
		if string(packet) != string(magic) {
			return false
		}
		select {
		case seen <- from:
		default:
		}
		return true
	}
	a.probe.Store(&f)
	defer a.probe.Store(nil)
	a.Permit(first.Addr())
	for range 5 {
		_ = m.conf.Bind.SendTo(magic, target)
		select {
		case second := <-seen:
			return classify(first, second, host)
		case <-ctx.Done():
			return NATUnknown
		case <-time.After(200 * time.Millisecond):
		}
	}
	return classify(first, netip.AddrPort{}, host)
}

package policy

import (
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"seganet.internal/overlay/internal/identity"
	"seganet.internal/overlay/internal/packet"
	"seganet.internal/overlay/internal/wire"
)

// logEvery is the least time between two lines of the log about refused packets.
const logEvery = time.Second

// source is the part of a peer's certificate that the filter needs.
type source struct {
	serial    string
	node      string
	groups    []string
	addresses map[netip.Addr]struct{}
	flows     atomic.Int64
}

// Tracker is the Filter of a node. Without a policy it refuses every flow that a peer begins.
type Tracker struct {
	log     *slog.Logger
	now     func() time.Duration
	rules   atomic.Pointer[rules]
	sources sync.Map // WireGuard key → *source
	flows   flowTable
	parts   fragments
	logged  atomic.Int64

	inbound, outbound [verdicts]atomic.Uint64

	mu      sync.Mutex // guards what the rules are made of
	policy  wire.Policy
	self    identity.Peer
	offered []wire.Service
	devices []Target
	counted map[string]*device // by name
}

var _ Filter = (*Tracker)(nil)

// New makes a tracker. log may be nil.
func New(log *slog.Logger) *Tracker {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	start := time.Now()
	t := &Tracker{log: log, now: func() time.Duration { return time.Since(start) }, counted: map[string]*device{}}
	t.logged.Store(int64(-logEvery))
	t.flows.init()
	t.parts.init()
	t.rules.Store(&rules{})
	return t
}

// Update applies a policy. Open flows that it no longer allows end with their next packet. On an error the previous
// policy stays in force.
func (t *Tracker) Update(p wire.Policy, self identity.Peer, offered []wire.Service) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	r, err := compile(p, self, offered, t.devices, t.counted)
	if err != nil {
		return err
	}
	t.policy, t.self, t.offered = p, self, offered
	t.rules.Store(r)
	return nil
}

// SetDevices replaces the devices behind this node.
func (t *Tracker) SetDevices(devices []Target) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	r, err := compile(t.policy, t.self, t.offered, devices, t.counted)
	if err != nil {
		return err
	}
	t.devices = devices
	maps.DeleteFunc(t.counted, func(name string, _ *device) bool {
		return !slices.ContainsFunc(devices, func(d Target) bool { return d.Name == name })
	})
	t.rules.Store(r)
	return nil
}

// Forget drops the state of a peer that has left or was revoked. Its flows end when they are idle.
func (t *Tracker) Forget(key [32]byte) { t.sources.Delete(key) }

func (t *Tracker) source(p *identity.Peer) *source {
	if s, ok := t.sources.Load(p.WGKey); ok && s.(*source).serial == p.Serial {
		return s.(*source)
	}
	s := &source{serial: p.Serial, node: p.Name.Node, groups: p.Groups, addresses: map[netip.Addr]struct{}{}}
	for _, a := range p.AllowedIPs() {
		s.addresses[a.Addr()] = struct{}{}
	}
	t.sources.Store(p.WGKey, s)
	return s
}

// Inbound judges a packet that came out of the tunnel of a peer.
func (t *Tracker) Inbound(from identity.Peer, b []byte) Verdict {
	var info packet.Info
	v := t.judgeInbound(&from, b, &info)
	t.inbound[v].Add(1)
	if v != Accept {
		t.note(v, from.FQDN, &info)
	}
	return v
}

func (t *Tracker) judgeInbound(peer *identity.Peer, b []byte, info *packet.Info) Verdict {
	if packet.Parse(b, info) != nil {
		return Malformed
	}
	from := t.source(peer)
	if _, ok := from.addresses[info.Source]; !ok {
		return Spoofed
	}
	r := t.rules.Load()
	to := r.targets[info.Destination]
	if to == nil {
		return Elsewhere
	}
	now := t.now()
	sender := sender{node: from.node}
	if info.Later {
		return t.parts.judge(now, sender, info)
	}
	v := t.inboundFlow(now, b, info, from, r, to)
	if v == Accept && info.Fragment {
		return t.parts.expect(now, sender, info)
	}
	return v
}

func (t *Tracker) inboundFlow(now time.Duration, b []byte, info *packet.Info, from *source, r *rules, to *target) Verdict {
	key := flowKey{local: info.Destination, remote: info.Source, localPort: info.DestinationPort, remotePort: info.SourcePort, protocol: info.Protocol}
	begins := true
	if info.Protocol == packet.ICMP || info.Protocol == packet.ICMPv6 {
		if info.ICMPError() {
			return t.quoted(now, b, info, false)
		}
		begins = info.EchoRequest()
		key.echo(begins)
	}
	if !carried(info) {
		return Protocol
	}
	s, f := t.flows.open(now, &key, info)
	if f != nil && (f.peer == nil || f.rules == r && f.peer == from) {
		refused := f.refused
		f.touch(now, info, false)
		if refused {
			f.idle = idleRefused
		}
		s.mu.Unlock()
		if refused {
			return NotAllowed
		}
		return Accept
	}
	if !begins {
		s.mu.Unlock()
		return Unsolicited
	}
	v := to.judge(from, info)
	if f != nil { // the policy or the peer's certificate has changed since the flow began
		f.peer.flows.Add(-1)
		from.flows.Add(1)
		back := f.refused && v == Accept && info.Protocol == packet.TCP
		f.rules, f.peer, f.refused = r, from, v != Accept
		f.touch(now, info, false)
		if f.refused {
			f.idle = idleRefused
		} else if back {
			f.idle = idleTCP
		}
		s.mu.Unlock()
		return v
	}
	if v != Accept {
		s.mu.Unlock()
		return v
	}
	return t.insert(s, key, newFlow(now, origin{peer: from}, r, info, false), now)
}

// insert adds a flow. It unlocks the shard.
func (t *Tracker) insert(s *shard, key flowKey, f *flow, now time.Duration) Verdict {
	if !t.flows.reserve(f.origin) {
		s.mu.Unlock()
		if !t.flows.sweep(now) || !t.flows.reserve(f.origin) {
			return TableFull
		}
		s.mu.Lock()
		if s.flows[key] != nil { // of another goroutine in the meantime
			s.mu.Unlock()
			t.flows.release(f.origin)
			return Accept
		}
	}
	s.flows[key] = f
	s.mu.Unlock()
	return Accept
}

// Outbound judges a packet that is about to enter the tunnel.
func (t *Tracker) Outbound(b []byte) Verdict {
	var info packet.Info
	v := t.judgeOutbound(b, &info)
	t.outbound[v].Add(1)
	if v != Accept && !info.Destination.IsMulticast() { // the kernel sends some of those on every interface
		t.note(v, "this node", &info)
	}
	return v
}

func (t *Tracker) judgeOutbound(b []byte, info *packet.Info) Verdict {
	if packet.Parse(b, info) != nil {
		return Malformed
	}
	if info.Destination.IsMulticast() || info.Destination.IsLoopback() || info.Destination.IsUnspecified() {
		return Elsewhere
	}
	self := t.rules.Load().targets[info.Source]
	if self == nil {
		return Spoofed
	}
	now := t.now()
	sender := sender{device: self.device}
	if info.Later {
		return t.parts.judge(now, sender, info)
	}
	v := t.outboundFlow(now, b, info, self)
	if v == Accept && info.Fragment {
		return t.parts.expect(now, sender, info)
	}
	return v
}

func (t *Tracker) outboundFlow(now time.Duration, b []byte, info *packet.Info, self *target) Verdict {
	key := flowKey{local: info.Source, remote: info.Destination, localPort: info.SourcePort, remotePort: info.DestinationPort, protocol: info.Protocol}
	// A packet from an offered port is an answer. Without a flow it must not begin one: the policy may have ended it.
	begins := true
	switch info.Protocol {
	case packet.TCP:
		begins = info.TCPFlags&(packet.SYN|packet.ACK) == packet.SYN || !contains(self.offered, "tcp", info.SourcePort)
	case packet.UDP:
		begins = !contains(self.offered, "udp", info.SourcePort)
	case packet.ICMP, packet.ICMPv6:
		if info.ICMPError() {
			return t.quoted(now, b, info, true)
		}
		begins = info.EchoRequest()
		key.echo(!begins)
	}
	if !carried(info) {
		return Protocol
	}
	s, f := t.flows.open(now, &key, info)
	if f != nil {
		refused := f.refused
		if !refused {
			f.touch(now, info, true)
		}
		s.mu.Unlock()
		if refused {
			return NotAllowed
		}
		return Accept
	}
	if !begins {
		s.mu.Unlock()
		return Unsolicited
	}
	return t.insert(s, key, newFlow(now, origin{device: self.device}, nil, info, true), now)
}

// quoted judges an ICMP error by the flow of the packet that it quotes.
func (t *Tracker) quoted(now time.Duration, b []byte, info *packet.Info, outbound bool) Verdict {
	var q packet.Info
	if packet.ParseQuoted(b[info.Transport+8:info.End], &q) != nil {
		return Malformed
	}
	key := flowKey{local: q.Source, remote: q.Destination, localPort: q.SourcePort, remotePort: q.DestinationPort, protocol: q.Protocol}
	if outbound { // the peer sent the quoted packet
		key = flowKey{local: q.Destination, remote: q.Source, localPort: q.DestinationPort, remotePort: q.SourcePort, protocol: q.Protocol}
	}
	if q.Echo() {
		key.echo(q.EchoRequest() == outbound)
	}
	s := &t.flows.shards[key.shard()]
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.flows[key]; f == nil || f.refused || now-f.seen > f.idle {
		return Unsolicited
	}
	return Accept
}

func (t *Tracker) note(v Verdict, from string, info *packet.Info) {
	now, last := t.now(), t.logged.Load()
	if now-time.Duration(last) < logEvery || !t.logged.CompareAndSwap(last, int64(now)) {
		return
	}
	t.log.Warn("a packet was refused", "reason", v.String(), "from", from, "source", info.Source, "sourcePort", info.SourcePort,
		"destination", info.Destination, "destinationPort", info.DestinationPort, "protocol", info.Protocol)
}

// Flows returns the number of tracked flows, including ended ones that were not removed yet.
func (t *Tracker) Flows() int { return int(t.flows.all.Load()) }

// Counters returns the packets by verdict.
func (t *Tracker) Counters() (inbound, outbound map[string]uint64) {
	inbound, outbound = map[string]uint64{}, map[string]uint64{}
	for v := range verdicts {
		inbound[v.String()] = t.inbound[v].Load()
		outbound[v.String()] = t.outbound[v].Load()
	}
	return inbound, outbound
}

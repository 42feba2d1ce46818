package paths

import (
	"encoding/base64"
	"slices"
	"strings"
	"time"
)

// PeerStatus is a peer as status shows it.
type PeerStatus struct {
	Name        string   `json:"name"`
	Key         string   `json:"key"` // base64, as WireGuard writes it
	Path        string   `json:"path"`
	Why         string   `json:"why,omitempty"`     // why it is not direct
	Blocked     bool     `json:"blocked,omitempty"` // no packet passes
	Offline     bool     `json:"offline,omitempty"` // the node services say that it is not connected to them
	Session     bool     `json:"session"`
	Sleeping    bool     `json:"sleeping"`
	RTT         float64  `json:"rttMs,omitempty"`
	RxDirect    uint64   `json:"rxDirectBytes"`
	TxDirect    uint64   `json:"txDirectBytes"`
	RxRelay     uint64   `json:"rxRelayBytes"`
	TxRelay     uint64   `json:"txRelayBytes"`
	HeardAgo    *float64 `json:"heardAgoS,omitempty"` // since the last authenticated packet
	NAT         NAT      `json:"nat,omitempty"`       // the peer's, as it reports it
	Rounds      int      `json:"rounds"`              // of ICE
	LastChanges []Event  `json:"changes"`
}

// NodeStatus describes how this node reaches the network: port, NAT, relay.
type NodeStatus struct {
	Port         uint16 `json:"port"`
	NAT          NAT    `json:"nat,omitempty"`
	Relay        string `json:"relay,omitempty"`
	RelayAddress string `json:"relayAddress,omitempty"`
	// RelayAddress6 is a second address, of IPv6, for peers that have no other.
	RelayAddress6 string `json:"relayAddress6,omitempty"`
	RelayError    string `json:"relayError,omitempty"`
	// RelayResting is true while a metered node needs no relay, because all of its peers sleep.
	RelayResting bool `json:"relayResting,omitempty"`
	Signalling   bool `json:"signalling"`
	RelayOnly    bool `json:"relayOnly,omitempty"`
}

// Node returns this node's state.
func (m *Manager) Node() NodeStatus {
	s := NodeStatus{Port: m.conf.Bind.Port(), NAT: m.nat.Load().(NAT), RelayOnly: m.relayOnly.Load(), RelayResting: m.resting()}
	if a := m.relays.allocation(); a != nil {
		s.Relay, s.RelayAddress = a.Server.String(), a.Address.String()
	}
	if a := m.relays.six.allocation(); a != nil && a.Address.String() != s.RelayAddress {
		s.RelayAddress6 = a.Address.String()
	}
	if err := m.relays.failure(); err != nil {
		s.RelayError = err.Error()
	}
	m.mu.Lock()
	s.Signalling = m.signalling
	m.mu.Unlock()
	return s
}

// Status returns all peers, sorted by name.
func (m *Manager) Status() []PeerStatus {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]PeerStatus, 0, len(m.peers))
	for _, p := range m.peers {
		out = append(out, m.status(p))
	}
	slices.SortFunc(out, func(a, b PeerStatus) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func (m *Manager) status(p *peer) PeerStatus {
	t := p.endpoint.Traffic()
	s := PeerStatus{Name: p.name, Key: base64.StdEncoding.EncodeToString(p.key[:]), Path: p.choice.name(), Why: m.why(p), Blocked: m.blocked(p), Offline: p.offline,
		Session: m.conf.Tunnel.Established(p.key), Sleeping: p.sleeping.Load(), RTT: float64(p.rtt.Microseconds()) / 1000,
		RxDirect: t.RxDirect, TxDirect: t.TxDirect, RxRelay: t.RxRelay, TxRelay: t.TxRelay, NAT: p.nat, Rounds: p.rounds,
		LastChanges: slices.Clone(p.changes)}
	if last := max(t.HeardDirect, t.HeardRelay); last != 0 {
		ago := time.Duration(m.now() - last).Seconds()
		s.HeardAgo = &ago
	}
	return s
}

// Why explains why the peer is not reached directly.
func (m *Manager) Why(name string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p := m.peers[name]; p != nil {
		return m.why(p)
	}
	return "the peer is unknown"
}

func (m *Manager) why(p *peer) string {
	local := m.nat.Load().(NAT)
	if local == NATSymmetric && len(m.mapped) > 0 {
		local = NATSame // the mapped address is the same for all
	}
	a := m.relays.allocation()
	if a != nil && a.Server.Transport != TransportUDP {
		local = NATBlocked
	}
	s := situation{direct: p.choice.direct.IsValid(), relayOnly: m.relayOnly.Load(), local: local, remote: p.nat, unproven: p.choice.unproven,
		lost: p.choice.lostEver, signalling: m.signalling, offline: p.offline, established: m.conf.Tunnel.Established(p.key),
		idle: p.sleeping.Load(), blocked: m.blocked(p), noCommonRelay: len(p.relays) > 0 && m.relays.to(p.relays[0].Addr()) == nil}
	if r := p.round; r != nil {
		s.answered, s.searching, s.noCommonVersions = r.answered, !r.ended, r.families.noCommon()
	}
	r := reason(s)
	if s.blocked && r != "" {
		r = "no packet passes: " + r
	}
	return r
}

// blocked is true if no packet passes although some should: nothing has arrived since the last data for the peer, for
// longer than relayDead. (A peer that receives data answers within 10 s.) A peer that was just woken has blockedFirst
// for its first packet. The caller holds m.mu.
func (m *Manager) blocked(p *peer) bool {
	if p.sleeping.Load() || p.since == 0 {
		return false
	}
	now, arrived := m.now(), p.lastArrival()
	if arrived < p.since {
		return now-p.since > int64(blockedFirst)
	}
	return p.lastSent.Load() > arrived && now-arrived > int64(relayDead)
}

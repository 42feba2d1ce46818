package node

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"seganet.internal/overlay/internal/control"
	"seganet.internal/overlay/internal/paths"
	"seganet.internal/overlay/internal/portmap"
	"seganet.internal/overlay/internal/version"
	"seganet.internal/overlay/internal/wire"
)

// Status is the node as the control socket shows it.
type Status struct {
	FQDN               string                       `json:"fqdn"`
	Network            string                       `json:"network"`
	Addresses          []string                     `json:"addresses"`
	Mode               string                       `json:"mode"` // "tun" or "netstack"
	Interface          string                       `json:"interface,omitempty"`
	Offload            string                       `json:"offload,omitempty"`
	PID                int                          `json:"pid"`
	UptimeSeconds      int64                        `json:"uptimeS"`
	CertificateExpires time.Time                    `json:"certificateExpires"`
	Services           []wire.Service               `json:"services"`
	ServicesError      string                       `json:"servicesError,omitempty"` // why the node services are out of reach
	UsedTwice          time.Time                    `json:"usedTwice,omitzero"`      // when another program was last seen with this node's identity
	Version            string                       `json:"version"`
	Node               paths.NodeStatus             `json:"node"`
	PortMapping        portmap.Status               `json:"portMapping"`
	Peers              []Peer                       `json:"peers"`
	Refused            map[string]map[string]uint64 `json:"refused"`
	Dropped            map[string]uint64            `json:"dropped"`
	Flows              int                          `json:"flows"`
	Runtime            Runtime                      `json:"runtime"`
}

// Peer is a peer as the control socket shows it.
type Peer struct {
	Name        string      `json:"name"`
	FQDN        string      `json:"fqdn"`
	Path        string      `json:"path"` // "direct", "relay", "none"
	Via         string      `json:"via"`  // with the address
	Reason      string      `json:"reason,omitempty"`
	RTT         *float64    `json:"rttMs,omitempty"`
	BytesDirect Bytes       `json:"bytesDirect"`
	BytesRelay  Bytes       `json:"bytesRelay"`
	Changes     []pathEvent `json:"changes"`
	Sleeping    bool        `json:"sleeping,omitempty"`
	Blocked     bool        `json:"blocked,omitempty"`   // no packet passes, for the reason given
	Offline     bool        `json:"offline,omitempty"`   // the node services say that it is not connected to them
	HeardAgo    *float64    `json:"heardAgoS,omitempty"` // seconds since its last authenticated packet; nil: none yet
	NAT         paths.NAT   `json:"nat,omitempty"`
}

// Bytes is UDP payload by direction.
type Bytes struct {
	In  uint64 `json:"in"`
	Out uint64 `json:"out"`
}

type pathEvent = paths.Event

// Status implements control.Node.
func (n *Node) Status(changes bool) any {
	s := n.status()
	if changes {
		return s
	}
	return summarize(s)
}

// Peers implements control.Node.
func (n *Node) Peers() any { return n.peerList() }

func (n *Node) peerList() []Peer {
	out := []Peer{}
	for _, s := range n.paths.Load().Status() {
		out = append(out, peerOf(s))
	}
	return out
}

func peerOf(s paths.PeerStatus) Peer {
	name, _, _ := strings.Cut(s.Name, ".")
	kind, _, _ := strings.Cut(s.Path, " ")
	if !s.Session {
		kind = "none"
	}
	p := Peer{Name: name, FQDN: s.Name, Path: kind, Via: s.Path, Reason: s.Why, BytesDirect: Bytes{s.RxDirect, s.TxDirect},
		BytesRelay: Bytes{s.RxRelay, s.TxRelay}, Changes: s.LastChanges, Sleeping: s.Sleeping, NAT: s.NAT, Blocked: s.Blocked, Offline: s.Offline, HeardAgo: s.HeardAgo}
	if p.Changes == nil {
		p.Changes = []pathEvent{}
	}
	if s.RTT > 0 {
		p.RTT = &s.RTT
	}
	return p
}

func (n *Node) status() Status {
	m := n.current()
	n.mu.Lock()
	linkError, twice := n.linkError, n.twice
	n.mu.Unlock()
	s := Status{FQDN: m.FQDN, Network: m.Network, Mode: n.mode(), PID: os.Getpid(), UptimeSeconds: int64(time.Since(n.start).Seconds()),
		CertificateExpires: m.Self.Certificate.NotAfter, Services: n.services(), ServicesError: linkError, UsedTwice: twice, Version: version.String(), Node: n.paths.Load().Node(),
		PortMapping: n.portMapping(), Peers: n.peerList(), Flows: n.tracker.Flows(), Runtime: runtimeFigures()}
	for _, a := range m.Self.Addresses {
		s.Addresses = append(s.Addresses, a.String())
	}
	if n.device != nil {
		s.Interface, s.Offload = n.device.IfName(), n.device.Offload()
	}
	in, out := n.tracker.Counters()
	c := &n.engine.Counters
	in["wrong source for the key"] = c.Spoofed.Load()
	s.Refused = map[string]map[string]uint64{"inbound": in, "outbound": out}
	b := &n.bind.Counters
	s.Dropped = map[string]uint64{"noPath": b.NoPath.Load(), "relayedQueueFull": b.RelayedFull.Load(), "stunQueueFull": b.STUNFull.Load(),
		"relayRefused": b.RelayRefused.Load(), "unknownAddress": c.Unknown.Load(), "badControl": c.BadControl.Load(), "badReads": c.BadReads.Load(), "noSession": c.Unconnected.Load(),
		"unreceived": b.Unreceived.Load()}
	return s
}

// Ping implements control.Node.
func (n *Node) Ping(ctx context.Context, name string) (any, error) {
	full, err := n.names.Full(name)
	if err != nil {
		return nil, err
	}
	if parsed, err := wire.ParseFQDN(full); err == nil && parsed.Device != "" {
		full = wire.NodeFQDN(parsed.Node, parsed.Network) // a device is reached by its node, which answers
	}
	if n.peers.byName(full) == nil {
		if _, err := n.names.Resolve(ctx, full); err != nil {
			return nil, fmt.Errorf("%s: %w", full, err)
		}
	}
	rtt, path, err := n.paths.Load().Ping(ctx, full)
	if err != nil {
		return nil, err
	}
	return map[string]any{"name": full, "rttMs": float64(rtt.Microseconds()) / 1000, "path": path}, nil
}

// Dial implements control.Node.
func (n *Node) Dial(ctx context.Context, network, to string) (net.Conn, error) {
	return n.forward.Dial(ctx, network, to)
}

// Forward implements control.Node.
func (n *Node) Forward(network, local, remote string) (net.Addr, error) {
	return n.forward.Forward(network, local, remote)
}

// Unforward implements control.Node.
func (n *Node) Unforward(network, local string) bool { return n.forward.Unforward(network, local) }

// RelayOnly implements control.Node.
func (n *Node) RelayOnly(on bool) { n.paths.Load().SetRelayOnly(on) }

// Events implements control.Node.
func (n *Node) Events(f func(control.Event)) (stop func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.eventID++
	id := n.eventID
	n.events[id] = f
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.events, id)
	}
}

// pathChanged runs while the path manager holds its lock, so it must not call the manager.
func (n *Node) pathChanged(e paths.Event) {
	kind, _, _ := strings.Cut(e.Path, " ")
	if e.Peer == "" {
		n.send(control.Event{Event: "relay", Time: e.Time, Text: e.Path + ": " + e.Why})
		return
	}
	event := "path"
	if kind == "none" {
		event = "down"
	}
	name, _, _ := strings.Cut(e.Peer, ".")
	p := map[string]any{"name": name, "fqdn": e.Peer, "path": kind, "via": e.Path}
	if kind != "direct" {
		p["reason"] = e.Why
	}
	n.send(control.Event{Event: event, Time: e.Time, Peer: p, Text: e.Why})
}

func (n *Node) emit(event, fqdn, text string) {
	name, _, _ := strings.Cut(fqdn, ".")
	n.send(control.Event{Event: event, Time: time.Now(), Peer: map[string]any{"name": name, "fqdn": fqdn, "path": "none", "reason": text}, Text: text})
}

func (n *Node) send(e control.Event) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, f := range n.events {
		f(e)
	}
}

package node

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"seganet.internal/overlay/internal/control"
	"seganet.internal/overlay/internal/paths"
	"seganet.internal/overlay/internal/wire"
)

// lineLimit is that of the gateway (control-connection.js).
const lineLimit = 1 << 20

// crowded is a node with as many peers as possible, with names as long as possible, whose paths have changed often.
type crowded struct {
	control.Node
	s Status
}

func newCrowded() *crowded {
	const long = "the peer is behind a symmetric NAT and this side's NAT lets only known ports in"
	const via = "direct [2001:db8:1111:2222:3333:4444:5555:6666%wwan0]:65535 (unproven)"
	n := &crowded{}
	label := strings.Repeat("x", 63)
	for i := range wire.MaxServices {
		n.s.Services = append(n.s.Services, wire.Service{Name: fmt.Sprintf("%.59s%04d", label, i), Proto: "tcp", Port: 65535})
	}
	for i := range PeersMost {
		p := paths.PeerStatus{Name: wire.NodeFQDN(fmt.Sprintf("%.59s%04d", label, i), label), Path: via, Session: true, Why: long, Sleeping: true, RTT: 123456.789,
			RxDirect: 1 << 63, TxDirect: 1 << 63, RxRelay: 1 << 63, TxRelay: 1 << 63, NAT: paths.NATSymmetric}
		for range paths.ChangesKept {
			p.LastChanges = append(p.LastChanges, paths.Event{Time: time.Now(), Peer: p.Name, Path: via, Why: long})
		}
		n.s.Peers = append(n.s.Peers, peerOf(p))
	}
	return n
}

func (n *crowded) Status(changes bool) any {
	if changes {
		return n.s
	}
	return summarize(n.s)
}

func TestTheStatusOfAFullNodeFitsALineOfTheGateway(t *testing.T) {
	at := filepath.Join(t.TempDir(), control.SocketFile)
	l, err := net.Listen("unix", at)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = control.Serve(t.Context(), l, newCrowded(), slog.New(slog.DiscardHandler)) }()
	c, err := (&net.Dialer{}).DialContext(context.Background(), "unix", at)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	in := bufio.NewReader(c)
	ask := func(request string, result any) int {
		if _, err := io.WriteString(c, request+"\n"); err != nil {
			t.Fatal(err)
		}
		line, err := in.ReadBytes('\n')
		if err != nil {
			t.Fatal(err)
		}
		answer := struct{ Result any }{result}
		if err := json.Unmarshal(line, &answer); err != nil {
			t.Fatal(err)
		}
		return len(line)
	}
	var brief struct {
		Peers []struct {
			Name    string
			Changes int
		}
		PeersLeftOut int
		Services     []wire.Service
	}
	if n := ask(`{"id":1,"method":"status"}`, &brief); n >= lineLimit {
		t.Errorf("a line of %d bytes", n)
	}
	if len(brief.Peers) != summaryPeers || brief.PeersLeftOut != PeersMost-summaryPeers || len(brief.Services) != wire.MaxServices {
		t.Errorf("%d peers, %d left out, %d services", len(brief.Peers), brief.PeersLeftOut, len(brief.Services))
	}
	if p := brief.Peers[0]; p.Changes != paths.ChangesKept || len(p.Name) != 63 {
		t.Errorf("%+v", p)
	}
	var full Status
	ask(`{"id":2,"method":"status","params":{"changes":true}}`, &full)
	if len(full.Peers) != PeersMost || len(full.Peers[0].Changes) != paths.ChangesKept {
		t.Errorf("%d peers", len(full.Peers))
	}
}

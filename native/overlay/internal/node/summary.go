package node

// summaryPeers bounds the peers of a summary. The gateway shows no more.
const summaryPeers = 1024

// summary is the status for programs that ask each second, such as the gateway. Its line has less than 1 MiB, the limit
// of the gateway's, whatever the peers are called and however often their paths change.
type summary struct {
	Status
	Peers        []summaryPeer `json:"peers"`
	PeersLeftOut int           `json:"peersLeftOut,omitempty"`
}

// summaryPeer has the number of the latest changes in place of the changes.
type summaryPeer struct {
	Peer
	Changes int `json:"changes"`
}

func summarize(s Status) summary {
	shown := s.Peers[:min(len(s.Peers), summaryPeers)]
	out := summary{Status: s, Peers: make([]summaryPeer, len(shown)), PeersLeftOut: len(s.Peers) - len(shown)}
	for i, p := range shown {
		out.Peers[i] = summaryPeer{p, len(p.Changes)}
	}
	return out
}

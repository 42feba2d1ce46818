package node

import (
	"crypto/sha256"
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"seganet.internal/overlay/internal/identity"
	"seganet.internal/overlay/internal/wire"
)

// cacheFile lets a restarted node reach its peers while the services are down. It holds certificates, addresses, the
// policy and the relay's credentials. It never holds session keys: each start generates new ones.
const cacheFile = "peers.json"

// cacheMost bounds the file in bytes.
const cacheMost = 64 << 20

type cache struct {
	Port     uint16       `json:"port"`
	TURN     wire.TURN    `json:"turn"`
	Policy   wire.Policy  `json:"policy"`
	Revision int64        `json:"revision"`
	Revoked  []string     `json:"revoked"`
	Peers    []cachedPeer `json:"peers"`
}

type cachedPeer struct {
	Name   string         `json:"name"`
	Chain  []byte         `json:"chain"`
	Direct netip.AddrPort `json:"direct,omitzero"`
	Relay  netip.AddrPort `json:"relay,omitzero"`
}

func (n *Node) readCache() (c cache) {
	path := filepath.Join(n.o.State, cacheFile)
	if st, err := os.Stat(path); err != nil || st.Size() > cacheMost {
		return cache{}
	}
	text, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(text, &c) != nil {
		return cache{} // without a cache, peers are looked up again
	}
	return c
}

func (n *Node) cachedPort() uint16 { return n.readCache().Port }

// loadCache restores the peers of the last run. It verifies each certificate again.
func (n *Node) loadCache() {
	c := n.readCache()
	n.mu.Lock()
	if c.Policy.Validate() == nil && c.Policy.Version > n.policy.Version {
		n.policy = c.Policy
	}
	if c.Revision > n.revision {
		n.revision = c.Revision
		for _, s := range c.Revoked {
			n.revoked[s] = struct{}{}
		}
	}
	n.mu.Unlock()
	n.applyPolicy()
	if len(c.TURN.URLs) > 0 {
		n.takeTURN(c.TURN)
	}
	defer func() {
		if c.Policy.Version > 0 {
			n.removeUnseen()
		}
	}()
	for _, p := range c.Peers {
		if _, err := n.install(p.Name, p.Chain); err == nil {
			n.paths.Load().Remember(p.Name, p.Direct, p.Relay)
		}
	}
}

// saveCache writes the file if its content has changed. Housekeeping calls it, and the node calls it once more at its
// end.
func (n *Node) saveCache() {
	n.mu.Lock()
	c := cache{Port: n.bind.Port(), TURN: n.turn, Policy: n.policy, Revision: n.revision}
	for s := range n.revoked {
		c.Revoked = append(c.Revoked, s)
	}
	n.mu.Unlock()
	slices.Sort(c.Revoked)
	for name, p := range n.peers.all() {
		direct, relay := n.paths.Load().Addresses(name)
		c.Peers = append(c.Peers, cachedPeer{name, p.chain, direct, relay})
	}
	slices.SortFunc(c.Peers, func(a, b cachedPeer) int { return strings.Compare(a.Name, b.Name) })
	text, err := json.Marshal(c)
	sum := sha256.Sum256(text)
	if err == nil && sum == n.cached {
		return // each write wears flash memory
	}
	if err == nil {
		err = identity.WriteFile(filepath.Join(n.o.State, cacheFile), text)
	}
	if err != nil {
		n.log.Warn("the cache of peers is not written", "error", err)
		return
	}
	n.cached = sum
}

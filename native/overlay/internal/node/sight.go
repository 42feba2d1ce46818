package node

import (
	"crypto/rand"
	"encoding/hex"
	"slices"
	"time"

	"seganet.internal/overlay/internal/control"
	"seganet.internal/overlay/internal/identity"
	"seganet.internal/overlay/internal/nodes"
	"seganet.internal/overlay/internal/policy"
	"seganet.internal/overlay/internal/version"
)

// newInstance returns a random name for this run of the program. It distinguishes two programs that use one identity.
func newInstance() string {
	var b [8]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

func (n *Node) greeting() nodes.Greeting {
	return nodes.Greeting{Instance: n.instance, Version: version.String(), DeviceGroups: n.deviceGroups(), Silence: n.patience.wish()}
}

// deviceGroups returns the groups of the devices behind this node, where they differ from its own.
func (n *Node) deviceGroups() (groups []string) {
	for _, d := range n.devices() {
		for _, g := range d.Groups {
			if !slices.Contains(groups, g) {
				groups = append(groups, g)
			}
		}
	}
	slices.Sort(groups)
	return groups
}

// sides returns this node and a peer in the form that the policy is evaluated on. Only the node services know the groups of the
// peer's devices.
func (n *Node) sides(p identity.Peer) (self, other policy.Side) {
	me := n.self()
	return policy.Side{Node: me.Name.Node, Groups: me.Groups, Devices: n.deviceGroups()},
		policy.Side{Node: p.Name.Node, Groups: p.Groups, AnyDevice: len(p.Devices) > 0}
}

func (n *Node) currentSight() *policy.Sight {
	n.mu.Lock()
	defer n.mu.Unlock()
	return policy.NewSight(n.policy)
}

// maySpeak is true if the policy allows a node that this one has not looked up to become its peer.
func (n *Node) maySpeak(p identity.Peer) bool {
	self, other := n.sides(p)
	s := n.currentSight()
	return s.Both(self, other) || s.ReachDevice(other, self)
}

// removeUnseen removes peers that the policy no longer allows this node to know. If only a device behind a peer could
// justify it, removeUnseen asks the node services.
func (n *Node) removeUnseen() {
	s := n.currentSight()
	for name, p := range n.peers.all() {
		self, other := n.sides(p.Peer)
		switch {
		case s.Both(self, other) || s.ReachDevice(other, self):
		case s.ReachDevice(self, other):
			n.rescan.add(name)
		default:
			n.removePeer(name)
			n.log.Info("a peer was removed, as the policy allows it nothing with this node any more", "peer", name)
			n.emit("down", name, "the policy allows it nothing with this node")
		}
	}
}

// usedTwice handles the node services' warning that another program uses this node's identity.
func (n *Node) usedTwice(text string) {
	n.mu.Lock()
	last := n.twice
	n.twice = time.Now().UTC().Truncate(time.Second)
	n.mu.Unlock()
	if time.Since(last) < time.Minute {
		return // both reconnect each second
	}
	n.log.Warn("the identity of this node is used twice", "services", text)
	n.send(control.Event{Event: "twice", Time: time.Now(), Text: text})
}

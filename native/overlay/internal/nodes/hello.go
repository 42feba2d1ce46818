package nodes

import (
	"slices"
	"sync"
	"time"

	"github.com/coder/websocket"

	"seganet.internal/overlay/internal/identity"
	"seganet.internal/overlay/internal/wire"
)

// hellos limits a node to one hello per helloEvery, because each goes to all that watch the node.
type hellos struct {
	mu    sync.Mutex
	last  time.Time   // when the latest one was taken
	next  *wire.Hello // waits for its time; nil: none
	timer *time.Timer // of next
}

// take calls enter with the hello at once, or with the newest one when helloEvery has passed.
func (h *hellos) take(m *wire.Hello, enter func(*wire.Hello)) {
	h.mu.Lock()
	wait := helloEvery - time.Since(h.last)
	if h.next != nil || wait > 0 {
		if h.next == nil {
			h.timer = time.AfterFunc(wait, func() {
				h.mu.Lock()
				m := h.next
				h.next, h.last = nil, time.Now()
				h.mu.Unlock()
				if m != nil {
					enter(m)
				}
			})
		}
		h.next = m
		h.mu.Unlock()
		return
	}
	h.last = time.Now()
	h.mu.Unlock()
	enter(m)
}

// stop forgets the waiting hello.
func (h *hellos) stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.next = nil
	if h.timer != nil {
		h.timer.Stop()
	}
}

// hello registers the node. Its devices must be in its certificate; their addresses come from there.
func (c *session) hello(m *wire.Hello) {
	for i, d := range m.Devices {
		fqdn := wire.DeviceFQDN(d.Name, c.peer.Name.Node, c.peer.Name.Network)
		at := slices.IndexFunc(c.peer.Devices, func(p identity.PeerDevice) bool { return p.FQDN == fqdn })
		if at < 0 {
			c.sendMessage(&wire.Error{Code: wire.CodeDenied, Text: "The device " + fqdn + " is not in the node's certificate. Renew the certificate with it."})
			return
		}
		m.Devices[i].Addr6, m.Devices[i].Addr4 = c.peer.Devices[at].Addresses[0], c.peer.Devices[at].Addresses[1]
	}
	if !c.welcomed {
		if welcome, ok := c.enter(m); ok {
			c.welcomed = true
			welcome.TURN = *c.turn()
			c.sendMessage(welcome)
		}
		return
	}
	c.hellos.take(m, func(m *wire.Hello) { c.enter(m) })
}

func (c *session) enter(m *wire.Hello) (*wire.Welcome, bool) {
	welcome, ok := c.s.enter(c, m)
	if !ok {
		c.end(websocket.StatusPolicyViolation, "the certificate is revoked")
	}
	return welcome, ok
}

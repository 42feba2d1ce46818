package paths

const (
	// outboxMost bounds the calls of the engine that wait for a peer; further ones are dropped, as the network does.
	outboxMost = 128
	// outboxSigns is the same for calls that are repeated anyway, such as keepalives. The lower bound leaves room for
	// signals.
	outboxSigns = 16
)

// keepalive, renew and control make the engine send. The caller holds m.mu.
func (m *Manager) keepalive(p *peer) {
	m.call(p, outboxSigns, func() { m.conf.Tunnel.Keepalive(p.key) })
}

func (m *Manager) renew(p *peer) {
	m.call(p, outboxSigns, func() { m.conf.Tunnel.Renew(p.key) })
}

func (m *Manager) control(p *peer, message []byte) {
	m.call(p, outboxSigns, func() { m.conf.Tunnel.SendControl(p.key, m.conf.Self, message) })
}

// call makes f call the engine after all earlier calls for the peer, unless most calls wait or the peer was removed. f runs
// without m.mu: the engine may wait for the peer's sender, up to streamWrite at a relay by TCP, and other peers and the data
// path must not wait with it. The caller holds m.mu.
func (m *Manager) call(p *peer, most int, f func()) {
	if m.closing || m.peers[p.name] != p || len(p.outbox) >= most {
		return
	}
	p.outbox = append(p.outbox, f)
	if !p.calling {
		p.calling = true
		m.ended.Add(1) // before Close waits, as closing is false
		go m.makeCalls(p)
	}
}

// makeCalls makes the calls that wait for the peer, in order.
func (m *Manager) makeCalls(p *peer) {
	defer m.ended.Done()
	for {
		m.mu.Lock()
		if m.closing || len(p.outbox) == 0 {
			p.outbox, p.calling = nil, false
			m.mu.Unlock()
			return
		}
		f := p.outbox[0]
		p.outbox = p.outbox[1:]
		m.mu.Unlock()
		f()
	}
}

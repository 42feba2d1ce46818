package paths

// Idle pretends that a peer had no data for DropAfter, so that the next tick puts it to sleep.
func (m *Manager) Idle(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.peers[name].lastData.Store(m.now() - int64(DropAfter) - 1)
	m.wake()
}

// Due makes the next round with a peer due.
func (m *Manager) Due(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.peers[name].next = 0
	m.wake()
}

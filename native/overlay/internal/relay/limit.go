package relay

import (
	"net"
	"sync"
	"time"

	"seganet.internal/overlay/internal/quota"
)

// limitListener bounds the open connections, in total and per client, and closes idle ones.
type limitListener struct {
	net.Listener
	quota       *quota.Quota
	refused     *quota.Refusals
	first, idle time.Duration // longest wait for the first byte, and for each later one
	mu          sync.Mutex
	open        map[*idleConn]struct{}
}

func newLimitListener(l net.Listener, all, each int, first, idle time.Duration) *limitListener {
	p := quota.New(all, each)
	return &limitListener{Listener: l, quota: p, refused: quota.NewRefusals(p, "connections to the relay"), first: first, idle: idle,
		open: map[*idleConn]struct{}{}}
}

// Accept returns the next connection. It closes connections over the limits at once and logs that.
func (l *limitListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		from := c.RemoteAddr().String()
		leave, ok := l.quota.Take(from)
		if !ok {
			c.Close()
			l.refused.Add(from)
			continue
		}
		ic := &idleConn{Conn: c, list: l, leave: leave}
		l.mu.Lock()
		l.open[ic] = struct{}{}
		l.mu.Unlock()
		return ic, nil
	}
}

func (l *limitListener) closeAll() {
	l.mu.Lock()
	list := make([]*idleConn, 0, len(l.open))
	for c := range l.open {
		list = append(list, c)
	}
	l.mu.Unlock()
	for _, c := range list {
		c.Close()
	}
}

type idleConn struct {
	net.Conn
	list  *limitListener
	leave func()
	heard bool // a byte has come; owned by the reader
}

func (c *idleConn) Read(p []byte) (int, error) {
	limit := c.list.first
	if c.heard {
		limit = c.list.idle
	}
	if err := c.SetReadDeadline(time.Now().Add(limit)); err != nil {
		return 0, err
	}
	n, err := c.Conn.Read(p)
	c.heard = c.heard || n > 0
	return n, err
}

func (c *idleConn) Close() error {
	c.list.mu.Lock()
	if _, ok := c.list.open[c]; ok {
		delete(c.list.open, c)
		c.leave()
	}
	c.list.mu.Unlock()
	return c.Conn.Close()
}

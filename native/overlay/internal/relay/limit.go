package relay

import (
	"net"
	"sync"
	"time"
)

// limitListener accepts at most max connections at once and closes idle ones.
type limitListener struct {
	net.Listener
	max  int
	idle time.Duration
	mu   sync.Mutex
	open map[*idleConn]struct{}
}

func newLimitListener(l net.Listener, max int, idle time.Duration) *limitListener {
	return &limitListener{Listener: l, max: max, idle: idle, open: map[*idleConn]struct{}{}}
}

// Accept returns the next connection. It closes those over the limit at once.
func (l *limitListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		ic := &idleConn{Conn: c, list: l}
		l.mu.Lock()
		full := len(l.open) >= l.max
		if !full {
			l.open[ic] = struct{}{}
		}
		l.mu.Unlock()
		if !full {
			return ic, nil
		}
		c.Close()
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
	list *limitListener
}

func (c *idleConn) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(c.list.idle)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

func (c *idleConn) Close() error {
	c.list.mu.Lock()
	delete(c.list.open, c)
	c.list.mu.Unlock()
	return c.Conn.Close()
}

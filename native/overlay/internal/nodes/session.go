package nodes

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/pion/turn/v5"

	"seganet.internal/overlay/internal/identity"
	"seganet.internal/overlay/internal/wire"
)

// session is the connection of one node.
type session struct {
	s        *Server
	conn     *websocket.Conn
	peer     identity.Peer
	der      []byte // chain
	out      chan []byte
	ctx      context.Context
	cancel   context.CancelFunc
	once     sync.Once
	code     websocket.StatusCode // set once, by end
	reason   string
	about    about
	since    time.Time
	welcomed bool // only the reader uses it
	hellos   hellos
	interest map[string]struct{} // FQDNs; REQUIRES: s.mu
	replaced bool                // another connection of the node is in force; REQUIRES: s.mu
}

func newSession(s *Server, conn *websocket.Conn, peer identity.Peer, der []byte, a about) *session {
	c := &session{s: s, conn: conn, peer: peer, der: der, about: a, since: s.now().UTC().Truncate(time.Second), out: make(chan []byte, maxQueue), interest: map[string]struct{}{}}
	c.ctx, c.cancel = context.WithCancel(s.ctx)
	return c
}

// end ends the session with a code that the node receives.
func (c *session) end(code websocket.StatusCode, reason string) {
	c.once.Do(func() {
		c.code, c.reason = code, reason
		c.cancel()
	})
}

// send queues a frame. A node that does not read is disconnected rather than waited for.
func (c *session) send(frame []byte) {
	select {
	case c.out <- frame:
	default:
		c.end(websocket.StatusTryAgainLater, "the node reads too slowly")
	}
}

func (c *session) sendMessage(m wire.Message) {
	frame, err := wire.Encode(m)
	if err != nil {
		slog.Error("a message cannot be sent", "node", c.peer.FQDN, "kind", m.Kind(), "error", err)
		return
	}
	c.send(frame)
}

// run serves the node until the connection ends.
func (c *session) run() {
	left := c.peer.Certificate.NotAfter.Sub(c.s.now())
	expiry := time.AfterFunc(left, func() { c.end(websocket.StatusPolicyViolation, "the certificate has expired") })
	defer expiry.Stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.write()
	}()
	err := c.read()
	c.end(websocket.StatusNormalClosure, "")
	c.hellos.stop()
	c.s.leave(c)
	<-done
	_ = c.conn.CloseNow()
	if err != nil && !errors.Is(err, context.Canceled) && websocket.CloseStatus(err) == -1 {
		slog.Info("a node's connection ended", "node", c.peer.FQDN, "error", err)
	}
}

// write sends what is queued, and new credentials for the relay. After end, it sends the rest of the queue, so that a
// revoked node learns why it is disconnected.
func (c *session) write() {
	renew := time.NewTicker(TURNLife / 2)
	defer renew.Stop()
	flush := func(frame []byte) bool {
		ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
		defer cancel()
		return c.conn.Write(ctx, websocket.MessageText, frame) == nil
	}
	for {
		select {
		case frame := <-c.out:
			if !flush(frame) {
				c.end(websocket.StatusAbnormalClosure, "")
				_ = c.conn.CloseNow()
				return
			}
		case <-renew.C:
			c.sendMessage(c.turn())
		case <-c.ctx.Done():
			c.end(websocket.StatusGoingAway, "the service stops") // unless there was another reason
			for c.code == websocket.StatusPolicyViolation && len(c.out) > 0 && flush(<-c.out) {
			}
			if c.code == websocket.StatusAbnormalClosure {
				_ = c.conn.CloseNow()
			} else {
				late := time.AfterFunc(closeTimeout, func() { _ = c.conn.CloseNow() })
				_ = c.conn.Close(c.code, c.reason)
				late.Stop()
			}
			return
		}
	}
}

func (c *session) turn() *wire.TURN {
	o := c.s.opts.TURN
	t := &wire.TURN{URLs: o.URLs, Expires: time.Now().Add(TURNLife).UTC().Truncate(time.Second)}
	var err error
	// With the serial number, the relay can end the allocations of a revoked node.
	if t.User, t.Password, err = turn.GenerateLongTermTURNRESTCredentials(o.Secret, c.peer.FQDN+"#"+c.peer.Serial, TURNLife); err != nil {
		slog.Error("credentials for the relay cannot be made", "error", err)
	}
	return t
}

// read handles the node's messages. It slows down a node that sends more than its share.
func (c *session) read() error {
	bucket := float64(messagesAtOnce)
	last := time.Now()
	for {
		limit := max(idleTimeout, c.about.silence+silenceSlack)
		if !c.welcomed {
			limit = helloTimeout
		}
		// Not under c.ctx: its end would close the connection before write has sent the reason.
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		kind, frame, err := c.conn.Read(ctx)
		cancel()
		if err != nil {
			return err
		}
		if kind != websocket.MessageText {
			c.end(websocket.StatusUnsupportedData, "the signalling uses text frames")
			return nil
		}
		m, err := wire.DecodeFromNode(frame)
		if err != nil {
			slog.Warn("a malformed message", "node", c.peer.FQDN, "error", err)
			c.end(websocket.StatusInvalidFramePayloadData, "malformed message")
			return nil
		}
		if _, isHello := m.(*wire.Hello); !isHello && !c.welcomed {
			c.end(websocket.StatusPolicyViolation, "the first message is a hello")
			return nil
		}
		c.handle(m)
		now := time.Now()
		bucket = min(messagesAtOnce, bucket+now.Sub(last).Seconds()*messagesASecond) - 1
		last = now
		if bucket < 0 {
			select {
			case <-time.After(time.Second / messagesASecond):
			case <-c.ctx.Done():
				return c.ctx.Err()
			}
		}
	}
}

func (c *session) handle(m wire.Message) {
	switch m := m.(type) {
	case *wire.Hello:
		c.hello(m)
	case *wire.Lookup:
		c.sendMessage(c.s.lookup(c, m))
	case *wire.Signal:
		if err := c.s.signal(c, m); err != nil {
			c.sendMessage(err)
		}
	case *wire.Ping:
		c.sendMessage(&wire.Pong{})
	}
}

package node

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"seganet.internal/overlay/internal/eyeballs"
	"seganet.internal/overlay/internal/identity"
	"seganet.internal/overlay/internal/nat64"
	"seganet.internal/overlay/internal/nodes"
	"seganet.internal/overlay/internal/paths"
	"seganet.internal/overlay/internal/wire"
)

const (
	// dialLimit bounds one attempt to reach one of the node services.
	dialLimit = 5 * time.Second
	// dialDelay is the time after which the next service is tried beside one that does not answer.
	dialDelay = time.Second
	// retryFirst and retryMost bound the pause between attempts; there is no last one. After a restart of the services,
	// relayed pairs without a relay wait for this.
	retryFirst = 100 * time.Millisecond
	retryMost  = 3 * time.Second
	// sendQueue is the number of messages that wait for the connection.
	sendQueue = 1024
)

// link is a connection to the node services.
type link struct {
	client *nodes.Client
	queue  chan wire.Message
	cancel context.CancelFunc
	// services are those of the first message.
	services []wire.Service
}

var errNoNodes = errors.New("the membership names no node service. Join again with a new invitation")

var errBusy = errors.New("too many messages wait for the node services")

func (l *link) send(m wire.Message) error {
	select {
	case l.queue <- m:
		return nil
	default:
		return errBusy
	}
}

// Signal implements paths.Signaller. It signs the message: the services cannot change it.
func (n *Node) Signal(to, kind string, epoch int64, data string) error {
	n.mu.Lock()
	l, m := n.link, n.member
	n.mu.Unlock()
	if l == nil {
		return errNoServices
	}
	return l.send(&wire.Signal{To: to, Type: kind, Epoch: epoch, Data: data, Signature: m.Keys.SignSignal(m.FQDN, to, kind, epoch, data)})
}

// signalling keeps a connection to one of the node services until ctx ends: to the previous one, if it answers in time.
func (n *Node) signalling(ctx context.Context) {
	pause, best := retryFirst, ""
	for ctx.Err() == nil {
		m := n.current()
		began := time.Now()
		err := errNoNodes
		if len(m.Nodes) > 0 {
			var c *nodes.Client
			if c, best, err = n.dial(ctx, inOrder(m.Nodes, best), m); err == nil {
				err = n.connect(ctx, c)
			}
		}
		n.disconnected(err)
		if time.Since(began) > 5*time.Second {
			pause = retryFirst
		}
		select {
		case <-ctx.Done():
		case <-n.redial:
			pause = retryFirst
			continue
		case <-time.After(jitter(pause)):
		}
		pause = min(pause*2, retryMost)
	}
}

// jitter returns 75 to 125 % of a pause, so that the nodes of a network do not all reconnect at the same moment.
func jitter(pause time.Duration) time.Duration { return pause*3/4 + rand.N(pause/2) }

// linked is true while the node services are reached.
func (n *Node) linked() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.link != nil
}

func (n *Node) disconnected(err error) {
	n.mu.Lock()
	was := n.link != nil
	n.link = nil
	if err != nil {
		n.linkError = strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	n.mu.Unlock()
	if was {
		n.log.Info("the node services are out of reach; sessions continue", "reason", err)
		n.paths.Load().SignallingChanged(false)
	}
}

// inOrder returns the URLs with best as the first one, if it is one of them, and the others behind it in their order.
func inOrder(urls []string, best string) []string {
	at := max(0, slices.Index(urls, best))
	return slices.Concat(urls[at:], urls[:at])
}

// dial connects to the first of the node services that answers. Only the connection that is used begins with a hello,
// so the services take no notice of the others.
func (n *Node) dial(ctx context.Context, urls []string, m *identity.Member) (*nodes.Client, string, error) {
	ctx, done := context.WithCancel(ctx)
	defer done()
	n.mu.Lock()
	n.dialing = done
	n.mu.Unlock()
	greeting := n.greeting()
	c, at, err := eyeballs.First(ctx, len(urls), dialDelay, func(ctx context.Context, i int) (*nodes.Client, error) {
		ctx, cancel := context.WithTimeout(ctx, dialLimit)
		defer cancel()
		return nodes.Dial(ctx, urls[i], m.ClientTLS(), greeting)
	}, (*nodes.Client).Close)
	return c, urls[at], err
}

// connect uses a connection to a node service until it ends.
func (n *Node) connect(ctx context.Context, c *nodes.Client) error {
	defer c.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l := &link{client: c, queue: make(chan wire.Message, sendQueue), cancel: cancel}
	hello := n.hello()
	l.services = hello.Services
	if err := c.Send(ctx, hello); err != nil {
		return err
	}
	heard := make(chan struct{}, 1)
	go n.write(ctx, l, heard)
	for {
		msg, err := c.Receive(ctx)
		if err != nil {
			return err
		}
		select {
		case heard <- struct{}{}:
		default:
		}
		n.take(l, msg)
	}
}

// write sends the queued messages and checks the connection. It closes the connection if an answer is later than
// pongLimit.
func (n *Node) write(ctx context.Context, l *link, heard <-chan struct{}) {
	defer l.cancel()
	check := time.NewTimer(pingBusy)
	defer check.Stop()
	var late <-chan time.Time
	var turns checks
	last, silence := time.Now(), time.Duration(0) // of the last message, and before the check that is not answered yet
	defer func() {
		if late != nil {
			n.patience.unanswered(silence, time.Now())
		}
	}()
	for {
		var m wire.Message
		select {
		case <-ctx.Done():
			return
		case <-late:
			return
		case <-heard:
			if late != nil {
				n.patience.answered(silence)
			}
			late, last = nil, time.Now()
			continue
		case m = <-l.queue:
		case <-n.rechecks:
			m = &wire.Ping{}
		case <-check.C:
			paths := n.paths.Load()
			relay, wait := turns.next(paths.Busy(), n.o.Metered, paths.HasRelay(), n.patience.interval(l.client.Silence()))
			check.Reset(wait)
			if relay {
				paths.CheckRelay()
				continue
			}
			m = &wire.Ping{}
		}
		if _, ping := m.(*wire.Ping); ping && late == nil {
			late, silence = time.After(pongLimit), time.Since(last)
		}
		last = time.Now()
		sending, done := context.WithTimeout(ctx, pongLimit)
		err := l.client.Send(sending, m)
		done()
		if err != nil {
			return
		}
	}
}

// networkChanged replaces the connection at once, because it belongs to the old address.
func (n *Node) networkChanged(what string) {
	n.log.Info("the network changed", "what", what)
	n.patience.forget()
	nat64.Default.Forget()
	n.reconnect("the network changed")
	select {
	case n.renewNow <- struct{}{}:
	default:
	}
	n.paths.Load().NetworkChanged(what)
	if n.mapper != nil {
		n.mapper.Refresh()
	}
}

// reconnect replaces the connection to the node services without a pause.
func (n *Node) reconnect(why string) {
	select {
	case n.redial <- struct{}{}:
	default:
	}
	n.mu.Lock()
	l, dialing := n.link, n.dialing
	n.mu.Unlock()
	switch {
	case l != nil:
		nat64.Default.Forget()
		n.disconnected(errors.New(why))
		l.cancel()
	case dialing != nil:
		dialing()
	}
}

func (n *Node) take(l *link, msg wire.Message) {
	m := n.paths.Load()
	switch msg := msg.(type) {
	case *wire.Welcome:
		n.takeRoots(msg.Roots)
		n.takeRevocations(msg.Revocations)
		n.takePolicy(msg.Policy)
		n.takeTURN(msg.TURN)
		n.mu.Lock()
		n.link, n.linkError = l, ""
		n.mu.Unlock()
		if !slices.Equal(l.services, n.services()) { // an offer that came in the meantime
			n.announce(l)
		}
		n.patience.connected(time.Now())
		n.log.Info("the node services answer")
		m.SignallingChanged(true)
		n.rescan.wake()
	case *wire.TURN:
		n.takeTURN(*msg)
	case *wire.PolicyUpdate:
		n.takePolicy(msg.Policy)
	case *wire.Revoked:
		n.takeRevocations(msg.List)
	case *wire.RootsUpdate:
		n.takeRoots(msg.Roots)
	case *wire.Found:
		if msg.ID != "" {
			n.answer(msg.ID, msg)
			return
		}
		if err := n.meet(msg.Name, msg.Certificate); err != nil {
			n.log.Warn("peer", "error", err)
			return
		}
		m.Offline(msg.Name, !msg.Online)
	case *wire.Gone:
		m.Offline(msg.Name, true)
	case *wire.Signal:
		if err := n.takeSignal(msg); err != nil {
			n.log.Warn("signal", "from", msg.From, "error", err)
		}
	case *wire.Error:
		if msg.ID != "" {
			n.answer(msg.ID, msg)
		} else if msg.Code == wire.CodeTwice {
			n.usedTwice(msg.Text)
		} else if msg.Code != wire.CodeOffline {
			n.log.Warn("node services", "error", msg)
		}
	}
}

func (n *Node) answer(id string, msg wire.Message) {
	n.mu.Lock()
	ch := n.waiting[id]
	delete(n.waiting, id)
	n.mu.Unlock()
	if ch != nil {
		ch <- msg
	}
}

// meet accepts a node that this one has not looked up as a peer, if the policy allows one of them to reach the other.
// The node services hide all other nodes, but this node does not rely on that.
func (n *Node) meet(fqdn string, chain []byte) error {
	if n.peers.byName(fqdn) == nil {
		p, err := identity.VerifyNode(chain, fqdn, n.current().Roots, n.isRevoked, time.Now())
		if err != nil {
			return fmt.Errorf("the certificate of %s is refused: %w", fqdn, err)
		}
		if !n.maySpeak(p) {
			return fmt.Errorf("%s is no peer: the policy allows nothing between it and this node", fqdn)
		}
	}
	_, err := n.install(fqdn, chain)
	return err
}

// takeSignal checks certificate and signature before anything else happens.
func (n *Node) takeSignal(s *wire.Signal) error {
	if len(s.Certificate) > 0 {
		if err := n.meet(s.From, s.Certificate); err != nil {
			return err
		}
	}
	p := n.peers.byName(s.From)
	if p == nil {
		return errors.New("the sender has not shown its certificate")
	}
	if !identity.CheckSignal(p.Peer, n.current().FQDN, s.Type, s.Epoch, s.Data, s.Signature) {
		return errors.New("the signature does not belong to the sender")
	}
	return n.paths.Load().Signal(s.From, s.Type, s.Epoch, s.Data)
}

func (n *Node) takeTURN(t wire.TURN) {
	servers, err := paths.ParseServers(t.URLs)
	if err != nil {
		n.log.Warn("relay", "error", err)
		return
	}
	m := n.current()
	n.mu.Lock()
	n.turn = t
	n.mu.Unlock()
	// The relay shares port 443 with the node services; ALPN tells them apart (RFC 7443).
	conf := &tls.Config{RootCAs: m.Roots, NextProtos: []string{"stun.turn"}, MinVersion: tls.VersionTLS13}
	n.paths.Load().SetTURN(paths.TURN{Servers: servers, User: t.User, Password: t.Password, Expires: t.Expires, TLS: conf})
}

// Package bus connects the node services of a network through NATS. It implements nodes.Bus.
//
// NATS carries presences, signals, and documents that the authentication service signed. A client with publish rights
// can deny service and see who is connected, as any node service can. It can neither read what nodes exchange nor
// impersonate a node. Use TLS and an account that only the services have.
package bus

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// Queue bounds the messages that wait for NATS; further ones are dropped. When the connection is back, the services
	// send each other their full state again.
	Queue = 16384
	// reconnectWait is the pause between two attempts to reach NATS. There is no last attempt.
	reconnectWait = time.Second
	closeLimit    = time.Second
)

// Options name the NATS servers.
type Options struct {
	URLs  []string // nats://user:password@host:4222, tls://host:4222
	Creds string   // file with the account's credentials (nsc); empty: those of the URL
	CA    string   // PEM file of the servers' CA; empty: the system's
}

// Validate checks the options. Its error says how to correct them.
func (o *Options) Validate() error {
	for _, s := range o.URLs {
		u, err := url.Parse(s)
		if err != nil || u.Host == "" || u.Scheme != "nats" && u.Scheme != "tls" {
			return errors.New("a NATS URL is not like nats://user:password@host:4222 or tls://host:4222")
		}
	}
	if len(o.URLs) == 0 && (o.Creds != "" || o.CA != "") {
		return errors.New("credentials or CA of NATS are given, but no server. Give one: --nats tls://host:4222")
	}
	return nil
}

// NATS is a connection to NATS.
type NATS struct {
	conn  *nats.Conn
	queue chan message
	done  chan struct{}
	once  sync.Once
	wait  sync.WaitGroup

	mu        sync.Mutex
	connected []func()
}

type message struct {
	subject string
	data    []byte
}

// Open connects. If no server answers, it keeps trying in the background, and the node service works alone until then.
func Open(o Options) (*NATS, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	b := &NATS{queue: make(chan message, Queue), done: make(chan struct{})}
	again := func(c *nats.Conn) {
		slog.Info("NATS is connected", "server", c.ConnectedUrlRedacted())
		b.mu.Lock()
		list := append([]func(){}, b.connected...)
		b.mu.Unlock()
		for _, f := range list {
			f()
		}
	}
	options := []nats.Option{nats.Name("seganet-overlay"), nats.MaxReconnects(-1), nats.ReconnectWait(reconnectWait), nats.RetryOnFailedConnect(true),
		nats.NoEcho(), nats.ConnectHandler(again), nats.ReconnectHandler(again),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				slog.Warn("NATS is out of reach; this node service continues alone", "error", err)
			}
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { slog.Warn("NATS", "error", err) })}
	if o.Creds != "" {
		options = append(options, nats.UserCredentials(o.Creds))
	}
	if o.CA != "" {
		options = append(options, nats.RootCAs(o.CA))
	}
	var err error
	if b.conn, err = nats.Connect(strings.Join(o.URLs, ","), options...); err != nil {
		return nil, fmt.Errorf("NATS: %w. Check the URL, the credentials and the CA", err)
	}
	b.wait.Add(1)
	go func() {
		defer b.wait.Done()
		b.run()
	}()
	return b, nil
}

func (b *NATS) run() {
	for {
		select {
		case m := <-b.queue:
			if err := b.conn.Publish(m.subject, m.data); err != nil {
				slog.Warn("a message to the other node services is lost", "error", err)
			}
		case <-b.done:
			for len(b.queue) > 0 {
				m := <-b.queue
				_ = b.conn.Publish(m.subject, m.data)
			}
			_ = b.conn.FlushTimeout(closeLimit)
			b.conn.Close()
			return
		}
	}
}

// Publish implements nodes.Bus.
func (b *NATS) Publish(subject string, data []byte) error {
	select {
	case b.queue <- message{subject, data}:
		return nil
	default:
		return fmt.Errorf("%d messages wait for NATS already", Queue)
	}
}

// Subscribe implements nodes.Bus.
func (b *NATS) Subscribe(subject string, f func([]byte)) error {
	_, err := b.conn.Subscribe(subject, func(m *nats.Msg) { f(m.Data) })
	return err
}

// Connected is true while a server is reached.
func (b *NATS) Connected() bool { return b.conn.IsConnected() }

// OnConnected implements nodes.Bus.
func (b *NATS) OnConnected(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.connected = append(b.connected, f)
}

// Close sends the queued messages, waits at most closeLimit for NATS to receive them, and closes the connection.
func (b *NATS) Close() {
	b.once.Do(func() { close(b.done) })
	b.wait.Wait()
}

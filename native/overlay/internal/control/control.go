// Package control is the node's control socket: lines of JSON over a Unix socket of mode 0600. Only the node's own user
// and root may connect. The gateway and the commands status, ping and doctor use it.
//
//	request  {"id":1,"method":"ping","params":{"name":"hub"}}
//	answer   {"id":1,"result":{…}} or {"id":1,"error":{"text":"a sentence"}}
//	status   {"id":1,"method":"status","params":{"changes":true}}: all peers with their changes; without it, 1,024 peers
//	         with the number of their changes in a line of less than 1 MiB
//	events   {"event":"path","time":"…","peer":{…},"text":"…"}, after the method "events"
//
//	offer    {"id":2,"method":"offer","params":{"name":"mqtt","network":"tcp","port":1883,"target":"127.0.0.1:1883"}}
//
// After the method "dial" has been answered, the connection is the byte stream of the dialed one. Forwards and offers end
// with the connection that opened them.
package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"seganet.internal/overlay/internal/privsock"
)

const (
	// SocketFile is the socket's name in the state folder.
	SocketFile = "control.sock"
	// MaxLine is the length in bytes of the longest request.
	MaxLine = 64 << 10
	// MaxConnections bounds the connections at once.
	MaxConnections = 64
	// MaxPending bounds the requests of a connection that wait for their answers.
	MaxPending = 64
	// MaxForwards bounds the forwards of a connection.
	MaxForwards = 256
	// eventQueue bounds the events that wait for a slow reader. When it is full, the reader loses its connection.
	eventQueue = 1024
	writeLimit = 10 * time.Second
	// acceptPause is the pause after a connection that could not be accepted.
	acceptPause = 50 * time.Millisecond
)

// Event is a line that the node sends without a request.
type Event struct {
	Event string    `json:"event"` // "up", "down", "path", "refused", "relay", "revoked", "twice"
	Time  time.Time `json:"time"`
	Peer  any       `json:"peer,omitempty"`
	Text  string    `json:"text,omitempty"`
}

// Node handles the requests.
type Node interface {
	// Status is bounded, for programs that poll it each second. With changes it has all peers, each with the latest
	// changes of its path.
	Status(changes bool) any
	Peers() any
	Doctor(ctx context.Context) any
	Ping(ctx context.Context, name string) (any, error)
	Dial(ctx context.Context, network, to string) (net.Conn, error)
	Forward(network, local, remote string) (net.Addr, error)
	Unforward(network, local string) bool
	// Offer offers a service of this host to the overlay: a port that leads to target, a "host:port". Withdraw ends it.
	Offer(name, network string, port uint16, target string) error
	Withdraw(network string, port uint16)
	// RelayOnly disables direct paths, or enables them again.
	RelayOnly(on bool)
	// Events calls f for each event until the returned function is called. f must not block.
	Events(f func(Event)) (stop func())
}

// Request is one line of a client.
type Request struct {
	ID     int64           `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params,omitempty"`
}

type params struct {
	Name    string `json:"name"`
	Network string `json:"network"`
	To      string `json:"to"`
	Local   string `json:"local"`
	Remote  string `json:"remote"`
	Port    uint16 `json:"port"`
	Target  string `json:"target"`
	On      *bool  `json:"on"`
	Changes bool   `json:"changes"`
}

type answer struct {
	ID     int64  `json:"id"`
	Result any    `json:"result,omitempty"`
	Error  *fault `json:"error,omitempty"`
}

type fault struct {
	Text string `json:"text"`
}

// Parse reads a request. Unknown fields, other types and trailing data are errors.
func Parse(line []byte) (Request, error) {
	var r Request
	if len(line) > MaxLine {
		return r, fmt.Errorf("the request has %d bytes, the limit is %d", len(line), MaxLine)
	}
	if err := strict(line, &r); err != nil {
		return r, err
	}
	if r.ID <= 0 || r.Method == "" {
		return r, errors.New("a request needs a positive id and a method")
	}
	return r, nil
}

func parseParams(raw json.RawMessage) (p params, err error) {
	if len(raw) == 0 {
		return p, nil
	}
	return p, strict(raw, &p)
}

func strict(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("the request is no valid JSON object: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("there is data behind the request's object")
	}
	return nil
}

// Listen opens the socket in the state folder. It fails if a running node holds it.
func Listen(state string) (net.Listener, error) {
	path := filepath.Join(state, SocketFile)
	if c, err := net.DialTimeout("unix", path, time.Second); err == nil {
		_ = c.Close()
		return nil, fmt.Errorf("a node with the state folder %s runs already", state)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	l, err := privsock.Listen(path)
	if err != nil {
		return nil, fmt.Errorf("cannot open the control socket %s: %w", path, err)
	}
	return l, nil
}

// Serve answers connections until the listener is closed or ctx ends; nothing else ends it.
func Serve(ctx context.Context, l net.Listener, n Node, log *slog.Logger) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		<-ctx.Done()
		_ = l.Close()
	}()
	slots := make(chan struct{}, MaxConnections)
	var open sync.WaitGroup
	defer open.Wait()
	for {
		c, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return nil
			}
			select { // for example too many open files: others must end first
			case <-ctx.Done():
			case <-time.After(acceptPause):
			}
			continue
		}
		if !privsock.Allowed(c) {
			log.Warn("control: a connection of another user was refused")
			_ = c.Close()
			continue
		}
		select {
		case slots <- struct{}{}:
			open.Add(1)
			go func() {
				defer open.Done()
				defer func() { <-slots }()
				serve(ctx, c, n)
			}()
		default:
			_ = c.Close()
		}
	}
}

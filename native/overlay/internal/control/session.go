package control

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"time"
)

type session struct {
	conn     net.Conn
	node     Node
	mu       sync.Mutex // guards writes, forwards and offers
	forwards [][2]string
	offers   []offered
}

type offered struct {
	network string
	port    uint16
}

func serve(ctx context.Context, c net.Conn, n Node) {
	ctx, cancel := context.WithCancel(ctx)
	s := &session{conn: c, node: n}
	stopWatch := context.AfterFunc(ctx, func() { _ = c.Close() })
	var pending sync.WaitGroup
	var ends []func()
	taken := false
	defer func() {
		stopWatch()
		cancel()
		for _, f := range ends {
			f()
		}
		if !taken {
			_ = c.Close()
		}
		pending.Wait()
		for _, f := range s.forwards {
			n.Unforward(f[0], f[1])
		}
		for _, o := range s.offers {
			n.Withdraw(o.network, o.port)
		}
	}()
	slots := make(chan struct{}, MaxPending)
	in := bufio.NewReaderSize(c, 4096)
	for {
		line, err := readLine(in)
		if err != nil {
			return
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		r, err := Parse(line)
		if err != nil {
			s.write(answer{ID: r.ID, Error: &fault{err.Error()}})
			return
		}
		switch r.Method {
		case "events":
			ends = append(ends, s.events(r.ID))
			continue
		case "dial":
			s.dial(ctx, r, in)
			return
		}
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		pending.Add(1)
		go func() {
			defer pending.Done()
			defer func() { <-slots }()
			result, err := s.do(ctx, r)
			if err != nil {
				s.write(answer{ID: r.ID, Error: &fault{err.Error()}})
				return
			}
			s.write(answer{ID: r.ID, Result: result})
		}()
	}
}

func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > MaxLine {
			return nil, errors.New("the line is too long")
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

func (s *session) write(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.conn.SetWriteDeadline(time.Now().Add(writeLimit))
	if _, err := s.conn.Write(append(b, '\n')); err != nil {
		_ = s.conn.Close()
	}
}

type empty struct{}

func (s *session) do(ctx context.Context, r Request) (any, error) {
	p, err := parseParams(r.Params)
	if err != nil {
		return nil, err
	}
	switch r.Method {
	case "status":
		return s.node.Status(p.Changes), nil
	case "peers":
		return map[string]any{"peers": s.node.Peers()}, nil
	case "doctor":
		return s.node.Doctor(ctx), nil
	case "ping":
		ctx, cancel := context.WithTimeout(ctx, 8*time.Second)
		defer cancel()
		return s.node.Ping(ctx, p.Name)
	case "relay-only":
		if p.On == nil {
			return nil, errors.New(`"relay-only" needs "on": true or false`)
		}
		s.node.RelayOnly(*p.On)
		return empty{}, nil
	case "forward":
		return s.forward(p)
	case "unforward":
		if !s.node.Unforward(p.Network, p.Local) {
			return nil, fmt.Errorf("there is no forward at %s", p.Local)
		}
		return empty{}, nil
	case "offer":
		if err := s.node.Offer(p.Name, p.Network, p.Port, p.Target); err != nil {
			return nil, err
		}
		s.mu.Lock()
		s.offers = append(s.offers, offered{p.Network, p.Port})
		s.mu.Unlock()
		return empty{}, nil
	case "withdraw":
		return s.withdraw(offered{p.Network, p.Port})
	}
	return nil, fmt.Errorf("the method %q is unknown", r.Method)
}

// withdraw ends an offer of this connection. Offers of other connections and configured offers stay.
func (s *session) withdraw(o offered) (any, error) {
	s.mu.Lock()
	at := slices.Index(s.offers, o)
	if at >= 0 {
		s.offers = slices.Delete(s.offers, at, at+1)
	}
	s.mu.Unlock()
	if at < 0 {
		return nil, fmt.Errorf("this connection does not offer %.8s/%d", o.network, o.port)
	}
	s.node.Withdraw(o.network, o.port)
	return empty{}, nil
}

func (s *session) forward(p params) (any, error) {
	s.mu.Lock()
	full := len(s.forwards) >= MaxForwards
	s.mu.Unlock()
	if full {
		return nil, fmt.Errorf("this connection has %d forwards, which is the limit", MaxForwards)
	}
	a, err := s.node.Forward(p.Network, p.Local, p.Remote)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.forwards = append(s.forwards, [2]string{p.Network, a.String()})
	s.mu.Unlock()
	return map[string]string{"local": a.String()}, nil
}

func (s *session) events(id int64) (stop func()) {
	queue := make(chan Event, eventQueue)
	done := make(chan struct{})
	end := s.node.Events(func(e Event) {
		select {
		case queue <- e:
		default:
			_ = s.conn.Close()
		}
	})
	s.write(answer{ID: id, Result: empty{}})
	go func() {
		for {
			select {
			case e := <-queue:
				s.write(e)
			case <-done:
				return
			}
		}
	}()
	return func() {
		end()
		close(done)
	}
}

func (s *session) dial(ctx context.Context, r Request, in *bufio.Reader) {
	p, err := parseParams(r.Params)
	var far net.Conn
	if err == nil {
		if p.Network == "" {
			p.Network = "tcp"
		}
		far, err = s.node.Dial(ctx, p.Network, p.To)
	}
	if err != nil {
		s.write(answer{ID: r.ID, Error: &fault{err.Error()}})
		return
	}
	defer far.Close()
	stop := context.AfterFunc(ctx, func() { _ = far.Close() }) // the far side may stay silent indefinitely
	defer stop()
	s.write(answer{ID: r.ID, Result: empty{}})
	_ = s.conn.SetDeadline(time.Time{})
	back := make(chan struct{})
	go func() {
		defer close(back)
		_, _ = io.Copy(s.conn, far)
		if u, ok := s.conn.(*net.UnixConn); ok {
			_ = u.CloseWrite()
		}
	}()
	_, _ = io.Copy(far, in)
	if h, ok := far.(interface{ CloseWrite() error }); ok {
		_ = h.CloseWrite()
	} else {
		_ = far.Close()
	}
	<-back
}

package auth

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"

	"seganet.internal/overlay/internal/audit"
	"seganet.internal/overlay/internal/privsock"
	"seganet.internal/overlay/internal/wire"
)

const (
	// AdminSocket is the name of the Unix socket, in the state folder, on which a running service accepts administration
	// requests.
	AdminSocket = "admin.sock"
	// MaxAdminConnections bounds the connections to it at once.
	MaxAdminConnections = 64
	// maxSocketPath is the longest path of a Unix socket, in bytes.
	maxSocketPath = 107
)

// AdminHandler returns the API of the administration: overview, nodes, invitations, revocation, the end of a
// suspension, policy, its check and review, the audit log, rotation. It does not check permissions: the mode of the
// socket restricts access.
func (s *Service) AdminHandler() http.Handler {
	mux := http.NewServeMux()
	handle := func(pattern string, f func(r *http.Request) (any, error)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			v, err := f(r)
			if err != nil {
				fail(w, err)
				return
			}
			answer(w, v)
		})
	}
	handle("GET /v1/overview", func(r *http.Request) (any, error) {
		page, err1 := number(r, "page", 1)
		size, err2 := number(r, "size", 25)
		if err := errors.Join(err1, err2); err != nil {
			return nil, err
		}
		return s.Overview(r.URL.Query().Get("match"), page, size)
	})
	handle("GET /v1/nodes", func(*http.Request) (any, error) { return s.Nodes() })
	handle("GET /v1/invitations", func(*http.Request) (any, error) { return s.Invitations() })
	handle("GET /v1/policy", func(*http.Request) (any, error) { return s.Policy() })
	handle("GET /v1/audit", func(r *http.Request) (any, error) {
		last, err := number(r, "last", 100)
		if err == nil && (last < 1 || last > wire.MaxEntries) {
			err = invalid(fmt.Errorf("last=%d: write a number from 1 to %d", last, wire.MaxEntries))
		}
		if err != nil {
			return nil, err
		}
		list, err := audit.Read(s.opts.Dir, r.URL.Query().Get("node"), last)
		return append([]audit.Entry{}, list...), err
	})
	post(handle, "POST /v1/invite", func(q wire.InviteRequest) (any, error) { return s.Invite(q) })
	post(handle, "POST /v1/withdraw", func(q wire.WithdrawRequest) (any, error) { return struct{}{}, s.Withdraw(q) })
	post(handle, "POST /v1/revoke", func(q wire.RevokeRequest) (any, error) { return struct{}{}, s.Revoke(q) })
	post(handle, "POST /v1/resume", func(q wire.ResumeRequest) (any, error) { return struct{}{}, s.Resume(q) })
	post(handle, "POST /v1/rotate", func(q wire.RotateRequest) (any, error) { return struct{}{}, s.Rotate(q.Now, q.By) })
	post(handle, "POST /v1/policy/check", func(q wire.PolicyQuestion) (any, error) { return s.Check(q) })
	post(handle, "POST /v1/policy/review", func(q wire.PolicyText) (any, error) { return s.Review(q.Text) })
	post(handle, "PUT /v1/policy", func(q wire.PolicyText) (any, error) {
		p, _, problems := wire.ParsePolicy(q.Text)
		if len(problems) > 0 {
			return nil, invalid(problems[0])
		}
		return s.SetPolicy(p, PolicyChange{By: q.By, From: q.From})
	})
	return mux
}

// post handles requests with a body.
func post[T any, V interface {
	*T
	wire.Validator
}](handle func(string, func(*http.Request) (any, error)), pattern string, f func(T) (any, error)) {
	handle(pattern, func(r *http.Request) (any, error) {
		var q T
		if err := read(r, V(&q)); err != nil {
			return nil, err
		}
		return f(q)
	})
}

// number returns a parameter of the URL, or other without it.
func number(r *http.Request, name string, other int) (int, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return other, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, invalid(fmt.Errorf("%s=%.20q is not a number", name, text))
	}
	return n, nil
}

// ListenAdmin opens the administration socket, with mode 0600. The caller holds the database lock, so an existing socket in
// the state folder is left over from a dead process; anywhere else, one on which another process answers is refused.
func ListenAdmin(path string) (net.Listener, error) {
	if len(path) > maxSocketPath {
		return nil, fmt.Errorf("%s is longer than the %d bytes of a socket's path. Choose a shorter one with --admin", path, maxSocketPath)
	}
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case info.Mode().Type() != fs.ModeSocket:
		return nil, fmt.Errorf("%s is not a socket. Choose another path with --admin", path)
	default:
		if c, err := net.Dial("unix", path); err == nil {
			c.Close()
			return nil, fmt.Errorf("another process answers on %s. Stop it, or choose another path with --admin", path)
		}
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	l, err := privsock.Listen(path)
	if err != nil {
		return nil, err
	}
	return &fewConns{Listener: l, places: make(chan struct{}, MaxAdminConnections)}, nil
}

// fewConns closes connections beyond its places, and those of other users, at once.
type fewConns struct {
	net.Listener
	places chan struct{}
}

func (l *fewConns) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if !privsock.Allowed(c) {
			c.Close()
			continue
		}
		select {
		case l.places <- struct{}{}:
			return &placed{Conn: c, leave: sync.OnceFunc(func() { <-l.places })}, nil
		default:
			c.Close()
		}
	}
}

type placed struct {
	net.Conn
	leave func()
}

func (c *placed) Close() error {
	c.leave()
	return c.Conn.Close()
}

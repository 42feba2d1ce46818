package auth

import (
	"net"
	"net/http"
	"os"
	"path/filepath"

	"seganet.internal/overlay/internal/wire"
)

// AdminSocket is the name of the Unix socket, in the state folder, on which a running service accepts administration
// requests.
const AdminSocket = "admin.sock"

// AdminHandler returns the API of the administration: invite, revoke, nodes, policy and its check, rotate. It does not check
// permissions: the mode of the socket restricts access.
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
	handle("POST /v1/invite", func(r *http.Request) (any, error) {
		var q wire.InviteRequest
		if err := read(r, &q); err != nil {
			return nil, err
		}
		return s.Invite(q)
	})
	handle("POST /v1/revoke", func(r *http.Request) (any, error) {
		var q wire.RevokeRequest
		if err := read(r, &q); err != nil {
			return nil, err
		}
		return struct{}{}, s.Revoke(q)
	})
	handle("GET /v1/nodes", func(*http.Request) (any, error) { return s.Nodes() })
	handle("GET /v1/policy", func(*http.Request) (any, error) { return s.Policy() })
	handle("PUT /v1/policy", func(r *http.Request) (any, error) {
		var p wire.Policy
		if err := read(r, &p); err != nil {
			return nil, err
		}
		return s.SetPolicy(p)
	})
	handle("POST /v1/policy/check", func(r *http.Request) (any, error) {
		var q wire.PolicyQuestion
		if err := read(r, &q); err != nil {
			return nil, err
		}
		return s.Check(q)
	})
	handle("POST /v1/rotate", func(r *http.Request) (any, error) {
		return struct{}{}, s.Rotate(r.URL.Query().Get("now") == "true")
	})
	return mux
}

// ListenAdmin opens the administration socket of a state folder with mode 0600. The caller holds the database lock, so
// an existing socket is left over from a dead process.
func ListenAdmin(dir string) (net.Listener, error) {
	path := filepath.Join(dir, AdminSocket)
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	// The folder has mode 0700 unless its owner changed that; bind makes the socket with the umask's mode until Chmod.
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

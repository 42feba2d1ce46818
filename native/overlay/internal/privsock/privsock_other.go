//go:build !linux

package privsock

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
)

// Listen opens a socket in a folder that only its user may enter. On Windows, the access list of the folder
// decides; a folder in the user's profile is private.
func Listen(path string) (net.Listener, error) {
	if err := os.Chmod(filepath.Dir(path), 0o700); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return nil, err
	}
	l, err := net.Listen("unix", path)
	if err != nil || runtime.GOOS == "windows" {
		return l, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// Allowed is true: the folder keeps other users out.
func Allowed(c net.Conn) bool {
	_, ok := c.(*net.UnixConn)
	return ok
}

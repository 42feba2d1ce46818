package privsock

import (
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// Listen opens a socket to which other users can never connect, not even for a moment.
func Listen(path string) (net.Listener, error) {
	old := unix.Umask(0o177)
	defer unix.Umask(old)
	return net.Listen("unix", path)
}

// Allowed is true for a connection of this process's user and of root. The socket's mode enforces the same; this check also works where a
// file system ignores modes.
func Allowed(c net.Conn) bool {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return false
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return false
	}
	var cred *unix.Ucred
	if err := raw.Control(func(fd uintptr) { cred, _ = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); err != nil {
		return false
	}
	return cred != nil && (cred.Uid == uint32(os.Geteuid()) || cred.Uid == 0)
}

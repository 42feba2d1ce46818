package names

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// counted is a connection that gives its slot back once.
type counted struct {
	net.Conn
	once    sync.Once
	release func()
}

func (c *counted) Close() error {
	err := c.Conn.Close()
	c.once.Do(c.release)
	return err
}

const resolvectlTimeout = 5 * time.Second

// ErrNoResolved says that the system's resolver cannot ask for one domain only.
var ErrNoResolved = errors.New("systemd-resolved does not run here, so only programs that ask the overlay's DNS server themselves get its names")

// SplitDNS makes systemd-resolved ask server for the names of domain, and only for those, on an interface. Without systemd-resolved it changes
// nothing; the error says what to do. The setting ends with the interface.
func SplitDNS(ctx context.Context, ifname string, server netip.Addr, domain string) error {
	advice := fmt.Sprintf("Make the system's resolver ask %s for %s, or use names in forwards and SOCKS5", server, domain)
	path, err := exec.LookPath("resolvectl")
	if err != nil {
		return fmt.Errorf("%w. %s", ErrNoResolved, advice)
	}
	if _, err := os.Stat("/run/systemd/resolve"); err != nil {
		return fmt.Errorf("%w. %s", ErrNoResolved, advice)
	}
	ctx, cancel := context.WithTimeout(ctx, resolvectlTimeout)
	defer cancel()
	for _, args := range splitCommands(ifname, server, domain) {
		if out, err := exec.CommandContext(ctx, path, args...).CombinedOutput(); err != nil {
			return fmt.Errorf("resolvectl %s failed: %s. %s", strings.Join(args, " "), strings.TrimSpace(string(out)), advice)
		}
	}
	return nil
}

func splitCommands(ifname string, server netip.Addr, domain string) [][]string {
	return [][]string{
		{"dns", ifname, server.String()},
		{"domain", ifname, "~" + domain}, // "~": for routing only, it is no search domain
		{"default-route", ifname, "false"},
		{"dnsovertls", ifname, "no"}, // the tunnel encrypts
		{"dnssec", ifname, "no"},     // .internal cannot be signed from the root
		{"llmnr", ifname, "no"},
		{"mdns", ifname, "no"},
	}
}

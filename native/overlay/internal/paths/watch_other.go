//go:build !linux

package paths

import (
	"net"
	"net/netip"
	"slices"
	"time"
)

// lookEvery is how often the host's addresses are compared where the system reports no changes.
const lookEvery = 5 * time.Second

func subscribe() (*subscription, error) {
	s := &subscription{notices: make(chan struct{}, 1), lost: make(chan struct{}), done: make(chan struct{})}
	go func(done chan struct{}) {
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			select {
			case s.notices <- struct{}{}:
			default:
			}
		}
	}(s.done)
	return s, nil
}

// Snapshot lists the host's usable addresses, sorted.
func Snapshot(ignore func(name string, a netip.Addr) bool) []string {
	var out []string
	interfaces, err := net.Interfaces()
	if err != nil {
		return nil
	}
	for _, i := range interfaces {
		if i.Flags&net.FlagUp == 0 || i.Flags&net.FlagLoopback != 0 {
			continue
		}
		addresses, err := i.Addrs()
		if err != nil {
			continue
		}
		for _, a := range addresses {
			p, err := netip.ParsePrefix(a.String())
			if err != nil || p.Addr().IsLinkLocalUnicast() || ignore(i.Name, p.Addr().Unmap()) {
				continue
			}
			out = append(out, "address "+p.Addr().Unmap().String()+" at "+i.Name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

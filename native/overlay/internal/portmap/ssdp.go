package portmap

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"
)

// Tests replace these times.
var (
	searchPause = 500 * time.Millisecond // between the copies of a search
	searchLimit = 2500 * time.Millisecond
)

const (
	searchMost    = 2048 // bytes of an answer
	searchCopies  = 2
	locationsMost = 3 // descriptions that are fetched
)

var searchTargets = []string{"urn:schemas-upnp-org:device:InternetGatewayDevice:1", "urn:schemas-upnp-org:device:InternetGatewayDevice:2"}

// search searches for UPnP gateways and calls try with each location until it returns true. It ignores answers from any
// host but the gateway.
func (g Gateway) search(ctx context.Context, to netip.AddrPort, try func(*url.URL) bool) error {
	l := net.ListenConfig{Control: func(network, address string, c syscall.RawConn) error {
		if err := g.bindToInterface(network, address, c); err != nil {
			return err
		}
		return c.Control(func(fd uintptr) { multicastFrom(fd, g.Inside) })
	}}
	p, err := l.ListenPacket(ctx, "udp4", netip.AddrPortFrom(g.Inside, 0).String())
	if err != nil {
		return fmt.Errorf("cannot be reached: %w", err)
	}
	defer p.Close()
	defer context.AfterFunc(ctx, func() { _ = p.Close() })()
	c := p.(*net.UDPConn)
	end := time.Now().Add(searchLimit)
	tried := map[string]bool{}
	buf := make([]byte, searchMost+1)
	for copies, seen := 0, 0; time.Now().Before(end) && seen < answersMost; {
		deadline := end
		if copies < searchCopies {
			copies++
			deadline = time.Now().Add(searchPause)
			for _, target := range searchTargets {
				if _, err := c.WriteToUDPAddrPort(searchRequest(to, target), to); err != nil {
					return failed(err)
				}
			}
		}
		for ; seen < answersMost; seen++ {
			if err := c.SetReadDeadline(deadline); err != nil {
				return errSilent
			}
			n, from, err := c.ReadFromUDPAddrPort(buf)
			if timeout, ok := err.(interface{ Timeout() bool }); ok && timeout.Timeout() {
				break
			}
			if err != nil {
				return failed(err)
			}
			if from.Addr().Unmap() != g.Address || n > searchMost {
				continue
			}
			at, err := decodeSearch(buf[:n], g.Address)
			if err != nil || tried[at.String()] || len(tried) == locationsMost {
				continue
			}
			tried[at.String()] = true
			if try(at) {
				return nil
			}
		}
	}
	if len(tried) == 0 {
		return errSilent
	}
	return errNoService
}

func searchRequest(to netip.AddrPort, target string) []byte {
	return []byte("M-SEARCH * HTTP/1.1\r\nHOST: " + to.String() + "\r\nMAN: \"ssdp:discover\"\r\nMX: 1\r\nST: " + target + "\r\n\r\n")
}

// decodeSearch returns the location of a description, which must be at the gateway itself.
func decodeSearch(b []byte, gateway netip.Addr) (*url.URL, error) {
	r, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(b)), nil)
	if err != nil {
		return nil, err
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		return nil, errors.New("the search failed")
	}
	at, err := url.Parse(r.Header.Get("Location"))
	if err != nil {
		return nil, err
	}
	return at, checkURL(at, gateway)
}

// checkURL returns an error unless the URL leads to the gateway. It also refuses names: a stranger must not make this
// host resolve them.
func checkURL(u *url.URL, gateway netip.Addr) error {
	host, err := netip.ParseAddr(u.Hostname())
	if err != nil || host != gateway || u.Scheme != "http" || u.User != nil {
		return errors.New("the description is not at the router's own address")
	}
	return nil
}

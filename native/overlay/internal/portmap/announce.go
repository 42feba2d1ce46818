package portmap

import (
	"context"
	"net"
	"net/netip"
	"time"
)

// listen receives the gateway's announcements, which it sends after a restart or when its outside address has changed
// (RFC 6887 §14.1, RFC 6886 §3.2.1). Without them, only the next renewal detects a loss.
func (w *worker) listen(ctx context.Context, c *net.UDPConn) {
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	buf := make([]byte, answerMost+1)
	for {
		n, from, err := c.ReadFromUDPAddrPort(buf)
		if ctx.Err() != nil {
			return
		}
		if err != nil { // for example, the interface is down
			select {
			case <-ctx.Done():
				return
			case <-time.After(time.Second):
			}
			continue
		}
		if n > answerMost || from.Addr().Unmap() != w.conf.pcpServer(w.gateway).Addr() || from.Port() != w.conf.pcpServer(w.gateway).Port() {
			continue
		}
		if why := w.announced(buf[:n], time.Now()); why != "" {
			w.again(why)
		}
	}
}

func (w *worker) openAnnouncements() (*net.UDPConn, error) {
	at := w.conf.announcements
	if at.IsValid() { // tests
		return net.ListenUDP("udp4", net.UDPAddrFromAddrPort(at))
	}
	i, err := net.InterfaceByName(w.gateway.Interface)
	if err != nil {
		return nil, err
	}
	return net.ListenMulticastUDP("udp4", i, net.UDPAddrFromAddrPort(netip.AddrPortFrom(announceGroup, announcePort)))
}

// announced returns why the mapping must be requested again; it is empty if the announcement has nothing new.
func (w *worker) announced(b []byte, now time.Time) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p, err := decodePCP(b); err == nil && p.op == opAnnounce && p.result == 0 {
		if !w.epoch.valid(p.epoch, now) || w.mapping == nil {
			return "the router has started again"
		}
		return ""
	}
	a, err := decodeNATPMP(b)
	switch {
	case err != nil || a.op != natpmpAddress || a.result != 0:
		return ""
	case !w.epoch.validNATPMP(a.epoch, now) || w.mapping == nil:
		return "the router has started again"
	case a.address != w.mapping.Outside.Addr():
		return "the router has another outside address"
	}
	return ""
}

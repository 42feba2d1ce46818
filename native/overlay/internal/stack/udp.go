package stack

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"
)

// datagramsWaiting bounds the datagrams that wait for one session's connection.
const datagramsWaiting = 32

// client is one local program of a UDP forward. It reads the program's datagrams from a queue, and writes answers to the shared socket.
type client struct {
	from  netip.AddrPort
	queue chan []byte
	end   context.CancelFunc
}

// listenUDP opens a UDP forward. Each client address gets its own session, so that answers reach the right client.
func (f *Forwarder) listenUDP(local, remote string) (net.Addr, error) {
	return f.bindUDP(local, remote, func(ctx context.Context) (net.Conn, error) { return f.Dial(ctx, "udp", remote) })
}

// bindUDP opens a UDP port; dial opens the connection of each client. remote is for the list and the log.
func (f *Forwarder) bindUDP(local, remote string, dial func(context.Context) (net.Conn, error)) (net.Addr, error) {
	packets, err := f.exposed.listenConfig().ListenPacket(context.Background(), "udp", strings.Replace(local, "*", "", 1))
	if err != nil {
		return nil, fmt.Errorf("the local port %s: %w", local, err)
	}
	socket := packets.(*net.UDPConn)
	if err := f.add("udp", socket.LocalAddr(), remote, func() { socket.Close() }); err != nil {
		socket.Close()
		return nil, err
	}
	go f.serveUDP(socket, remote, dial)
	return socket.LocalAddr(), nil
}

func (f *Forwarder) serveUDP(socket *net.UDPConn, remote string, dial func(context.Context) (net.Conn, error)) {
	var mu sync.Mutex
	clients := map[netip.AddrPort]*client{}
	defer func() {
		mu.Lock()
		defer mu.Unlock()
		for _, c := range clients {
			c.end()
		}
	}()
	buf := make([]byte, MaxDatagram+1)
	for {
		n, from, err := socket.ReadFromUDPAddrPort(buf)
		if err != nil {
			if strings.Contains(err.Error(), "use of closed") {
				return
			}
			time.Sleep(10 * time.Millisecond)
			continue
		}
		if n > MaxDatagram || f.exposed != nil && !f.inside(from.Addr().Unmap()) {
			continue
		}
		mu.Lock()
		c := clients[from]
		if c == nil {
			release, ok := f.acquireSession(from.Addr().Unmap())
			if !ok {
				mu.Unlock()
				continue
			}
			ctx, cancel := context.WithCancel(context.Background())
			c = &client{from: from, queue: make(chan []byte, datagramsWaiting), end: cancel}
			clients[from] = c
			go func() {
				defer release()
				if err := f.session(ctx, socket, c, dial); err != nil {
					f.log.Warn("a forwarded datagram failed", "remote", remote, "error", err)
				}
				cancel()
				mu.Lock()
				delete(clients, from)
				mu.Unlock()
			}()
		}
		mu.Unlock()
		select {
		case c.queue <- append([]byte(nil), buf[:n]...):
		default: // as a full socket buffer does
		}
	}
}

// acquireSession takes a place for a client's session until release is called.
func (f *Forwarder) acquireSession(from netip.Addr) (release func(), ok bool) {
	free := func() {}
	if f.exposed != nil {
		if free, ok = f.exposed.udp.take(from); !ok {
			return nil, false
		}
	}
	select {
	case f.sessions <- struct{}{}:
		return func() { <-f.sessions; free() }, true
	default:
		free()
		return nil, false
	}
}

// session carries one client's datagrams until none has passed for f.idle. While it has no answer, it checks every
// f.idle whether a new session would take another address, and ends if so: a lost datagram gives no sign.
func (f *Forwarder) session(ctx context.Context, socket *net.UDPConn, c *client, dial func(context.Context) (net.Conn, error)) error {
	out, err := dial(ctx)
	if err != nil {
		return err
	}
	defer out.Close()
	defer f.pairs.add(datagramPair(socket, c, out, f.exposed != nil))()
	active := make(chan struct{}, 1)
	go func() {
		defer c.end()
		buf := make([]byte, MaxDatagram+1)
		for {
			n, err := out.Read(buf)
			if err != nil {
				return
			}
			if n <= MaxDatagram {
				socket.WriteToUDPAddrPort(buf[:n], c.from)
			}
			select {
			case active <- struct{}{}:
			default:
			}
		}
	}()
	idle := time.NewTimer(f.idle)
	defer idle.Stop()
	d, isByName := out.(*datagrams)
	answered, passed := !isByName, false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-idle.C:
			if !passed || answered || !d.isFirst() {
				return c.flush(out)
			}
			passed = false
			idle.Reset(f.idle)
			continue
		case <-active:
			answered = true
		case b := <-c.queue:
			if _, err := out.Write(b); err != nil {
				return err
			}
		}
		if passed = true; answered {
			idle.Reset(f.idle)
		}
	}
}

// flush sends the queued datagrams.
func (c *client) flush(out net.Conn) error {
	for {
		select {
		case b := <-c.queue:
			if _, err := out.Write(b); err != nil {
				return err
			}
		default:
			return nil
		}
	}
}

// datagramPair describes a session. The socket of an exposed port is the end inside the overlay; that of a forward is
// the end outside.
func datagramPair(socket *net.UDPConn, c *client, out net.Conn, exposed bool) *spliced {
	if exposed {
		return &spliced{"udp", addressOf(socket.LocalAddr()), netip.AddrPortFrom(c.from.Addr().Unmap(), c.from.Port()), c.end}
	}
	return &spliced{"udp", addressOf(out.LocalAddr()), addressOf(out.RemoteAddr()), c.end}
}

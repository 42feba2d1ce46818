package paths

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pion/stun/v4"
	"github.com/pion/turn/v5"

	"seganet.internal/overlay/internal/nat64"
)

const (
	// permissionQueue bounds the packets that wait until the relay permits a new destination.
	permissionQueue = 64
	// permissionsMost bounds the destinations of one allocation.
	permissionsMost = 4096
	// streamWrite is how long a write to a relay by TCP or TLS may block. After that the relay counts as dead.
	streamWrite = time.Second
	// relayBuffer is the size in bytes of the kernel's buffers for packets from and to the relay.
	relayBuffer = 4 << 20
	// giveBack is how long Close keeps the UDP socket of an allocation open, so that the client can repeat a lost
	// request to delete it.
	giveBack = 2 * time.Second
	// Realm is the realm of our relays.
	Realm = "seganet"
)

// Allocation is this node's address at a relay. TURN binds it to the 5-tuple of the connection to the relay. When the
// local address changes, the allocation is dead: the node must open another one and send its address to the peers, or
// they keep sending to the dead one.
//
// Thread safety: all methods may be called concurrently.
type Allocation struct {
	Server  Server
	Address netip.AddrPort // where peers send to

	at     netip.AddrPort // of the relay
	client *turn.Client
	sock   net.PacketConn
	conn   net.PacketConn
	probe  atomic.Pointer[func(packet []byte, from netip.AddrPort) bool]

	once sync.Once
	dead chan struct{}

	socket   *relaySocket             // nil by TCP and TLS
	channels atomic.Pointer[channels] // of socket

	mu        sync.Mutex
	permitted map[netip.Addr]*permission
}

// permission is the relay's permission to one destination.
type permission struct {
	used    atomic.Int64 // Unix nanoseconds
	granted atomic.Bool  // a packet was written after the relay's answer: WriteTo no longer blocks
	mu      sync.Mutex
	asking  bool // ask runs
	waiting []waitingPacket
}

type waitingPacket struct {
	b  []byte
	to netip.AddrPort
}

// wish is one request for an allocation.
type wish struct {
	Server
	by      family // the server's address to use, if it is a name; 0: the best one
	relayed family // of the relayed address
}

// errFamily means that the relay has no relayed address of the requested IP version.
var errFamily = errors.New("it gives no relayed address of this IP version")

// openAllocation opens an allocation and hands what peers send there to deliver.
func openAllocation(ctx context.Context, w wish, t TURN, deliver func([]byte, netip.AddrPort)) (*Allocation, error) {
	s := w.Server
	a := &Allocation{Server: s, dead: make(chan struct{}), permitted: map[netip.Addr]*permission{}}
	at, err := a.dial(ctx, w.by, t.TLS)
	if err != nil {
		return nil, fmt.Errorf("relay %v: %w", s, err)
	}
	a.at = at
	conf := turn.ClientConfig{STUNServerAddr: at.String(), TURNServerAddr: at.String(), Conn: a.sock, Username: t.User,
		Password: t.Password, Realm: Realm, LoggerFactory: quiet{}, RequestedAddressFamily: turn.RequestedAddressFamilyIPv4}
	if w.relayed == six {
		conf.RequestedAddressFamily = turn.RequestedAddressFamilyIPv6
	}
	if a.client, err = turn.NewClient(&conf); err == nil {
		if a.socket != nil {
			go a.listenBatched(deliver)
		} else {
			go a.listen()
		}
		a.conn, err = a.client.AllocateWithContext(ctx)
		if err != nil && strings.Contains(err.Error(), "error 401") { // the library has no error value for it
			err = fmt.Errorf("it refuses the credentials of the node services: its clock or its secret differs from theirs (%w)", err)
		}
	}
	if refused := (*stun.TurnError)(nil); errors.As(err, &refused) &&
		(refused.ErrorCodeAttr.Code == stun.CodeAddrFamilyNotSupported || refused.ErrorCodeAttr.Code == stun.CodeInsufficientCapacity) {
		err = fmt.Errorf("%w (%w)", errFamily, err)
	}
	if err != nil {
		a.Close()
		return nil, fmt.Errorf("relay %v: %w", s, err)
	}
	u, ok := a.conn.LocalAddr().(*net.UDPAddr)
	if !ok {
		a.Close()
		return nil, fmt.Errorf("relay %v: it gave no UDP address", s)
	}
	a.Address = netip.AddrPortFrom(u.AddrPort().Addr().Unmap(), u.AddrPort().Port())
	if familyOf(a.Address.Addr()) != w.relayed { // a relay of an earlier version gives one of the version by which it is reached
		a.Close()
		return nil, fmt.Errorf("relay %v: %w", s, errFamily)
	}
	if c, ok := a.conn.(channels); ok && a.socket != nil {
		a.channels.Store(&c)
	}
	go a.read(deliver)
	return a, nil
}

// resolve returns the server's address of an IP version; with 0 it is IPv4 if it has one. An IPv4 address that only a
// NAT64 reaches is returned as that NAT64's. Unlike net.ResolveUDPAddr it obeys ctx.
func (s Server) resolve(ctx context.Context, by family) (netip.AddrPort, error) {
	if a, err := netip.ParseAddr(s.Host); err == nil {
		return netip.AddrPortFrom(nat64.Default.Reach(ctx, a), uint16(s.Port)), nil
	}
	list, err := net.DefaultResolver.LookupNetIP(ctx, "ip", s.Host)
	var best netip.Addr
	for _, each := range list {
		each = each.Unmap()
		if f := familyOf(each); by != 0 && f != by || best.IsValid() && (best.Is4() || f == six) {
			continue
		}
		best = each
	}
	if err == nil && !best.IsValid() {
		err = errors.New("the name has no address")
	}
	if err != nil {
		return netip.AddrPort{}, err
	}
	return netip.AddrPortFrom(best, uint16(s.Port)), nil
}

// dial opens the socket to the server and returns the server's address.
func (a *Allocation) dial(ctx context.Context, by family, conf *tls.Config) (at netip.AddrPort, err error) {
	if at, err = a.Server.resolve(ctx, by); err != nil {
		return at, err
	}
	if a.Server.Transport == TransportUDP {
		network := "udp4"
		if at.Addr().Is6() {
			network = "udp6"
		}
		if a.socket, err = openRelaySocket(network, at); err == nil {
			a.sock = a.socket
		}
		return at, err
	}
	c, err := nat64.Default.Dialer(&net.Dialer{})(ctx, "tcp", a.Server.Address())
	if err != nil {
		return at, err
	}
	if a.Server.Transport == TransportTLS {
		if conf == nil {
			conf = &tls.Config{}
		}
		conf = conf.Clone()
		conf.MinVersion = tls.VersionTLS12
		if conf.ServerName == "" {
			conf.ServerName = a.Server.Host
		}
		t := tls.Client(c, conf)
		if err := t.HandshakeContext(ctx); err != nil {
			_ = c.Close()
			return at, err
		}
		c = t
	}
	a.sock = turn.NewSTUNConn(&stream{Conn: c, failed: a.kill})
	return at, nil
}

// stream ends the allocation with the connection, and never lets a write block WireGuard's sender for long.
type stream struct {
	net.Conn
	failed func()
}

func (s *stream) Read(p []byte) (int, error) {
	n, err := s.Conn.Read(p)
	if err != nil {
		s.failed()
	}
	return n, err
}

func (s *stream) Write(p []byte) (int, error) {
	_ = s.SetWriteDeadline(time.Now().Add(streamWrite))
	n, err := s.Conn.Write(p)
	if err != nil {
		s.failed()
	}
	return n, err
}

// listen hands what the relay sends to TURN's client. The client's own loop ends at the first message that it cannot
// read, and with it the allocation.
func (a *Allocation) listen() {
	buf := make([]byte, 65535)
	for {
		n, from, err := a.sock.ReadFrom(buf)
		if err != nil {
			a.kill()
			return
		}
		_, _ = a.client.HandleInbound(buf[:n], from)
	}
}

func (a *Allocation) read(deliver func([]byte, netip.AddrPort)) {
	buf := make([]byte, 65535)
	for {
		n, from, err := a.conn.ReadFrom(buf)
		if err != nil {
			a.kill()
			return
		}
		u, ok := from.(*net.UDPAddr)
		if !ok {
			continue
		}
		a.received(buf[:n], unmap(u.AddrPort()), deliver)
	}
}

func (a *Allocation) received(packet []byte, from netip.AddrPort, deliver func([]byte, netip.AddrPort)) {
	if f := a.probe.Load(); f == nil || !(*f)(packet, from) {
		deliver(packet, from)
	}
}

// SendRelayed implements bind.Relay. A new destination needs the relay's permission, which takes a round trip. Up to
// permissionQueue packets wait for it; further ones are dropped. Once the relay counts as dead, SendRelayed returns an
// error instead of waiting. A relay by UDP may only be slow, so packets to destinations that it has permitted are sent
// until it is replaced.
func (a *Allocation) SendRelayed(packets [][]byte, offset int, to netip.AddrPort) error {
	p := a.permission(to.Addr())
	select {
	case <-a.dead:
		if a.socket == nil || !p.granted.Load() {
			return errSilent
		}
	default:
	}
	if !p.granted.Load() && a.wait(p, packets, offset, to) {
		return nil
	}
	addr := net.UDPAddrFromAddrPort(to)
	if number, ok := a.channel(addr); ok && offset >= channelHeader {
		return a.socket.sendChannel(packets, offset, number)
	}
	for _, b := range packets {
		if _, err := a.conn.WriteTo(b[offset:], addr); err != nil {
			return err
		}
	}
	return nil
}

// wait queues copies of packets whose destination is not permitted yet. It returns false if the destination has been
// permitted in the meantime.
func (a *Allocation) wait(p *permission, packets [][]byte, offset int, to netip.AddrPort) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.granted.Load() {
		return false
	}
	for _, b := range packets {
		if len(p.waiting) < permissionQueue {
			p.waiting = append(p.waiting, waitingPacket{append([]byte(nil), b[offset:]...), to})
		}
	}
	a.askOnce(to.Addr(), p)
	return true
}

// Permit asks the relay to let packets of this address in.
func (a *Allocation) Permit(ip netip.Addr) {
	p := a.permission(ip)
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.granted.Load() {
		a.askOnce(ip, p)
	}
}

func (a *Allocation) permission(ip netip.Addr) *permission {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.permitted[ip]
	if p == nil {
		if len(a.permitted) >= permissionsMost {
			a.forgetOldest()
		}
		p = &permission{}
		a.permitted[ip] = p
	}
	p.used.Store(time.Now().UnixNano())
	return p
}

// askOnce starts ask unless it runs. The caller holds p.mu.
func (a *Allocation) askOnce(ip netip.Addr, p *permission) {
	if !p.asking {
		p.asking = true
		go a.ask(ip, p)
	}
}

// forgetOldest drops the least recently used destination. A peer that keeps naming new addresses thus evicts its own
// old ones, not those in use by other peers. The caller holds a.mu.
func (a *Allocation) forgetOldest() {
	var oldest netip.Addr
	for ip, p := range a.permitted {
		if !oldest.IsValid() || p.used.Load() < a.permitted[oldest].used.Load() {
			oldest = ip
		}
	}
	delete(a.permitted, oldest)
}

// ask requests the relay's permission and writes the packets that wait for it. The TURN client requests a permission of
// its own at the first WriteTo to an address, and that call blocks until the relay answers, up to 8 s if the relay is
// silent. So only ask makes the first WriteTo, and the destination counts as granted once a packet was written. If
// nothing was written, the next packet starts ask again.
func (a *Allocation) ask(ip netip.Addr, p *permission) {
	var err error
	for permitted, written := false, false; err == nil; permitted = true {
		p.mu.Lock()
		waiting := p.waiting
		p.waiting = nil
		if len(waiting) == 0 && permitted {
			p.granted.Store(written)
			p.asking = false
			p.mu.Unlock()
			return
		}
		p.mu.Unlock()
		if len(waiting) == 0 {
			err = a.permit(ip)
		}
		for _, w := range waiting {
			if _, err = a.conn.WriteTo(w.b, net.UDPAddrFromAddrPort(w.to)); err != nil {
				break
			}
			written = true
		}
	}
	p.mu.Lock()
	p.asking, p.waiting = false, nil // the next packet asks again
	p.mu.Unlock()
}

var errSilent = errors.New("the relay does not answer")

// permit asks the relay to let packets of an address in. It retries once after error 438 (stale nonce), when the client
// has the new nonce. The library does not export that error, but it returns a refusal as a stun.TurnError.
func (a *Allocation) permit(ip netip.Addr) error {
	to := &net.UDPAddr{IP: ip.AsSlice(), Port: 9}
	err := a.client.CreatePermission(to)
	var refusal *stun.TurnError
	if err == nil || errors.As(err, &refusal) {
		return err
	}
	return a.client.CreatePermission(to)
}

// Check asks the relay whether the allocation still exists. A restarted relay answers STUN but has lost the allocation,
// so Check requests a permission, which works only if the allocation exists.
func (a *Allocation) Check(limit time.Duration) error {
	answer := make(chan error, 1)
	go func() { answer <- a.permit(a.Address.Addr()) }()
	select {
	case err := <-answer:
		return err
	case <-a.dead:
		return errSilent
	case <-time.After(limit):
		return errSilent
	}
}

// Dead is closed when the connection to the relay has ended.
func (a *Allocation) Dead() <-chan struct{} { return a.dead }

func (a *Allocation) kill() { a.once.Do(func() { close(a.dead) }) }

// Close gives the allocation back. It does not wait for the relay.
func (a *Allocation) Close() {
	a.kill()
	go func() {
		if a.conn != nil {
			_ = a.conn.Close() // sends the deletion until the relay answers
			if a.socket != nil {
				time.Sleep(giveBack)
			}
		}
		if a.client != nil {
			a.client.Close()
		}
		if a.sock != nil {
			_ = a.sock.Close()
		}
	}()
}

func unmap(a netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) }

package engine

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"time"

	"github.com/tailscale/wireguard-go/device"
	"github.com/tailscale/wireguard-go/tun"

	"seganet.internal/overlay/internal/bind"
	"seganet.internal/overlay/internal/residentmem"
)

// gate stands between the TUN and the device. It applies Inbound and Outbound and takes control messages out of the
// inbound packets. It marks urgent outbound packets for the Bind.
type gate struct {
	tun.Device
	engine   *Engine
	released uint64 // Engine.releases at the last Read
	waiting  *waiting
}

// Interruptible is a tun.Device without a file whose Read can be made to return os.ErrDeadlineExceeded once.
type Interruptible interface{ Interrupt() }

// interrupt makes the current or the next Read of the device return os.ErrDeadlineExceeded. It has no effect on a
// device without Interrupt and without a file.
func interrupt(d tun.Device) {
	if i, ok := d.(Interruptible); ok {
		i.Interrupt()
	} else if f := d.File(); f != nil {
		_ = f.SetReadDeadline(time.Unix(1, 0))
	}
}

// readError replaces the error of a single packet, or of an interruption, by nil: WireGuard stops at any error of Read
// except tun.ErrTooManySegments.
func (g *gate) readError(err error) error {
	var system *fs.PathError
	switch {
	case err == nil, errors.Is(err, tun.ErrTooManySegments), errors.Is(err, os.ErrClosed):
		return err
	case errors.Is(err, os.ErrDeadlineExceeded):
		if f := g.File(); f != nil {
			_ = f.SetReadDeadline(time.Time{})
		}
		return nil
	case errors.As(err, &system):
		return err
	}
	g.engine.Counters.BadReads.Add(1)
	return nil
}

// Read implements tun.Device. A refused packet gets length 0, which the device skips.
func (g *gate) Read(bufs [][]byte, sizes []int, offset int) (int, error) {
	if now := g.engine.releases.Load(); now != g.released {
		g.released = now
		residentmem.Discard(bufs)
	}
	n, dropped := g.engine.parked.take(bufs, sizes, offset, time.Now())
	g.engine.Counters.Unknown.Add(uint64(dropped))
	waited := n > 0 // the packets were parked
	var err error
	if !waited {
		n, err = g.Device.Read(bufs, sizes, offset)
		err = g.readError(err)
	}
	f := g.engine.conf.Outbound
	g.waiting.begin()
	g.engine.routed = routed{}
	for i := range n {
		packet := bufs[i][offset : offset+sizes[i]]
		switch {
		case len(packet) == 0:
		case !waited && f != nil && !f(packet):
			sizes[i] = 0
			g.engine.Counters.RefusedOut.Add(1)
		case !waited && g.parks(packet), !g.mayLeave(packet):
			sizes[i] = 0
		}
		bind.Mark(bufs[i], bind.Urgent(packet))
	}
	return n, err
}

// Write implements tun.Device. WireGuard has checked that the source address is the peer's.
func (g *gate) Write(bufs [][]byte, offset int) (int, error) {
	kept := bufs[:0:len(bufs)]
	var source netip.Addr // of the packet before, which mostly is that of the whole batch
	var from, received Key
	ok := false
	for _, b := range bufs {
		packet := b[offset:]
		if a := sourceOf(packet); a != source {
			source = a
			from, ok = g.engine.peers.byAddress(a)
		}
		if !ok {
			continue // removed a moment ago
		}
		if isControl(packet) {
			g.engine.receiveControl(from, packet)
			continue
		}
		if f := g.engine.conf.Received; f != nil && received != from {
			received = from
			f(from)
		}
		if f := g.engine.conf.Inbound; f != nil && !f(from, packet) {
			g.engine.Counters.RefusedIn.Add(1)
			continue
		}
		kept = append(kept, b)
	}
	if len(kept) == 0 {
		return len(bufs), nil
	}
	return g.Device.Write(kept, offset)
}

func sourceOf(packet []byte) netip.Addr {
	switch {
	case len(packet) >= 20 && packet[0]>>4 == 4:
		return netip.AddrFrom4([4]byte(packet[12:16]))
	case len(packet) >= ipv6Header && packet[0]>>4 == 6:
		return netip.AddrFrom16([16]byte(packet[8:24]))
	}
	return netip.Addr{}
}

func destinationOf(packet []byte) netip.Addr {
	switch {
	case len(packet) >= 20 && packet[0]>>4 == 4:
		return netip.AddrFrom4([4]byte(packet[16:20]))
	case len(packet) >= ipv6Header && packet[0]>>4 == 6:
		return netip.AddrFrom16([16]byte(packet[24:40]))
	}
	return netip.Addr{}
}

const (
	ipv6Header = 40
	// controlProtocol marks a control message: an IPv6 packet with next header 253, "for experimentation" (RFC 3692).
	controlProtocol = 253
	// ControlMost is the length in bytes of the longest control message.
	ControlMost = device.MaxPriorityMessageContentSize - ipv6Header
)

func isControl(packet []byte) bool {
	return len(packet) >= ipv6Header && packet[0]>>4 == 6 && packet[6] == controlProtocol
}

func (e *Engine) receiveControl(from Key, packet []byte) {
	n := int(binary.BigEndian.Uint16(packet[4:6]))
	if n > len(packet)-ipv6Header || n > ControlMost || n == 0 {
		e.Counters.BadControl.Add(1)
		return
	}
	if e.conf.Control != nil {
		e.conf.Control(from, append([]byte(nil), packet[ipv6Header:ipv6Header+n]...))
	}
}

// SendControl sends a message of at most ControlMost bytes inside the session, beside the data. It starts no session:
// without one it returns false.
func (e *Engine) SendControl(to Key, self netip.Addr, message []byte) bool {
	k := e.peers.byKey(to)
	p, ok := e.dev.LookupActivePeer(device.NoisePublicKey(to))
	if k == nil || !ok || !self.Is6() || len(message) == 0 || len(message) > ControlMost || !e.Established(to) ||
		len(k.peer.Addresses) == 0 || !k.peer.Addresses[0].Is6() {
		e.Counters.ControlUnsent.Add(1)
		return false
	}
	packet := make([]byte, ipv6Header, ipv6Header+len(message))
	packet[0] = 6 << 4
	binary.BigEndian.PutUint16(packet[4:], uint16(len(message)))
	packet[6], packet[7] = controlProtocol, 1
	src, dst := self.As16(), k.peer.Addresses[0].As16()
	copy(packet[8:], src[:])
	copy(packet[24:], dst[:])
	return e.sendBeside(k, p, append(packet, message...))
}

// sendBeside sends a packet inside the session, beside the data. It returns false if the session has ended. It waits while
// the peer's queue is full, and other peers do not wait with it.
func (e *Engine) sendBeside(k *known, p *device.Peer, packet []byte) bool {
	to := k.peer.Key
	k.turn.Lock()
	defer k.turn.Unlock()
	e.mu.Lock()
	e.control[to] = packet
	e.mu.Unlock()
	p.SendPriorityMessage()
	e.mu.Lock()
	_, unsent := e.control[to]
	delete(e.control, to)
	e.mu.Unlock()
	return !unsent
}

// answer is a packet for a peer that Answer takes.
type answer struct {
	to     Key
	packet []byte
}

// Answer sends a packet of at most device.MaxPriorityMessageContentSize bytes that this program made, such as a refusal,
// inside the peer's session. It does not block: the data path calls it. Outbound does not see the packet.
func (e *Engine) Answer(to Key, packet []byte) {
	select {
	case e.answers <- answer{to, packet}:
	default:
		e.Counters.Unanswered.Add(1)
	}
}

// answer sends what Answer queued until the device ends.
func (e *Engine) answer() {
	for {
		select {
		case <-e.dev.Wait():
			return
		case a := <-e.answers:
			k := e.peers.byKey(a.to)
			p, ok := e.dev.LookupActivePeer(device.NoisePublicKey(a.to))
			if k == nil || !ok || len(a.packet) > device.MaxPriorityMessageContentSize || !e.sendBeside(k, p, a.packet) {
				e.Counters.Unanswered.Add(1)
			}
		}
	}
}

func (e *Engine) takeControl(key device.NoisePublicKey) []byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	m := e.control[Key(key)]
	delete(e.control, Key(key))
	return m
}

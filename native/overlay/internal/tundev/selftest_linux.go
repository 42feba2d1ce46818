package tundev

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/tailscale/wireguard-go/tun"

	"seganet.internal/overlay/internal/packet"
	"seganet.internal/overlay/internal/packet/craft"
)

const (
	testTimeout = time.Second // for each step of the self-test
	testRoom    = 16          // bytes before a packet, for the virtio header
	testBytes   = 8192        // that the kernel sends in one piece
	testSegment = 600         // bytes of payload
)

// selfTest sends packets between the kernel and an imaginary peer, in pieces that need the offloads. It turns off the offloads of the receiving
// side that fail, and says which work. It returns an error if the sending side fails: that needs an interface without a virtio header.
//
// A test is inconclusive if its plain packets do not arrive either, for example because of a firewall.
func selfTest(d tun.Device, o *Options) (string, error) {
	self, peer, ok := testAddresses(o)
	if !ok {
		return "on (not tested: no route for an imaginary peer)", nil
	}
	defer d.File().SetReadDeadline(time.Time{})
	gro, canTurnOff := d.(tun.GRODevice)
	result := "on"
	switch err := testUDP(d, self, peer); {
	case errors.Is(err, errUndecided):
		return "on (not tested: plain packets do not arrive, perhaps by a firewall)", nil
	case err != nil && canTurnOff:
		o.Log.Warn("UDP GRO is off: the self-test failed", "interface", o.Name, "error", err)
		gro.DisableUDPGRO()
		result = "on without UDP GRO"
	}
	received, sent := testTCP(d, self, peer)
	if errors.Is(received, errUndecided) {
		return result + " (TCP not tested)", nil
	}
	if received != nil && canTurnOff {
		o.Log.Warn("TCP GRO is off: the self-test failed", "interface", o.Name, "error", received)
		gro.DisableTCPGRO()
		result += " without TCP GRO"
		if _, sent = testTCP(d, self, peer); errors.Is(sent, errUndecided) {
			sent = nil
		}
	}
	return result, sent
}

var errUndecided = errors.New("the self-test could not decide")

// testAddresses returns an address of this node and the last but one address of the overlay in the same version.
func testAddresses(o *Options) (self, peer netip.Addr, ok bool) {
	for _, want4 := range []bool{true, false} {
		for _, a := range o.Addresses {
			for _, p := range o.Routes {
				if a.Is4() != want4 || p.Addr().Is4() != want4 || !p.Contains(a) || p.Bits() > a.BitLen()-2 {
					continue
				}
				b := p.Masked().Addr().AsSlice()
				for bit := p.Bits(); bit < len(b)*8-1; bit++ {
					b[bit/8] |= 0x80 >> (bit % 8)
				}
				if peer, _ = netip.AddrFromSlice(b); peer != a {
					return a, peer, true
				}
			}
		}
	}
	return self, peer, false
}

func write(d tun.Device, packets ...[]byte) error {
	bufs := make([][]byte, len(packets))
	for i, p := range packets {
		bufs[i] = append(make([]byte, testRoom, testRoom+65535), p...) // GRO appends later packets to the first
	}
	_, err := d.Write(bufs, testRoom)
	return err
}

// testUDP sends two datagrams that GRO makes one piece.
func testUDP(d tun.Device, self, peer netip.Addr) error {
	c, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(self, 0)))
	if err != nil {
		return errUndecided
	}
	defer c.Close()
	from, to := netip.AddrPortFrom(peer, 9), c.LocalAddr().(*net.UDPAddr).AddrPort()
	first, second := bytes.Repeat([]byte{1}, testSegment), bytes.Repeat([]byte{2}, testSegment)
	expect := func(wants ...[]byte) error {
		buf := make([]byte, 2*testSegment)
		c.SetReadDeadline(time.Now().Add(testTimeout))
		for _, want := range wants {
			n, err := c.Read(buf)
			if err != nil {
				return fmt.Errorf("a datagram did not arrive: %w", err)
			}
			if !bytes.Equal(buf[:n], want) {
				return errors.New("a datagram arrived damaged")
			}
		}
		return nil
	}
	if write(d, craft.UDP(from, to, first)) != nil || expect(first) != nil {
		return errUndecided
	}
	if err := write(d, craft.UDP(from, to, first), craft.UDP(from, to, second)); err != nil {
		return err
	}
	return expect(first, second)
}

// testTCP opens a connection from the imaginary peer. received is about segments that GRO makes one piece, sent about a piece that the kernel
// sends and the device splits.
func testTCP(d tun.Device, self, peer netip.Addr) (received, sent error) {
	l, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(self, 0)))
	if err != nil {
		return errUndecided, errUndecided
	}
	defer l.Close()
	from, to := netip.AddrPortFrom(peer, 9), l.Addr().(*net.TCPAddr).AddrPort()
	r := newReader(d, to)
	mss := []byte{2, 4, testSegment >> 8, testSegment & 0xff}
	if write(d, craft.Segment(from, to, 100, 0, packet.SYN, mss, nil)) != nil {
		return errUndecided, errUndecided
	}
	answer, info, err := r.next()
	if err != nil || info.TCPFlags != packet.SYN|packet.ACK {
		return errUndecided, errUndecided
	}
	ack := binary.BigEndian.Uint32(answer[info.Transport+4:]) + 1
	defer func() { write(d, craft.Segment(from, to, 101+2*testSegment, ack, packet.RST|packet.ACK, nil, nil)) }()
	write(d, craft.Segment(from, to, 101, ack, packet.ACK, nil, nil))
	l.SetDeadline(time.Now().Add(testTimeout))
	c, err := l.Accept()
	if err != nil {
		return errUndecided, errUndecided
	}
	defer c.Close()

	first, second := bytes.Repeat([]byte{1}, testSegment), bytes.Repeat([]byte{2}, testSegment)
	received = write(d, craft.Segment(from, to, 101, ack, packet.ACK, nil, first),
		craft.Segment(from, to, 101+testSegment, ack, packet.ACK, nil, second))
	if received == nil {
		received = expectStream(c, append(first, second...))
	}
	if received != nil {
		return received, errUndecided
	}
	return nil, r.expectSegments(c, ack)
}

func expectStream(c net.Conn, want []byte) error {
	c.SetReadDeadline(time.Now().Add(testTimeout))
	got := make([]byte, 0, len(want))
	buf := make([]byte, len(want))
	for len(got) < len(want) {
		n, err := c.Read(buf)
		if err != nil {
			return fmt.Errorf("segments did not arrive: %w", err)
		}
		got = append(got, buf[:n]...)
	}
	if !bytes.Equal(got, want) {
		return errors.New("segments arrived damaged")
	}
	return nil
}

// reader takes the TCP segments of one port from the device.
type reader struct {
	d       tun.Device
	from    netip.AddrPort
	bufs    [][]byte
	sizes   []int
	waiting [][]byte
}

// newReader makes buffers for packets of the device's MTU, once: what is garbage at the start would make the engine's
// buffers resident.
func newReader(d tun.Device, from netip.AddrPort) *reader {
	mtu, err := d.MTU()
	if err != nil {
		mtu = MaxMTU
	}
	r := &reader{d: d, from: from, bufs: make([][]byte, d.BatchSize()), sizes: make([]int, d.BatchSize())}
	for i := range r.bufs {
		r.bufs[i] = make([]byte, mtu)
	}
	return r
}

func (r *reader) next() ([]byte, packet.Info, error) {
	var info packet.Info
	r.d.File().SetReadDeadline(time.Now().Add(testTimeout))
	for {
		for len(r.waiting) == 0 {
			n, err := r.d.Read(r.bufs, r.sizes, 0)
			if err != nil {
				return nil, info, err
			}
			for i := range n {
				r.waiting = append(r.waiting, bytes.Clone(r.bufs[i][:r.sizes[i]]))
			}
		}
		b := r.waiting[0]
		r.waiting = r.waiting[1:]
		if packet.Parse(b, &info) == nil && info.Protocol == packet.TCP && netip.AddrPortFrom(info.Source, info.SourcePort) == r.from {
			return b, info, nil
		}
	}
}

// expectSegments makes the kernel send a large piece and checks the segments that the device makes of it.
func (r *reader) expectSegments(c net.Conn, seq uint32) error {
	want := bytes.Repeat([]byte("0123456789abcdef"), testBytes/16)
	c.SetWriteDeadline(time.Now().Add(testTimeout))
	if _, err := c.Write(want); err != nil {
		return errUndecided
	}
	got := map[uint32]bool{}
	for total := 0; total < 5*testSegment; { // less than the kernel's first window
		b, info, err := r.next()
		if err != nil {
			return fmt.Errorf("segments are missing: %w", err)
		}
		if !craft.Valid(b) {
			return errors.New("a segment has an invalid checksum")
		}
		data := b[info.Transport+int(b[info.Transport+12]>>4)*4 : info.End]
		at := binary.BigEndian.Uint32(b[info.Transport+4:]) - seq
		if len(data) > testSegment || int(at)+len(data) > len(want) || !bytes.Equal(data, want[at:int(at)+len(data)]) {
			return fmt.Errorf("a segment of %d bytes at %d is damaged", len(data), at)
		}
		if !got[at] {
			total += len(data)
		}
		got[at] = true
	}
	return nil
}

package stack

import (
	"context"
	"os"
	"sync"
	"sync/atomic"

	"github.com/tailscale/wireguard-go/conn"
	"github.com/tailscale/wireguard-go/tun"
	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/channel"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// queuePackets bounds the packets that the stack has sent and the engine has not read yet. Further ones are lost, which
// TCP repairs.
const queuePackets = 4096

// device is the tun.Device between a Stack and the engine. It reads and writes batches.
type device struct {
	link   *channel.Endpoint
	stack  *stack.Stack
	mtu    int
	events chan tun.Event
	done   context.Context
	cancel context.CancelFunc
	once   sync.Once

	interrupted atomic.Bool // the next Read returns at once
	mu          sync.Mutex
	reading     context.Context // of the present Read
	interrupt   context.CancelFunc
}

func newDevice(s *stack.Stack, mtu int) *device {
	d := &device{link: channel.New(queuePackets, uint32(mtu), ""), stack: s, mtu: mtu, events: make(chan tun.Event, 1)}
	d.link.SupportedGSOKind = stack.GvisorGSOSupported // TCP hands down up to 32 KiB, which the link layer splits
	d.done, d.cancel = context.WithCancel(context.Background())
	d.reading, d.interrupt = context.WithCancel(d.done)
	d.events <- tun.EventUp
	return d
}

func (d *device) File() *os.File           { return nil }
func (d *device) Name() (string, error)    { return "netstack", nil }
func (d *device) MTU() (int, error)        { return d.mtu, nil }
func (d *device) Events() <-chan tun.Event { return d.events }
func (d *device) BatchSize() int           { return conn.IdealBatchSize }

// Interrupt implements engine.Interruptible.
func (d *device) Interrupt() {
	d.interrupted.Store(true)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.interrupt()
	d.reading, d.interrupt = context.WithCancel(d.done)
}

// Read waits for one packet and also returns those that are already queued.
func (d *device) Read(bufs [][]byte, sizes []int, offset int) (int, error) {
	d.mu.Lock()
	reading := d.reading
	d.mu.Unlock()
	if d.interrupted.Swap(false) {
		return 0, os.ErrDeadlineExceeded
	}
	p := d.link.ReadContext(reading)
	n := 0
	for !p.IsNil() {
		at := bufs[n][offset:]
		size := 0
		for _, s := range p.AsSlices() {
			size += copy(at[size:], s)
		}
		p.DecRef()
		sizes[n] = size
		if n++; n == len(bufs) {
			break
		}
		p = d.link.Read()
	}
	if n == 0 && d.done.Err() == nil {
		d.interrupted.Store(false)
		return 0, os.ErrDeadlineExceeded
	}
	if n == 0 {
		return 0, os.ErrClosed
	}
	return n, nil
}

// Write passes packets to the stack, which copies them.
func (d *device) Write(bufs [][]byte, offset int) (int, error) {
	if d.done.Err() != nil {
		return 0, os.ErrClosed
	}
	for _, b := range bufs {
		b = b[offset:]
		if len(b) == 0 {
			continue
		}
		protocol := header.IPv4ProtocolNumber
		if b[0]>>4 == 6 {
			protocol = header.IPv6ProtocolNumber
		}
		p := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithData(b)})
		d.link.InjectInbound(protocol, p)
		p.DecRef()
	}
	return len(bufs), nil
}

func (d *device) Close() error {
	d.once.Do(func() {
		d.cancel()
		d.stack.RemoveNIC(nic)
		d.link.Close()
		close(d.events)
	})
	return nil
}

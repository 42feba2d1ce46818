package stack

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/tailscale/wireguard-go/conn"
	wireguard "github.com/tailscale/wireguard-go/device"
	"golang.org/x/crypto/curve25519"
)

type wireguardKey struct{ private, public [32]byte }

func newKey(t testing.TB) (k wireguardKey) {
	t.Helper()
	rand.Read(k.private[:])
	k.private[0] &= 248
	k.private[31] = k.private[31]&127 | 64
	public, err := curve25519.X25519(k.private[:], curve25519.Basepoint)
	if err != nil {
		t.Fatal(err)
	}
	copy(k.public[:], public)
	return k
}

// tunnel connects two stacks by WireGuard on loopback, with the bounds of the engine, and returns a forwarder of the first.
func tunnel(t testing.TB) (b *Stack, f *Forwarder) {
	t.Helper()
	keys := []wireguardKey{newKey(t), newKey(t)}
	var stacks []*Stack
	var devices []*wireguard.Device
	var ports []int
	for i, addresses := range [][]netip.Addr{addrA, addrB} {
		s, err := New(Options{Addresses: addresses})
		if err != nil {
			t.Fatal(err)
		}
		d := wireguard.NewDevice(s.Device(), conn.NewStdNetBind(), wireguard.NewLogger(wireguard.LogLevelSilent, ""), wireguard.WithQueueOutboundSize(64),
			wireguard.WithQueueInboundSize(64), wireguard.WithPreallocatedBuffersPerPool(1024))
		t.Cleanup(d.Close)
		if err := d.IpcSet("private_key=" + hex.EncodeToString(keys[i].private[:]) + "\nlisten_port=0\n"); err != nil {
			t.Fatal(err)
		}
		if err := d.Up(); err != nil {
			t.Fatal(err)
		}
		state, err := d.IpcGet()
		if err != nil {
			t.Fatal(err)
		}
		var port int
		for _, line := range strings.Split(state, "\n") {
			fmt.Sscanf(line, "listen_port=%d", &port)
		}
		stacks, devices, ports = append(stacks, s), append(devices, d), append(ports, port)
	}
	for i, addresses := range [][]netip.Addr{addrB, addrA} {
		peer := "public_key=" + hex.EncodeToString(keys[1-i].public[:]) + fmt.Sprintf("\nendpoint=127.0.0.1:%d\n", ports[1-i])
		for _, a := range addresses {
			peer += "allowed_ip=" + netip.PrefixFrom(a, a.BitLen()).String() + "\n"
		}
		if err := devices[i].IpcSet(peer); err != nil {
			t.Fatal(err)
		}
	}
	f = NewForwarder(stacks[0], names{"hub": addrB}, inB, nil)
	t.Cleanup(f.Close)
	return stacks[1], f
}

func TestForwardThroughWireGuard(t *testing.T) {
	hub, f := tunnel(t)
	if err := hub.Offer("tcp", 1883, echoTCP(t)); err != nil {
		t.Fatal(err)
	}
	at, err := f.Forward("tcp", "127.0.0.1:0", "hub:1883")
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", at.String())
	if err != nil {
		t.Fatal(err)
	}
	exchange(t, c, 8<<20)
}

// BenchmarkForwardThroughWireGuard is criterion 20: without privilege, a forwarded port carries at least 300 Mbit/s.
func BenchmarkForwardThroughWireGuard(b *testing.B) {
	hub, f := tunnel(b)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	got := make(chan int64)
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		n, _ := io.Copy(io.Discard, c)
		got <- n
	}()
	hub.Offer("tcp", 1, l.Addr().String())
	at, err := f.Forward("tcp", "127.0.0.1:0", "hub:1")
	if err != nil {
		b.Fatal(err)
	}
	c, err := net.Dial("tcp", at.String())
	if err != nil {
		b.Fatal(err)
	}
	block := make([]byte, 64<<10)
	b.SetBytes(int64(len(block)))
	start, sent := time.Now(), 0
	for b.Loop() {
		n, err := c.Write(block)
		if err != nil {
			b.Fatal(err)
		}
		sent += n
	}
	c.Close()
	n := <-got
	if n != int64(sent) {
		b.Fatalf("%d of %d bytes arrived", n, sent)
	}
	b.ReportMetric(float64(n)*8/1e6/time.Since(start).Seconds(), "Mbit/s")
}

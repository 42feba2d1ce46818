package udpbatch

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"

	"seganet.internal/overlay/internal/busytest"
)

var wait = busytest.Limit(30 * time.Second)

func open(t *testing.T, network string, pieces int) (*Conn, netip.AddrPort) {
	t.Helper()
	at := &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}
	if network == "udp6" {
		at = &net.UDPAddr{IP: net.IPv6loopback}
	}
	u, err := net.ListenUDP(network, at)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { u.Close() })
	_ = u.SetReadBuffer(4 << 20)
	c, err := New(u, pieces)
	if err != nil {
		t.Fatal(err)
	}
	return c, unmap(u.LocalAddr().(*net.UDPAddr).AddrPort())
}

// receive reads count datagrams.
func receive(t *testing.T, c *Conn, pieces, count int, from netip.AddrPort) (list [][]byte) {
	t.Helper()
	got := make([]Piece, pieces)
	for len(list) < count {
		_ = c.SetReadDeadline(time.Now().Add(wait))
		n, err := c.Read(got)
		if err != nil {
			t.Fatalf("after %d of %d datagrams: %v", len(list), count, err)
		}
		for _, p := range got[:n] {
			if p.From != from {
				t.Fatalf("from %v, not from %v", p.From, from)
			}
			p.Each(func(b []byte) { list = append(list, bytes.Clone(b)) })
		}
	}
	return list
}

func packetsOf(sizes ...int) (list [][]byte) {
	for i, size := range sizes {
		list = append(list, bytes.Repeat([]byte{byte(i)}, size))
	}
	return list
}

func repeat(size, count int) (sizes []int) {
	for range count {
		sizes = append(sizes, size)
	}
	return sizes
}

func TestEachDatagramArrivesOnceAndInOrder(t *testing.T) {
	for _, network := range []string{"udp4", "udp6"} {
		for name, sizes := range map[string][]int{
			"one":                {100},
			"one byte":           {1},
			"equal":              repeat(1332, 64),
			"more than a write":  repeat(1332, 128),
			"small, many":        repeat(32, 200),
			"last is shorter":    append(repeat(1332, 20), 7),
			"growing":            {1, 2, 3, 4, 5, 6, 7, 8},
			"shrinking":          {1000, 900, 900, 900, 32, 32, 1},
			"alternating":        {1332, 80, 1332, 80, 80, 80, 1332},
			"longer than a link": {9000, 9000, 9000},
			"empty between":      {100, 0, 100},
		} {
			t.Run(network+" "+name, func(t *testing.T) {
				from, fromAt := open(t, network, 1)
				to, toAt := open(t, network, 4)
				sent := packetsOf(sizes...)
				framed := make([][]byte, len(sent))
				for i, p := range sent {
					framed[i] = append([]byte("12345678"), p...)
				}
				if err := from.Write(framed, 8, toAt, nil); err != nil {
					t.Fatal(err)
				}
				if err := from.Write([][]byte{[]byte("end")}, 0, toAt, nil); err != nil {
					t.Fatal(err)
				}
				want := append(dropEmpty(sent), []byte("end"))
				if got := receive(t, to, 4, len(want), fromAt); fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("%d datagrams differ from the %d that were sent", len(got), len(want))
				}
			})
		}
	}
}

// dropEmpty removes empty datagrams, which Each does not return.
func dropEmpty(list [][]byte) (out [][]byte) {
	for _, p := range list {
		if len(p) > 0 {
			out = append(out, p)
		}
	}
	return out
}

func TestJoinedDatagramsArriveSeparately(t *testing.T) {
	for _, c := range []struct{ segment, length int }{{100, 100}, {100, 1}, {100, 101}, {1336, 1336 * 49}, {1336, 1336*200 + 5}, {9004, 30000}, {1, 130}} {
		from, fromAt := open(t, "udp4", 1)
		to, toAt := open(t, "udp4", 16)
		b := make([]byte, c.length)
		for i := range b {
			b[i] = byte(i / c.segment)
		}
		if err := from.WriteJoined(b, c.segment, toAt, nil); err != nil {
			t.Fatal(c, err)
		}
		got := receive(t, to, 16, (c.length+c.segment-1)/c.segment, fromAt)
		if !bytes.Equal(bytes.Join(got, nil), b) || len(got[0]) != min(c.segment, c.length) {
			t.Errorf("%v: %d datagrams, the first has %d bytes", c, len(got), len(got[0]))
		}
	}
}

func TestReadEndsWithItsSocket(t *testing.T) {
	c, _ := open(t, "udp4", 1)
	end := make(chan error)
	go func() {
		_, err := c.Read(make([]Piece, 1))
		end <- err
	}()
	c.Close()
	if err := <-end; !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
	if err := c.Write(packetsOf(1), 0, netip.MustParseAddrPort("127.0.0.1:9"), nil); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}

func TestWriteReturnsTheErrorOfADestinationThatCannotBe(t *testing.T) {
	c, _ := open(t, "udp4", 1)
	if err := c.Write(packetsOf(1), 0, netip.MustParseAddrPort("[2001:db8::1]:9"), nil); err == nil {
		t.Error("an IPv4 socket sends to an IPv6 address")
	}
	if err := c.Write([][]byte{make([]byte, 70000)}, 0, netip.MustParseAddrPort("127.0.0.1:9"), nil); err == nil {
		t.Error("a datagram of 70,000 bytes is sent")
	}
}

func BenchmarkWrite(b *testing.B) {
	for _, count := range []int{1, 64} {
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			from, _ := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
			defer from.Close()
			c, err := New(from, 1)
			if err != nil {
				b.Fatal(err)
			}
			sink, _ := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
			defer sink.Close()
			to := sink.LocalAddr().(*net.UDPAddr).AddrPort()
			list := packetsOf(repeat(1332, count)...)
			b.SetBytes(int64(1332 * count))
			b.ReportAllocs()
			for b.Loop() {
				if err := c.Write(list, 0, to, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

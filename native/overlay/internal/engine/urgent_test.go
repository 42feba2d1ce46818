package engine_test

import (
	"net"
	"net/netip"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// TestUrgentPacketsLeaveWithTheirTypeOfService sends packets of four classes over IPv4 and IPv6 and reads the type of
// service of what arrives.
func TestUrgentPacketsLeaveWithTheirTypeOfService(t *testing.T) {
	for network, host := range map[string]string{"udp4": "127.0.0.1", "udp6": "::1"} {
		c, err := net.ListenUDP(network, &net.UDPAddr{IP: net.ParseIP(host)})
		if err != nil {
			t.Logf("%s is skipped: %v", network, err)
			continue
		}
		defer c.Close()
		raw, err := c.SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		level, option := unix.IPPROTO_IP, unix.IP_RECVTOS
		if network == "udp6" {
			level, option = unix.IPPROTO_IPV6, unix.IPV6_RECVTCLASS
		}
		if cerr := raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), level, option, 1) }); cerr != nil || err != nil {
			t.Fatal(cerr, err)
		}
		var mu sync.Mutex
		seen := map[int]int{} // length of a transport message → its type of service
		a, b := newSide(t, "fd00:5e9a::1", func([]byte) {}), newSide(t, "fd00:5e9a::2", func([]byte) {})
		bAt := netip.AddrPortFrom(netip.MustParseAddr(host), b.bind.Port())
		aAt := netip.AddrPortFrom(netip.MustParseAddr(host), a.bind.Port())
		go func() {
			buf, oob := make([]byte, 2048), make([]byte, 128)
			for {
				n, m, _, from, err := c.ReadMsgUDPAddrPort(buf, oob)
				if err != nil {
					return
				}
				to := bAt
				if from.Port() == bAt.Port() {
					to = aAt
				} else if buf[0] == 4 {
					mu.Lock()
					seen[n] = typeOfService(oob[:m])
					mu.Unlock()
				}
				_, _ = c.WriteToUDPAddrPort(buf[:n], to)
			}
		}()
		middle := c.LocalAddr().(*net.UDPAddr).AddrPort()
		know(t, a, b, middle)
		know(t, b, a, middle)
		const smallest = 200
		classes := []byte{0, 0x10, 0xb8, 0x08, 0x12, 0x00}
		for i, tos := range classes {
			p := append(numbered(a.v6, b.v6, uint64(i)), make([]byte, smallest+16*i)...)
			p[0], p[1] = 6<<4|tos>>4, tos<<4
			p[4], p[5] = byte((len(p)-40)>>8), byte(len(p)-40)
			a.wire.in <- p
		}
		eventually(t, "the packets arrive", func() bool {
			mu.Lock()
			defer mu.Unlock()
			count := 0
			for n := range seen {
				if n > smallest {
					count++
				}
			}
			return count == len(classes)
		})
		mu.Lock()
		defer mu.Unlock()
		for i, want := range []int{0, 0x10, 0x10, 0, 0x10, 0} {
			n := (40+8+24+smallest+16*i+15)/16*16 + 32
			if got, ok := seen[n]; !ok || got != want {
				t.Errorf("%s: inner type of service %#x: outer %#x (%v), want %#x; %v", network, classes[i], got, ok, want, seen)
			}
		}
	}
}

func typeOfService(oob []byte) int {
	list, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return -1
	}
	for _, m := range list {
		if m.Header.Type == unix.IP_TOS || m.Header.Type == unix.IPV6_TCLASS {
			return int(m.Data[0])
		}
	}
	return -1
}

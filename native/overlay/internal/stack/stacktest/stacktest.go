// Package stacktest connects devices in tests, in place of a tunnel.
package stacktest

import "github.com/tailscale/wireguard-go/tun"

// Join carries packets between two devices until they are closed. drop, if not nil, decides for each packet.
func Join(a, b tun.Device, drop func(from tun.Device, packet []byte) bool) {
	go pump(a, b, drop)
	go pump(b, a, drop)
}

func pump(from, to tun.Device, drop func(tun.Device, []byte) bool) {
	const offset = 16
	bufs, sizes := make([][]byte, from.BatchSize()), make([]int, from.BatchSize())
	for i := range bufs {
		bufs[i] = make([]byte, offset+65535)
	}
	out := make([][]byte, 0, len(bufs))
	for {
		n, err := from.Read(bufs, sizes, offset)
		if err != nil {
			return
		}
		out = out[:0]
		for i := range n {
			p := bufs[i][:offset+sizes[i]]
			if drop == nil || !drop(from, p[offset:]) {
				out = append(out, p)
			}
		}
		to.Write(out, offset)
	}
}

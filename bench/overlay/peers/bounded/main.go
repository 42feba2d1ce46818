// Command bounded is Tailscale's fork of wireguard-go with the bounds that the overlay gives it, and nothing else of the overlay.
//
//	bounded INTERFACE MTU FILE
package main

import (
	"github.com/tailscale/wireguard-go/conn"
	"github.com/tailscale/wireguard-go/device"
	"github.com/tailscale/wireguard-go/tun"

	"seganet.internal/bench/overlay/running"
)

// The bounds of native/overlay/internal/engine.
const (
	queue      = 64
	handshakes = 256
	buffers    = 1024
)

var bounds = []device.Option{device.WithQueueOutboundSize(queue), device.WithQueueInboundSize(queue),
	device.WithQueueHandshakeSize(handshakes), device.WithPreallocatedBuffersPerPool(buffers)}

func main() {
	running.Main(func(name string, mtu int) (running.Device, error) {
		interfaceOf, err := tun.CreateTUN(name, mtu)
		if err != nil {
			return nil, err
		}
		logger := device.NewLogger(device.LogLevelError, "")
		return device.NewDevice(interfaceOf, conn.NewDefaultBind(), logger, bounds...), nil
	})
}

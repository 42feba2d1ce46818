// Command bounded is Tailscale's fork of wireguard-go with the bounds that the overlay gives it, and nothing else of the overlay.
//
//	bounded INTERFACE MTU FILE
package main

import (
	"fmt"
	"os"
	"strconv"

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
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 4 {
		return fmt.Errorf("usage: bounded INTERFACE MTU FILE")
	}
	mtu, err := strconv.Atoi(os.Args[2])
	if err != nil {
		return err
	}
	interfaceOf, err := tun.CreateTUN(os.Args[1], mtu)
	if err != nil {
		return err
	}
	logger := device.NewLogger(device.LogLevelError, "")
	return running.Run(device.NewDevice(interfaceOf, conn.NewDefaultBind(), logger, bounds...), os.Args[3])
}

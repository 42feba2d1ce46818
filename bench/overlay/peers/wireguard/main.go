// Command wireguard is wireguard-go as it comes: queues of 1,024 batches and no bound of its buffers.
//
//	wireguard INTERFACE MTU FILE
package main

import (
	"golang.zx2c4.com/wireguard/conn"
	"golang.zx2c4.com/wireguard/device"
	"golang.zx2c4.com/wireguard/tun"

	"seganet.internal/bench/overlay/running"
)

func main() {
	running.Main(func(name string, mtu int) (running.Device, error) {
		interfaceOf, err := tun.CreateTUN(name, mtu)
		if err != nil {
			return nil, err
		}
		return device.NewDevice(interfaceOf, conn.NewDefaultBind(), device.NewLogger(device.LogLevelError, "")), nil
	})
}

// Command wireguard is wireguard-go as it comes: queues of 1,024 batches and no bound of its buffers.
//
//	wireguard INTERFACE MTU FILE
package main

import (
	"fmt"
	"os"
	"strconv"

	"golang.zx2c4.com/wireguard/conn"
	"golang.zx2c4.com/wireguard/device"
	"golang.zx2c4.com/wireguard/tun"

	"seganet.internal/bench/overlay/running"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 4 {
		return fmt.Errorf("usage: wireguard INTERFACE MTU FILE")
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
	return running.Run(device.NewDevice(interfaceOf, conn.NewDefaultBind(), logger), os.Args[3])
}

// Package running is what the two WireGuard programs of the benchmark share: their arguments, reading a configuration, and
// figures of Go's runtime on request.
package running

import (
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
)

// Device is a WireGuard device of either module.
type Device interface {
	IpcSet(configuration string) error
	Up() error
	Close()
	Wait() chan struct{}
}

// Main runs a program with the arguments INTERFACE MTU FILE, and exits with 1 after an error. open makes the interface
// and its device.
func Main(open func(name string, mtu int) (Device, error)) {
	if err := start(open); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func start(open func(name string, mtu int) (Device, error)) error {
	if len(os.Args) != 4 {
		return fmt.Errorf("usage: %s INTERFACE MTU FILE", filepath.Base(os.Args[0]))
	}
	mtu, err := strconv.Atoi(os.Args[2])
	if err != nil {
		return err
	}
	device, err := open(os.Args[1], mtu)
	if err != nil {
		return err
	}
	return run(device, os.Args[3])
}

// run configures the device with a file in WireGuard's configuration protocol (key=value lines), prints "ready", and
// returns after SIGTERM. SIGUSR1 prints a line of JSON with figures of the runtime.
func run(device Device, file string) error {
	defer device.Close()
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := device.IpcSet(string(text)); err != nil {
		return fmt.Errorf("the configuration: %w", err)
	}
	if err := device.Up(); err != nil {
		return err
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGUSR1, syscall.SIGTERM, os.Interrupt)
	fmt.Println("ready")
	for {
		select {
		case <-device.Wait():
			return nil
		case s := <-signals:
			if s != syscall.SIGUSR1 {
				return nil
			}
			print()
		}
	}
}

// print writes bytes: in use by objects, allocated since the start, released to the system.
func print() {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	_ = json.NewEncoder(os.Stdout).Encode(map[string]uint64{
		"goroutines": uint64(runtime.NumGoroutine()), "heapBytes": m.HeapAlloc, "allocatedBytes": m.TotalAlloc, "releasedBytes": m.HeapReleased,
	})
}

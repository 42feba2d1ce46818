//go:build !linux

package portmap

import (
	"net/netip"
	"syscall"
)

// Gateways knows none outside of Linux, so no router is asked for a mapping.
func Gateways(func(name string) bool) ([]Gateway, error) { return nil, nil }

// bindToInterface does nothing: the route of the system counts.
func (Gateway) bindToInterface(string, string, syscall.RawConn) error { return nil }

func multicastFrom(uintptr, netip.Addr) {}

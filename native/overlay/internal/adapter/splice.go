package adapter

import (
	"errors"
	"net"
	"net/netip"
	"strconv"

	"seganet.internal/overlay/internal/stack"
)

// Splice makes a network stack answer for the virtual addresses of the devices. For each TCP connection or UDP session
// to an offered port, this host opens one to the device on the LAN, so the device sees the gateway's address. The stack
// itself answers echo requests.
//
// For connections of devices into the overlay, stack.Forwarder opens ports on the gateway: a device that is configured
// with "gateway:1883" reaches the broker behind it.
func Splice(s *stack.Stack, t Table) error {
	var failed error
	for _, d := range t {
		accept := func(proto string, port uint16) (string, bool) {
			return net.JoinHostPort(d.LAN.String(), strconv.Itoa(int(port))), d.offers(proto, port)
		}
		for _, a := range []netip.Addr{d.Addr6, d.Addr4} {
			if a.IsValid() {
				failed = errors.Join(failed, s.AddAddress(a, accept))
			}
		}
	}
	return failed
}

// Unsplice removes the devices' addresses from a stack.
func Unsplice(s *stack.Stack, t Table) {
	for _, d := range t {
		for _, a := range []netip.Addr{d.Addr6, d.Addr4} {
			s.RemoveAddress(a)
		}
	}
}

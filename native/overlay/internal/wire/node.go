package wire

import (
	"fmt"
	"net/netip"
)

// Service is a port that a node offers by name. What a node does not offer, it refuses.
type Service struct {
	Name  string `json:"name"`
	Proto string `json:"proto"` // "tcp" or "udp"
	Port  uint16 `json:"port"`
}

func (s Service) validate() error {
	if err := CheckLabel("the service", s.Name); err != nil {
		return err
	}
	if s.Proto != "tcp" && s.Proto != "udp" {
		return fmt.Errorf("the protocol %.20q of the service %q is neither \"tcp\" nor \"udp\"", s.Proto, s.Name)
	}
	if s.Port == 0 {
		return fmt.Errorf("the service %q has no port", s.Name)
	}
	return nil
}

// Device is an ordinary device behind a node: it cannot run the overlay itself. Its addresses are virtual ones, from
// the node's certificate.
type Device struct {
	Name  string     `json:"name"` // first label of its FQDN
	Addr4 netip.Addr `json:"addr4,omitzero"`
	Addr6 netip.Addr `json:"addr6,omitzero"`
}

func (d Device) validate() error {
	if err := CheckLabel("the device", d.Name); err != nil {
		return err
	}
	if d.Addr4.IsValid() && !d.Addr4.Is4() {
		return fmt.Errorf("the IPv4 address %s of the device %q is none", d.Addr4, d.Name)
	}
	if d.Addr6.IsValid() && (!d.Addr6.Is6() || d.Addr6.Is4In6() || d.Addr6.Zone() != "") {
		return fmt.Errorf("the IPv6 address %s of the device %q is none", d.Addr6, d.Name)
	}
	return nil
}

func checkServices(list []Service) error {
	if len(list) > MaxServices {
		return fmt.Errorf("%d services, the limit is %d", len(list), MaxServices)
	}
	names := make([]string, len(list))
	for i, s := range list {
		if err := s.validate(); err != nil {
			return err
		}
		names[i] = s.Name
	}
	return checkLabels("services", names, MaxServices)
}

func checkDevices(list []Device) error {
	if len(list) > MaxDevices {
		return fmt.Errorf("%d devices, the limit is %d", len(list), MaxDevices)
	}
	names := make([]string, len(list))
	for i, d := range list {
		if err := d.validate(); err != nil {
			return err
		}
		names[i] = d.Name
	}
	return checkLabels("devices", names, MaxDevices)
}

func checkAddresses(list []netip.Addr, max int) error {
	if len(list) > max {
		return fmt.Errorf("%d addresses, the limit is %d", len(list), max)
	}
	for _, a := range list {
		if !a.IsValid() || a.Zone() != "" || a.Is4In6() {
			return fmt.Errorf("the address %q is invalid", a)
		}
	}
	return nil
}

func checkRelays(list []netip.AddrPort) error {
	if len(list) > MaxRelays {
		return fmt.Errorf("%d relay addresses, the limit is %d", len(list), MaxRelays)
	}
	for _, a := range list {
		if !a.IsValid() || a.Port() == 0 || a.Addr().Zone() != "" {
			return fmt.Errorf("the relay address %q is invalid", a)
		}
	}
	return nil
}

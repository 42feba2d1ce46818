// Package adapter makes ordinary devices, which cannot run the overlay, a part of it: each has a virtual address and a
// name, and the gateway acts on its behalf.
//
// With a TUN interface the adapter translates addresses 1:1 in both directions, without state: Wrap. Without privilege the network stack answers
// for the devices' virtual addresses and connects to them on the LAN: Splice.
//
// Devices share the gateway's tunnels, so a tunnel's cost does not depend on their number.
package adapter

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"slices"

	"seganet.internal/overlay/internal/policy"
	"seganet.internal/overlay/internal/wire"
)

// MaxTableBytes bounds the JSON text of a table of devices.
const MaxTableBytes = 64 << 10

// Device is a row of the table.
type Device struct {
	Name   string     `json:"name"`             // first label of its full name
	LAN    netip.Addr `json:"lan"`              // IPv4 or IPv6 address on the LAN
	LAN6   netip.Addr `json:"lan6,omitzero"`    // a second address, IPv6, if LAN is IPv4
	Ports  []string   `json:"ports"`            // what it offers: "tcp/502", "udp/5683", "icmp"; empty: nothing, it only begins connections
	Groups []string   `json:"groups,omitempty"` // for the policy; empty: those of the node
	Addr4  netip.Addr `json:"-"`                // virtual, from the node's certificate
	Addr6  netip.Addr `json:"-"`
}

// Table is the devices behind a gateway.
type Table []Device

type file struct {
	Devices Table `json:"devices"`
}

// Validate implements wire.Validator. ParseTable checks the rows, because their errors need no example.
func (*file) Validate() error { return nil }

// form is an example of a table, for error messages.
const form = `Write {"devices":[{"name":"pump","lan":"192.168.1.7","ports":["tcp/502"]}]}; "lan6" and "groups" are optional`

// ParseTable reads {"devices":[{"name":"pump","lan":"192.168.1.7","ports":["tcp/502"]}]}.
func ParseTable(text []byte) (Table, error) {
	var f file
	if err := wire.Decode(text, MaxTableBytes, &f); err != nil {
		return nil, fmt.Errorf("the table of devices: %w. %s", err, form)
	}
	if err := f.Devices.Validate(); err != nil {
		return nil, fmt.Errorf("the table of devices: %w", err)
	}
	return f.Devices, nil
}

// ReadTable reads the table of a file.
func ReadTable(path string) (Table, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("the table of devices: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, MaxTableBytes+1))
	if err != nil {
		return nil, fmt.Errorf("the table of devices: %w", err)
	}
	return ParseTable(text)
}

// Without returns the devices of t whose name or virtual addresses other does not have.
func (t Table) Without(other Table) (gone Table) {
	for _, d := range t {
		if !slices.ContainsFunc(other, func(o Device) bool { return o.Name == d.Name && o.Addr4 == d.Addr4 && o.Addr6 == d.Addr6 }) {
			gone = append(gone, d)
		}
	}
	return gone
}

// Validate checks names, addresses, ports and groups, and that no two devices share a name or an address.
func (t Table) Validate() error {
	if len(t) > wire.MaxDevices {
		return fmt.Errorf("%d devices, the limit is %d", len(t), wire.MaxDevices)
	}
	names, addresses := map[string]bool{}, map[netip.Addr]string{}
	for i, d := range t {
		if err := d.validate(); err != nil {
			return fmt.Errorf("device %d: %w", i+1, err)
		}
		if names[d.Name] {
			return fmt.Errorf("the device %q appears twice", d.Name)
		}
		names[d.Name] = true
		for _, a := range []netip.Addr{d.LAN, d.LAN6} {
			if other, taken := addresses[a]; taken && a.IsValid() {
				return fmt.Errorf("the devices %q and %q have the same address %s", other, d.Name, a)
			}
			addresses[a] = d.Name
		}
	}
	return nil
}

func (d Device) validate() error {
	if err := wire.CheckLabel("the name", d.Name); err != nil {
		return err
	}
	if err := checkLAN(d.LAN); err != nil {
		return fmt.Errorf("%q: %w", d.Name, err)
	}
	if d.LAN6.IsValid() {
		if !d.LAN.Is4() || !d.LAN6.Is6() {
			return fmt.Errorf("%q: \"lan6\" is a second address, IPv6, of a device whose \"lan\" is IPv4", d.Name)
		}
		if err := checkLAN(d.LAN6); err != nil {
			return fmt.Errorf("%q: %w", d.Name, err)
		}
	}
	if len(d.Ports) > wire.MaxPorts {
		return fmt.Errorf("%q: %d ports, the limit is %d", d.Name, len(d.Ports), wire.MaxPorts)
	}
	for _, p := range d.Ports {
		if _, err := wire.ParsePorts(p); err != nil {
			return fmt.Errorf("%q: %w", d.Name, err)
		}
	}
	if len(d.Groups) > wire.MaxGroups {
		return fmt.Errorf("%q: %d groups, the limit is %d", d.Name, len(d.Groups), wire.MaxGroups)
	}
	for _, g := range d.Groups {
		if err := wire.CheckLabel("the group", g); err != nil {
			return fmt.Errorf("%q: %w", d.Name, err)
		}
	}
	return nil
}

func checkLAN(a netip.Addr) error {
	switch {
	case !a.IsValid():
		return errors.New("it has no address; set \"lan\" to its address on the LAN")
	case a.Zone() != "" || a.Is4In6() || a.IsUnspecified() || a.IsMulticast() || a.IsLinkLocalUnicast():
		return fmt.Errorf("the address %s is not of one device; use a unicast address that is not link-local", a)
	}
	return nil
}

// Names returns the names of all devices, which joining and renewing ask addresses for.
func (t Table) Names() []string {
	names := make([]string, len(t))
	for i, d := range t {
		names[i] = d.Name
	}
	return names
}

// Bind returns the table with the virtual addresses that the authentication service assigned. A device without one is an error: renew the
// certificate with the new table first.
func (t Table) Bind(assigned []wire.Device) (Table, error) {
	bound := t.Bound(assigned)
	for _, d := range t {
		if !slices.ContainsFunc(bound, func(b Device) bool { return b.Name == d.Name }) {
			return nil, fmt.Errorf("the device %q is not in the node's certificate; the certificate must be renewed with the new table", d.Name)
		}
	}
	return bound, nil
}

// Bound returns the devices that have a virtual address, with it.
func (t Table) Bound(assigned []wire.Device) (bound Table) {
	for _, d := range t {
		if at := slices.IndexFunc(assigned, func(a wire.Device) bool { return a.Name == d.Name }); at >= 0 {
			d.Addr4, d.Addr6 = assigned[at].Addr4, assigned[at].Addr6
			bound = append(bound, d)
		}
	}
	return bound
}

// Targets returns the devices for the packet filter. With translate true, a Translator is in front of them. A virtual
// address without a LAN address of its version then offers nothing, so that a connection to it fails at once and its
// caller takes the other address.
func (t Table) Targets(translate bool) (list []policy.Target) {
	for _, d := range t {
		open := policy.Target{Name: d.Name, Groups: d.Groups, Ports: d.Ports}
		shut := policy.Target{Name: d.Name, Groups: d.Groups}
		for _, a := range []netip.Addr{d.Addr6, d.Addr4} {
			switch {
			case !a.IsValid():
			case translate && !d.has(a.Is4()):
				shut.Addresses = append(shut.Addresses, a)
			default:
				open.Addresses = append(open.Addresses, a)
			}
		}
		list = append(list, open)
		if len(shut.Addresses) > 0 {
			list = append(list, shut)
		}
	}
	return list
}

// has is true if the device has a LAN address of the IP version.
func (d Device) has(four bool) bool {
	return d.LAN.Is4() == four || d.LAN6.IsValid() && !four
}

// offers is true if the device offers the TCP or UDP port.
func (d Device) offers(proto string, port uint16) bool {
	for _, s := range d.Ports {
		if p, err := wire.ParsePorts(s); err == nil && p.Proto == proto && p.First <= port && port <= p.Last {
			return true
		}
	}
	return false
}

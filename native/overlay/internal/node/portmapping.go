package node

import (
	"net/netip"

	"seganet.internal/overlay/internal/portmap"
)

// openMapper prepares the mapping of the UDP port. It does nothing if the services run on this host: all peers then run
// on it as well.
func (n *Node) openMapper() {
	if !n.o.MapPort || n.onLoopback() {
		return
	}
	secret := n.member.Keys.WGPrivate()
	n.mapper = portmap.New(portmap.Config{Port: n.bind.Port(), Secret: secret[:], Log: n.log, Changed: n.paths.Load().SetMapped,
		Gateways: func() ([]portmap.Gateway, error) {
			return portmap.Gateways(func(name string) bool { return n.ignored(name, netip.Addr{}) })
		}})
}

func (n *Node) portMapping() portmap.Status {
	switch {
	case !n.o.MapPort:
		return portmap.Status{Text: "off by configuration", Mappings: []portmap.Mapping{}}
	case n.mapper == nil:
		return portmap.Status{Text: "not needed: the services are on this host", Mappings: []portmap.Mapping{}}
	}
	return n.mapper.Status()
}

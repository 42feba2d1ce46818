package portmap

import (
	"errors"
	"net"
	"net/netip"
)

// gatewaysMost bounds the gateways that get requests.
const gatewaysMost = 4

// The ports of a gateway, and the group to which it announces a new epoch (RFC 6887 §19.1, RFC 6886 §3.2.1) and listens
// for searches (UPnP Device Architecture 1.1 §1.3.2).
const (
	pcpPort      = 5351
	announcePort = 5350
	ssdpPort     = 1900
)

var (
	announceGroup = netip.AddrFrom4([4]byte{224, 0, 0, 1})
	ssdpGroup     = netip.AddrFrom4([4]byte{239, 255, 255, 250})
)

// Gateway is a default gateway, as seen from one interface.
type Gateway struct {
	Address   netip.Addr // of the gateway
	Inside    netip.Addr // of this host at that interface
	Interface string
}

// dial opens a UDP socket that receives only from the address. It prefers the gateway's interface, because two networks
// may use the same addresses.
func (g Gateway) dial(to netip.AddrPort) (*net.UDPConn, error) {
	d := net.Dialer{LocalAddr: net.UDPAddrFromAddrPort(netip.AddrPortFrom(g.Inside, 0)), Control: g.bindToInterface}
	c, err := d.Dial("udp4", to.String())
	if err != nil {
		return nil, err
	}
	u, ok := c.(*net.UDPConn)
	if !ok {
		_ = c.Close()
		return nil, errors.New("the socket is not a UDP socket")
	}
	return u, nil
}

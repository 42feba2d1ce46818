package portmap

import (
	"fmt"
	"net/netip"
)

// checkOutside returns an error unless a peer elsewhere could send to the address: unicast IPv4 with a port. It accepts
// private addresses, because a second NAT may be in front of the gateway, with peers between the two.
func checkOutside(a netip.AddrPort) error {
	ip := a.Addr()
	switch {
	case !ip.Is4() || a.Port() == 0:
		return fmt.Errorf("the outside address %v is not an IPv4 address with a port", a)
	case !ip.IsGlobalUnicast() || ip.As4()[0] == 0 || ip.As4()[0] >= 224:
		return fmt.Errorf("the outside address %v is not a unicast address", ip)
	}
	return nil
}

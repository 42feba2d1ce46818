package node

import (
	"fmt"
	"net"
	"slices"
	"time"

	"seganet.internal/overlay/internal/control"
	"seganet.internal/overlay/internal/wire"
)

// offered is an offer in force. end takes its port back; it is nil for an offer of the start that needs nothing.
type offered struct {
	Offer
	end func()
}

// openOffers opens the configured offers. With a TUN interface, programs themselves listen at the overlay's addresses.
func (n *Node) openOffers() error {
	for _, o := range n.o.Offers {
		if n.stack != nil {
			if err := n.stack.Offer(o.Proto, o.Port, o.Target); err != nil {
				return err
			}
		}
		n.offered = append(n.offered, offered{Offer: o})
	}
	return nil
}

// Offer implements control.Node: it adds a service while the node runs.
func (n *Node) Offer(name, network string, port uint16, target string) error {
	o := Offer{Name: name, Proto: network, Port: port, Target: target}
	if err := o.check(); err != nil {
		return err
	}
	n.offering.Lock()
	defer n.offering.Unlock()
	others := n.services()
	if len(others) >= wire.MaxServices {
		return fmt.Errorf("this node offers %d services, which is the limit", wire.MaxServices)
	}
	for _, other := range others {
		switch {
		case other.Name == name:
			return fmt.Errorf("this node offers a service %q already, at %s/%d", name, other.Proto, other.Port)
		case other.Proto == network && other.Port == port:
			return fmt.Errorf("this node offers %s/%d already, as the service %q", network, port, other.Name)
		}
	}
	end, err := n.openOffer(o)
	if err != nil {
		return err
	}
	n.mu.Lock()
	n.offered = append(n.offered, offered{o, end})
	n.mu.Unlock()
	n.offersChanged()
	n.log.Info("a service is offered", "service", name, "network", network, "port", port, "target", target)
	return nil
}

// Withdraw implements control.Node.
func (n *Node) Withdraw(network string, port uint16) {
	n.offering.Lock()
	defer n.offering.Unlock()
	n.mu.Lock()
	at := slices.IndexFunc(n.offered, func(o offered) bool { return o.Proto == network && o.Port == port })
	var gone offered
	if at >= 0 {
		gone = n.offered[at]
		n.offered = slices.Delete(n.offered, at, at+1)
	}
	n.mu.Unlock()
	if at < 0 {
		return
	}
	if gone.end != nil {
		gone.end()
	}
	n.offersChanged()
	n.log.Info("a service is no longer offered", "service", gone.Name)
}

// openOffer makes the port of an offer lead to its target.
func (n *Node) openOffer(o Offer) (end func(), err error) {
	if n.stack == nil {
		return n.expose.Expose(o.Proto, n.self().Addresses, o.Port, o.Target)
	}
	if err := n.stack.Offer(o.Proto, o.Port, o.Target); err != nil {
		return nil, err
	}
	return func() { _ = n.stack.Offer(o.Proto, o.Port, "") }, nil
}

// check returns an error if a part of the offer is malformed.
func (o Offer) check() error {
	if err := wire.CheckLabel("the service", o.Name); err != nil {
		return err
	}
	if o.Proto != "tcp" && o.Proto != "udp" || o.Port == 0 {
		return fmt.Errorf("the service %q needs a network, \"tcp\" or \"udp\", and a port", o.Name)
	}
	if host, port, err := net.SplitHostPort(o.Target); err != nil || host == "" || port == "" {
		return fmt.Errorf("the target %.300q of the service %q is no \"host:port\"", o.Target, o.Name)
	}
	return nil
}

// offersChanged updates the policy and the node services.
func (n *Node) offersChanged() {
	n.applyPolicy()
	n.mu.Lock()
	l := n.link
	n.mu.Unlock()
	if l != nil {
		n.announce(l)
	}
}

// announce sends what this node offers once more. REQUIRES: the services have answered the first hello.
func (n *Node) announce(l *link) {
	if err := l.send(n.hello()); err != nil {
		n.log.Warn("the offers of this node cannot be sent to the node services", "error", err)
	}
}

func (n *Node) hello() *wire.Hello {
	h := &wire.Hello{Services: n.services(), Devices: []wire.Device{}}
	for _, d := range n.devices() {
		h.Devices = append(h.Devices, wire.Device{Name: d.Name, Addr4: d.Addr4, Addr6: d.Addr6})
	}
	return h
}

// services lists what this node offers: the offers of the start, then those that were added.
func (n *Node) services() []wire.Service {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := make([]wire.Service, 0, len(n.offered))
	for _, o := range n.offered {
		out = append(out, wire.Service{Name: o.Name, Proto: o.Proto, Port: o.Port})
	}
	return out
}

// cutIfRevoked closes all connections through this node if its own certificate is revoked. Its peers have dropped it,
// which idle connections would not notice.
func (n *Node) cutIfRevoked() {
	if !n.isRevoked(n.self().Serial) {
		return
	}
	connections := n.cut(n.within)
	n.log.Warn("this node was revoked or suspended", "connections", connections)
	n.send(control.Event{Event: "revoked", Time: time.Now(), Text: "the certificate of this node was revoked, or the node was suspended"})
}

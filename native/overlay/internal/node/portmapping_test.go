package node_test

import (
	"testing"

	"seganet.internal/overlay/internal/node"
)

func TestSaysWhyNoPortIsMapped(t *testing.T) {
	_, _, hub, gateway := network(t)
	g, _ := run(t, gateway, func(o *node.Options) { o.MapPort = true })
	if s := status(t, g).PortMapping; s.Text != "not needed: the services are on this host" || s.Mappings == nil {
		t.Errorf("%+v", s)
	}
	h, _ := run(t, hub, nil)
	if s := status(t, h).PortMapping; s.Text != "off by configuration" {
		t.Errorf("%+v", s)
	}
}

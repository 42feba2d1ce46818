package node

import (
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"

	"seganet.internal/overlay/internal/paths"
)

func TestWithoutThePortForNamesNoSocketStaysAndTheCapabilityIsNamed(t *testing.T) {
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refused := &net.OpError{Op: "listen", Err: syscall.EACCES}
	packets, streams, err := listenNames(func() (net.PacketConn, error) { return udp, nil }, func() (net.Listener, error) { return nil, refused })
	if packets != nil || streams != nil || err == nil || !strings.Contains(err.Error(), "CAP_NET_BIND_SERVICE") {
		t.Errorf("%v, %v, %v", packets, streams, err)
	}
	if _, err := udp.WriteTo([]byte("x"), udp.LocalAddr()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the UDP socket: %v", err)
	}
}

func TestDoctorReportsUDPOnlyIfItsStateIsKnown(t *testing.T) {
	for _, c := range []struct {
		nat   paths.NAT
		relay bool
		want  string
	}{{paths.NATUnknown, true, "whether UDP passes is not known yet"}, {paths.NATUnknown, false, ""}, {paths.NATSymmetric, false, ""},
		{paths.NATBlocked, true, "UDP passes to the outside"}} {
		if f := udpFinding(c.nat, c.relay, false); f.What != c.want || f.OK == (c.nat == paths.NATBlocked) && f.What != "" {
			t.Errorf("%v, relay %v: %+v", c.nat, c.relay, f)
		}
	}
	if f := udpFinding(paths.NATSymmetric, true, false); !f.OK || f.What == "" {
		t.Errorf("%+v", f)
	}
}

func TestDoctorFailsIfNoPacketPassesAndNotForARelayedPeer(t *testing.T) {
	for name, c := range map[string]struct {
		peer      Peer
		ok, empty bool
		says      string
	}{
		"direct":      {Peer{FQDN: "hub", Path: "direct"}, true, true, ""},
		"asleep":      {Peer{FQDN: "hub", Path: "none", Sleeping: true}, true, true, ""},
		"just begun":  {Peer{FQDN: "hub", Path: "none"}, true, true, ""},
		"relayed":     {Peer{FQDN: "hub", Path: "relay", Reason: "UDP is blocked on both sides"}, true, false, "by the relay: UDP is blocked"},
		"unreachable": {Peer{FQDN: "hub", Path: "none", Blocked: true, Reason: "no packet passes: the peer does not answer"}, false, false, "no packet passes: the peer does not answer."},
	} {
		f := peerFinding(c.peer)
		if (f.What == "") != c.empty || !c.empty && f.OK != c.ok || !strings.Contains(f.What+f.Remedy, c.says) {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

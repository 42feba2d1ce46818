package paths

import (
	"bytes"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"seganet.internal/overlay/internal/bind"
)

func TestUrgentPacketsLeaveForTheRelayWithTheirTypeOfService(t *testing.T) {
	to, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	raw, err := to.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if cerr := raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_RECVTOS, 1) }); cerr != nil || err != nil {
		t.Fatal(cerr, err)
	}
	c, err := net.ListenUDP("udp4", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s := &relaySocket{UDPConn: c, control: bind.UrgentControl(true)}
	urgent, bulk := bytes.Repeat([]byte{1}, 100), bytes.Repeat([]byte{2}, 100)
	wrapped := func(p []byte) []byte { return append([]byte{0x40, 0, 0, 100}, p...) } // ChannelData, RFC 8656
	s.begin(urgent)
	for _, step := range []struct {
		packet []byte
		want   byte
	}{{urgent, 0x10}, {bulk, 0}, {nil, 0}, {urgent, 0x10}, {urgent, 0}} {
		if step.want == 0 && step.packet != nil && step.packet[0] == 1 {
			s.end(urgent)
		}
		if _, err := s.WriteTo(wrapped(step.packet), to.LocalAddr()); err != nil {
			t.Fatal(err)
		}
		buf, oob := make([]byte, 200), make([]byte, 128)
		_ = to.SetReadDeadline(time.Now().Add(30 * time.Second))
		n, m, _, _, err := to.ReadMsgUDP(buf, oob)
		if err != nil || !bytes.Equal(buf[:n], wrapped(step.packet)) {
			t.Fatalf("%d bytes, %v", n, err)
		}
		list, err := unix.ParseSocketControlMessage(oob[:m])
		if err != nil || len(list) != 1 || list[0].Data[0] != step.want {
			t.Errorf("%.4x: control messages %v, want type of service %#x", step.packet, list, step.want)
		}
	}
}

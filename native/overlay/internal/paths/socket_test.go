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
	s, err := openRelaySocket("udp4", to.LocalAddr().(*net.UDPAddr).AddrPort())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const room = 8 // that WireGuard leaves to the Bind
	marked := func(content byte, urgent bool) []byte {
		b := append(make([]byte, room), bytes.Repeat([]byte{content}, 100)...)
		bind.Mark(b, urgent)
		return b
	}
	wants := []byte{0x10, 0, 0, 0x10, 0}
	var packets [][]byte
	for i, want := range wants {
		packets = append(packets, marked(byte(i), want != 0))
	}
	if err := s.sendChannel(packets, room, 0x4007); err != nil {
		t.Fatal(err)
	}
	for i, want := range wants {
		buf, oob := make([]byte, 200), make([]byte, 128)
		_ = to.SetReadDeadline(time.Now().Add(30 * time.Second))
		n, m, _, _, err := to.ReadMsgUDP(buf, oob)
		packet, number, ok := channelData(buf[:n])
		if err != nil || !ok || number != 0x4007 || !bytes.Equal(packet, packets[i][room:]) {
			t.Fatalf("%d bytes, %v", n, err)
		}
		list, err := unix.ParseSocketControlMessage(oob[:m])
		if err != nil || len(list) != 1 || list[0].Data[0] != want {
			t.Errorf("packet %d: control messages %v, want type of service %#x", i, list, want)
		}
	}
}

func TestChannelDataIsReadWithItsPadding(t *testing.T) {
	for name, c := range map[string]struct {
		message string
		want    string
		ok      bool
	}{
		"nothing":           {"", "", false},
		"a part":            {"\x40\x00\x00", "", false},
		"no content":        {"\x40\x00\x00\x00", "", true},
		"exact":             {"\x40\x00\x00\x05hello", "hello", true},
		"padded":            {"\x7f\xff\x00\x05hello\x00\x00\x00", "hello", true},
		"shorter than said": {"\x40\x00\x00\x06hello", "", false},
		"STUN":              {"\x00\x01\x00\x00", "", false},
		"no channel":        {"\x80\x00\x00\x00", "", false},
	} {
		packet, _, ok := channelData([]byte(c.message))
		if string(packet) != c.want || ok != c.ok {
			t.Errorf("%s: %q, %v", name, packet, ok)
		}
	}
}

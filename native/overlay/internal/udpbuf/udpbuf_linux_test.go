package udpbuf

import (
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestABurstThatIsLargerThanTheStandardBufferWaits(t *testing.T) {
	c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	Grow(c, 4<<20)
	from, err := net.DialUDP("udp4", nil, c.LocalAddr().(*net.UDPAddr))
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	raw, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	held := 0
	_ = raw.Control(func(fd uintptr) { held, err = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF) })
	if err != nil {
		t.Fatal(err)
	}
	if held < 2*(4<<20) { // the kernel doubles it for its bookkeeping
		t.Skipf("the process may not exceed net.core.rmem_max: %d bytes", held)
	}
	const packets = 1000 // of 1,280 bytes; 212,992 bytes hold about 90
	sent := make([]byte, 1280)
	for range packets {
		if _, err := from.Write(sent); err != nil {
			t.Fatal(err)
		}
	}
	_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
	for i := range packets {
		if _, err := c.Read(sent); err != nil {
			t.Fatalf("%d of %d packets: %v", i, packets, err)
		}
	}
}

package stack

import (
	"errors"
	"net/netip"
	"os"
	"testing"
	"time"
)

func TestAnInterruptedReadContinuesWithTheNextPacket(t *testing.T) {
	s, err := New(Options{Addresses: addrA})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	d := s.Device().(*device)
	read := func() chan error {
		result := make(chan error, 1)
		go func() {
			bufs, sizes := [][]byte{make([]byte, 2048)}, make([]int, 1)
			n, err := d.Read(bufs, sizes, 0)
			if err == nil && (n != 1 || sizes[0] == 0) {
				err = errors.New("an empty packet")
			}
			result <- err
		}()
		return result
	}
	expect := func(result chan error, want error) {
		t.Helper()
		select {
		case err := <-result:
			if !errors.Is(err, want) {
				t.Errorf("%v, want %v", err, want)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("Read does not return; want %v", want)
		}
	}
	d.Interrupt() // before the read
	expect(read(), os.ErrDeadlineExceeded)
	for range 3 {
		waiting := read()
		time.Sleep(5 * time.Millisecond)
		d.Interrupt()
		expect(waiting, os.ErrDeadlineExceeded)
	}
	waiting := read()
	c, err := s.DialAddr(t.Context(), "udp", netip.AddrPortFrom(addrB[1], 7))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("datagram")); err != nil {
		t.Fatal(err)
	}
	expect(waiting, nil)
	waiting = read()
	s.Close()
	expect(waiting, os.ErrClosed)
}

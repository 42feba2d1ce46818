package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// The first byte of a TCP connection tells what it is.
const (
	kindStream = 's' // then two durations of 8 bytes: warm-up and window; the answer at its end is the window's bytes
	kindReport = 'r' // then a flow's number of 8 bytes; the answer is the flow's counts as JSON
	kindEcho   = 'e' // then messages of messageBytes, each returned
)

const (
	messageBytes  = 64
	datagramBytes = 1200
	headerBytes   = 16 // of a datagram: number of its flow, its own number; an echo has flow 0
	streamBytes   = 256 << 10
	mostFlows     = 256     // that are remembered
	mostDatagrams = 1 << 28 // of a flow
	socketBytes   = 4 << 20
)

// counts is what arrived of a flow of datagrams.
type counts struct {
	Received, Duplicates, OutOfOrder uint64
	seen                             []uint64 // a bit for each number
	top                              uint64
}

type flows struct {
	mu  sync.Mutex
	all map[uint64]*counts
}

func (f *flows) add(flow, number uint64) {
	if number >= mostDatagrams {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.all[flow]
	if c == nil {
		if len(f.all) >= mostFlows {
			return
		}
		c = &counts{}
		f.all[flow] = c
	}
	for uint64(len(c.seen)) <= number/64 {
		c.seen = append(c.seen, 0)
	}
	bit := uint64(1) << (number % 64)
	if c.seen[number/64]&bit != 0 {
		c.Duplicates++
		return
	}
	c.seen[number/64] |= bit
	c.Received++
	if number < c.top {
		c.OutOfOrder++
	}
	c.top = max(c.top, number)
}

// take returns a flow's counts and forgets it.
func (f *flows) take(flow uint64) counts {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.all[flow]
	if c == nil {
		return counts{}
	}
	delete(f.all, flow)
	return *c
}

func serve(args []string) (any, error) {
	f := &flows{all: map[uint64]*counts{}}
	listener, err := net.Listen("tcp", args[0])
	if err != nil {
		return nil, err
	}
	packets, err := net.ListenPacket("udp", args[0])
	if err != nil {
		return nil, err
	}
	_ = packets.(*net.UDPConn).SetReadBuffer(socketBytes)
	go receive(packets, f)
	fmt.Println("ready")
	for {
		c, err := listener.Accept()
		if err != nil {
			return nil, err
		}
		go func() {
			defer c.Close()
			_ = answer(c, f)
		}()
	}
}

func receive(packets net.PacketConn, f *flows) {
	b := make([]byte, 2048)
	for {
		n, from, err := packets.ReadFrom(b)
		if err != nil {
			return
		}
		if n < headerBytes {
			continue
		}
		if flow := binary.BigEndian.Uint64(b); flow != 0 {
			f.add(flow, binary.BigEndian.Uint64(b[8:]))
		} else {
			_, _ = packets.WriteTo(b[:n], from)
		}
	}
}

func answer(c net.Conn, f *flows) error {
	kind := make([]byte, 1)
	if _, err := io.ReadFull(c, kind); err != nil {
		return err
	}
	switch kind[0] {
	case kindStream:
		return stream(c)
	case kindReport:
		var flow uint64
		if err := binary.Read(c, binary.BigEndian, &flow); err != nil {
			return err
		}
		return json.NewEncoder(c).Encode(f.take(flow))
	case kindEcho:
		_, err := io.Copy(c, c)
		return err
	}
	return fmt.Errorf("there is no kind %q", kind)
}

// stream counts the bytes that arrive in the window, which begins after the warm-up.
func stream(c net.Conn) error {
	var times [2]int64 // warm-up, window
	if err := binary.Read(c, binary.BigEndian, &times); err != nil {
		return err
	}
	start := time.Now()
	from, to := time.Duration(times[0]), time.Duration(times[0]+times[1])
	var total uint64
	b := make([]byte, streamBytes)
	for {
		n, err := c.Read(b)
		if at := time.Since(start); at >= from && at < to {
			total += uint64(n)
		}
		if err == io.EOF {
			return binary.Write(c, binary.BigEndian, total)
		}
		if err != nil {
			return err
		}
	}
}

package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

const (
	dialTimeout   = 10 * time.Second
	answerTimeout = 30 * time.Second
	afterWindow   = 200 * time.Millisecond // sent on, so that the receiver's window is full to its end
	settle        = 300 * time.Millisecond // for the last datagrams
	tick          = time.Millisecond
	pacedBytes    = 128 << 10 // of TCP at a rate, as iperf3 sends them
)

type streamed struct {
	Mbits       float64 `json:"mbits"`
	Retransmits uint32  `json:"retransmits"`
}

func sendTCP(args []string) (any, error) {
	warmUp, err := seconds(args[1])
	if err != nil {
		return nil, err
	}
	window, err := seconds(args[2])
	if err != nil {
		return nil, err
	}
	rate, err := perSecond(args[3], pacedBytes)
	if err != nil {
		return nil, err
	}
	c, err := dial("tcp", args[0])
	if err != nil {
		return nil, err
	}
	defer c.Close()
	head := binary.BigEndian.AppendUint64([]byte{kindStream}, uint64(warmUp))
	if _, err := c.Write(binary.BigEndian.AppendUint64(head, uint64(window))); err != nil {
		return nil, err
	}
	b := make([]byte, streamBytes)
	if rate > 0 {
		b = b[:pacedBytes]
	}
	whole := warmUp + window + afterWindow
	_ = c.SetDeadline(time.Now().Add(whole + answerTimeout))
	if err := paced(whole, rate, func() error {
		_, err := c.Write(b)
		return err
	}); err != nil {
		return nil, err
	}
	retransmits := retransmitsOf(c)
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		return nil, err
	}
	var total uint64
	if err := binary.Read(c, binary.BigEndian, &total); err != nil {
		return nil, fmt.Errorf("the receiver's count: %w", err)
	}
	return streamed{float64(total) * 8 / 1e6 / window.Seconds(), retransmits}, nil
}

// retransmitsOf asks the kernel; 0 if it does not tell.
func retransmitsOf(c net.Conn) (n uint32) {
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(fd uintptr) {
		if info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
			n = info.Total_retrans
		}
	})
	return n
}

type datagrams struct {
	Sent       uint64  `json:"sent"`
	Received   uint64  `json:"received"`
	Duplicates uint64  `json:"duplicates"`
	OutOfOrder uint64  `json:"outOfOrder"`
	Mbits      float64 `json:"mbits"` // received
}

func sendUDP(args []string) (any, error) {
	window, err := seconds(args[1])
	if err != nil {
		return nil, err
	}
	rate, err := perSecond(args[2], datagramBytes)
	if err != nil {
		return nil, err
	}
	c, err := dial("udp", args[0])
	if err != nil {
		return nil, err
	}
	defer c.Close()
	_ = c.(*net.UDPConn).SetWriteBuffer(socketBytes)
	flow := rand.Uint64() | 1
	var d datagrams
	d.Sent = flood(c, flow, window, rate)
	time.Sleep(settle)
	got, err := report(args[0], flow)
	if err != nil {
		return nil, err
	}
	d.Received, d.Duplicates, d.OutOfOrder = got.Received, got.Duplicates, got.OutOfOrder
	d.Mbits = float64(got.Received) * datagramBytes * 8 / 1e6 / window.Seconds()
	return d, nil
}

// flood sends a number of datagrams a second, or as many as possible, and returns how many.
func flood(c net.Conn, flow uint64, window time.Duration, perSecond float64) (sent uint64) {
	b := make([]byte, datagramBytes)
	binary.BigEndian.PutUint64(b, flow)
	_ = paced(window, perSecond, func() error {
		binary.BigEndian.PutUint64(b[8:], sent)
		if _, err := c.Write(b); err == nil {
			sent++
		}
		return nil
	})
	return sent
}

// paced calls send a number of times a second, or as often as possible, until the window or an error ends it.
func paced(window time.Duration, perSecond float64, send func() error) error {
	calls := 0
	for start := time.Now(); ; {
		at := time.Since(start)
		if at >= window {
			return nil
		}
		if perSecond > 0 && float64(calls) >= at.Seconds()*perSecond {
			time.Sleep(tick)
			continue
		}
		if err := send(); err != nil {
			return err
		}
		calls++
	}
}

func report(to string, flow uint64) (got counts, err error) {
	c, err := dial("tcp", to)
	if err != nil {
		return got, err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(answerTimeout))
	if _, err := c.Write(binary.BigEndian.AppendUint64([]byte{kindReport}, flow)); err != nil {
		return got, err
	}
	return got, json.NewDecoder(c).Decode(&got)
}

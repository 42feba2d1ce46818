package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"time"
)

const (
	answerWithin = 2 * time.Second // of an echo request
	mostMessages = 1_000_000
	mostRequests = 1 << 16
)

// dial resolves names by the server that the variable DNS gives, and connects from the address that FROM gives, if any.
func dial(network, to string) (net.Conn, error) {
	d := net.Dialer{Timeout: dialTimeout}
	if ip := net.ParseIP(os.Getenv("FROM")); ip != nil && network == "tcp" {
		d.LocalAddr = &net.TCPAddr{IP: ip}
	} else if ip != nil {
		d.LocalAddr = &net.UDPAddr{IP: ip}
	}
	if server := os.Getenv("DNS"); server != "" {
		d.Resolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, server)
		}}
	}
	return d.Dial(network, to)
}

// times are round trips in ms, of those that were answered.
type times struct {
	Sent     int     `json:"sent"`
	Answered int     `json:"answered"`
	First    float64 `json:"first"`
	P50      float64 `json:"p50"`
	P99      float64 `json:"p99"`
	Most     float64 `json:"most"`
}

func summary(sent int, found []float64) times {
	t := times{Sent: sent, Answered: len(found)}
	if len(found) == 0 {
		return t
	}
	t.First = found[0]
	slices.Sort(found)
	t.P50, t.P99, t.Most = found[len(found)/2], found[len(found)*99/100], found[len(found)-1]
	return t
}

func milliseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

// exchange sends messages one after the other over one socket, each after the answer to the last.
func exchange(args []string) (any, error) {
	count, err := strconv.Atoi(args[2])
	if err != nil || count < 1 || count > mostMessages {
		return nil, fmt.Errorf("%q is no number of messages from 1 to %d", args[2], mostMessages)
	}
	pause, err := seconds(args[3])
	if err != nil {
		return nil, err
	}
	c, err := dial(args[0], args[1])
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if args[0] == "tcp" {
		if _, err := c.Write([]byte{kindEcho}); err != nil {
			return nil, err
		}
	}
	var found []float64
	message, answer := make([]byte, messageBytes), make([]byte, messageBytes)
	for i := range count {
		if i > 0 {
			time.Sleep(pause)
		}
		binary.BigEndian.PutUint64(message[8:], uint64(i))
		start := time.Now()
		_ = c.SetDeadline(start.Add(answerWithin))
		if _, err := c.Write(message); err != nil {
			return nil, err
		}
		if _, err := io.ReadFull(c, answer); err != nil || !bytes.Equal(answer, message) {
			if args[0] == "tcp" {
				return nil, fmt.Errorf("message %d was not echoed: %w", i, err)
			}
			continue
		}
		found = append(found, milliseconds(time.Since(start)))
	}
	return summary(count, found), nil
}

const echoRequest, echoAnswer, icmpHeader = 8, 0, 8

// ping sends ICMP echo requests at fixed times, so a slow answer delays no request.
func ping(args []string) (any, error) {
	window, err := seconds(args[1])
	if err != nil {
		return nil, err
	}
	every, err := seconds(args[2])
	if err != nil || every < time.Millisecond {
		return nil, fmt.Errorf("%q is no interval of 0.001 s or more", args[2])
	}
	count := int(window / every)
	if count < 1 || count > mostRequests {
		return nil, fmt.Errorf("%d requests: 1 to %d have numbers of their own", count, mostRequests)
	}
	c, err := net.Dial("ip4:icmp", args[0])
	if err != nil {
		return nil, err
	}
	defer c.Close()
	sent := make(chan time.Time, count)
	found := make(chan []float64)
	id := uint16(os.Getpid())
	_ = c.SetReadDeadline(time.Now().Add(window + answerWithin))
	go func() { found <- answers(c.(*net.IPConn), id, sent, count) }()
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	number := 0
	for ; number < count; number++ {
		sent <- time.Now()
		_, _ = c.Write(request(id, uint16(number)))
		<-ticker.C
	}
	return summary(number, <-found), nil
}

// answers reads until all requests are answered or the deadline; sent has the time of each request, in their order.
func answers(c *net.IPConn, id uint16, sent <-chan time.Time, most int) (found []float64) {
	b := make([]byte, 2048)
	var at []time.Time
	for len(found) < most {
		n, _, err := c.ReadFrom(b) // without the IP header
		now := time.Now()
		if err != nil {
			return found
		}
		for len(sent) > 0 {
			at = append(at, <-sent)
		}
		if n < icmpHeader || b[0] != echoAnswer || binary.BigEndian.Uint16(b[4:]) != id {
			continue
		}
		if number := int(binary.BigEndian.Uint16(b[6:])); number < len(at) {
			found = append(found, milliseconds(now.Sub(at[number])))
		}
	}
	return found
}

func request(id, number uint16) []byte {
	b := make([]byte, messageBytes)
	b[0] = echoRequest
	binary.BigEndian.PutUint16(b[4:], id)
	binary.BigEndian.PutUint16(b[6:], number)
	var sum uint32
	for i := 0; i < len(b); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	binary.BigEndian.PutUint16(b[2:], ^uint16(sum))
	return b
}

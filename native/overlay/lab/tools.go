package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/vishvananda/netlink"
)

// tool runs one of the small programs that the lab starts in its namespaces.
func tool(name string, args []string) {
	var err error
	switch name {
	case "echo":
		err = echo(args[0])
	case "gaps":
		err = gaps(args[0], args[1])
	case "watch":
		err = watch(args[0], args[1])
	case "publish":
		err = publish(args[0], args[1])
	case "subscribe":
		err = subscribe(args[0], args[1])
	case "probe":
		var c net.Conn
		if c, err = net.DialTimeout("tcp", args[0], time.Second); err == nil {
			c.Close()
		}
	case "dial":
		start := time.Now()
		var c net.Conn
		if c, err = net.DialTimeout("tcp", args[0], 10*time.Second); err == nil {
			fmt.Printf("%.3f\n", time.Since(start).Seconds())
			c.Close()
		}
	case "sink":
		err = sink(args[0])
	case "source":
		err = source(args[0], args[1])
	case "forget":
		err = forget(args[0])
	case "answer":
		err = answer(args[0], args[1])
	case "dns64":
		err = dns64(args[0], args[1])
	case "ask":
		err = ask(args[0], args[1], args[2], args[3])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// forget removes the connections that came in by a former outside address. Linux forgets only the outgoing ones: the
// others would keep using that address.
func forget(outside string) error {
	ip := net.ParseIP(outside)
	if ip == nil {
		return fmt.Errorf("%q is no address", outside)
	}
	filter := &netlink.ConntrackFilter{}
	if err := filter.AddIP(netlink.ConntrackOrigDstIP, ip); err != nil {
		return err
	}
	_, err := netlink.ConntrackDeleteFilters(netlink.ConntrackTable, netlink.FAMILY_V4, filter)
	return err
}

func echo(at string) error {
	c, err := net.ListenPacket("udp4", at)
	if err != nil {
		return err
	}
	b := make([]byte, 2048)
	for {
		n, from, err := c.ReadFrom(b)
		if err != nil {
			return err
		}
		_, _ = c.WriteTo(b[:n], from)
	}
}

// gaps sends a numbered datagram each 20 ms and reports pauses in the answers.
func gaps(to, seconds string) error {
	limit, err := strconv.ParseFloat(seconds, 64)
	if err != nil {
		return err
	}
	var c net.Conn
	if c, err = net.Dial("udp4", to); err != nil {
		return err
	}
	type got struct {
		number uint64
		at     time.Time
	}
	answers := make(chan got, 1024)
	go func() {
		b := make([]byte, 2048)
		for {
			n, err := c.Read(b)
			if err == nil && n >= 8 {
				answers <- got{binary.BigEndian.Uint64(b), time.Now()}
			}
		}
	}()
	start := time.Now()
	end := time.After(time.Duration(limit * float64(time.Second)))
	tick := time.NewTicker(20 * time.Millisecond)
	var sent []time.Time
	var r report
	var last time.Time
	top := -1
	var rtt []float64
	for {
		select {
		case <-tick.C:
			b := make([]byte, 64)
			binary.BigEndian.PutUint64(b, uint64(len(sent)))
			sent = append(sent, time.Now())
			_, _ = c.Write(b)
		case g := <-answers:
			if r.Answered == 0 {
				r.First = g.at.Sub(start).Seconds()
			} else if pause := g.at.Sub(last); pause > 150*time.Millisecond {
				r.Gaps = append(r.Gaps, pause.Seconds())
			}
			r.Answered++
			last = g.at
			if int(g.number) < top {
				r.OutOfOrder++
			}
			top = max(top, int(g.number))
			rtt = append(rtt, float64(g.at.Sub(sent[g.number]).Microseconds())/1000)
		case <-end:
			r.Sent = len(sent)
			slices.Sort(rtt)
			if n := len(rtt); n > 0 {
				r.P50, r.P99 = rtt[n/2], rtt[n*99/100]
			}
			return json.NewEncoder(os.Stdout).Encode(r)
		}
	}
}

func sink(at string) error {
	l, err := net.Listen("tcp", at)
	if err != nil {
		return err
	}
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go func() { _, _ = io.Copy(io.Discard, c); c.Close() }()
	}
}

// source prints the Mbit/s that a TCP connection takes.
func source(to, seconds string) error {
	limit, err := strconv.ParseFloat(seconds, 64)
	if err != nil {
		return err
	}
	c, err := net.DialTimeout("tcp", to, 10*time.Second)
	if err != nil {
		return err
	}
	b := make([]byte, 128<<10)
	total, start := 0, time.Now()
	for time.Since(start).Seconds() < limit {
		n, err := c.Write(b)
		if err != nil {
			return err
		}
		total += n
	}
	fmt.Printf("%.0f\n", float64(total)*8/1e6/time.Since(start).Seconds())
	return nil
}

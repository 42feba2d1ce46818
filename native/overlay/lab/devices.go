package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	devicesDefault = 100
	devicesMost    = 200 // addresses of the devices' network from deviceFirst on
	deviceFirst    = 10
	deviceTries    = 5 // datagrams may be lost
	deviceLimit    = 2 * time.Second
	deviceRounds   = 20
)

// devices shows that the other node reaches devices without any software by name, and that they reach it, by TCP and
// UDP, all at the same time, behind two symmetric NATs. The devices of node b are addresses of one namespace.
func devices(l *lab, args []string) error {
	count := devicesDefault
	if len(args) > 0 {
		n, err := strconv.Atoi(args[0])
		if err != nil || n < 1 || n > devicesMost {
			return fmt.Errorf("devices takes a number from 1 to %d", devicesMost)
		}
		count = n
	}
	if err := errors.Join(l.up("symmetric", "symmetric"), l.lan(count), l.serve(), l.join()); err != nil {
		return err
	}
	table, err := l.deviceTable(count)
	if err != nil {
		return err
	}
	l.programs = map[string]*exec.Cmd{}
	if err := errors.Join(l.startNode("a"), l.startNode("b", "--devices", table), l.runs("a"), l.runs("b")); err != nil {
		return err
	}
	a, err := l.address("a")
	if err != nil {
		return err
	}
	b, err := l.address("b")
	if err != nil {
		return err
	}
	for _, at := range []struct{ ns, from, count string }{{"a", a, "1"}, {"lan", deviceAddress(0), strconv.Itoa(count)}} {
		if _, err := l.spawn(at.ns, "answer-"+at.ns+".log", l.self, "answer", at.from, at.count); err != nil {
			return err
		}
	}
	return errors.Join(
		l.askDevices("19 to the devices", count, "a", a, "d%d.b.lab.seganet.internal", ""),
		l.askDevices("19 from the devices", count, "lan", b, "a.lab.seganet.internal", deviceAddress(0)),
		l.relayedOnly())
}

// lan makes the network of devices behind node b.
func (l *lab) lan(count int) error {
	_ = run("ip", "netns", "del", l.ns("lan"))
	err := errors.Join(run("ip", "netns", "add", l.ns("lan")), l.ip("lan", "link set lo up"),
		run("ip", "link", "add", "dev0", "netns", l.ns("lan"), "type", "veth", "peer", "name", "lan0", "netns", l.ns("b")))
	var lines []string
	for i := range count {
		lines = append(lines, "addr add "+deviceAddress(i)+"/24 dev dev0")
	}
	return errors.Join(err, l.ipAtOnce("lan", append(lines, "link set dev0 up", "route add default via 192.168.50.1")...),
		l.ipAtOnce("b", "addr add 192.168.50.1/24 dev lan0", "link set lan0 up"),
		l.in("b", "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward").Run())
}

func deviceAddress(i int) string { return fmt.Sprintf("192.168.50.%d", deviceFirst+i) }

func (l *lab) deviceTable(count int) (file string, err error) {
	type device struct {
		Name  string   `json:"name"`
		LAN   string   `json:"lan"`
		Ports []string `json:"ports"`
	}
	var list []device
	for i := range count {
		list = append(list, device{fmt.Sprintf("d%d", i), deviceAddress(i), []string{"udp/" + echoPort, "tcp/" + ratePort}})
	}
	text, err := json.Marshal(map[string]any{"devices": list})
	file = filepath.Join(l.folder, "devices.json")
	return file, errors.Join(err, os.WriteFile(file, text, 0o600))
}

// asked is the output of the tool ask: the number of names that answered, and the median of all round trips in ms.
type asked struct {
	UDP, TCP       int
	UDPp50, TCPp50 float64
	Errors         []string
}

func (l *lab) askDevices(what string, count int, ns, resolver, name, from string) error {
	c := l.in(ns, l.self, "ask", resolver+":53", name, strconv.Itoa(count), from)
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, os.Stderr
	var got asked
	if err := c.Run(); err != nil {
		return err
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		return err
	}
	fmt.Printf("%s: %d of %d by UDP (RTT p50 %.2f ms), %d by TCP (%.2f ms), %d round trips each, all at once\n",
		what, got.UDP, count, got.UDPp50, got.TCP, got.TCPp50, deviceRounds)
	if got.UDP < count || got.TCP < count {
		return fmt.Errorf("%s: not all answered: %s", what, strings.Join(got.Errors, "; "))
	}
	return nil
}

// relayedOnly checks that the pair had no direct path: both NATs are symmetric.
func (l *lab) relayedOnly() error {
	p := l.peer("a")
	fmt.Printf("19 path: %s: %s\n", p.Path, p.Reason)
	if p.Path != "relay" {
		return errors.New("the pair should be relayed")
	}
	return nil
}

// answer echoes UDP and TCP on a range of addresses.
func answer(first, count string) error {
	n, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	at, err := netip.ParseAddr(first)
	if err != nil {
		return err
	}
	failed := make(chan error)
	for range n {
		go func(at string) { failed <- echo(at + ":" + echoPort) }(at.String())
		l, err := net.Listen("tcp", at.String()+":"+ratePort)
		if err != nil {
			return err
		}
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					failed <- err
					return
				}
				go func() {
					defer c.Close()
					_, _ = io.Copy(c, c)
				}()
			}
		}()
		at = at.Next()
	}
	return <-failed
}

// ask exchanges messages with each name at the same time. If first is not empty, each exchange uses its own source
// address, counted from first.
func ask(resolver, name, count, first string) error {
	n, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	var from netip.Addr
	if first != "" {
		if from, err = netip.ParseAddr(first); err != nil {
			return err
		}
	}
	var got asked
	var mu sync.Mutex
	var wait sync.WaitGroup
	var udp, tcp []float64
	for i := range n {
		d := &net.Dialer{Timeout: 10 * time.Second}
		which, source := name, from
		if strings.Contains(name, "%d") {
			which = fmt.Sprintf(name, i)
		}
		if from.IsValid() {
			from = from.Next()
		}
		wait.Add(1)
		go func() {
			defer wait.Done()
			at, err := resolve(d, resolver, which)
			var u, t []float64
			var udpError, tcpError error
			if err == nil {
				u, udpError = exchange(source, "udp", net.JoinHostPort(at, echoPort))
				t, tcpError = exchange(source, "tcp", net.JoinHostPort(at, ratePort))
			}
			mu.Lock()
			defer mu.Unlock()
			if err := errors.Join(err, udpError, tcpError); err != nil && len(got.Errors) < 5 {
				got.Errors = append(got.Errors, which+": "+err.Error())
			}
			if len(u) == deviceRounds {
				got.UDP++
			}
			if len(t) == deviceRounds {
				got.TCP++
			}
			udp, tcp = append(udp, u...), append(tcp, t...)
		}()
	}
	wait.Wait()
	got.UDPp50, got.TCPp50 = middle(udp), middle(tcp)
	return json.NewEncoder(os.Stdout).Encode(got)
}

func middle(list []float64) float64 {
	slices.Sort(list)
	if len(list) == 0 {
		return 0
	}
	return list[len(list)/2]
}

// resolve asks the overlay's DNS server of a node.
func resolve(d *net.Dialer, server, name string) (string, error) {
	r := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return d.DialContext(ctx, network, server)
	}}
	list, err := r.LookupNetIP(context.Background(), "ip4", name)
	if err != nil || len(list) == 0 {
		return "", fmt.Errorf("resolve: %w", err)
	}
	return list[0].String(), nil
}

// exchange makes deviceRounds round trips, one after the other, and returns their times in ms.
func exchange(from netip.Addr, network, to string) (times []float64, err error) {
	d := net.Dialer{Timeout: 10 * time.Second}
	switch {
	case from.IsValid() && network == "udp":
		d.LocalAddr = net.UDPAddrFromAddrPort(netip.AddrPortFrom(from, 0))
	case from.IsValid():
		d.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0))
	}
	c, err := d.Dial(network, to)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	b := make([]byte, 64)
	for i := range deviceRounds {
		message := fmt.Appendf(nil, "%063d\n", i)
		for try := 0; ; try++ {
			start := time.Now()
			_ = c.SetDeadline(start.Add(deviceLimit))
			if _, err = c.Write(message); err == nil {
				_, err = io.ReadFull(c, b)
			}
			if err == nil && bytes.Equal(b, message) {
				times = append(times, float64(time.Since(start).Microseconds())/1000)
				break
			}
			if network == "tcp" || try >= deviceTries {
				return times, fmt.Errorf("%s %s: message %d: %w", network, to, i, errors.Join(err, errors.New("no answer")))
			}
		}
	}
	return times, nil
}

package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// expectedDirect is the expected result: symmetric with symmetric or port-restricted needs the relay, and so does a
// host without UDP.
func expectedDirect(a, b string) bool {
	if isBlocked(a) || isBlocked(b) {
		return false
	}
	if kinds6[a].six && kinds6[b].six {
		return true // firewalls of IPv6 translate nothing
	}
	a, b = four(a), four(b)
	if a == "" || b == "" {
		return false
	}
	strict := func(k string) bool { return k == "symmetric" || k == "port" }
	return !(a == "symmetric" && strict(b) || b == "symmetric" && strict(a))
}

// matrix is criterion 7: every pair connects; direct where theory allows it.
func matrix(l *lab, chosen []string) error {
	if len(chosen) == 0 {
		chosen = append(slices.Clone(kinds), slices.Sorted(maps.Keys(kinds6))...)
	}
	var pairs [][2]string
	for i, a := range chosen {
		for _, b := range chosen[i:] {
			pairs = append(pairs, [2]string{a, b})
		}
	}
	return connects(l, pairs, 6*time.Second, true)
}

// connects observes pairs of NATs, each for some time. prompt: a late first answer is an error, too.
func connects(l *lab, pairs [][2]string, each time.Duration, prompt bool) error {
	for _, p := range pairs {
		l.dual = l.dual || kinds6[p[0]].six || kinds6[p[1]].six
	}
	var bad []error
	fmt.Printf("%-9s %-9s %-9s %-12s %-11s %s\n", "a", "b", "connects", "first packet", "path", "why")
	for _, pair := range pairs {
		a, b := pair[0], pair[1]
		target, err := l.product(a, b)
		if err != nil {
			return err
		}
		_, wait, err := l.gaps(target, strconv.Itoa(int(each.Seconds())))
		if err != nil {
			return err
		}
		start := time.Now()
		direct := time.Duration(0)
		_ = until(each-time.Second, "direct", func() bool {
			direct = time.Since(start)
			return l.peer("a").Path == "direct"
		})
		r, err := wait()
		if err != nil {
			return err
		}
		p := l.peer("a")
		first, why := "never", fmt.Sprintf("after %.2f s: %s", direct.Seconds(), p.Via)
		if r.Answered > 0 {
			first = fmt.Sprintf("%.2f s", r.First)
		}
		if p.Path != "direct" {
			why = p.Reason
		}
		fmt.Printf("%-9s %-9s %-9s %-12s %-11s %s\n", a, b, map[bool]string{true: "yes", false: "NO"}[r.Answered > 0], first, p.Path, why)
		limit := 1.0
		if isBlocked(a) || isBlocked(b) || four(a) == "" || four(b) == "" { // by TCP, or by the second address of the services
			limit = 2
		}
		switch {
		case r.Answered == 0:
			bad = append(bad, fmt.Errorf("%s with %s does not connect in %v\n%s: %s\n%s: %s", a, b, each, a, l.state("a"), b, l.state("b")))
		case expectedDirect(a, b) && p.Path != "direct":
			bad = append(bad, fmt.Errorf("%s with %s is relayed: %s", a, b, p.Reason))
		case prompt && r.First > limit:
			bad = append(bad, fmt.Errorf("%s with %s: the first answer took %.2f s", a, b, r.First))
		}
		l.end()
	}
	return errors.Join(bad...)
}

// faults are criteria 8 to 10.
func faults(l *lab, pair []string) error {
	if len(pair) != 2 {
		pair = []string{"port", "port"}
	}
	target, err := l.product(pair[0], pair[1])
	if err != nil {
		return err
	}
	_, warm, err := l.gaps(target, "3")
	if err != nil {
		return err
	}
	if _, err := warm(); err != nil {
		return err
	}
	if p := l.peer("a"); p.Path != "direct" {
		return fmt.Errorf("not direct: %s", p.Reason)
	}
	return l.eightToTen(target)
}

// eightToTen are the four scenes of faults.
func (l *lab) eightToTen(target string) error {
	return errors.Join(
		l.scene(target, "8 the direct path falls silent", "6", 2, func() error {
			return errors.Join(l.nft("na", "add rule ip t through ip daddr 10.77.0.12 drop"), l.nft("na", "add rule ip t through ip saddr 10.77.0.12 drop"))
		}),
		l.scene(target, "9 back to the direct path", "10", 0.3, func() error { return l.nft("na", "flush chain ip t through") }),
		l.scene(target, "10 the host's address changes", "8", 0.3, func() error {
			return l.ipAtOnce("a", "addr del 192.168.11.2/24 dev eth0", "addr add 192.168.11.3/24 dev eth0", "route add default via 192.168.11.1")
		}),
		l.scene(target, "10 the outside address changes", "10", 3, func() error {
			return l.ipAtOnce("na", "addr del 10.77.0.11/24 dev pub", "addr add 10.77.0.13/24 dev pub")
		}))
}

// lives is criterion 11: an MQTT session through the faults of criteria 8 to 10.
func lives(l *lab) error {
	target, err := l.product("port", "port")
	if err != nil {
		return err
	}
	s, err := l.mqtt(target, 40)
	if err != nil {
		return err
	}
	time.Sleep(3 * time.Second)
	err = errors.Join(l.eightToTen(target), s.wait())
	fmt.Println("11", s)
	if err == nil && s.published.Connections != 1 {
		err = fmt.Errorf("%d connections instead of one", s.published.Connections)
	}
	return err
}

// scene measures the longest silence while act happens.
func (l *lab) scene(target, name, seconds string, limit float64, act func() error) error {
	_, wait, err := l.gaps(target, seconds)
	if err != nil {
		return err
	}
	time.Sleep(2 * time.Second)
	if err := act(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	r, err := wait()
	if err != nil {
		return err
	}
	worst := 0.0
	if len(r.Gaps) > 0 {
		worst = slices.Max(r.Gaps)
	}
	fmt.Printf("%-42s longest silence %.2f s (limit %.1f), %d of %d answered, %d out of order, now %s %v\n", name, worst, limit, r.Answered, r.Sent, r.OutOfOrder, l.peer("a").Via, r.Gaps)
	if worst > limit || r.Answered == 0 {
		return fmt.Errorf("%s: silent for %.2f s", name, worst)
	}
	return nil
}

// relays is criterion 17: a relay dies. Relayed peers continue by another one, direct ones are not affected.
func relays(l *lab) error {
	l.twoRelays = true
	var bad []error
	for _, mode := range []string{"relayed", "direct"} {
		var more []string
		limit := 3.0
		if mode == "relayed" {
			more = []string{"--relay-only"}
		} else {
			limit = 0.3
		}
		target, err := l.product("port", "port", more...)
		if err != nil {
			return err
		}
		_, warm, err := l.gaps(target, "3")
		if err == nil {
			_, err = warm()
		}
		if err != nil {
			return err
		}
		s, err := l.status("a")
		if err != nil {
			return err
		}
		bad = append(bad, l.scene(target, "17 the relay dies, "+mode, "8", limit, func() error {
			for ns, at := range relayAt {
				if strings.HasPrefix(s.Node.RelayAddress, at+":") {
					return l.relays[ns].Process.Kill()
				}
			}
			return fmt.Errorf("the node's relay %q is none of this lab", s.Node.RelayAddress)
		}))
	}
	return errors.Join(bad...)
}

// sleep is criterion 18: the first packet of all to a peer, by its address. The peer must not be known, as a name would make
// it. Linux sends the first packet of a TCP connection again after a second: a connection that takes less has lost none.
func sleep(l *lab) error {
	target, err := l.product("port", "port")
	if err != nil {
		return err
	}
	if _, err := l.spawn("b", "sink.log", l.self, "sink", target+":"+ratePort); err != nil {
		return err
	}
	if err := until(startLimit, "the program listens", func() bool { return l.in("b", l.self, "probe", target+":"+ratePort).Run() == nil }); err != nil {
		return err
	}
	var s status
	err = until(startLimit, "both nodes have a relay", func() bool {
		near, err := l.status("a")
		far, err2 := l.status("b")
		if s = near; errors.Join(err, err2) != nil {
			return false
		}
		return s.Node.Signalling && s.Node.RelayAddress != "" && far.Node.Signalling && far.Node.RelayAddress != ""
	})
	if err != nil {
		return err
	}
	if len(s.Peers) > 0 {
		return fmt.Errorf("the peer is known before the first packet: %v", s.Peers)
	}
	out, err := l.in("a", l.self, "dial", target+":"+ratePort).Output()
	if err != nil {
		return fmt.Errorf("no connection: %w, %s", err, l.state("a"))
	}
	took, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
	fmt.Printf("18 a TCP connection by the address of an unknown peer took %.3f s\n", took)
	if err == nil && took > firstLimit {
		err = fmt.Errorf("the connection took %.3f s: its first packet was lost", took)
	}
	return err
}

// firstLimit is the time in seconds, with some tolerance, after which the first packet of a TCP connection is sent
// again.
const firstLimit = 0.95

// rate is the throughput by both paths; criterion 21 asks for 200 Mbit/s by the relay.
func rate(l *lab, modes []string) error {
	if len(modes) == 0 {
		modes = []string{"direct", "relay"}
	}
	for _, mode := range modes {
		var more []string
		if mode == "relay" {
			more = []string{"--relay-only"}
		}
		target, err := l.product("none", "none", more...)
		if err != nil {
			return err
		}
		if _, err := l.spawn("b", "sink.log", l.self, "sink", target+":"+ratePort); err != nil {
			return err
		}
		_, warm, err := l.gaps(target, "2")
		if err == nil {
			_, err = warm()
		}
		if err != nil {
			return err
		}
		out, err := l.in("a", l.self, "source", target+":"+ratePort, "5").Output()
		if err != nil {
			return fmt.Errorf("%s: %w", mode, err)
		}
		fmt.Printf("%s: %s Mbit/s by %s\n", mode, strings.TrimSpace(string(out)), l.peer("a").Via)
	}
	return nil
}

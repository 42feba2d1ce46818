package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const (
	// copyLimit is how long the services may take to suspend a node that runs twice: 15 s, a reconnection, and a busy
	// machine.
	copyLimit = 45 * time.Second
	// backLimit is how long a node may take to be back, after a fault or when it is resumed.
	backLimit = 30 * time.Second
	// aliveLimit is longer than a program has to answer for the services, and than a report takes.
	aliveLimit = 7 * time.Second
)

// listed is the part of the list of nodes that the lab reads.
type listed struct {
	Name      string
	Online    bool
	From      string
	Twice     time.Time
	TwiceFrom []string
	Suspended time.Time
}

func (l *lab) listed(name string) (n listed, err error) {
	out, err := l.in("hub", l.program, "nodes", "--state", l.dir("serve"), "--json").Output()
	var list []listed
	if err == nil {
		err = json.Unmarshal(out, &list)
	}
	for _, each := range list {
		if each.Name == name {
			return each, err
		}
	}
	return n, errors.Join(err, fmt.Errorf("there is no node %s", name))
}

// twice shows that what happens to one program is no alarm, and that a copy of its keys is noticed and stopped.
func twice(l *lab) error {
	if _, err := l.product("port", "port"); err != nil {
		return err
	}
	if err := l.ordinary(); err != nil {
		return err
	}
	return l.copied()
}

// ordinary breaks what usually breaks. After each fault the node is back, and the services have seen one program.
func (l *lab) ordinary() error {
	a := func() *os.Process { return l.programs["a"].Process }
	again := func() error { return errors.Join(l.startNode("a"), l.runs("a")) }
	dies := func() error {
		err := a().Kill()
		_ = l.programs["a"].Wait()
		return err
	}
	const route = "route replace default via 192.168.11.1"
	var bad []error
	for _, f := range []struct {
		name  string
		steps []func() error
	}{
		{"the host's address changes", []func() error{func() error {
			return l.ipAtOnce("a", "addr del 192.168.11.2/24 dev eth0", "addr add 192.168.11.3/24 dev eth0", route)
		}}},
		{"the NAT has another outside address", []func() error{func() error {
			return errors.Join(l.ipAtOnce("na", "addr del 10.77.0.11/24 dev pub", "addr add 10.77.0.13/24 dev pub"), l.in("na", l.self, "forget", "10.77.0.11").Run())
		}}},
		{"the program is suspended, and its NAT forgets it", []func() error{func() error { return a().Signal(syscall.SIGSTOP) },
			func() error { return l.in("na", l.self, "forget", "10.77.0.1").Run() }, func() error { return a().Signal(syscall.SIGCONT) }}},
		{"the program is killed and started", []func() error{dies, again}},
		{"power fails: the services do not notice the end", []func() error{func() error { return l.ip("a", "link set eth0 down") }, dies,
			func() error { return l.ipAtOnce("a", "link set eth0 up", route) }, again}},
	} {
		for _, step := range f.steps {
			if err := step(); err != nil {
				return fmt.Errorf("%s: %w", f.name, err)
			}
		}
		start := time.Now()
		err := until(backLimit, "node a is back after: "+f.name, func() bool {
			s, err := l.status("a")
			return err == nil && s.Node.Signalling && time.Since(start) > aliveLimit
		})
		n, err2 := l.listed("a")
		if err = errors.Join(err, err2); err == nil && !n.Twice.IsZero() {
			err = fmt.Errorf("%s: a false alarm, from %v", f.name, n.TwiceFrom)
		}
		bad = append(bad, err)
		fmt.Printf("%-50s alarm: %t\n", f.name, !n.Twice.IsZero())
	}
	return errors.Join(bad...)
}

// copied runs a copy of a's keys on another machine.
func (l *lab) copied() error {
	state := l.dir("copy")
	if err := os.MkdirAll(state, 0o700); err != nil {
		return err
	}
	for _, name := range []string{"identity.key", "wireguard.key", "membership.json"} {
		text, err := os.ReadFile(filepath.Join(l.dir("a"), name))
		if err == nil {
			err = os.WriteFile(filepath.Join(state, name), text, 0o600)
		}
		if err != nil {
			return err
		}
	}
	start := time.Now()
	thief, err := l.spawn("r1", "copy.log", l.program, "node", "--state", state, "--port-mapping", "off")
	if err != nil {
		return err
	}
	var n listed
	seen := func(what string, wanted func() bool) error {
		err := until(copyLimit, what, func() bool {
			n, err = l.listed("a")
			return err == nil && wanted()
		})
		fmt.Printf("%-50s after %.1f s\n", what, time.Since(start).Seconds())
		return err
	}
	if err := seen("a copy of the node is noticed", func() bool { return !n.Twice.IsZero() }); err != nil {
		return err
	}
	if err := seen("node and copy are stopped", func() bool { return !n.Suspended.IsZero() }); err != nil {
		return err
	}
	if len(n.TwiceFrom) != 2 || n.TwiceFrom[0] == n.TwiceFrom[1] {
		return fmt.Errorf("the services name %v", n.TwiceFrom)
	}
	fmt.Printf("%-50s %v\n", "they are named", n.TwiceFrom)
	err = until(backLimit, "b has lost its peer", func() bool { s, err := l.status("b"); return err == nil && len(s.Peers) == 0 })
	err = errors.Join(err, thief.Process.Kill())
	_ = thief.Wait()
	if err != nil {
		return err
	}
	if out, err := l.in("hub", l.program, "resume", "--state", l.dir("serve"), "a").CombinedOutput(); err != nil {
		return fmt.Errorf("resume: %s", out)
	}
	start = time.Now()
	if err := seen("the resumed node is online", func() bool { return n.Online && n.Twice.IsZero() }); err != nil {
		return err
	}
	err = until(backLimit, "a reaches b", func() bool {
		return l.in("a", l.program, "ping", "--state", l.dir("a"), "--count", "1", "b").Run() == nil
	})
	fmt.Printf("%-50s after %.1f s\n", "and reaches its peer", time.Since(start).Seconds())
	return err
}

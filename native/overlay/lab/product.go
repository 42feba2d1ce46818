package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// startLimit is how long a program may take to start: a machine with many labs is busy.
const startLimit = time.Minute

const echoPort, ratePort, mqttPort = "7", "5201", "1883"

// member is the part of a node's membership.json that the lab reads.
type member struct {
	Addresses []string `json:"addresses"`
}

func (l *lab) dir(name string) string { return filepath.Join(l.folder, name) }

// startServices starts the services, and their relay unless the lab has two of its own.
func (l *lab) startServices() (err error) {
	at := "10.77.0.1"
	args := []string{l.program, "serve", "--state", l.dir("serve"), "--network", "lab", "--public", at}
	if l.dual {
		at = ""
		args = append(args, "--public", hubAt6)
	}
	args = append(args, "--listen", at+":443")
	if l.twoRelays {
		args = append(args, "--role", "auth", "--role", "nodes")
		for _, at := range relayAt {
			args = append(args, "--turn-url", "turn:"+at+":3478?transport=udp", "--turn-url", "turn:"+at+":3478?transport=tcp")
		}
	} else {
		args = append(args, "--relay-listen", at+":3478", "--relay-allow", "10.77.0.0/24")
	}
	if l.services, err = l.spawn("hub", "serve.log", args...); err != nil {
		return err
	}
	return until(startLimit, "the services run", func() bool {
		return l.in("hub", l.program, "policy", "--state", l.dir("serve")).Run() == nil
	})
}

func (l *lab) serve() error {
	if err := l.startServices(); err != nil || !l.twoRelays {
		return err
	}
	l.relays = map[string]*exec.Cmd{}
	for ns := range relayAt {
		if err := l.startRelay(ns); err != nil {
			return err
		}
	}
	return nil
}

// startRelay starts the relay of a namespace with the services' secret.
func (l *lab) startRelay(ns string) error {
	const secret = "relay.secret"
	text, err := os.ReadFile(filepath.Join(l.dir("serve"), secret))
	if err == nil {
		err = os.MkdirAll(l.dir(ns), 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(l.dir(ns), secret), text, 0o600)
	}
	if err != nil {
		return err
	}
	at := relayAt[ns]
	l.relays[ns], err = l.spawn(ns, ns+".log", l.program, "serve", "--role", "relay", "--state", l.dir(ns), "--public", at,
		"--relay-listen", at+":3478", "--relay-allow", "10.77.0.0/24")
	return err
}

// join makes a and b nodes of the network, once.
func (l *lab) join() error {
	if _, err := os.Stat(filepath.Join(l.dir("a"), "membership.json")); err == nil {
		return nil
	}
	file := filepath.Join(l.folder, "policy.json")
	policy := `{"allow":[{"from":"*","to":"*","ports":["icmp","udp/` + echoPort + `","tcp/` + ratePort + `","tcp/` + mqttPort + `"]}]}`
	if err := os.WriteFile(file, []byte(policy), 0o600); err != nil {
		return err
	}
	if out, err := l.in("hub", l.program, "policy", "--state", l.dir("serve"), "--set", file).CombinedOutput(); err != nil {
		return fmt.Errorf("policy: %s", out)
	}
	return errors.Join(l.joinAs("a", "a"), l.joinAs("b", "b"))
}

// joinAs makes a node of the network, from a namespace.
func (l *lab) joinAs(name, ns string) error {
	out, err := l.in("hub", l.program, "invite", "--state", l.dir("serve"), "--name", name, "--json").Output()
	if err != nil {
		return fmt.Errorf("invite: %w", err)
	}
	var i struct {
		Token, Root string
		Auth        []string
	}
	if err := json.Unmarshal(out, &i); err != nil {
		return err
	}
	if out, err := l.in(ns, l.program, "join", "--state", l.dir(name), "--url", strings.Join(i.Auth, ","), "--root", i.Root, "--token", i.Token).CombinedOutput(); err != nil {
		return fmt.Errorf("join: %s", out)
	}
	return nil
}

// nodes starts both nodes without the cache of an earlier run.
func (l *lab) nodes(more ...string) error {
	l.programs = map[string]*exec.Cmd{}
	for _, name := range []string{"a", "b"} {
		_ = os.Remove(filepath.Join(l.dir(name), "peers.json"))
		if err := l.startNode(name, more...); err != nil {
			return err
		}
	}
	return errors.Join(l.runs("a"), l.runs("b"))
}

// startNode starts a node; runs waits for it.
func (l *lab) startNode(name string, more ...string) (err error) {
	args := append([]string{l.program, "node", "--verbose", "--state", l.dir(name), "--tun", "ov0", "--offer", "echo=udp/" + echoPort, "--offer", "rate=tcp/" + ratePort,
		"--offer", "mqtt=tcp/" + mqttPort}, more...)
	l.programs[name], err = l.spawn(name, name+".log", args...)
	return err
}

func (l *lab) runs(name string) error {
	err := until(startLimit, "node "+name+" runs", func() bool { _, err := l.status(name); return err == nil })
	if err != nil {
		text, _ := os.ReadFile(filepath.Join(l.folder, name+".log"))
		return fmt.Errorf("%w\n%s", err, text)
	}
	return nil
}

type peer struct{ Name, Path, Via, Reason string }

type status struct {
	Node struct {
		Signalling   bool
		RelayAddress string
		RelayError   string
	}
	PortMapping portMapping
	Peers       []peer
}

func (l *lab) status(name string) (s status, err error) {
	out, err := exec.CommandContext(l.ctx, l.program, "status", "--state", l.dir(name), "--json").Output()
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(out, &s)
}

func (l *lab) peer(name string) peer {
	if s, err := l.status(name); err == nil && len(s.Peers) > 0 {
		return s.Peers[0]
	}
	return peer{}
}

// state describes a node's path to its peer in words.
func (l *lab) state(name string) string {
	s, err := l.status(name)
	switch {
	case err != nil:
		return "no answer: " + err.Error()
	case len(s.Peers) == 0:
		return "no peer"
	}
	relay := "a relay"
	if s.Node.RelayAddress == "" {
		relay = "no relay: " + s.Node.RelayError
	}
	return fmt.Sprintf("%s, %s, %s", s.Peers[0].Path, s.Peers[0].Reason, relay)
}

func (l *lab) address(name string) (string, error) {
	text, err := os.ReadFile(filepath.Join(l.dir(name), "membership.json"))
	if err != nil {
		return "", err
	}
	var m member
	if err := json.Unmarshal(text, &m); err != nil || len(m.Addresses) < 2 {
		return "", errors.New("the membership has no addresses")
	}
	return m.Addresses[1], nil
}

// until calls f until it is true.
func until(limit time.Duration, what string, f func() bool) error {
	for start := time.Now(); !f(); time.Sleep(20 * time.Millisecond) {
		if time.Since(start) > limit {
			return fmt.Errorf("not within %v: %s", limit, what)
		}
	}
	return nil
}

// product brings up NATs, services, both nodes, and an echo at b.
func (l *lab) product(a, b string, more ...string) (target string, err error) {
	if err = l.up(a, b); err != nil {
		return "", err
	}
	return l.start(more...)
}

// start is product for a network that is already up.
func (l *lab) start(more ...string) (target string, err error) {
	if err = l.serve(); err != nil {
		return "", err
	}
	if err = l.join(); err != nil {
		return "", err
	}
	if err = l.nodes(more...); err != nil {
		return "", err
	}
	if target, err = l.address("b"); err != nil {
		return "", err
	}
	_, err = l.spawn("b", "echo.log", l.self, "echo", target+":"+echoPort)
	return target, err
}

// report is the output of the tool gaps.
type report struct {
	Sent, Answered, OutOfOrder int
	First                      float64   // s until the first answer
	Gaps                       []float64 // s, each pause over 0.15 s after the first answer
	P50, P99                   float64   // ms
}

func (l *lab) gaps(target string, seconds string) (*exec.Cmd, func() (report, error), error) {
	c := l.in("a", l.self, "gaps", target+":"+echoPort, seconds)
	var out strings.Builder
	c.Stdout = &out
	if err := c.Start(); err != nil {
		return nil, nil, err
	}
	return c, func() (r report, err error) {
		if err = c.Wait(); err == nil {
			err = json.Unmarshal([]byte(out.String()), &r)
		}
		return r, err
	}, nil
}

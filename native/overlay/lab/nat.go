package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// kinds are the NATs (RFC 4787): filtering by nothing, address, or address and port; mapping per destination; no UDP.
var kinds = []string{"full", "address", "port", "symmetric", "noudp"}

// lab is one set of namespaces and the processes in them.
type lab struct {
	ctx     context.Context // its end kills the lab's processes
	prefix  string
	folder  string
	program string // seganet-overlay
	self    string // this program
	started []*exec.Cmd

	dual      bool                 // the services have an address of each IP version
	twoRelays bool                 // relays in r1 and r2 instead of the services' own
	relays    map[string]*exec.Cmd // by namespace
	services  *exec.Cmd
	programs  map[string]*exec.Cmd // the nodes
	inwards   map[string]string    // by router: its rule for packets from outside, without the host's address
	cpu       time.Duration        // of the programs that have ended
	only      string               // faults have it in their names
	keep      bool                 // the folder stays, for its logs
	clocks    clocks               // nil: the program follows the machine's clock
}

// spaces are the namespaces. r1 and r2 hold relays of their own (see relayAt).
var spaces = []string{"net", "hub", "r1", "r2", "na", "nb", "a", "b"}

var relayAt = map[string]string{"r1": "10.77.0.2", "r2": "10.77.0.3"}

// newLab makes a lab. name distinguishes the labs of one process; program is seganet-overlay.
func newLab(ctx context.Context, name, program string) (l *lab, err error) {
	l = &lab{ctx: ctx, prefix: fmt.Sprintf("ovl%d%s", os.Getpid()%10000, name), program: program}
	if l.folder, err = os.MkdirTemp("", "overlay-lab-"); err != nil {
		return nil, err
	}
	l.self, err = os.Executable()
	return l, err
}

// findProgram returns seganet-overlay: SEGANET_OVERLAY, or what make builds in a folder that remove removes.
func findProgram(make func(folder string) (program string, err error)) (program string, remove func(), err error) {
	if program = os.Getenv("SEGANET_OVERLAY"); program != "" {
		return program, func() {}, nil
	}
	folder, err := os.MkdirTemp("", "overlay-lab-program-")
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.RemoveAll(folder) }
	if program, err = make(folder); err != nil {
		remove()
	}
	return program, remove, err
}

// build builds the product into folder.
func build(folder string, flags ...string) (program string, err error) {
	program = filepath.Join(folder, "seganet-overlay")
	c := exec.Command("go", append(append([]string{"build"}, flags...), "-o", program, ".")...)
	if c.Env = os.Environ(); !slices.Contains(flags, "-race") {
		c.Env = append(c.Env, "CGO_ENABLED=0")
	}
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return program, nil
}

func run(name string, args ...string) error {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

func (l *lab) ns(name string) string { return l.prefix + name }

// ip runs ip in a namespace; the arguments are words of one text.
func (l *lab) ip(ns, args string) error {
	return run("ip", append([]string{"-n", l.ns(ns)}, strings.Fields(args)...)...)
}

// ipAtOnce runs several lines of ip in a namespace by one process, as a DHCP client does it.
func (l *lab) ipAtOnce(ns string, lines ...string) error {
	c := exec.CommandContext(l.ctx, "ip", "-n", l.ns(ns), "-batch", "-")
	c.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("ip -batch: %w: %s", err, out)
	}
	return nil
}

// in returns a command that runs in a namespace.
func (l *lab) in(ns string, args ...string) *exec.Cmd {
	c := exec.CommandContext(l.ctx, "ip", append([]string{"netns", "exec", l.ns(ns)}, args...)...)
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	return c
}

func (l *lab) spawn(ns, log string, args ...string) (*exec.Cmd, error) {
	f, err := os.OpenFile(filepath.Join(l.folder, log), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	c := l.in(ns, args...)
	c.Stdout, c.Stderr = f, f
	c.Env = append(os.Environ(), clockVariable+"="+l.clockFile(ns))
	if err := c.Start(); err != nil {
		return nil, err
	}
	l.started = append(l.started, c)
	return c, nil
}

func (l *lab) end() {
	for _, c := range l.started {
		_ = c.Process.Signal(syscall.SIGCONT)
		_ = c.Process.Signal(syscall.SIGTERM)
	}
	for _, c := range l.started {
		kill := time.AfterFunc(3*time.Second, func() { _ = c.Process.Kill() })
		_ = c.Wait()
		kill.Stop()
		if c.ProcessState != nil {
			l.cpu += c.ProcessState.UserTime() + c.ProcessState.SystemTime()
		}
	}
	l.started = nil
}

// crashes returns an error if the log of a program contains a panic or, for a program built with -race, a data race.
func (l *lab) crashes() error {
	logs, err := filepath.Glob(filepath.Join(l.folder, "*.log"))
	errs := []error{err}
	for _, file := range logs {
		text, err := os.ReadFile(file)
		errs = append(errs, err)
		for _, sign := range []string{"WARNING: DATA RACE", "panic: ", "fatal error: "} {
			if at := strings.Index(string(text), sign); at >= 0 {
				errs = append(errs, fmt.Errorf("%s: %.2000s", filepath.Base(file), text[at:]))
			}
		}
	}
	return errors.Join(errs...)
}

func (l *lab) down() {
	l.end()
	for _, n := range append([]string{"lan"}, spaces...) {
		_ = run("ip", "netns", "del", l.ns(n))
	}
	l.forgetResolvers()
	if !l.keep && os.Getenv("LAB_KEEP") == "" {
		_ = os.RemoveAll(l.folder)
	}
}

// up builds the network with a NAT of kind a and one of kind b; "none" is a host without NAT.
func (l *lab) up(a, b string) error {
	l.end()
	for _, n := range spaces {
		_ = run("ip", "netns", "del", l.ns(n))
	}
	for _, n := range spaces {
		if err := errors.Join(run("ip", "netns", "add", l.ns(n)), l.ip(n, "link set lo up")); err != nil {
			return err
		}
	}
	if err := errors.Join(l.ip("net", "link add name br0 type bridge"), l.ip("net", "link set br0 up"),
		l.wire("hub", "pub", "10.77.0.1/24"), l.hub6(), l.wire("r1", "pub", relayAt["r1"]+"/24"), l.wire("r2", "pub", relayAt["r2"]+"/24"),
		l.side("a", 1, a), l.side("b", 2, b)); err != nil {
		return err
	}
	time.Sleep(200 * time.Millisecond)
	return nil
}

func (l *lab) wire(ns, name, address string) error {
	return errors.Join(run("ip", "link", "add", name, "netns", l.ns(ns), "type", "veth", "peer", "name", "p"+ns, "netns", l.ns("net")),
		l.ip("net", "link set p"+ns+" master br0 up"), l.ip(ns, "addr add "+address+" dev "+name), l.ip(ns, "link set "+name+" up"))
}

func (l *lab) side(host string, number int, kind string) error {
	public := "10.77.0.1" + strconv.Itoa(number)
	if k, ok := kinds6[kind]; ok {
		if k.nat64 {
			return l.side64(host, number, k.four)
		}
		return l.side6(host, number, k)
	}
	if kind == "none" {
		return l.wire(host, "eth0", public+"/24")
	}
	router, inside := "n"+host, fmt.Sprintf("192.168.1%d", number)
	err := errors.Join(l.wire(router, "pub", public+"/24"),
		run("ip", "link", "add", "eth0", "netns", l.ns(host), "type", "veth", "peer", "name", "lan", "netns", l.ns(router)),
		l.ip(host, "addr add "+inside+".2/24 dev eth0"), l.ip(host, "link set eth0 up"), l.ip(router, "addr add "+inside+".1/24 dev lan"),
		l.ip(router, "link set lan up"), l.ip(host, "route add default via "+inside+".1"),
		l.in(router, "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward; echo 30 > /proc/sys/net/netfilter/nf_conntrack_udp_timeout || true").Run())
	if err != nil {
		return err
	}
	snat, dnat, through := "masquerade persistent", "", ""
	switch kind {
	case "full":
		dnat = "iif pub udp dport 1024-65535 dnat to "
	case "address":
		dnat = "iif pub udp dport . ip saddr @seen dnat to "
		through = "meta l4proto udp iif lan update @seen { udp sport . ip daddr timeout 60s }"
	case "port":
	case "symmetric":
		snat = "masquerade fully-random"
	case "noudp":
		through = "meta l4proto udp drop"
	default:
		return fmt.Errorf("there is no NAT of kind %q", kind)
	}
	if l.inwards == nil {
		l.inwards = map[string]string{}
	}
	if l.inwards[router] = dnat; dnat != "" {
		dnat += inside + ".2"
	}
	// The chain "local" drops unsolicited packets before conntrack records them. Otherwise an early packet from the
	// other side occupies the port, Linux gives the next mapping another one, and the port-restricted NAT behaves like
	// a symmetric one.
	rules := fmt.Sprintf(`table ip t {
  set seen { type inet_service . ipv4_addr; flags dynamic, timeout; }
  chain inwards { type nat hook prerouting priority -100; %s
  }
  chain outwards { type nat hook postrouting priority 100; oif pub %s
  }
  chain through { type filter hook forward priority 0; %s
  }
  chain loss { type filter hook forward priority 1;
  }
  chain cut { type filter hook forward priority 2;
  }
  chain local { type filter hook input priority 0; iif pub meta l4proto udp drop
  }
}`, dnat, snat, through)
	c := l.in(router, "nft", "-f", "-")
	c.Stdin = strings.NewReader(rules)
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("nft: %w: %s", err, out)
	}
	return nil
}

// nft changes a router's rules, such as "add rule ip t through ip daddr 10.77.0.12 drop".
func (l *lab) nft(router, rule string) error {
	return l.in(router, append([]string{"nft"}, strings.Fields(rule)...)...).Run()
}

// hostMoved makes a router send what comes from outside to the host's other address. A router knows no host but the one
// that opened the port.
func (l *lab) hostMoved(router, host string) error {
	rule := l.inwards[router]
	if rule == "" {
		return nil
	}
	c := l.in(router, "nft", "-f", "-")
	c.Stdin = strings.NewReader("flush chain ip t inwards\nadd rule ip t inwards " + rule + host + "\n")
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("nft: %w: %s", err, out)
	}
	return nil
}

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// a's router with port mapping has an address that miniupnpd accepts as a public one. It exists only in the lab.
const (
	mapperDaemon  = "miniupnpd"
	mapperOutside = "9.77.0.11"
	mapperNetwork = "9.77.0.0/24"
	mapperLimit   = 20 * time.Second
)

// mapperWays are the protocols of port mapping, and the options of the daemon that leave a node only that one.
var mapperWays = []struct{ protocol, options, rules string }{
	{"PCP", "enable_natpmp=yes\nenable_upnp=no\n", ""},
	// The first byte of a request is the protocol's version: 2 is PCP's.
	{"NAT-PMP", "enable_natpmp=yes\nenable_upnp=no\n", "add rule ip t local iif lan udp dport 5351 @th,64,8 2 drop"},
	{"UPnP", "enable_natpmp=no\nenable_upnp=yes\n", ""},
}

// mapped shows that a pair of symmetric NATs is relayed, and that one router with port mapping makes it direct, with each
// protocol; that the node asks again after the router has started again and after a change of its own address; and that it
// removes the mapping at its end.
func mapped(l *lab) error {
	if _, err := exec.LookPath(mapperDaemon); err != nil {
		fmt.Printf("SKIPPED: port mapping needs %s (Debian: miniupnpd-nftables)\n", mapperDaemon)
		return nil
	}
	bad := []error{l.unmapped()}
	for _, way := range mapperWays {
		if err := l.mappedBy(way.protocol, way.options, way.rules); err != nil {
			bad = append(bad, fmt.Errorf("%s: %w", way.protocol, err))
		}
	}
	return errors.Join(bad...)
}

// unmapped shows that the pair is relayed without the daemon, and the reason that the node reports.
func (l *lab) unmapped() error {
	target, err := l.product("symmetric", "symmetric")
	if err != nil {
		return err
	}
	_, wait, err := l.gaps(target, "4")
	if err != nil {
		return err
	}
	r, err := wait()
	p := l.peer("a")
	if err != nil || r.Answered == 0 || p.Path != "relay" {
		return errors.Join(err, fmt.Errorf("without port mapping %d of %d answered by %s", r.Answered, r.Sent, p.Via))
	}
	fmt.Printf("%-8s symmetric with symmetric: %s: %s: %s\n", "none", p.Path, p.Reason, l.mapping("a").Text)
	return nil
}

func (l *lab) mappedBy(protocol, options, rules string) error {
	if err := l.up("symmetric", "symmetric"); err != nil {
		return err
	}
	if rules != "" {
		if err := l.nft("na", rules); err != nil {
			return err
		}
	}
	daemon, err := l.startMapper(options)
	if err != nil {
		return err
	}
	target, err := l.start()
	if err != nil {
		return err
	}
	_, warm, err := l.gaps(target, "8")
	if err != nil {
		return err
	}
	begun := time.Now()
	err = until(mapperLimit, "direct", func() bool { return l.peer("a").Path == "direct" })
	direct := time.Since(begun)
	if r, err2 := warm(); err != nil || err2 != nil || r.Answered == 0 {
		return errors.Join(err, err2, fmt.Errorf("%d of %d answered: %s; %s", r.Answered, r.Sent, l.peer("a").Reason, l.mapping("a").Text))
	}
	m := l.mapping("a")
	fmt.Printf("%-8s symmetric with symmetric: direct after %.2f s, a by %s, b by %s: %s\n", protocol, direct.Seconds(), l.peer("a").Via, l.peer("b").Via, m.Text)
	if len(m.Mappings) != 1 || m.Mappings[0].Protocol != protocol || !strings.HasPrefix(m.Mappings[0].Outside, mapperOutside+":") {
		return fmt.Errorf("the mapping is %+v", m)
	}
	if other := l.mapping("b"); len(other.Mappings) != 0 {
		return fmt.Errorf("b is mapped: %+v", other)
	}
	if protocol != "UPnP" { // it announces nothing
		if err := l.mapperRestarts(daemon, options); err != nil {
			return err
		}
	}
	inside := "192.168.11.2"
	if protocol == "PCP" { // the others follow by the same code
		inside = "192.168.11.3"
		begun := time.Now()
		if err := l.ipAtOnce("a", "addr del 192.168.11.2/24 dev eth0", "addr add "+inside+"/24 dev eth0", "route add default via 192.168.11.1"); err != nil {
			return err
		}
		if err := until(mapperLimit, "the new address is mapped", func() bool { return l.isMapped(inside) }); err != nil {
			return err
		}
		fmt.Printf("%-8s mapped again %.2f s after a change of the host's address\n", "", time.Since(begun).Seconds())
	}
	if err := l.programs["a"].Process.Signal(os.Interrupt); err != nil {
		return err
	}
	return until(mapperLimit, "the mapping is removed at the end", func() bool { return !l.isMapped(inside) })
}

// startMapper runs the daemon at a's router, with chains of its own.
func (l *lab) startMapper(options string) (*exec.Cmd, error) {
	if err := errors.Join(l.ip("na", "addr add "+mapperOutside+"/24 dev pub"), l.ip("nb", "route add "+mapperNetwork+" dev pub"),
		l.ip("hub", "route add "+mapperNetwork+" dev pub")); err != nil {
		return nil, err
	}
	file := l.dir(mapperDaemon + ".conf")
	conf := "ext_ifname=pub\next_ip=" + mapperOutside + "\nlistening_ip=lan\nport=0\nsecure_mode=yes\nmin_lifetime=120\nmax_lifetime=86400\n" +
		"uuid=00000000-0000-4000-8000-000000000001\nupnp_table_name=mapper\nupnp_nat_table_name=mapper\nupnp_forward_chain=forwarded\n" +
		"upnp_nat_chain=inwards\nupnp_nat_postrouting_chain=outwards\n" + options + "allow 1024-65535 0.0.0.0/0 1024-65535\ndeny 0-65535 0.0.0.0/0 0-65535\n"
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		return nil, err
	}
	c := l.in("na", "nft", "-f", "-")
	c.Stdin = strings.NewReader(`table inet mapper {
  chain forwarded { }
  chain inwards { }
  chain outwards { }
  chain forward { type filter hook forward priority 0; jump forwarded
  }
  chain prerouting { type nat hook prerouting priority -100; jump inwards
  }
  chain postrouting { type nat hook postrouting priority 100; jump outwards
  }
}`)
	if out, err := c.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("nft: %w: %s", err, out)
	}
	return l.spawn("na", mapperDaemon+".log", mapperDaemon, "-d", "-f", file, "-P", l.dir(mapperDaemon+".pid"))
}

// mapperRestarts kills the daemon, which loses its mappings, and waits until the node has its mapping again.
func (l *lab) mapperRestarts(daemon *exec.Cmd, options string) error {
	if err := daemon.Process.Kill(); err != nil {
		return err
	}
	_ = daemon.Wait()
	if err := l.nft("na", "delete table inet mapper"); err != nil {
		return err
	}
	_ = l.ip("na", "addr del "+mapperOutside+"/24 dev pub")
	for _, ns := range []string{"nb", "hub"} {
		_ = l.ip(ns, "route del "+mapperNetwork+" dev pub")
	}
	begun := time.Now()
	if _, err := l.startMapper(options); err != nil {
		return err
	}
	if err := until(mapperLimit, "the mapping is back after the router has started again", func() bool { return l.isMapped("192.168.11.2") }); err != nil {
		return err
	}
	fmt.Printf("%-8s mapped again %.2f s after the router has started again\n", "", time.Since(begun).Seconds())
	return nil
}

// isMapped is true while the router passes packets to an address of a.
func (l *lab) isMapped(inside string) bool {
	out, err := l.in("na", "nft", "list", "chain", "inet", "mapper", "inwards").Output()
	return err == nil && strings.Contains(string(out), inside+":")
}

type portMapping struct {
	Text     string
	Mappings []struct{ Protocol, Outside string }
}

func (l *lab) mapping(name string) portMapping {
	s, _ := l.status(name)
	return s.PortMapping
}

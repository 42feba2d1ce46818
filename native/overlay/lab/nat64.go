package main

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/miekg/dns"

	"seganet.internal/overlay/internal/nat64"
)

// translator is the stateless half of the NAT64: it gives each IPv6 host an IPv4 address. The rules of nat.go make the
// other half, a NAT of that address.
const translator = "tayga"

// nat64Prefix is the prefix of a router's NAT64. Each router has another one, as networks do.
func nat64Prefix(number int) netip.Prefix {
	return netip.MustParsePrefix("2001:db8:64:" + strconv.Itoa(number) + "::/96")
}

// side64 makes a host that has IPv6 only. Its router has no other way out than a NAT64, and DNS64.
func (l *lab) side64(host string, number int, kind string) error {
	if _, err := exec.LookPath(translator); err != nil {
		return fmt.Errorf("a NAT64 needs %s (Debian: %s)", translator, translator)
	}
	if err := l.side(host, number, kind); err != nil {
		return err
	}
	router, inside := "n"+host, "2001:db8:6"+strconv.Itoa(number)+"::"
	prefix, pool := nat64Prefix(number), "192.168.1"+strconv.Itoa(number)+".128"
	folder := filepath.Join(l.folder, "nat64"+host)
	config := filepath.Join(folder, "tayga.conf")
	text := fmt.Sprintf("tun-device nat64\nipv4-addr %s\nprefix %s\ndynamic-pool %s/25\ndata-dir %s\n", pool, prefix, pool, folder)
	resolver := filepath.Join("/etc/netns", l.ns(host))
	err := errors.Join(os.MkdirAll(folder, 0o700), os.WriteFile(config, []byte(text), 0o600), os.MkdirAll(resolver, 0o755),
		os.WriteFile(filepath.Join(resolver, "resolv.conf"), []byte("nameserver "+inside+"1\n"), 0o644))
	if err != nil {
		return err
	}
	// The host keeps the link to its router, without IPv4.
	err = errors.Join(l.ip(host, "addr flush dev eth0"), l.ip(host, "addr add "+inside+"2/64 dev eth0 nodad"), l.ip(router, "addr flush dev lan"),
		l.ip(router, "addr add "+inside+"1/64 dev lan nodad"), l.ip(host, "route add default via "+inside+"1"),
		l.in(router, "sh", "-c", "echo 1 > /proc/sys/net/ipv6/conf/all/forwarding").Run())
	if err != nil {
		return err
	}
	if out, err := l.in(router, translator, "--mktun", "-c", config).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", translator, err, out)
	}
	err = errors.Join(l.ip(router, "link set nat64 up"), l.ip(router, "route add "+pool+"/25 dev nat64"), l.ip(router, "route add "+prefix.String()+" dev nat64"))
	if err != nil {
		return err
	}
	_, err1 := l.spawn(router, "tayga-"+host+".txt", translator, "-d", "-n", "-c", config)
	_, err2 := l.spawn(router, "dns64-"+host+".txt", l.self, "dns64", inside+"1", prefix.String())
	return errors.Join(err1, err2)
}

// forgetResolvers removes what side64 has written beside the lab's folder.
func (l *lab) forgetResolvers() {
	for _, host := range []string{"a", "b"} {
		_ = os.RemoveAll(filepath.Join("/etc/netns", l.ns(host)))
	}
}

// dns64 answers for the one name by which a host learns of a NAT64 (RFC 7050). No other name exists.
func dns64(at, prefix string) error {
	p, err := netip.ParsePrefix(prefix)
	if err != nil {
		return err
	}
	handler := dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		m := (&dns.Msg{}).SetReply(q)
		if len(q.Question) != 1 || !strings.EqualFold(q.Question[0].Name, "ipv4only.arpa.") {
			m.Rcode = dns.RcodeNameError
		} else if q.Question[0].Qtype == dns.TypeAAAA {
			for _, known := range []string{"192.0.0.170", "192.0.0.171"} {
				if a, ok := nat64.Map(p, netip.MustParseAddr(known)); ok {
					m.Answer = append(m.Answer, &dns.AAAA{AAAA: a.AsSlice(),
						Hdr: dns.RR_Header{Name: q.Question[0].Name, Rrtype: dns.TypeAAAA, Class: dns.ClassINET, Ttl: 60}})
				}
			}
		}
		_ = w.WriteMsg(m)
	})
	return dns.ListenAndServe("["+at+"]:53", "udp", handler)
}

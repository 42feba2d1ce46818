package names

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/miekg/dns"
)

// Limits of the DNS responder.
const (
	MaxQueries     = 256              // being answered at once; more get SERVFAIL
	MaxConnections = 64               // TCP connections
	queryIdle      = 10 * time.Second // of a TCP connection
	plainUDP       = 512              // bytes of an answer without EDNS (RFC 1035, 4.2.1)
	mostUDP        = 1232             // bytes of an answer with EDNS: no fragment in 1280 bytes
)

// Serve answers DNS queries on both sockets until the context ends or one of them fails. Either may be nil. It is authoritative for the network's
// domain and the reverse names of known addresses, and refuses all other names: it is no recursive resolver.
func Serve(ctx context.Context, t *Table, packets net.PacketConn, streams net.Listener) error {
	s := &server{table: t, slots: make(chan struct{}, MaxQueries)}
	failed := make(chan error, 2)
	var running []*dns.Server
	start := func(d *dns.Server) {
		d.Handler = s
		d.MsgAcceptFunc = accept
		running = append(running, d)
		go func() { failed <- d.ActivateAndServe() }()
	}
	if packets != nil {
		start(&dns.Server{PacketConn: packets, UDPSize: dns.MinMsgSize * 2})
	}
	if streams != nil {
		start(&dns.Server{Listener: &limited{streams, make(chan struct{}, MaxConnections)}, ReadTimeout: queryIdle, WriteTimeout: queryIdle,
			IdleTimeout: func() time.Duration { return queryIdle }, MaxTCPQueries: 128})
	}
	if len(running) == 0 {
		return errors.New("the DNS responder has no socket")
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	if packets != nil {
		packets.Close()
	}
	if streams != nil {
		streams.Close()
	}
	for _, d := range running {
		stop, cancel := context.WithTimeout(context.Background(), time.Second)
		d.ShutdownContext(stop)
		cancel()
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// accept ignores answers and refuses what is no plain query, before anything else of the message is read.
func accept(h dns.Header) dns.MsgAcceptAction {
	if h.Bits>>15 == 1 {
		return dns.MsgIgnore
	}
	if opcode := h.Bits >> 11 & 15; opcode != dns.OpcodeQuery {
		return dns.MsgRejectNotImplemented
	}
	if h.Qdcount != 1 || h.Ancount != 0 || h.Nscount != 0 || h.Arcount > 2 {
		return dns.MsgReject
	}
	return dns.MsgAccept
}

type server struct {
	table *Table
	slots chan struct{}
}

// ServeDNS implements dns.Handler.
func (s *server) ServeDNS(w dns.ResponseWriter, q *dns.Msg) {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	default:
		m := new(dns.Msg)
		w.WriteMsg(m.SetRcode(q, dns.RcodeServerFailure))
		return
	}
	m := s.answer(q)
	most := dns.MaxMsgSize
	if _, udp := w.RemoteAddr().(*net.UDPAddr); udp {
		most = plainUDP
		if e := q.IsEdns0(); e != nil {
			most = min(max(int(e.UDPSize()), plainUDP), mostUDP)
		}
	}
	m.Truncate(most)
	w.WriteMsg(m)
}

func (s *server) answer(q *dns.Msg) *dns.Msg {
	m := new(dns.Msg)
	m.SetReply(q)
	m.Compress = true
	if e := q.IsEdns0(); e != nil {
		if e.Version() != 0 {
			m.SetEdns0(mostUDP, false)
			m.Rcode = dns.RcodeBadVers
			return m
		}
		m.SetEdns0(mostUDP, false)
	}
	question := q.Question[0]
	name := Normal(question.Name)
	if question.Qclass != dns.ClassINET {
		m.Rcode = dns.RcodeRefused
		return m
	}
	if a, ok := reverseAddress(name); ok {
		return s.reverse(m, question, a)
	}
	if name != s.table.domain && !strings.HasSuffix(name, "."+s.table.domain) {
		m.Rcode = dns.RcodeRefused
		return m
	}
	m.Authoritative = true
	soa := s.soa()
	if name == s.table.domain {
		switch question.Qtype {
		case dns.TypeSOA, dns.TypeANY:
			m.Answer = []dns.RR{soa}
		default:
			m.Ns = []dns.RR{soa}
		}
		return m
	}
	ctx, cancel := context.WithTimeout(context.Background(), AskTimeout)
	defer cancel()
	addresses, err := s.table.Resolve(ctx, name)
	if err != nil {
		if _, malformed := s.table.Full(name); malformed != nil || errors.Is(err, ErrUnknown) {
			m.Rcode, m.Ns = dns.RcodeNameError, []dns.RR{soa}
		} else {
			m.Rcode = dns.RcodeServerFailure // not "does not exist": the node services may be out of reach
		}
		return m
	}
	for _, a := range addresses {
		head := dns.RR_Header{Name: question.Name, Class: dns.ClassINET, Ttl: uint32(AnswerTTL.Seconds())}
		switch {
		case a.Is4() && (question.Qtype == dns.TypeA || question.Qtype == dns.TypeANY):
			head.Rrtype = dns.TypeA
			m.Answer = append(m.Answer, &dns.A{Hdr: head, A: a.AsSlice()})
		case a.Is6() && (question.Qtype == dns.TypeAAAA || question.Qtype == dns.TypeANY):
			head.Rrtype = dns.TypeAAAA
			m.Answer = append(m.Answer, &dns.AAAA{Hdr: head, AAAA: a.AsSlice()})
		}
	}
	if len(m.Answer) == 0 {
		m.Ns = []dns.RR{soa}
	}
	return m
}

func (s *server) reverse(m *dns.Msg, question dns.Question, a netip.Addr) *dns.Msg {
	name, ok := s.table.Reverse(a)
	if !ok {
		m.Rcode = dns.RcodeRefused // the address may belong to another host
		return m
	}
	m.Authoritative = true
	if question.Qtype == dns.TypePTR || question.Qtype == dns.TypeANY {
		m.Answer = []dns.RR{&dns.PTR{Hdr: dns.RR_Header{Name: question.Name, Rrtype: dns.TypePTR, Class: dns.ClassINET, Ttl: uint32(AnswerTTL.Seconds())},
			Ptr: dns.Fqdn(name)}}
	}
	return m
}

func (s *server) soa() dns.RR {
	ttl := uint32(MissingFor.Seconds())
	return &dns.SOA{Hdr: dns.RR_Header{Name: dns.Fqdn(s.table.domain), Rrtype: dns.TypeSOA, Class: dns.ClassINET, Ttl: ttl},
		Ns: dns.Fqdn(s.table.domain), Mbox: dns.Fqdn("hostmaster." + s.table.domain), Serial: 1, Refresh: 3600, Retry: 600, Expire: 86400, Minttl: ttl}
}

// reverseAddress reads a name under in-addr.arpa or ip6.arpa.
func reverseAddress(name string) (netip.Addr, bool) {
	if rest, ok := strings.CutSuffix(name, ".in-addr.arpa"); ok {
		parts := strings.Split(rest, ".")
		if len(parts) != 4 {
			return netip.Addr{}, false
		}
		a, err := netip.ParseAddr(parts[3] + "." + parts[2] + "." + parts[1] + "." + parts[0])
		return a, err == nil
	}
	rest, ok := strings.CutSuffix(name, ".ip6.arpa")
	parts := strings.Split(rest, ".")
	if !ok || len(parts) != 32 {
		return netip.Addr{}, false
	}
	var b [16]byte
	for i, p := range parts {
		v, err := strconv.ParseUint(p, 16, 8)
		if err != nil || len(p) != 1 {
			return netip.Addr{}, false
		}
		at := 31 - i
		b[at/2] |= byte(v) << (4 * (1 - at%2))
	}
	return netip.AddrFrom16(b), true
}

// limited is a listener with a bounded number of open connections.
type limited struct {
	net.Listener
	slots chan struct{}
}

func (l *limited) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case l.slots <- struct{}{}:
			return &counted{Conn: c, release: func() { <-l.slots }}, nil
		default:
			c.Close()
		}
	}
}

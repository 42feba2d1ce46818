package stack

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"testing"
	"time"
)

func socksRequest(command, kind byte, address []byte, port uint16) []byte {
	b := append([]byte{5, 1, 0, 5, command, 0, kind}, address...)
	return binary.BigEndian.AppendUint16(b, port)
}

func name(s string) []byte { return append([]byte{byte(len(s))}, s...) }

func TestSOCKS(t *testing.T) {
	_, b, f := pair(t)
	if err := b.Offer("tcp", 1883, echoTCP(t)); err != nil {
		t.Fatal(err)
	}
	at, err := f.SOCKS("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	v4, v6 := addrB[1].As4(), addrB[0].As16()
	for _, c := range []struct {
		what string
		b    []byte
		want []byte // nil: closed without an answer
	}{
		{"a name", socksRequest(1, 3, name("hub"), 1883), []byte{5, 0, 5, 0}},
		{"an IPv4 address", socksRequest(1, 1, v4[:], 1883), []byte{5, 0, 5, 0}},
		{"an IPv6 address", socksRequest(1, 4, v6[:], 1883), []byte{5, 0, 5, 0}},
		{"a port that is not offered", socksRequest(1, 3, name("hub"), 9), []byte{5, 0, 5, socksRefused}},
		{"a name that nobody has", socksRequest(1, 3, name("nobody"), 9), []byte{5, 0, 5, socksUnreachable}},
		{"an address outside the overlay", socksRequest(1, 1, []byte{127, 0, 0, 1}, 22), []byte{5, 0, 5, socksNotAllowed}},
		{"BIND", socksRequest(2, 3, name("hub"), 1), []byte{5, 0, 5, socksCommand}},
		{"UDP ASSOCIATE", socksRequest(3, 3, name("hub"), 1), []byte{5, 0, 5, socksCommand}},
		{"an unknown type of address", socksRequest(1, 9, nil, 1), []byte{5, 0, 5, socksAddressType}},
		{"an empty name", socksRequest(1, 3, []byte{0}, 1), []byte{5, 0, 5, socksFailure}},
		{"a password only", []byte{5, 1, 2}, []byte{5, 0xff}},
		{"SOCKS4", []byte{4, 1, 0, 80, 127, 0, 0, 1, 0}, nil},
		{"HTTP", []byte("GET / HTTP/1.1\r\n\r\n"), nil},
	} {
		conn, err := net.Dial("tcp", at.String())
		if err != nil {
			t.Fatal(err)
		}
		conn.SetDeadline(time.Now().Add(30 * time.Second))
		conn.Write(c.b)
		got := make([]byte, len(c.want))
		_, err = io.ReadFull(conn, got)
		if !bytes.Equal(got, c.want) {
			t.Errorf("%s: %v, %v", c.what, got, err)
		}
		if len(got) == 4 && got[3] == socksOK {
			io.ReadFull(conn, make([]byte, 8))
			exchange(t, conn, 1<<16)
		}
		conn.Close()
	}
	for _, local := range []string{"0.0.0.0:1080", ":1080", "[::]:1080", "192.0.2.1:1080", "1080"} {
		if _, err := f.SOCKS(local); err == nil {
			t.Errorf("a proxy without a password listens on %s", local)
		}
	}
}

// script is a client whose bytes are fixed.
type script struct {
	in  *bytes.Reader
	out bytes.Buffer
}

func (s *script) Read(b []byte) (int, error)  { return s.in.Read(b) }
func (s *script) Write(b []byte) (int, error) { return s.out.Write(b) }

func FuzzSOCKS(f *testing.F) {
	f.Add(socksRequest(1, 3, name("hub.plant.seganet.internal"), 1883))
	f.Add(socksRequest(1, 1, []byte{198, 18, 0, 2}, 80))
	f.Add(socksRequest(1, 4, make([]byte, 16), 80))
	f.Add([]byte{5, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		s := &script{in: bytes.NewReader(b)}
		to, code, err := readSOCKS(s)
		if (err == nil) != (to != "") || code > 255 {
			t.Fatalf("%q %d %v", to, code, err)
		}
		if err == nil {
			if _, _, err := net.SplitHostPort(to); err != nil {
				t.Fatalf("%q: %v", to, err)
			}
		}
		if s.out.Len() > 2 {
			t.Fatal("more than one answer")
		}
	})
}

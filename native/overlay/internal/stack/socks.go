package stack

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// socksTimeout bounds the negotiation with a SOCKS5 client.
const socksTimeout = 10 * time.Second

// Replies of SOCKS5 (RFC 1928, section 6).
const (
	socksOK          = 0
	socksFailure     = 1
	socksNotAllowed  = 2
	socksUnreachable = 4
	socksRefused     = 5
	socksCommand     = 7
	socksAddressType = 8
)

var errSOCKS = errors.New("the request is not SOCKS5 (RFC 1928) without a password")

// SOCKS opens a SOCKS5 proxy into the overlay on a local port. It supports the command CONNECT with names ("socks5h" in
// curl) and addresses of the overlay. It has no password, so it listens on the loopback interface only.
func (f *Forwarder) SOCKS(local string) (net.Addr, error) {
	host, _, err := net.SplitHostPort(local)
	if a, bad := netip.ParseAddr(host); err != nil || host != "localhost" && (bad != nil || !a.IsLoopback()) {
		return nil, fmt.Errorf("the SOCKS5 proxy cannot listen on %.100q: it has no password. Use 127.0.0.1:1080 or another port there", local)
	}
	return f.listenTCP("socks5", local, "", func(c net.Conn) {
		c.SetDeadline(time.Now().Add(socksTimeout))
		to, code, err := readSOCKS(c)
		if err != nil {
			if code >= 0 {
				replySOCKS(c, byte(code))
			}
			c.Close()
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), DialTimeout)
		out, err := f.Dial(ctx, "tcp", to)
		cancel()
		c.SetDeadline(time.Now().Add(socksTimeout))
		if err != nil {
			f.log.Info("a connection by SOCKS5 failed", "remote", to, "error", err)
			replySOCKS(c, codeOf(err))
			c.Close()
			return
		}
		if replySOCKS(c, socksOK) != nil {
			c.Close()
			out.Close()
			return
		}
		c.SetDeadline(time.Time{})
		f.pairs.splice(out, c)
	})
}

// codeOf returns the RFC 1928 reply code that describes the error best.
func codeOf(err error) byte {
	var timeout net.Error
	switch {
	case errors.Is(err, errOutside):
		return socksNotAllowed
	case errors.As(err, &timeout) && timeout.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return socksUnreachable
	}
	var op *net.OpError
	if errors.As(err, &op) {
		return socksRefused
	}
	return socksUnreachable // the name is unknown
}

// readSOCKS reads the negotiation and the request. It returns the destination, or the code to answer with (-1: none).
func readSOCKS(c io.ReadWriter) (to string, code int, err error) {
	var b [257]byte
	if _, err := io.ReadFull(c, b[:2]); err != nil || b[0] != 5 || b[1] == 0 {
		return "", -1, errSOCKS
	}
	n := int(b[1])
	if _, err := io.ReadFull(c, b[:n]); err != nil {
		return "", -1, errSOCKS
	}
	method := byte(0xff) // no acceptable method
	for _, m := range b[:n] {
		if m == 0 {
			method = 0
		}
	}
	if _, err := c.Write([]byte{5, method}); err != nil || method != 0 {
		return "", -1, errSOCKS
	}
	if _, err := io.ReadFull(c, b[:4]); err != nil || b[0] != 5 || b[2] != 0 {
		return "", -1, errSOCKS
	}
	command := b[1]
	var host string
	switch b[3] {
	case 1, 4:
		size := 4
		if b[3] == 4 {
			size = 16
		}
		if _, err := io.ReadFull(c, b[:size]); err != nil {
			return "", -1, errSOCKS
		}
		a, _ := netip.AddrFromSlice(b[:size])
		host = a.Unmap().String()
	case 3:
		if _, err := io.ReadFull(c, b[:1]); err != nil || b[0] == 0 {
			return "", socksFailure, errSOCKS
		}
		n := int(b[0])
		if _, err := io.ReadFull(c, b[:n]); err != nil {
			return "", -1, errSOCKS
		}
		if host = string(b[:n]); strings.ContainsFunc(host, foreign) {
			return "", socksFailure, errSOCKS
		}
	default:
		return "", socksAddressType, errSOCKS
	}
	if _, err := io.ReadFull(c, b[:2]); err != nil {
		return "", -1, errSOCKS
	}
	if command != 1 {
		return "", socksCommand, errors.New("the proxy knows the SOCKS5 command CONNECT only")
	}
	return net.JoinHostPort(host, strconv.Itoa(int(binary.BigEndian.Uint16(b[:2])))), 0, nil
}

// foreign is true for a character that neither a name nor an address may contain.
func foreign(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-._:", r))
}

func replySOCKS(c io.Writer, code byte) error {
	_, err := c.Write([]byte{5, code, 0, 1, 0, 0, 0, 0, 0, 0})
	return err
}

package portmap

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"syscall"
	"time"
)

const (
	// answerMost is the length in bytes of the longest answer (RFC 6887 §7).
	answerMost = 1100
	// answersMost bounds the datagrams that one exchange examines.
	answersMost = 64
)

// resend are the pauses after each copy of a request. They are shorter than those of RFC 6887 §8.1.1, because a gateway
// is one hop away, and a silent one must not delay the next protocol. Tests replace them.
var resend = []time.Duration{250 * time.Millisecond, 500 * time.Millisecond, time.Second, time.Second}

var (
	errSilent  = errors.New("no answer")
	errRefused = errors.New("not offered")
)

// exchange repeats a request until accept takes an answer or returns an error. accept returns false for a datagram that
// does not answer this request.
func (g Gateway) exchange(ctx context.Context, to netip.AddrPort, request []byte, accept func(answer []byte) (bool, error)) error {
	c, err := g.dial(to)
	if err != nil {
		return fmt.Errorf("cannot be reached: %w", err)
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })()
	buf := make([]byte, answerMost+1)
	seen := 0
	for _, pause := range resend {
		if ctx.Err() != nil {
			return errSilent
		}
		deadline := time.Now().Add(pause)
		if _, err := c.Write(request); err != nil {
			return failed(err)
		}
		for ; seen < answersMost; seen++ {
			if err := c.SetReadDeadline(deadline); err != nil {
				return err
			}
			if ctx.Err() != nil { // its end may have come before the deadline was set
				return errSilent
			}
			n, err := c.Read(buf)
			if timeout, ok := err.(interface{ Timeout() bool }); ok && timeout.Timeout() {
				break
			}
			if err != nil {
				return failed(err)
			}
			if n > answerMost {
				continue
			}
			if done, err := accept(buf[:n]); done || err != nil {
				return err
			}
		}
	}
	return errSilent
}

func failed(err error) error {
	if errors.Is(err, syscall.ECONNREFUSED) {
		return errRefused
	}
	return fmt.Errorf("cannot be reached: %w", err)
}

// refusal is the router's result code in words.
func refusal[Code uint8 | uint16](words map[Code]string, code Code) error {
	if what := words[code]; what != "" {
		return errors.New(what)
	}
	return fmt.Errorf("result %d", code)
}

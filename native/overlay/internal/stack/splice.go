package stack

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// MaxDatagram is the size in bytes of the largest UDP datagram that is passed on; larger ones are dropped.
	MaxDatagram = 9216

	copyBytes = 64 << 10
	idleUDP   = 2 * time.Minute // RFC 4787, REQ-5: at least 2 minutes
)

var copyBuffers = sync.Pool{New: func() any { b := make([]byte, copyBytes); return &b }}

type writeCloser interface{ CloseWrite() error }

// splice copies both ways until both sides have ended, and closes both. It forwards the end of each direction, so
// half-closed connections work.
func splice(a, b net.Conn) {
	var done sync.WaitGroup
	done.Add(2)
	one := func(to, from net.Conn) {
		defer done.Done()
		buf := copyBuffers.Get().(*[]byte)
		defer copyBuffers.Put(buf)
		// The wrappers hide ReadFrom of net.TCPConn, which would make io take a slower path.
		_, err := io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{from}, *buf)
		if w, ok := to.(writeCloser); ok && err == nil {
			w.CloseWrite()
			return
		}
		a.Close()
		b.Close()
	}
	go one(a, b)
	go one(b, a)
	done.Wait()
	a.Close()
	b.Close()
}

// spliceDatagrams copies datagrams both ways until none has passed for idleUDP, and closes both.
func spliceDatagrams(a, b net.Conn) { spliceDatagramsFor(a, b, idleUDP) }

func spliceDatagramsFor(a, b net.Conn, idle time.Duration) {
	begun := time.Now()   // origin of all times, so that a stepping clock ends no session
	var last atomic.Int64 // ns after begun
	var done sync.WaitGroup
	done.Add(2)
	one := func(to, from net.Conn) {
		defer done.Done()
		defer a.Close()
		defer b.Close()
		buf := make([]byte, MaxDatagram+1)
		for {
			from.SetReadDeadline(begun.Add(time.Duration(last.Load()) + idle))
			n, err := from.Read(buf)
			if err != nil {
				if e, ok := err.(net.Error); ok && e.Timeout() && time.Since(begun)-time.Duration(last.Load()) < idle {
					continue // the other direction was active
				}
				return
			}
			last.Store(int64(time.Since(begun)))
			if n > MaxDatagram {
				continue // cut off by the read
			}
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
	}
	go one(a, b)
	go one(b, a)
	done.Wait()
}

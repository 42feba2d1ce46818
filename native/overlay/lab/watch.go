package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"
)

// watched is the output of the tool watch. Times are Unix milliseconds.
type watched struct {
	Sent, Answered, Copies int
	Silences               [][2]int64 // from the last answer to the next one, each over a second
	Stalls                 [][2]int64 // in which this program did not run
	OutOfOrder             []int64
}

// stall is how late a tick is if this program did not run.
const stall = 500 * time.Millisecond

// stalled returns how long the watching program did not run, if it was stalled.
func (w *watched) stalled() string {
	var sum int64
	for _, s := range w.Stalls {
		sum += s[1] - s[0]
	}
	if sum == 0 {
		return ""
	}
	return fmt.Sprintf(", the machine was too busy for %.1f s", float64(sum)/1000)
}

// watch sends a numbered datagram each 20 ms and reports every copy, every answer out of order, and every silence.
func watch(to, seconds string) error {
	limit, err := strconv.ParseFloat(seconds, 64)
	if err != nil {
		return err
	}
	c, err := net.Dial("udp4", to)
	if err != nil {
		return err
	}
	answers := make(chan uint64, 4096)
	go func() {
		b := make([]byte, 2048)
		for {
			n, err := c.Read(b)
			if err == nil && n >= 8 {
				answers <- binary.BigEndian.Uint64(b)
			}
		}
	}()
	var w watched
	seen := map[uint64]bool{}
	top, last := uint64(0), time.Now()
	silence := func(now time.Time) {
		if now.Sub(last) > time.Second {
			w.Silences = append(w.Silences, [2]int64{last.UnixMilli(), now.UnixMilli()})
		}
	}
	tick := time.NewTicker(20 * time.Millisecond)
	ticked := time.Now()
	end := time.After(time.Duration(limit * float64(time.Second)))
	b := make([]byte, 200)
	for {
		select {
		case <-tick.C:
			now := time.Now()
			if now.Sub(ticked) > stall {
				w.Stalls = append(w.Stalls, [2]int64{ticked.UnixMilli(), now.UnixMilli()})
			}
			ticked = now
			w.Sent++
			binary.BigEndian.PutUint64(b, uint64(w.Sent))
			_, _ = c.Write(b)
		case n := <-answers:
			now := time.Now()
			silence(now)
			last = now
			if seen[n] {
				w.Copies++
				continue
			}
			seen[n] = true
			w.Answered++
			if n < top {
				w.OutOfOrder = append(w.OutOfOrder, now.UnixMilli())
			}
			top = max(top, n)
		case <-end:
			silence(time.Now())
			return json.NewEncoder(os.Stdout).Encode(w)
		}
	}
}

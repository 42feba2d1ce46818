package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"
)

const (
	// ahead is what both clocks are ahead before they step back.
	ahead = 20 * time.Minute
	// watchedFor is longer than WireGuard's keys live (180 s): the pair must agree on new ones with the stepped clocks.
	watchedFor = 300
	// Each silence is long enough for a handshake of either side.
	silences = 5
	silence  = 7 * time.Second
)

// clock lets both sides begin sessions with fast clocks, corrects the clocks, and watches the pair until the previous
// keys have long expired. WireGuard refuses a handshake that is older than one that it has seen.
func clock(l *lab) error {
	if os.Getenv("SEGANET_OVERLAY") != "" {
		fmt.Println("SKIPPED: SEGANET_OVERLAY names a program whose clock the lab cannot set")
		return nil
	}
	l.clocks = clocks{}
	if err := errors.Join(l.setClock("a", ahead), l.setClock("b", ahead)); err != nil {
		return err
	}
	target, err := l.product("symmetric", "symmetric")
	if err != nil {
		return err
	}
	// Both sides have data, so either may start a handshake during a silence.
	home, err := l.address("a")
	if err != nil {
		return err
	}
	if _, err := l.spawn("a", "echo-a.log", l.self, "echo", home+":"+echoPort); err != nil {
		return err
	}
	if _, err := l.spawn("b", "watch-b.log", l.self, "watch", home+":"+echoPort, strconv.Itoa(silences*10)); err != nil {
		return err
	}
	for range silences {
		if err := l.meet(target); err != nil {
			return err
		}
		if err := l.nft("na", "add rule ip t loss drop"); err != nil {
			return err
		}
		time.Sleep(silence)
		if err := l.nft("na", "flush chain ip t loss"); err != nil {
			return err
		}
	}
	if err := l.meet(target); err != nil {
		return err
	}
	watching, err := collect(l.in("a", l.self, "watch", target+":"+echoPort, strconv.Itoa(watchedFor)))
	if err != nil {
		return err
	}
	begun := time.Now()
	if err := errors.Join(l.setClock("a", 0), l.setClock("b", 0)); err != nil {
		return err
	}
	out, err := watching()
	if err != nil {
		return err
	}
	var w watched
	if err := json.Unmarshal(out, &w); err != nil {
		return err
	}
	worst := 0.0
	for _, s := range w.Silences {
		from, to := time.UnixMilli(s[0]), time.UnixMilli(s[1])
		fmt.Printf("silent from %.1f s to %.1f s\n", from.Sub(begun).Seconds(), to.Sub(begun).Seconds())
		worst = max(worst, to.Sub(from).Seconds())
	}
	fmt.Printf("clocks step back by %v: longest silence %.2f s (limit %v), %d of %d answered\n", ahead, worst, stuckAfter, w.Answered, w.Sent)
	if worst > stuckAfter.Seconds() || w.Answered == 0 {
		return fmt.Errorf("silent for %.1f s", worst)
	}
	return nil
}

// meet waits until the pair answers.
func (l *lab) meet(target string) error {
	return until(startLimit, "a and b meet", func() bool {
		_, wait, err := l.gaps(target, "1")
		if err != nil {
			return false
		}
		r, err := wait()
		return err == nil && r.Answered > 0
	})
}

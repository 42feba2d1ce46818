package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"time"
)

// fault is a temporary failure. begin and end run one after the other.
type fault struct {
	name       string
	begin, end func() error // end may be nil: the fault is a change
}

// interval is the time of a fault, from the start of begin to the end of end.
type interval struct {
	name     string
	from, to time.Time
}

// clockStep begins the names of clock faults.
const clockStep = "the clock in "

// clockOffsets are what the clocks are set to, from the true time. Two of them differ by less than the certificates' slack
// and the life of a relay's credentials, and by more than the length of a schedule (see trueTime).
var clockOffsets = []time.Duration{-20 * time.Minute, -10 * time.Minute, 0, 10 * time.Minute, 20 * time.Minute}

// breakable returns the faults of the lab. Faults of the same kind do not overlap; kinds do.
func (l *lab) breakable() [][]fault {
	var kinds [][]fault
	relays := []fault{}
	for _, ns := range []string{"r1", "r2"} {
		relays = append(relays, fault{"the relay in " + ns + " dies", func() error { return l.relays[ns].Process.Kill() }, func() error { return l.startRelay(ns) }})
	}
	kinds = append(kinds, relays, []fault{{"the services die", func() error { return l.services.Process.Kill() }, l.startServices}})
	var links, hosts, outside, sizes, losses, cuts, sleeps []fault
	for i, x := range []string{"a", "b"} { // in this order: a seed names one schedule
		number := i + 1
		inside, other := fmt.Sprintf("192.168.1%d", number), fmt.Sprintf("10.77.0.%%d%d", 3-number)
		route := "route replace default via " + inside + ".1"
		links = append(links, fault{x + "'s link is down", func() error { return l.ip(x, "link set eth0 down") },
			func() error { return l.ipAtOnce(x, "link set eth0 up", route) }})
		host := &toggle{2, 3}
		hosts = append(hosts, fault{x + "'s address changes", func() error {
			from, to := host.next()
			err := l.ipAtOnce(x, fmt.Sprintf("addr del %s.%d/24 dev eth0", inside, from), fmt.Sprintf("addr add %s.%d/24 dev eth0", inside, to))
			_ = l.ipAtOnce(x, route) // fails while the link is down, whose end adds the route
			return errors.Join(err, l.hostMoved("n"+x, fmt.Sprintf("%s.%d", inside, to)))
		}, nil})
		public := &toggle{1, 3}
		outside = append(outside, fault{x + "'s outside address changes", func() error {
			from, to := public.next()
			err := l.ipAtOnce("n"+x, fmt.Sprintf("addr del 10.77.0.%d%d/24 dev pub", from, number), fmt.Sprintf("addr add 10.77.0.%d%d/24 dev pub", to, number))
			return errors.Join(err, l.in("n"+x, l.self, "forget", fmt.Sprintf("10.77.0.%d%d", from, number)).Run())
		}, nil})
		sizes = append(sizes, fault{x + "'s MTU is 1300", func() error { return l.ip("n"+x, "link set pub mtu 1300") },
			func() error { return l.ip("n"+x, "link set pub mtu 1500") }})
		losses = append(losses, fault{x + " loses 30 %", func() error { return l.nft("n"+x, "add rule ip t loss numgen random mod 100 < 30 drop") },
			func() error { return l.nft("n"+x, "flush chain ip t loss") }})
		cuts = append(cuts, fault{"the direct path of " + x + " is cut", func() error {
			var errs []error
			for _, digit := range []int{1, 3} {
				at := fmt.Sprintf(other, digit)
				errs = append(errs, l.nft("n"+x, "add rule ip t cut ip daddr "+at+" drop"), l.nft("n"+x, "add rule ip t cut ip saddr "+at+" drop"))
			}
			return errors.Join(errs...)
		}, func() error { return l.nft("n"+x, "flush chain ip t cut") }})
		sleeps = append(sleeps, fault{x + " is suspended", func() error { return l.programs[x].Process.Signal(syscall.SIGSTOP) },
			func() error { return l.programs[x].Process.Signal(syscall.SIGCONT) }})
	}
	kinds = append(kinds, links, hosts, outside, sizes, losses, cuts, sleeps)
	if l.clocks == nil {
		return kinds
	}
	var steps []fault
	for _, ns := range []string{"a", "b", "hub"} {
		for _, offset := range clockOffsets {
			steps = append(steps, fault{fmt.Sprintf(clockStep+"%s is set to %v", ns, offset), func() error { return l.setClock(ns, offset) }, nil})
		}
	}
	return append(kinds, steps)
}

// toggle is one of two numbers.
type toggle struct{ now, then int }

func (t *toggle) next() (from, to int) {
	t.now, t.then = t.then, t.now
	return t.then, t.now
}

// breakThings runs a schedule of random faults for d, ends all of them, and returns their times.
func (l *lab) breakThings(random *rand.Rand, d time.Duration, log func(string)) (list []interval, err error) {
	type running struct {
		fault
		kind int
		from time.Time
		till time.Time
	}
	var kinds [][]fault
	for _, k := range l.breakable() {
		k = slices.DeleteFunc(k, func(f fault) bool { return !strings.Contains(f.name, l.only) })
		if len(k) > 0 {
			kinds = append(kinds, k)
		}
	}
	if len(kinds) == 0 {
		return nil, fmt.Errorf("no fault has %q in its name", l.only)
	}
	start := time.Now()
	busy := make([]bool, len(kinds))
	var open []running
	finish := func(i int) {
		r := open[i]
		open = append(open[:i], open[i+1:]...)
		if r.end != nil {
			err = errors.Join(err, r.end())
		}
		log("over: " + r.name)
		busy[r.kind] = false
		if !strings.HasPrefix(r.name, clockStep) { // breaks nothing and changes no path
			list = append(list, interval{r.name, r.from, time.Now()})
		}
	}
	next := start.Add(time.Second)
	for time.Since(start) < d && err == nil && l.ctx.Err() == nil {
		now := time.Now()
		for i := len(open) - 1; i >= 0; i-- {
			if now.After(open[i].till) {
				finish(i)
			}
		}
		if now.After(next) {
			next = now.Add(time.Duration(2000+random.IntN(8000)) * time.Millisecond)
			k := random.IntN(len(kinds))
			f := kinds[k][random.IntN(len(kinds[k]))]
			lasts := time.Duration(1000+random.IntN(14000)) * time.Millisecond
			if !busy[k] {
				busy[k] = true
				log(f.name)
				if e := f.begin(); e != nil {
					err = errors.Join(err, fmt.Errorf("%s: %w", f.name, e))
				}
				if f.end == nil {
					lasts = 0
				}
				open = append(open, running{f, k, now, now.Add(lasts)})
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	for len(open) > 0 {
		finish(len(open) - 1)
	}
	return list, err
}

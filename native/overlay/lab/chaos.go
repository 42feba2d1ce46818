package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// healed is how long a schedule continues after the last fault.
	healed = 20 * time.Second
	// stuckAfter is the longest silence without a fault.
	stuckAfter = 12 * time.Second
	// brokenMost bounds the time without a fault within one silence: consecutive faults must not hide a pair that does not
	// recover between them.
	brokenMost = 20 * time.Second
	// startMost is how long a schedule's network may take to begin and to end, beside the schedule itself.
	startMost = 4 * time.Minute
	// parallelMost bounds the schedules at once.
	parallelMost = 50
	// around is the time before and after a change of path in which packets of two paths may overtake each other.
	around = 2 * time.Second
)

// chaos runs seeded schedules of faults. It prints one line a schedule and fails if one of them does. Schedules that
// the end of ctx interrupts do not count.
func chaos(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("chaos", flag.ExitOnError)
	count := f.Int("schedules", 1, "number of schedules")
	seed := f.Uint64("seed", uint64(time.Now().Unix()), "seed of the first schedule; the next ones count up")
	list := f.String("seeds", "", "seeds of the schedules, with commas, instead of --seed and --schedules")
	minutes := f.Float64("minutes", 5, "length of a schedule")
	parallel := f.Int("parallel", 1, "schedules at once, each in namespaces of its own")
	verbose := f.Bool("verbose", false, "print each fault")
	only := f.String("only", "", "only faults with this in their names, as --verbose prints them")
	race := f.Bool("race", false, "build the program with the race detector")
	if err := f.Parse(args); err != nil {
		return err
	}
	if *parallel < 1 || *parallel > parallelMost || *count < 1 {
		return fmt.Errorf("--parallel takes 1 to %d, --schedules 1 or more", parallelMost)
	}
	seeds, err := seedsOf(*list, *seed, *count)
	if err != nil {
		return err
	}
	if _, err := exec.LookPath("mosquitto"); err != nil {
		fmt.Println("SKIPPED: the fault schedules need mosquitto")
		return nil
	}
	hasClock := false
	program, remove, err := findProgram(func(folder string) (string, error) {
		hasClock = true
		if *race {
			return buildWithClock(folder, "-race")
		}
		return buildWithClock(folder)
	})
	if err != nil {
		return err
	}
	defer remove()
	if !hasClock {
		fmt.Println("no clock steps: SEGANET_OVERLAY names a program whose clock the lab cannot set")
	}
	slots := make(chan struct{}, *parallel)
	var wait sync.WaitGroup
	var mu sync.Mutex
	var failed []error
	done := 0
	for i, number := range seeds {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
		wait.Add(1)
		go func() {
			defer func() { <-slots; wait.Done() }()
			text, err := schedule(ctx, program, number, fmt.Sprintf("c%d", i%1000), time.Duration(*minutes*float64(time.Minute)), hasClock, *only, *verbose)
			if ctx.Err() != nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			done++
			verdict := "passed"
			if err != nil {
				verdict = "FAILED: " + strings.ReplaceAll(err.Error(), "\n", "; ")
				failed = append(failed, fmt.Errorf("seed %d", number))
			}
			fmt.Printf("seed %d: %s: %s\n", number, verdict, text)
		}()
	}
	wait.Wait()
	fmt.Printf("%d of %d schedules ended, %d failed\n", done, len(seeds), len(failed))
	if len(failed) > 0 {
		return fmt.Errorf("%d of %d schedules failed: %w", len(failed), done, errors.Join(failed...))
	}
	if done < len(seeds) {
		return errors.New("interrupted")
	}
	return nil
}

// seedsOf returns the numbers of a list with commas; without a list, count numbers from first on.
func seedsOf(list string, first uint64, count int) (seeds []uint64, err error) {
	if list == "" {
		for i := range count {
			seeds = append(seeds, first+uint64(i))
		}
		return seeds, nil
	}
	for _, word := range strings.Split(list, ",") {
		n, err := strconv.ParseUint(strings.TrimSpace(word), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("--seeds: %w", err)
		}
		seeds = append(seeds, n)
	}
	return seeds, nil
}

// schedule runs one schedule in a lab of its own.
func schedule(parent context.Context, program string, seed uint64, name string, d time.Duration, hasClock bool, only string, verbose bool) (text string, err error) {
	random := rand.New(rand.NewPCG(seed, 20))
	ctx, cancel := context.WithTimeout(parent, d+healed+startMost)
	defer cancel()
	l, err := newLab(ctx, name, program)
	if err != nil {
		return "", err
	}
	defer func() {
		if ctx.Err() != nil {
			err = errors.Join(err, fmt.Errorf("the schedule did not end within %v", d+healed+startMost))
		}
		begun := time.Now()
		l.end()
		err = errors.Join(err, l.crashes())
		l.down()
		if text != "" {
			text += fmt.Sprintf(", %.1f %% of a core", 100*l.cpu.Seconds()/(d+healed+time.Since(begun)).Seconds())
		}
	}()
	l.twoRelays, l.only = true, only
	if hasClock {
		l.clocks = clocks{}
	}
	left, right := kinds[random.IntN(len(kinds))], kinds[random.IntN(len(kinds))]
	target, err := l.product(left, right)
	if err != nil {
		return "", err
	}
	whole := d + healed
	seconds := fmt.Sprint(whole.Seconds())
	watching, err := collect(l.in("a", l.self, "watch", target+":"+echoPort, seconds))
	if err != nil {
		return "", err
	}
	s, err := l.mqtt(target, int(whole.Seconds()))
	if err != nil {
		return "", err
	}
	begun := time.Now()
	faults, err := l.breakThings(random, d, func(what string) {
		if verbose {
			fmt.Printf("  seed %d, %.1f s: %s\n", seed, time.Since(begun).Seconds(), what)
		}
	})
	if err != nil {
		return "", err
	}
	var w watched
	out, err := watching()
	if err == nil {
		err = json.Unmarshal(out, &w)
	}
	if err != nil {
		return "", err
	}
	for _, late := range w.Stalls { // this machine was stalled
		faults = append(faults, interval{"the machine is busy", time.UnixMilli(late[0]), time.UnixMilli(late[1])})
	}
	problems := []error{s.wait()}
	path := l.peer("a").Path
	if path == "" || path == "none" {
		problems = append(problems, fmt.Errorf("the pair has no session at the end; a: %s; b: %s", l.state("a"), l.state("b")))
	}
	if w.Copies > 0 {
		problems = append(problems, fmt.Errorf("%d packets arrived twice", w.Copies))
	}
	longest, healthy := 0.0, 0.0 // seconds
	for _, silence := range w.Silences {
		from, to := time.UnixMilli(silence[0]), time.UnixMilli(silence[1])
		longest = max(longest, to.Sub(from).Seconds())
		if verbose && to.Sub(from) > stuckAfter {
			fmt.Printf("  seed %d: silent from %.1f s to %.1f s\n", seed, from.Sub(begun).Seconds(), to.Sub(begun).Seconds())
		}
		idle, sum := unbroken(from, to, faults)
		if idle > stuckAfter {
			problems = append(problems, fmt.Errorf("silent for %.1f s without a fault, from %.1f s on", idle.Seconds(), from.Sub(begun).Seconds()))
		}
		if sum > brokenMost {
			problems = append(problems, fmt.Errorf("silent for %.1f s from %.1f s on, %.1f s of it without a fault", to.Sub(from).Seconds(), from.Sub(begun).Seconds(), sum.Seconds()))
		}
		healthy = max(healthy, sum.Seconds())
	}
	changes := append(l.changes("a"), l.changes("b")...)
	for _, f := range faults {
		changes = append(changes, f.from, f.to)
	}
	var within []string // when, in seconds
	for _, at := range w.OutOfOrder {
		if !near(time.UnixMilli(at), changes) {
			within = append(within, fmt.Sprintf("%.1f", time.UnixMilli(at).Sub(begun).Seconds()))
		}
	}
	if len(within) > 0 {
		problems = append(problems, fmt.Errorf("%d packets out of order within a path, after %s s", len(within), strings.Join(within, ", ")))
	}
	err = errors.Join(problems...)
	if err != nil || os.Getenv("LAB_KEEP") != "" {
		l.keep = true
		fmt.Printf("  seed %d: logs in %s, offsets %v\n", seed, l.folder, l.clocks)
	}
	if err != nil {
		return fmt.Sprintf("%s with %s, %d faults, %v, %s at the end%s", left, right, len(faults), s, path, w.stalled()), err
	}
	return fmt.Sprintf("%s with %s, %d faults, %d of %d answered, longest silence %.1f s (without a fault %.1f s), 0 twice, 0 out of order within a path (%d at changes), %v, %s at the end%s",
		left, right, len(faults)-len(w.Stalls), w.Answered, w.Sent, longest, healthy, len(w.OutOfOrder), s, path, w.stalled()), nil
}

// unbroken returns the longest time without a fault between from and to, and the sum of all such times.
func unbroken(from, to time.Time, faults []interval) (longest, sum time.Duration) {
	for at := from; at.Before(to); {
		end := to
		covered := false
		for _, f := range faults {
			if !f.from.After(at) && f.to.After(at) {
				at, covered = f.to, true
				break
			}
			if f.from.After(at) && f.from.Before(end) {
				end = f.from
			}
		}
		if !covered {
			longest, sum = max(longest, end.Sub(at)), sum+end.Sub(at)
			at = end
		}
	}
	return longest, sum
}

func near(at time.Time, changes []time.Time) bool {
	for _, c := range changes {
		if d := at.Sub(c); d > -around && d < around {
			return true
		}
	}
	return false
}

var pathLine = regexp.MustCompile(`^time=(\S+) .*msg=path `)

// changes returns when a node's paths changed, by its log. Steps from one relay to another and copies by a second path are
// changes, too.
func (l *lab) changes(name string) (list []time.Time) {
	text, _ := os.ReadFile(filepath.Join(l.folder, name+".log"))
	for _, line := range strings.Split(string(text), "\n") {
		if m := pathLine.FindStringSubmatch(line); m != nil {
			if at, err := time.Parse(time.RFC3339Nano, m[1]); err == nil {
				list = append(list, l.clocks.trueTime(name, at, time.Now()))
			}
		}
	}
	return list
}

// collect starts a command and returns a function that waits for its output.
func collect(c *exec.Cmd) (func() ([]byte, error), error) {
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, os.Stderr
	if err := c.Start(); err != nil {
		return nil, err
	}
	return func() ([]byte, error) {
		err := c.Wait()
		return out.Bytes(), err
	}, nil
}

package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

const (
	loadSeconds = "5"
	// goneSettle is how long a node may keep memory after the end of its peer: its housekeeping runs every 30 s.
	goneSettle = 65 * time.Second
	goneMost   = 30 // MB, of criterion 5
)

// gone is the second half of criterion 5: the memory of a node after a peer that has saturated it. The argument is the
// time in seconds since the peer left; a session is dropped after 600.
func gone(l *lab, args []string) error {
	after := goneSettle
	if len(args) > 0 {
		seconds, err := strconv.Atoi(args[0])
		if err != nil || seconds < 1 {
			return fmt.Errorf("%q is no number of seconds", args[0])
		}
		after = time.Duration(seconds) * time.Second
	}
	target, err := l.product("none", "none")
	if err != nil {
		return err
	}
	if _, err := l.spawn("b", "sink.log", l.self, "sink", target+":"+ratePort); err != nil {
		return err
	}
	hub := l.programs["b"]
	before, _, err := memoryMB(hub)
	if err != nil {
		return err
	}
	rate, err := l.in("a", l.self, "source", target+":"+ratePort, loadSeconds).Output()
	if err != nil {
		return err
	}
	loaded, _, err := memoryMB(hub)
	if err != nil {
		return err
	}
	if err := l.programs["a"].Process.Kill(); err != nil {
		return err
	}
	select {
	case <-time.After(after):
	case <-l.ctx.Done():
		return l.ctx.Err()
	}
	memory, own, err := memoryMB(hub)
	if err != nil {
		return err
	}
	fmt.Printf("5 a peer that sent %s Mbit/s: %.1f MB before, %.1f MB with load, %.1f MB %v after its end (limit %d; %.1f without the program's file)\n",
		strings.TrimSpace(string(rate)), before, loaded, memory, after, goneMost, own)
	if memory > goneMost {
		return errors.New("criterion 5 is missed")
	}
	return nil
}

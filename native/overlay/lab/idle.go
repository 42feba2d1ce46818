package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	silentPeers   = 10
	silentSettle  = 40 * time.Second
	silentMeasure = 60 * time.Second
	ticksASecond  = 100 // of /proc/PID/stat
)

// idle is criterion 22: a hub with ten silent peers. It measures the hub's processor time, its memory, and the bytes that
// silence costs a metered peer.
func idle(l *lab) error {
	if _, err := l.product("none", "none", "--metered"); err != nil {
		return err
	}
	hub := l.programs["b"]
	for i := range silentPeers {
		name := fmt.Sprintf("p%d", i)
		if err := l.joinAs(name, "a"); err != nil {
			return err
		}
		if _, err := l.spawn("a", name+".log", l.program, "node", "--state", l.dir(name), "--metered"); err != nil {
			return err
		}
		if err := until(startLimit, name+" reaches the hub", func() bool {
			return l.in("a", l.program, "ping", "--state", l.dir(name), "--count", "1", "b").Run() == nil
		}); err != nil {
			return err
		}
	}
	time.Sleep(silentSettle)
	cpu, err := processorTime(hub)
	if err != nil {
		return err
	}
	bytes, err := l.peerBytes("b")
	if err != nil {
		return err
	}
	time.Sleep(silentMeasure)
	cpuAfter, err := processorTime(hub)
	if err != nil {
		return err
	}
	bytesAfter, err := l.peerBytes("b")
	if err != nil {
		return err
	}
	memory, own, err := memoryMB(hub)
	if err != nil {
		return err
	}
	share := (cpuAfter - cpu).Seconds() / silentMeasure.Seconds() * 100
	day := (bytesAfter - bytes) / silentPeers * 24 * 3600 / silentMeasure.Seconds() / 1e6
	fmt.Printf("22 %d silent peers: %.2f %% of a core (limit 0.5), %.1f MB (limit 30; %.1f without the program's file), %.2f MB a day and metered peer (limit 1)\n", silentPeers, share, memory, own, day)
	if share > 0.5 || memory > 30 || day > 1 {
		return errors.New("criterion 22 is missed")
	}
	return nil
}

func processorTime(c *exec.Cmd) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.Process.Pid))
	if err != nil {
		return 0, err
	}
	f := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(f) < 13 {
		return 0, errors.New("the process's statistics cannot be read")
	}
	user, err1 := strconv.Atoi(f[11])
	system, err2 := strconv.Atoi(f[12])
	return time.Duration(user+system) * time.Second / ticksASecond, errors.Join(err1, err2)
}

// memoryMB returns a process's memory in MB: all that is resident, and what is not of files such as the program itself.
func memoryMB(c *exec.Cmd) (resident, own float64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.Process.Pid))
	if err != nil {
		return 0, 0, err
	}
	for _, line := range strings.Split(string(text), "\n") {
		f := strings.Fields(line)
		if len(f) != 3 || f[0] != "VmRSS:" && f[0] != "RssAnon:" {
			continue
		}
		kB, err := strconv.Atoi(f[1])
		if err != nil {
			return 0, 0, err
		}
		if f[0] == "VmRSS:" {
			resident = float64(kB) / 1000
		} else {
			own = float64(kB) / 1000
		}
	}
	return resident, own, nil
}

// peerBytes returns the UDP payload to and from all peers, with 28 bytes of headers for each keepalive's length.
func (l *lab) peerBytes(name string) (sum float64, err error) {
	const keepalive, headers = 32, 28
	out, err := exec.CommandContext(l.ctx, l.program, "status", "--state", filepath.Join(l.folder, name), "--json").Output()
	if err != nil {
		return 0, err
	}
	var s struct {
		Peers []struct {
			BytesDirect, BytesRelay struct{ In, Out float64 }
		}
	}
	if err := json.Unmarshal(out, &s); err != nil {
		return 0, err
	}
	for _, p := range s.Peers {
		sum += (p.BytesDirect.In + p.BytesDirect.Out + p.BytesRelay.In + p.BytesRelay.Out) * (keepalive + headers) / keepalive
	}
	return sum, nil
}

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A clock that steps needs a program whose clock can be set without the machine's: the Go command builds the product with
// a time.Now that adds an offset (go help build, -overlay). The product's own text is the same.

// clockVariable names the file with the offset in seconds that a program built here adds to the time.
const clockVariable = "LAB_CLOCK"

// nowBegins is the text of time.Now that the offset is added after.
const nowBegins = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"

const offsetText = `package time

import "sync/atomic"

// LabOffset is added to the time, in seconds.
var LabOffset atomic.Int64
`

const followerText = `package main

import (
	"os"
	"strconv"
	"strings"
	"time"
)

func init() {
	file := os.Getenv("` + clockVariable + `")
	if file == "" {
		return
	}
	follow := func() {
		text, err := os.ReadFile(file)
		if err != nil {
			return
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil {
			time.LabOffset.Store(n)
		}
	}
	follow()
	go func() {
		for {
			time.Sleep(200 * time.Millisecond)
			follow()
		}
	}()
}
`

// buildWithClock builds the product into folder with a clock that setClock sets.
func buildWithClock(folder string, flags ...string) (program string, err error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("go env: %w", err)
	}
	here, err := os.Getwd()
	if err != nil {
		return "", err
	}
	library := filepath.Join(strings.TrimSpace(string(root)), "src", "time")
	text, err := os.ReadFile(filepath.Join(library, "time.go"))
	if err != nil {
		return "", err
	}
	if strings.Count(string(text), nowBegins) != 1 {
		return "", fmt.Errorf("time.Now in %s has another shape, so the lab cannot set a clock", library)
	}
	replaced := map[string]string{}
	for place, content := range map[string]string{
		filepath.Join(library, "time.go"):          strings.Replace(string(text), nowBegins, nowBegins+"\tsec += LabOffset.Load()\n", 1),
		filepath.Join(library, "lab_offset.go"):    offsetText,
		filepath.Join(here, "lab_follow_clock.go"): followerText,
	} {
		file := filepath.Join(folder, filepath.Base(place))
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			return "", err
		}
		replaced[place] = file
	}
	list, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(folder, "overlay.json")
	if err := os.WriteFile(overlay, list, 0o600); err != nil {
		return "", err
	}
	return build(folder, append(flags, "-overlay", overlay)...)
}

// step is the offset of a host's clock after a given time.
type step struct {
	from   time.Time
	offset time.Duration
}

// clocks are the steps of the hosts' clocks, by namespace.
type clocks map[string][]step

func (l *lab) clockFile(ns string) string { return filepath.Join(l.folder, "clock."+ns) }

// setClock sets the clock of the programs in a namespace to this distance from the true time, in whole seconds.
func (l *lab) setClock(ns string, offset time.Duration) error {
	file := l.clockFile(ns)
	if err := os.WriteFile(file+".new", []byte(strconv.Itoa(int(offset.Seconds()))), 0o600); err != nil {
		return err
	}
	l.clocks[ns] = append(l.clocks[ns], step{time.Now(), offset})
	return os.Rename(file+".new", file)
}

// trueTime returns when a program in the namespace wrote a time that it took from its clock, at most a moment before now.
// Offsets differ by more than a schedule lasts, so at most one fits.
func (c clocks) trueTime(ns string, written, now time.Time) time.Time {
	const slow = time.Second // to follow the file
	for i, s := range c[ns] {
		end := now
		if i+1 < len(c[ns]) {
			end = c[ns][i+1].from
		}
		if at := written.Add(-s.offset); !at.Before(s.from) && !at.After(end.Add(slow)) {
			return at
		}
	}
	return written
}

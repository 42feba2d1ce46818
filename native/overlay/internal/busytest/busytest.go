// Package busytest gives tests more time on a busy machine: SEGANET_TEST_PATIENCE=4 makes each of their limits four times as long
// (bench/harness/patience.js).
package busytest

import (
	"os"
	"strconv"
	"time"
)

var factor = read(os.Getenv("SEGANET_TEST_PATIENCE"))

func read(given string) float64 {
	n, err := strconv.ParseFloat(given, 64)
	if err != nil || !(n >= 1 && n <= 100) {
		return 1
	}
	return n
}

// Limit returns what a limit of a quiet machine is on this one.
func Limit(limit time.Duration) time.Duration { return time.Duration(factor * float64(limit)) }

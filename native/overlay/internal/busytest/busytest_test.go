package busytest

import (
	"testing"
	"time"
)

func TestALimitIsLongerByTheFactorFrom1To100(t *testing.T) {
	for given, want := range map[string]float64{"": 1, "1": 1, "4": 4, "2.5": 2.5, "100": 100, "0": 1, "-3": 1, "101": 1, "NaN": 1, "four": 1} {
		if got := read(given); got != want {
			t.Errorf("%q: %v", given, got)
		}
	}
	if Limit(time.Second) != time.Duration(factor*float64(time.Second)) {
		t.Error(Limit(time.Second))
	}
}

package main

import (
	"testing"
	"time"
)

func TestTheTrueTimeOfALogThatAClockStampedIsFound(t *testing.T) {
	begun := time.Now().Round(0)
	at := func(seconds int) time.Time { return begun.Add(time.Duration(seconds) * time.Second) }
	c := clocks{"a": {{at(10), 20 * time.Minute}, {at(20), -10 * time.Minute}, {at(30), 0}, {at(40), -20 * time.Minute}}}
	for _, x := range []struct {
		second int
		offset time.Duration
	}{{5, 0}, {15, 20 * time.Minute}, {25, -10 * time.Minute}, {35, 0}, {45, -20 * time.Minute}} {
		if got := c.trueTime("a", at(x.second).Add(x.offset), at(50)); !got.Equal(at(x.second)) {
			t.Errorf("a line of second %d with the offset %v is said to be of second %v", x.second, x.offset, got.Sub(begun).Seconds())
		}
	}
	if got := c.trueTime("b", at(15), at(50)); !got.Equal(at(15)) {
		t.Error("the clock of another host counts")
	}
}

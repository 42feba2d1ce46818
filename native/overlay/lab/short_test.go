package main

import (
	"testing"
	"time"
)

// The matrix in short: pairs without an IP version in common, by the relay.
func TestPairsWithoutACommonIPVersionConnect(t *testing.T) {
	l := testLab(t, "s", nil)
	if err := connects(l, [][2]string{{"port", "six"}, {"dualtcp", "six"}, {"noudp", "sixtcp"}}, 6*time.Second, false); err != nil {
		t.Error(err)
	}
}

// Services that have IPv4 only, and a node that has IPv6 only.
func TestANodeBehindANAT64Connects(t *testing.T) {
	l := testLab(t, "x", map[string]string{translator: "tayga"})
	if err := connects(l, [][2]string{{"port", "nat64"}, {"nat64", "nat64"}, {"sym64", "port"}}, 6*time.Second, false); err != nil {
		t.Error(err)
	}
}

func TestACopyOfANodeIsStoppedAndNothingElse(t *testing.T) {
	if err := twice(testLab(t, "w", nil)); err != nil {
		t.Error(err)
	}
}

func TestTheFirstPacketToAnUnknownPeerIsNotLost(t *testing.T) {
	if err := sleep(testLab(t, "f", nil)); err != nil {
		t.Error(err)
	}
}

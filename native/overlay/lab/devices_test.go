package main

import "testing"

func TestDevicesBehindSymmetricNATsAreReachedByName(t *testing.T) {
	l := testLab(t, "d", nil)
	if err := devices(l, []string{"20"}); err != nil {
		t.Error(err)
	}
}

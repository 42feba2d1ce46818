package main

import "testing"

func TestOneRouterThatMapsPortsMakesSymmetricNATsDirect(t *testing.T) {
	l := testLab(t, "m", map[string]string{mapperDaemon: "miniupnpd-nftables"})
	if err := mapped(l); err != nil {
		t.Error(err)
	}
}

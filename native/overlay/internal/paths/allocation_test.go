package paths

import (
	"context"
	"net/netip"
	"testing"
	"time"
)

func TestAPeerThatNamesManyAddressesTakesNoPlaceOfAnother(t *testing.T) {
	a := &Allocation{permitted: map[netip.Addr]*permission{}}
	used := netip.MustParseAddr("192.0.2.1")
	for i := range permissionsMost {
		p := &permission{}
		p.granted.Store(true)
		p.used.Store(int64(i + 1))
		a.permitted[netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)})] = p
	}
	delete(a.permitted, netip.AddrFrom4([4]byte{10, 0, 0, 0}))
	p := &permission{}
	p.granted.Store(true)
	a.permitted[used] = p
	if a.permission(used) != p {
		t.Fatal("a granted destination is asked for again")
	}
	for range 10 {
		a.forgetOldest()
	}
	if len(a.permitted) != permissionsMost-10 || a.permitted[used] != p {
		t.Errorf("%d destinations are left, the one in use: %v", len(a.permitted), a.permitted[used])
	}
	if a.permitted[netip.AddrFrom4([4]byte{10, 0, 0, 5})] != nil {
		t.Error("the destination that was not used for the longest time is still there")
	}
}

func TestAServerByNameIsResolvedWithinItsLimit(t *testing.T) {
	for host, want := range map[string]string{"192.0.2.7": "192.0.2.7:3478", "2001:db8::1": "[2001:db8::1]:3478", "localhost": "127.0.0.1:3478"} {
		if got, err := (Server{Host: host, Port: 3478}).resolve(t.Context()); err != nil || got.String() != want {
			t.Errorf("%s: %v, %v", host, got, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	start := time.Now()
	if _, err := (Server{Host: "relay.invalid", Port: 3478}).resolve(ctx); err == nil || time.Since(start) > time.Second {
		t.Errorf("%v after %v", err, time.Since(start))
	}
}

package paths

import (
	"bytes"
	"context"
	"net"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pion/stun/v4"

	"seganet.internal/overlay/internal/busytest"
)

func TestAPeerThatNamesManyAddressesEvictsNoOtherPeer(t *testing.T) {
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

// A relay that dies between its permission and the first packet must not block the sender, which also serves the TUN's
// reader.
func TestAPacketToADeadRelayDoesNotWait(t *testing.T) {
	var silent atomic.Bool
	_, at := testRelay(t, &fakeNetwork{drop: func([]byte) bool { return silent.Load() }})
	a, err := openAllocation(t.Context(), wish{at, 0, four}, TURN{User: testUser, Password: testPassword}, noPacket)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	to := netip.MustParseAddrPort("127.0.0.1:9")
	asking := func() bool {
		p := a.permission(to.Addr())
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.asking
	}
	a.Permit(to.Addr())
	wait(t, "the relay's permission", func() bool { return !asking() })
	send := func() error {
		t.Helper()
		start := time.Now()
		err := a.SendRelayed([][]byte{[]byte("0123456789")}, 0, to)
		if d := time.Since(start); d > busytest.Limit(time.Second) {
			t.Errorf("a packet waited for %v", d)
		}
		return err
	}
	silent.Store(true)
	if err := send(); err != nil {
		t.Error(err)
	}
	silent.Store(false)
	wait(t, "the packet", func() bool { return a.permission(to.Addr()).granted.Load() })
	if err := send(); err != nil {
		t.Error(err)
	}
	a.kill()
	if err := send(); err != nil {
		t.Errorf("a relay that may be slow only: %v", err)
	}
	to = netip.MustParseAddrPort("127.0.0.2:9")
	if err := send(); err == nil {
		t.Error("a packet waits for a relay that counts as dead")
	}
}

func TestAStaleNonceDoesNotEndAnAllocation(t *testing.T) {
	var stale atomic.Int32
	_, at := testRelay(t, &fakeNetwork{answer: func(request []byte) []byte {
		m := &stun.Message{Raw: append([]byte(nil), request...)}
		var nonce stun.Nonce
		if m.Decode() != nil || m.Type.Method != stun.MethodCreatePermission || nonce.GetFrom(m) != nil || !stale.CompareAndSwap(0, 1) {
			return nil
		}
		answer, err := stun.Build(m, stun.NewType(stun.MethodCreatePermission, stun.ClassErrorResponse), stun.CodeStaleNonce, nonce)
		if err != nil {
			t.Error(err)
		}
		return answer.Raw
	}})
	a, err := openAllocation(t.Context(), wish{at, 0, four}, TURN{User: testUser, Password: testPassword}, noPacket)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if err := a.Check(10 * time.Second); err != nil || stale.Load() == 0 {
		t.Errorf("%v, asked with a stale nonce: %v", err, stale.Load() == 1)
	}
}

func TestDatagramsOfOthersDoNotEndAnAllocation(t *testing.T) {
	_, at := testRelay(t, &fakeNetwork{})
	a, err := openAllocation(t.Context(), wish{at, 0, four}, TURN{User: testUser, Password: testPassword}, noPacket)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	c, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	to := &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: a.socket.LocalAddr().(*net.UDPAddr).Port}
	request, err := stun.Build(stun.TransactionID, stun.BindingRequest)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range [][]byte{request.Raw, request.Raw[:20], {1}, bytes.Repeat([]byte{0x40}, 100)} {
		if _, err := c.WriteTo(p, to); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Check(10 * time.Second); err != nil {
		t.Errorf("after datagrams of an outsider: %v", err)
	}
}

// wait fails the test if f does not become true.
func wait(t *testing.T, what string, f func() bool) {
	t.Helper()
	for start := time.Now(); !f(); time.Sleep(5 * time.Millisecond) {
		if time.Since(start) > busytest.Limit(20*time.Second) {
			t.Fatalf("%s does not come", what)
		}
	}
}

func TestAServerByNameIsResolvedWithinItsLimit(t *testing.T) {
	for host, want := range map[string]string{"192.0.2.7": "192.0.2.7:3478", "2001:db8::1": "[2001:db8::1]:3478", "localhost": "127.0.0.1:3478"} {
		if got, err := (Server{Host: host, Port: 3478}).resolve(t.Context(), 0); err != nil || got.String() != want {
			t.Errorf("%s: %v, %v", host, got, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	start := time.Now()
	if _, err := (Server{Host: "relay.invalid", Port: 3478}).resolve(ctx, 0); err == nil || time.Since(start) > busytest.Limit(time.Second) {
		t.Errorf("%v after %v", err, time.Since(start))
	}
}

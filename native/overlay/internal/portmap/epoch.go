package portmap

import "time"

// epoch tracks a gateway's clock, which restarts when the gateway has lost its mappings.
type epoch struct {
	known  bool
	server uint32 // seconds, by the gateway
	client time.Time
}

// valid records a gateway's time. It returns false if the gateway has lost its state since the previous one, by the
// tests of RFC 6887 §8.5.
func (e *epoch) valid(server uint32, now time.Time) bool {
	before := *e
	*e = epoch{true, server, now}
	if !before.known {
		return true
	}
	if int64(server) < int64(before.server)-1 {
		return false
	}
	client := int64(now.Sub(before.client) / time.Second)
	delta := int64(server) - int64(before.server)
	return client+2 >= delta-delta/16 && delta+2 >= client-client/16
}

// validNATPMP is valid with the test of RFC 6886 §3.6: a clock may run at 7/8 of ours, or faster at any rate.
func (e *epoch) validNATPMP(server uint32, now time.Time) bool {
	before := *e
	*e = epoch{true, server, now}
	if !before.known {
		return true
	}
	elapsed := int64(now.Sub(before.client) / time.Second)
	return int64(server) >= int64(before.server)+elapsed*7/8-2
}

// Package engine runs the WireGuard device: one encryption worker per core, in any order; one sequencer per peer in
// each direction, bounded queues and buffers (CYPHONIC's Staging, Handling and Sending).
//
// Replay protection: wireguard-go (Tailscale's fork) checks and updates the window of 8,192 counters in one step, in
// one goroutine per peer, after it has restored the packet order. If the check ran earlier, or separately from the
// update, two copies of a packet could both pass it and be delivered twice (replay_test.go).
//
// Session keys exist in memory only, and each start generates new ones. A session restored from disk would reuse
// nonces, which breaks the encryption.
package engine

// Package engine runs the WireGuard device: encryption by one worker a core in any order, one sequencer a peer on both
// sides, bounded queues and buffers (CYPHONIC's Staging, Handling and Sending).
//
// Replay: the fork checks and updates the window of 8,192 counters in one goroutine a peer, after the order is restored.
// A check before that, or in two steps, delivers packets twice (trap 12; tests in replay_test.go).
//
// Session keys live in memory only and are drawn again at each start: a session that is restored from disk would use
// nonces twice (trap 14).
package engine

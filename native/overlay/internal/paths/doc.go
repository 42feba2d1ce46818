// Package paths finds and keeps the way to each peer: by the relay at once, by a direct path as soon as authenticated
// data has proven it, by the relay again when the direct path falls silent.
//
//   - A round of ICE (ice.go) yields a direct address, the trial. Each side sends keepalives there, inside the session,
//     and tells the other side whether they arrive (message.go). A side that hears and is heard uses the address for data
//     (choice.go). STUN alone proves nothing: checks may pass where data does not.
//   - A direct path that carries nothing authenticated for LostAfter while data flows is left at once, by both sides.
//   - Relay keeps one TURN allocation open, by UDP, TCP or TLS, from the nearest relay that answers (relay.go,
//     allocation.go). Only Close ends its retry loop.
//   - Watch reports changes of addresses, links and routes (watch.go). Everything is looked for again at once.
//   - reason.go says in words why a peer is relayed.
//
// Traps of the overlay's research note that this package handles: 1 (own addresses are no candidates: ice.go), 2 (a
// session begins when there is a path: choice.go, with bind), 6 (the outside address is asked for again: ice.go), 7 (round
// numbers grow: manager.go), 8 (an old direct path has 300 ms: choice.go), 9 (all peers get a new allocation: manager.go),
// 13 (authenticated data proves a path: choice.go).
package paths

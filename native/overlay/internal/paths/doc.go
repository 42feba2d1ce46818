// Package paths finds and keeps the path to each peer. Data takes the relay at first, a direct path once authenticated
// data has proven it, and the relay again when the direct path falls silent.
//
//   - A round of ICE (ice.go) yields a direct address, the trial. Each side sends keepalives to it, inside the session,
//     and reports to the other side whether they arrive (message.go). A side uses the address for data once keepalives
//     pass in both directions (choice.go). A STUN check proves less: it may pass where data does not.
//   - While data flows, both sides abandon a direct path that carries nothing authenticated for LostAfter.
//   - relays keeps a TURN allocation open for each IP version in use, by UDP, TCP or TLS, at the nearest relay that
//     answers (family.go, relay.go, allocation.go). Only Close ends the retry loops.
//   - Watch reports changes of addresses, links and routes (watch.go). NetworkChanged then searches again at once.
//   - reason.go explains why a peer is relayed.
//
// Known hazards, and where the package avoids them: a path through the overlay's own tunnel (usable in ice.go), a
// handshake before there is a path (startSession in peer.go, with bind), a stale outside address after a change of
// network (outsideCache in ice.go), two rounds with one number (startRound in search.go), silence while a dead direct
// path still seems alive (Grace in choice.go), and peers that send to a dead allocation (relayChanged in relayed.go).
package paths

// Package bind is the socket of the WireGuard device. One UDP port serves all peers. It is bound to no address, so it
// survives a change of address. STUN messages that arrive on the port go to ICE (see STUNConn). Packets that arrive by
// the relay join the same receive path (see Bind.DeliverRelayed).
//
// The endpoint of a peer is an object (Endpoint) whose path is swapped underneath WireGuard. A new address, the step from
// the relay to a direct path, and the step back end no session.
//
// The package also repairs what costs WireGuard 5 s when a session begins (handshake.go): a handshake without a path
// waits for one, a lost handshake is repeated early, and only one of two sides that start at once begins.
package bind

// Package identity defines a node's identity: its keys, the profile of its certificate, the check by peers before
// WireGuard gets a key, and the signatures of the authentication service.
//
// A node has an Ed25519 key, which its certificate is for, and an X25519 key, which WireGuard uses and the certificate
// names. Both stay on the node in files of mode 0600.
//
// Profile of a node's certificate (X.509 version 3, Ed25519):
//
//	subject      CN = FQDN
//	SAN DNS      <node>.<network>.seganet.internal, then one <device>.<node>.<network>.seganet.internal a device
//	SAN IP       IPv6 and IPv4 of the node, then IPv6 and IPv4 of each device, in the order of the names
//	SAN URI      seganet-wg:<X25519 public key, base64url without padding>, exactly one
//	extension    2.25.1178422611 (not critical): SEQUENCE OF UTF8String, the groups
//	key usage    digital signature; extended: client authentication only, so that a node cannot pose as a service
//	life         at most 7 days, plus an hour for clocks that are behind
//
// Addresses: IPv6 from the network's unique local prefix (RFC 4193), IPv4 from 198.18.0.0/16.
package identity

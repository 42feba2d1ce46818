// Package portmap asks the default gateways of this host to map a UDP port: by PCP (RFC 6887), else NAT-PMP (RFC 6886),
// else UPnP IGD. The outside addresses are candidates for direct paths.
//
//   - Mapper (mapper.go) follows the default gateways; each has a worker (worker.go) that asks, renews at half of the
//     lifetime, asks again when the gateway lost its state (epoch.go, announce.go), and removes the mapping at the end.
//   - A gateway without any of the protocols costs some ten packets at the start, after a change of the network, and
//     then at pauses that grow from RetryFirst to RetryMost.
//   - What a gateway answers is hostile input. UDP answers come from connected sockets, so the kernel checks the source;
//     an UPnP description is fetched from the gateway's own address only, without redirects; sizes, times and lifetimes
//     are bounded; an outside address must be a unicast IPv4 address (outside.go).
package portmap

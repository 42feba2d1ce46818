// Converts the two addresses of a datagram between the system's structures and coap::Peer.
#ifndef SEGANET_CORE_DEVICES_COAP_ADDRESS_H_
#define SEGANET_CORE_DEVICES_COAP_ADDRESS_H_

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/protocol/coap/peer.h"

namespace seganet {

// Space for the control message with a datagram's local address.
struct NearEndControl {
  alignas(cmsghdr) char bytes[CMSG_SPACE(sizeof(in6_pktinfo))];
};

// Requests control messages with the local address. `family` is the socket's.
void AskForNearEnd(int fd, int family);

// Returns the addresses of a message from recvmsg. Sets `*multicast` if the datagram was sent to a
// group or broadcast address.
coap::Peer PeerOf(const msghdr& message, bool* multicast);

// Prepares `*message` for sendmsg: fills `*address` and `*control`, and the members of `*message`
// that refer to them.
void Address(const coap::Peer& peer, sockaddr_storage* address, NearEndControl* control,
             msghdr* message);

// Returns the bytes of the remote host, without its port. The hosts of an IPv6 /64 are one.
std::string HostOf(const coap::Peer& peer);

}  // namespace seganet

#endif  // SEGANET_CORE_DEVICES_COAP_ADDRESS_H_

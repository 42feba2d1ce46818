// The two ends of a datagram, between the system's structures and coap::Peer.
#ifndef SEGANET_CORE_DEVICES_COAP_ADDRESS_H_
#define SEGANET_CORE_DEVICES_COAP_ADDRESS_H_

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>

#include "core/protocol/coap/peer.h"

namespace seganet {

// Room for the control message that tells, or says, a datagram's near end.
struct NearEndControl {
  alignas(cmsghdr) char bytes[CMSG_SPACE(sizeof(in6_pktinfo))];
};

// Asks for control messages about the near end. `family` as of the socket.
void AskForNearEnd(int fd, int family);

// From what recvmsg has put into `message`. `*multicast`: it was sent to a group, or to all.
coap::Peer PeerOf(const msghdr& message, bool* multicast);

// For sendmsg: fills `*address` and `*control`, and the members of `*message` that refer to them.
void Address(const coap::Peer& peer, sockaddr_storage* address, NearEndControl* control,
             msghdr* message);

}  // namespace seganet

#endif  // SEGANET_CORE_DEVICES_COAP_ADDRESS_H_

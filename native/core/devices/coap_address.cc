#include "core/devices/coap_address.h"

#include <arpa/inet.h>

#include <cstring>
#include <string>

#include "core/devices/coap_socket.h"

namespace seganet {
namespace {

// The layout of coap::Peer's bytes. `near` is all zero if the system did not report it.
struct Ends4 {
  uint8_t family = 4;
  uint8_t unused = 0;
  in_port_t port = 0;
  in_addr far{};
  in_addr near{};
};

struct Ends6 {
  uint8_t family = 6;
  uint8_t unused = 0;
  in_port_t port = 0;
  uint32_t scope = 0;  // interface of a link-local address
  in6_addr far{};
  in6_addr near{};
};
static_assert(sizeof(Ends4) <= coap::Peer::kMaxBytes && sizeof(Ends6) <= coap::Peer::kMaxBytes);

template <typename T>
T From(const void* data) {
  T value;
  std::memcpy(&value, data, sizeof value);
  return value;
}

template <typename Info>
const cmsghdr* Find(const msghdr& message, int level, int type) {
  auto* m = const_cast<msghdr*>(&message);
  for (cmsghdr* c = CMSG_FIRSTHDR(m); c != nullptr; c = CMSG_NXTHDR(m, c)) {
    if (c->cmsg_level == level && c->cmsg_type == type && c->cmsg_len >= CMSG_LEN(sizeof(Info))) {
      return c;
    }
  }
  return nullptr;
}

template <typename Info>
void SetControl(int level, int type, const Info& info, NearEndControl* control, msghdr* message) {
  message->msg_control = control->bytes;
  message->msg_controllen = CMSG_SPACE(sizeof info);
  std::memset(control->bytes, 0, sizeof control->bytes);
  cmsghdr* head = CMSG_FIRSTHDR(message);
  head->cmsg_level = level;
  head->cmsg_type = type;
  head->cmsg_len = CMSG_LEN(sizeof info);
  std::memcpy(CMSG_DATA(head), &info, sizeof info);
}

}  // namespace

void AskForNearEnd(int fd, int family) {
  const int on = 1;
  if (family == AF_INET6) {
    setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof on);
  } else {
    setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof on);
  }
}

coap::Peer PeerOf(const msghdr& message, bool* multicast) {
  *multicast = false;
  const auto family = From<sockaddr>(message.msg_name).sa_family;
  if (family == AF_INET6) {
    const auto from = From<sockaddr_in6>(message.msg_name);
    Ends6 ends;
    ends.port = from.sin6_port;
    ends.far = from.sin6_addr;
    ends.scope = IN6_IS_ADDR_LINKLOCAL(&from.sin6_addr) ? from.sin6_scope_id : 0;
    if (const cmsghdr* found = Find<in6_pktinfo>(message, IPPROTO_IPV6, IPV6_PKTINFO)) {
      ends.near = From<in6_pktinfo>(CMSG_DATA(found)).ipi6_addr;
      // On a dual-stack socket, IPv4 groups are ::ffff:224.0.0.0/100.
      *multicast = IN6_IS_ADDR_MULTICAST(&ends.near) ||
                   (IN6_IS_ADDR_V4MAPPED(&ends.near) && ends.near.s6_addr[12] >= 224);
    }
    return {&ends, sizeof ends};
  }
  const auto from = From<sockaddr_in>(message.msg_name);
  Ends4 ends;
  ends.port = from.sin_port;
  ends.far = from.sin_addr;
  if (const cmsghdr* found = Find<in_pktinfo>(message, IPPROTO_IP, IP_PKTINFO)) {
    const auto info = From<in_pktinfo>(CMSG_DATA(found));
    ends.near = info.ipi_spec_dst;
    // The destination in the header is not an address of this host if it is a group or a broadcast
    // address.
    *multicast = info.ipi_addr.s_addr != info.ipi_spec_dst.s_addr;
  }
  return {&ends, sizeof ends};
}

void Address(const coap::Peer& peer, sockaddr_storage* address, NearEndControl* control,
             msghdr* message) {
  std::memset(address, 0, sizeof *address);
  message->msg_name = address;
  message->msg_control = nullptr;
  message->msg_controllen = 0;
  if (peer.size == sizeof(Ends6)) {
    const auto ends = From<Ends6>(peer.bytes.data());
    auto* to = reinterpret_cast<sockaddr_in6*>(address);
    to->sin6_family = AF_INET6;
    to->sin6_port = ends.port;
    to->sin6_addr = ends.far;
    to->sin6_scope_id = ends.scope;
    message->msg_namelen = sizeof *to;
    if (IN6_IS_ADDR_UNSPECIFIED(&ends.near)) return;
    in6_pktinfo info{};
    info.ipi6_addr = ends.near;
    info.ipi6_ifindex = ends.scope;
    SetControl(IPPROTO_IPV6, IPV6_PKTINFO, info, control, message);
    return;
  }
  const auto ends = From<Ends4>(peer.bytes.data());
  auto* to = reinterpret_cast<sockaddr_in*>(address);
  to->sin_family = AF_INET;
  to->sin_port = ends.port;
  to->sin_addr = ends.far;
  message->msg_namelen = sizeof *to;
  if (ends.near.s_addr == 0) return;
  in_pktinfo info{};
  info.ipi_spec_dst = ends.near;
  SetControl(IPPROTO_IP, IP_PKTINFO, info, control, message);
}

std::string HostOf(const coap::Peer& peer) {
  if (peer.size == sizeof(Ends6)) {
    const auto ends = From<Ends6>(peer.bytes.data());
    const bool is_v4 = IN6_IS_ADDR_V4MAPPED(&ends.far);
    const auto* const bytes = reinterpret_cast<const char*>(&ends.far);
    return is_v4 ? std::string(bytes + 12, 4) : std::string(bytes, 8);
  }
  if (peer.size != sizeof(Ends4)) return "";
  const auto ends = From<Ends4>(peer.bytes.data());
  return {reinterpret_cast<const char*>(&ends.far), sizeof ends.far};
}

std::string FarEnd(const coap::Peer& peer) {
  char text[INET6_ADDRSTRLEN] = "";
  if (peer.size == sizeof(Ends6)) {
    const auto ends = From<Ends6>(peer.bytes.data());
    const std::string port = ":" + std::to_string(ntohs(ends.port));
    if (IN6_IS_ADDR_V4MAPPED(&ends.far)) {
      inet_ntop(AF_INET, &ends.far.s6_addr[12], text, sizeof text);
      return text + port;
    }
    inet_ntop(AF_INET6, &ends.far, text, sizeof text);
    return "[" + std::string(text) + "]" + port;
  }
  if (peer.size != sizeof(Ends4)) return "";
  const auto ends = From<Ends4>(peer.bytes.data());
  inet_ntop(AF_INET, &ends.far, text, sizeof text);
  return std::string(text) + ":" + std::to_string(ntohs(ends.port));
}

}  // namespace seganet

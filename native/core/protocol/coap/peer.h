#ifndef SEGANET_CORE_PROTOCOL_COAP_PEER_H_
#define SEGANET_CORE_PROTOCOL_COAP_PEER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "core/base/jenkins.h"

namespace seganet::coap {

// The two ends of a datagram's way: address and port of the far end, and which of our own addresses
// it was sent to, so that the answer leaves from there (RFC 7252 4.2: an ACK comes from where the
// CON went). What the bytes mean is the owner's business: equal bytes are the same far end.
struct Peer {
  static constexpr size_t kMaxBytes = 63;

  std::array<uint8_t, kMaxBytes> bytes{};
  uint8_t size = 0;

  Peer() = default;
  // REQUIRES: n <= kMaxBytes.
  Peer(const void* data, size_t n) : size(static_cast<uint8_t>(n)) {
    std::memcpy(bytes.data(), data, n);
  }

  std::string_view text() const { return {reinterpret_cast<const char*>(bytes.data()), size}; }
  bool operator==(const Peer& other) const { return text() == other.text(); }
};
static_assert(sizeof(Peer) == 64);

struct PeerHash {
  uint32_t seed = 0;  // a secret one, so that nobody can choose addresses that collide
  size_t operator()(const Peer& peer) const { return JenkinsHash(peer.text(), seed); }
};

}  // namespace seganet::coap

#endif  // SEGANET_CORE_PROTOCOL_COAP_PEER_H_

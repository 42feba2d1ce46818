// The address of a peer of CoAP over UDP, as opaque bytes.
#ifndef SEGANET_CORE_PROTOCOL_COAP_PEER_H_
#define SEGANET_CORE_PROTOCOL_COAP_PEER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "core/base/jenkins.h"
#include "core/base/require.h"

namespace seganet::coap {

// Both ends of a datagram: address and port of the peer, and the local address that it was sent to,
// from which the answer is sent (RFC 7252 4.2: an ACK comes from the address that the CON went to).
// The owner defines the bytes; equal bytes are the same peer.
struct Peer {
  static constexpr size_t kMaxBytes = 63;

  std::array<uint8_t, kMaxBytes> bytes{};
  uint8_t size = 0;

  Peer() = default;
  // REQUIRES: n <= kMaxBytes.
  Peer(const void* data, size_t n) : size(static_cast<uint8_t>(n)) {
    SEGANET_REQUIRE(n <= kMaxBytes);
    std::memcpy(bytes.data(), data, n);
  }

  std::string_view text() const { return {reinterpret_cast<const char*>(bytes.data()), size}; }
  bool operator==(const Peer& other) const { return text() == other.text(); }
};
static_assert(sizeof(Peer) == 64);

struct PeerHash {
  uint32_t seed = 0;  // secret, so that an attacker cannot choose colliding addresses
  size_t operator()(const Peer& peer) const { return JenkinsHash(peer.text(), seed); }
};

}  // namespace seganet::coap

#endif  // SEGANET_CORE_PROTOCOL_COAP_PEER_H_

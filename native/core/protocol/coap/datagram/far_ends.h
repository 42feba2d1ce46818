// The state that a server of CoAP over UDP keeps for each peer.
#ifndef SEGANET_CORE_PROTOCOL_COAP_DATAGRAM_FAR_ENDS_H_
#define SEGANET_CORE_PROTOCOL_COAP_DATAGRAM_FAR_ENDS_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <unordered_map>

#include "core/base/keyed_hash.h"
#include "core/protocol/coap/peer.h"

namespace seganet::coap {

// The state of one peer.
struct FarEnd {
  Peer peer;
  // The peer returned something that only the receiver of our datagrams can know. Its address is
  // therefore genuine, and responses may exceed its requests (RFC 9175 2.4).
  bool proved = false;
  uint64_t echo = 0;                     // the Echo value sent to it, 0 = none yet
  std::optional<uint16_t> withdrawn_id;  // of a message that was sent to it, and then withdrawn
  uint32_t next_id = 0;                  // counts this worker's message ids
  int64_t errors_us = 0;                 // its error budget is used up to this time
};

// The peers of one server, in bounded memory: above the limit the peer that was silent longest is
// forgotten.
//
// Thread safety: none; owned by one server.
class FarEnds {
 public:
  // REQUIRES: max > 0, worker < workers; secret outlives this.
  FarEnds(size_t max, uint32_t worker, uint32_t workers, SecretNumbers* secret);

  // Returns the peer's state, which is new for an unknown peer. The reference is valid until the
  // next call.
  FarEnd& Touch(const Peer& peer);

  // The peer is proved if `id` is its FarEnd::withdrawn_id.
  void ProveByWithdrawn(const Peer& peer, uint16_t id);

  // Returns the next message id ≡ worker (mod workers). Ids are used in turn, so an id repeats
  // within EXCHANGE_LIFETIME only if over 65,536 / workers are used in that time (RFC 7252 4.4).
  uint16_t NextId(FarEnd* end) const;

  size_t memory_bytes() const { return ends_.size() * kEndBytes; }

 private:
  static constexpr size_t kEndBytes = sizeof(FarEnd) + 160;  // list and map nodes, bucket

  const size_t max_;
  const uint32_t worker_;
  const uint32_t workers_;
  SecretNumbers* const secret_;
  std::list<FarEnd> ends_;  // silent longest first
  std::unordered_map<Peer, std::list<FarEnd>::iterator, PeerHash> by_peer_;
};

}  // namespace seganet::coap

#endif  // SEGANET_CORE_PROTOCOL_COAP_DATAGRAM_FAR_ENDS_H_

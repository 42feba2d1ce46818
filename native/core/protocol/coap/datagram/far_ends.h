#ifndef SEGANET_CORE_PROTOCOL_COAP_DATAGRAM_FAR_ENDS_H_
#define SEGANET_CORE_PROTOCOL_COAP_DATAGRAM_FAR_ENDS_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <unordered_map>

#include "core/base/keyed_hash.h"
#include "core/protocol/coap/peer.h"

namespace seganet::coap {

// What is remembered of one far end.
struct FarEnd {
  Peer peer;
  // It returned something that only who gets our datagrams can know, so its address is its own and
  // it may be sent more than it sent (RFC 9175 2.4).
  bool proved = false;
  uint64_t echo = 0;      // what it was asked to return, 0 = nothing yet
  uint32_t next_id = 0;   // as a count of ids of this worker
  int64_t errors_us = 0;  // until when its errors are paid for
};

// The far ends of one server, in memory that is bounded: the one that was silent longest is
// forgotten.
class FarEnds {
 public:
  // REQUIRES: max > 0, worker < workers; secret outlives this.
  FarEnds(size_t max, uint32_t worker, uint32_t workers, SecretNumbers* secret);

  // The reference is valid until the next call.
  FarEnd& Touch(const Peer& peer);

  // A message id ≡ worker (mod workers), in turn, so that none comes twice in EXCHANGE_LIFETIME
  // unless over 65,536 / workers are used in it (RFC 7252 4.4).
  uint16_t NextId(FarEnd* end) const;

  size_t memory_bytes() const { return ends_.size() * kEndBytes; }

 private:
  static constexpr size_t kEndBytes = sizeof(FarEnd) + 160;  // nodes of list and map, bucket

  const size_t max_;
  const uint32_t worker_;
  const uint32_t workers_;
  SecretNumbers* const secret_;
  std::list<FarEnd> ends_;  // the one that was silent longest in front
  std::unordered_map<Peer, std::list<FarEnd>::iterator, PeerHash> by_peer_;
};

}  // namespace seganet::coap

#endif  // SEGANET_CORE_PROTOCOL_COAP_DATAGRAM_FAR_ENDS_H_

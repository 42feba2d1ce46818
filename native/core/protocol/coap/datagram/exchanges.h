// Recognizes duplicate requests of CoAP over UDP and keeps their answers.
#ifndef SEGANET_CORE_PROTOCOL_COAP_DATAGRAM_EXCHANGES_H_
#define SEGANET_CORE_PROTOCOL_COAP_DATAGRAM_EXCHANGES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/require.h"

namespace seganet::coap {

// The requests of the last EXCHANGE_LIFETIME, with which the server recognizes duplicates and
// answers them again (RFC 7252 4.5). Above the limit the oldest request is forgotten.
//
// Requests expire in order of arrival, so they are kept in a ring. A chain of the hash table ends
// at the first expired entry. A request therefore neither allocates nor removes anything from a
// table.
//
// Thread safety: none; owned by one server.
class Exchanges {
 public:
  // REQUIRES: max > 0.
  explicit Exchanges(size_t max) : max_(max) { SEGANET_REQUIRE(max > 0); }

  // Returns the number of an earlier request with this key, 0 for a new one. `key` is a hash of the
  // peer and the datagram.
  uint64_t Find(uint64_t key, int64_t now_us);

  // Remembers a new request and returns its number, never 0.
  // REQUIRES: Find(key) returned 0; now_us does not go back.
  uint64_t Add(uint64_t key, int64_t now_us);

  // Returns the encoded answer; empty while there is none.
  // REQUIRES: Find() has just returned `number`, which is not 0.
  std::string_view AnswerTo(uint64_t number) const {
    SEGANET_REQUIRE(number >= first_ && number < end_);
    return At(number).answer;
  }

  // Keeps the encoded answer. No effect when the exchange is forgotten.
  void SetAnswer(uint64_t number, std::string answer);

  size_t size() const { return static_cast<size_t>(end_ - first_); }
  size_t memory_bytes() const {
    return ring_.size() * (sizeof(Entry) + sizeof(uint64_t)) + answer_bytes_;
  }

 private:
  struct Entry {
    uint64_t key = 0;
    int64_t at_us = 0;
    uint64_t older = 0;  // the previous number in its chain
    std::string answer;
  };

  // Returns the memory of an answer outside of its entry.
  static size_t OutsideBytes(const std::string& answer);
  Entry& At(uint64_t number) { return ring_[number & (ring_.size() - 1)]; }
  const Entry& At(uint64_t number) const { return ring_[number & (ring_.size() - 1)]; }
  uint64_t& ChainOf(uint64_t key) { return chains_[key & (chains_.size() - 1)]; }
  void DropOldest();
  void Resize(size_t entries);

  const size_t max_;
  std::vector<Entry> ring_;       // size: a power of two, or 0
  std::vector<uint64_t> chains_;  // same size; the latest number of each chain
  uint64_t first_ = 1;            // the oldest
  uint64_t end_ = 1;              // one past the latest
  size_t answer_bytes_ = 0;
};

}  // namespace seganet::coap

#endif  // SEGANET_CORE_PROTOCOL_COAP_DATAGRAM_EXCHANGES_H_

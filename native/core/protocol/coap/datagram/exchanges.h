#ifndef SEGANET_CORE_PROTOCOL_COAP_DATAGRAM_EXCHANGES_H_
#define SEGANET_CORE_PROTOCOL_COAP_DATAGRAM_EXCHANGES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace seganet::coap {

// Requests of the last EXCHANGE_LIFETIME, by which duplicates are recognised and answered again
// (RFC 7252 4.5). The oldest is forgotten when there are too many.
//
// They leave in the order in which they came, so they are a ring, and a chain of the hash table
// ends where it leads to one that is gone: nothing is allocated or taken out of a table for a
// request.
//
// Thread safety: none; owned by one server.
class Exchanges {
 public:
  // REQUIRES: max > 0.
  explicit Exchanges(size_t max) : max_(max) {}

  // The number of a request that was there before, 0 for a new one. key: of far end and datagram.
  uint64_t Find(uint64_t key, int64_t now_us);

  // Its number, never 0. REQUIRES: Find(key) was 0; now_us does not go back.
  uint64_t Add(uint64_t key, int64_t now_us);

  // '' while it has none. REQUIRES: Find() has just said the number.
  std::string_view AnswerTo(uint64_t number) const { return At(number).answer; }

  // No effect when the exchange was forgotten.
  void SetAnswer(uint64_t number, std::string answer);

  size_t size() const { return static_cast<size_t>(end_ - first_); }
  size_t memory_bytes() const {
    return ring_.size() * (sizeof(Entry) + sizeof(uint64_t)) + answer_bytes_;
  }

 private:
  struct Entry {
    uint64_t key = 0;
    int64_t at_us = 0;
    uint64_t older = 0;  // the one before it in its chain
    std::string answer;
  };

  // Memory of an answer outside of its entry.
  static size_t OutsideBytes(const std::string& answer);
  Entry& At(uint64_t number) { return ring_[number & (ring_.size() - 1)]; }
  const Entry& At(uint64_t number) const { return ring_[number & (ring_.size() - 1)]; }
  uint64_t& ChainOf(uint64_t key) { return chains_[key & (chains_.size() - 1)]; }
  void DropOldest();
  void Resize(size_t entries);

  const size_t max_;
  std::vector<Entry> ring_;       // a power of two of them, or none
  std::vector<uint64_t> chains_;  // as many: the youngest number of each
  uint64_t first_ = 1;            // the oldest
  uint64_t end_ = 1;              // one more than the youngest
  size_t answer_bytes_ = 0;
};

}  // namespace seganet::coap

#endif  // SEGANET_CORE_PROTOCOL_COAP_DATAGRAM_EXCHANGES_H_

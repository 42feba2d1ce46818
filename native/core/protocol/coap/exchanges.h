#ifndef SEGANET_CORE_PROTOCOL_COAP_EXCHANGES_H_
#define SEGANET_CORE_PROTOCOL_COAP_EXCHANGES_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>

namespace seganet::coap {

// Requests of the last EXCHANGE_LIFETIME, by which duplicates are recognised and answered again
// (RFC 7252 4.5). The oldest is forgotten when there are too many.
//
// Thread safety: none; owned by one server.
class Exchanges {
 public:
  explicit Exchanges(size_t max) : max_(max) {}

  // The answer of a request that was there before, '' while it has none; null for a new one. key:
  // of far end and message id.
  const std::string* Find(uint64_t key, int64_t now_us);

  // REQUIRES: Find(key) was null; now_us does not go back.
  void Add(uint64_t key, int64_t now_us);

  // No effect when the exchange was forgotten.
  void SetAnswer(uint64_t key, std::string answer);

  size_t size() const { return by_key_.size(); }
  size_t memory_bytes() const { return by_key_.size() * kEntryBytes + answer_bytes_; }

 private:
  struct Entry {
    uint64_t key;
    int64_t at_us;
    std::string answer;
  };
  // Entry, and a node of the map with its bucket.
  static constexpr size_t kEntryBytes = sizeof(Entry) + 40;

  // Memory of an answer outside of its entry.
  static size_t OutsideBytes(const std::string& answer);
  void DropOldest();

  const size_t max_;
  std::deque<Entry> entries_;                      // the oldest in front
  uint64_t first_ = 0;                             // number of entries_.front()
  std::unordered_map<uint64_t, uint64_t> by_key_;  // to the number
  size_t answer_bytes_ = 0;
};

}  // namespace seganet::coap

#endif  // SEGANET_CORE_PROTOCOL_COAP_EXCHANGES_H_

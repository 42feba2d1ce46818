// Reassembles request bodies that arrive in blocks (RFC 7959).
#ifndef SEGANET_CORE_PROTOCOL_COAP_UPLOADS_H_
#define SEGANET_CORE_PROTOCOL_COAP_UPLOADS_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/base/keyed_hash.h"
#include "core/protocol/coap/block.h"
#include "core/protocol/coap/settings.h"

namespace seganet::coap {

// The incomplete bodies of one server (RFC 7959 2.5). A body is returned whole or not at all.
// Memory grows with the bytes received, not with the size that Size1 claims.
//
// Thread safety: none; owned by one server.
class Uploads {
 public:
  enum class Step : uint8_t {
    kContinue,    // 2.31
    kWhole,       // `whole` has the whole body
    kIncomplete,  // 4.08: an earlier block is missing
    kTooLarge,    // 4.13
    kBadBlock,    // 4.00: the size does not match the option
  };

  Uploads(const Limits& limits, size_t max_body_bytes)
      : limits_(limits), max_body_bytes_(max_body_bytes) {}

  // Adds a block. `key` is the peer and BodyKey(). `bert`: true on a stream, where a message may
  // carry several blocks (RFC 8323 6). `now_us` is the time of a monotonic clock, us.
  Step Add(const std::string& key, std::string_view device, const Block& block,
           std::string_view payload, bool bert, int64_t now_us, std::string* whole);

  // Drops bodies that were silent for EXCHANGE_LIFETIME.
  void OnTime(int64_t now_us);
  // The next time at which OnTime() has work, us; INT64_MAX = never.
  int64_t deadline_us() const;

  size_t size() const { return bodies_.size(); }
  size_t memory_bytes() const { return bytes_; }

 private:
  struct Body {
    std::string key;
    std::string device;
    std::string bytes;
    int64_t touched_us = 0;
    size_t memory() const { return sizeof(Body) + key.size() + device.size() + bytes.capacity(); }
  };
  using Bodies = std::list<Body>;

  void MakeRoomFor(std::string_view device);
  void Erase(Bodies::iterator body);
  void Append(Bodies::iterator body, std::string_view payload);

  const Limits limits_;
  const size_t max_body_bytes_;
  Bodies bodies_;  // silent longest first
  std::unordered_map<std::string, Bodies::iterator, KeyedStringHash> by_key_;
  size_t bytes_ = 0;
};

}  // namespace seganet::coap

#endif  // SEGANET_CORE_PROTOCOL_COAP_UPLOADS_H_

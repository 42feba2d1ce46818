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

// Bodies that come block by block (RFC 7959 2.5). A body is handed over whole or not at all. Memory
// grows with what arrived, not with what Size1 claims.
//
// Thread safety: none; owned by one server.
class Uploads {
 public:
  enum class Step : uint8_t {
    kContinue,    // 2.31
    kWhole,       // `whole` has all of it
    kIncomplete,  // 4.08: a block before it is missing
    kTooLarge,    // 4.13
    kBadBlock,    // 4.00: a size that its option does not allow
  };

  Uploads(const Limits& limits, size_t max_body_bytes)
      : limits_(limits), max_body_bytes_(max_body_bytes) {}

  // key: far end and BodyKey(). bert: a stream, where a block may be several (RFC 8323 6).
  Step Add(const std::string& key, std::string_view device, const Block& block,
           std::string_view payload, bool bert, int64_t now_us, std::string* whole);

  // Forgets bodies that were silent for EXCHANGE_LIFETIME.
  void OnTime(int64_t now_us);
  // When OnTime() has something to do; INT64_MAX = nothing.
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
  Bodies bodies_;  // the one that was silent longest in front
  std::unordered_map<std::string, Bodies::iterator, KeyedStringHash> by_key_;
  size_t bytes_ = 0;
};

}  // namespace seganet::coap

#endif  // SEGANET_CORE_PROTOCOL_COAP_UPLOADS_H_

#ifndef SEGANET_CORE_PROTOCOL_COAP_REPLY_H_
#define SEGANET_CORE_PROTOCOL_COAP_REPLY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/protocol/coap/block.h"
#include "core/protocol/coap/codes.h"

namespace seganet::coap {

// A response or notification, before it is known how it travels. Views have to live until it is
// encoded.
struct Reply {
  uint8_t code = kEmpty;
  std::optional<uint32_t> etag;
  std::optional<uint32_t> observe;
  std::string_view location;  // segments with '/' between them; '' = none
  std::optional<uint32_t> content_format;
  std::optional<uint32_t> max_age;
  std::optional<Block> block2;
  std::optional<Block> block1;
  std::optional<uint32_t> size2;
  std::optional<uint32_t> size1;
  std::string_view echo;
  std::string_view payload;  // of an error: a sentence for people (RFC 7252 5.5.2)

  bool is_error() const { return ClassOf(code) >= 4; }
};

// Writes options in ascending order of their numbers.
class OptionWriter {
 public:
  explicit OptionWriter(std::string* out) : out_(out) {}
  void Add(uint16_t number, std::string_view value);
  void AddUint(uint16_t number, uint32_t value);

 private:
  std::string* const out_;
  uint16_t last_ = 0;
};

// The four bytes of a datagram without token, options and payload: an acknowledgement or a reset.
std::string EmptyDatagram(Type type, uint16_t id);

std::string EncodeDatagram(Type type, uint16_t id, std::string_view token, const Reply& reply);

// Appends a message of a stream; `body` is its options and payload.
void AppendFrame(uint8_t code, std::string_view token, std::string_view body, std::string* out);
void AppendReply(std::string_view token, const Reply& reply, std::string* out);

// Makes the reply carry `body`, or the block of it that was asked for, so that all of the message
// is at most max_bytes; overhead is what the rest of it takes. False: not even 16 bytes find room,
// or the block lies behind the end. The reply is changed only when true. wanted: of the request;
// its number of blocks of its size are left out.
bool CarryBody(std::string_view body, const std::optional<Block>& wanted, size_t overhead,
               size_t max_bytes, Reply* reply);

}  // namespace seganet::coap

#endif  // SEGANET_CORE_PROTOCOL_COAP_REPLY_H_

// CoAP responses and notifications, and their encoding.
#ifndef SEGANET_CORE_PROTOCOL_COAP_REPLY_H_
#define SEGANET_CORE_PROTOCOL_COAP_REPLY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/protocol/coap/block.h"
#include "core/protocol/coap/codes.h"
#include "core/protocol/coap/exchange.h"

namespace seganet::coap {

// A response or notification, independent of its transport. The views must be valid until it is
// encoded.
struct Reply {
  uint8_t code = kEmpty;
  std::optional<uint32_t> etag;
  std::optional<uint32_t> observe;
  std::string_view location;  // segments separated by '/'; '' = none
  std::optional<uint32_t> content_format;
  std::optional<uint32_t> max_age;
  std::optional<Block> block2;
  std::optional<Block> block1;
  std::optional<uint32_t> size2;
  std::optional<uint32_t> size1;
  std::string_view echo;
  std::string_view payload;  // of an error: a diagnostic text (RFC 7252 5.5.2)

  bool is_error() const { return ClassOf(code) >= 4; }
};

// Appends options to a message.
// REQUIRES (Add, AddUint): numbers do not decrease.
class OptionWriter {
 public:
  explicit OptionWriter(std::string* out) : out_(out) {}
  void Add(uint16_t number, std::string_view value);
  void AddUint(uint16_t number, uint32_t value);

 private:
  std::string* const out_;
  uint16_t last_ = 0;
};

// Returns a datagram without token, options and payload (4 bytes): an acknowledgement or a reset.
std::string EmptyDatagram(Type type, uint16_t id);

// Returns the datagram of a reply.
std::string EncodeDatagram(Type type, uint16_t id, std::string_view token, const Reply& reply);

// Appends a message of a stream (RFC 8323 3.2). `body` is the encoded options and payload.
void AppendFrame(uint8_t code, std::string_view token, std::string_view body, std::string* out);
void AppendReply(std::string_view token, const Reply& reply, std::string* out);

// Makes the reply carry `body`, or the block of it that the request asks for in `wanted`. The block
// begins at wanted->offset() and is made smaller if the message would exceed max_bytes. `overhead`
// is the size of the message without payload, Block2 and Size2. With `bert`, a reply may carry
// several blocks (RFC 8323 6), unless `wanted` asks for a smaller block. False, and the reply is
// unchanged, when not even 16 bytes fit or the block is past the end. The payload is a view of
// `body`.
bool CarryBody(std::string_view body, const std::optional<Block>& wanted, size_t overhead,
               size_t max_bytes, Reply* reply, bool bert = false);

// Appends the options in ascending order of their numbers, which `options` must have, and the
// payload with its marker.
void AppendOptions(const OptionValues& options, std::string_view payload, std::string* out);

}  // namespace seganet::coap

#endif  // SEGANET_CORE_PROTOCOL_COAP_REPLY_H_

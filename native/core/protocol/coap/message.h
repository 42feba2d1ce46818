#ifndef SEGANET_CORE_PROTOCOL_COAP_MESSAGE_H_
#define SEGANET_CORE_PROTOCOL_COAP_MESSAGE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/protocol/coap/codes.h"

namespace seganet::coap {

// A message where it lies. Options were found well-formed.
struct Message {
  Type type = Type::kConfirmable;  // a datagram's
  uint8_t code = kEmpty;
  uint16_t id = 0;  // a datagram's
  std::string_view token;
  std::span<const uint8_t> options;
  std::string_view payload;
};

enum class ParseStatus : uint8_t {
  kOk,
  kNoMessage,  // too short, or of another version: silently ignored (RFC 7252 3)
  kMalformed,  // a format error; type and id are known (RFC 7252 4.2, 4.3)
};

// RFC 7252 3.
ParseStatus ParseDatagram(std::span<const uint8_t> bytes, Message* message);

// The beginning of a message of a stream (RFC 8323 3.2).
struct StreamFrame {
  enum class Status : uint8_t { kNeedMore, kOk, kMalformed };
  Status status = Status::kNeedMore;
  uint8_t code = kEmpty;
  size_t header = 0;  // with the token
  size_t total = 0;   // of the message; known before the token is there. 0 = not yet
  std::string_view token;
};

StreamFrame DecodeFrame(std::span<const uint8_t> bytes);

// Options and payload of a message whose header was read. False: a format error.
bool ParseBody(std::span<const uint8_t> body, Message* message);

}  // namespace seganet::coap

#endif  // SEGANET_CORE_PROTOCOL_COAP_MESSAGE_H_

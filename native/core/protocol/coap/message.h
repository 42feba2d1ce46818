// Parses CoAP messages: datagrams (RFC 7252 3) and messages of a stream (RFC 8323 3.2).
#ifndef SEGANET_CORE_PROTOCOL_COAP_MESSAGE_H_
#define SEGANET_CORE_PROTOCOL_COAP_MESSAGE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/protocol/coap/codes.h"

namespace seganet::coap {

// A parsed message; views point into the received bytes. The options are well-formed.
struct Message {
  Type type = Type::kConfirmable;  // datagrams only
  uint8_t code = kEmpty;
  uint16_t id = 0;  // datagrams only
  std::string_view token;
  std::span<const uint8_t> options;
  std::string_view payload;
};

enum class ParseStatus : uint8_t {
  kOk,
  kNoMessage,  // too short, or another version: silently ignored (RFC 7252 3)
  kMalformed,  // a format error; type and id are set (RFC 7252 4.2, 4.3)
};

// Parses a datagram (RFC 7252 3).
ParseStatus ParseDatagram(std::span<const uint8_t> bytes, Message* message);

// The header of a message of a stream (RFC 8323 3.2).
struct StreamFrame {
  enum class Status : uint8_t { kNeedMore, kOk, kMalformed };
  Status status = Status::kNeedMore;
  uint8_t code = kEmpty;
  size_t header = 0;  // bytes before the options, token included
  size_t total = 0;   // bytes of the message; 0 = not known yet. Known before the token is complete
  std::string_view token;
};

// Reads the header at the beginning of `bytes`, which may end anywhere.
StreamFrame DecodeFrame(std::span<const uint8_t> bytes);

// Reads the options and payload that follow a header. False on a format error.
bool ParseBody(std::span<const uint8_t> body, Message* message);

}  // namespace seganet::coap

#endif  // SEGANET_CORE_PROTOCOL_COAP_MESSAGE_H_

#ifndef SEGANET_CORE_PROTOCOL_COAP_ROUTE_H_
#define SEGANET_CORE_PROTOCOL_COAP_ROUTE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/protocol/coap/message.h"
#include "core/protocol/coap/request.h"
#include "core/protocol/coap/settings.h"

namespace seganet::coap {

// A datagram as it was read: once, for its way and for the server. Its memory is used again.
struct Arrival {
  ParseStatus status = ParseStatus::kNoMessage;
  std::span<const uint8_t> bytes;  // of the whole datagram
  Message message;                 // where the datagram lies
  // Of a request (is_request()).
  Request request;
  Refusal refusal;

  bool is_request() const {
    const bool asks = message.type == Type::kConfirmable || message.type == Type::kNonConfirmable;
    return status == ParseStatus::kOk && asks && message.code != kEmpty &&
           ClassOf(message.code) == 0;
  }
};

void ReadArrival(std::span<const uint8_t> datagram, const Settings& settings, Arrival* arrival);

// Which worker's DatagramServer has to have a datagram.
struct Route {
  enum class Kind : uint8_t {
    kDevice,     // the owner of `device`
    kMessageId,  // the worker that sent `message_id`: message_id % workers
    kAny,        // whoever has it: discovery, pings, and what cannot be read
  };
  Kind kind = Kind::kAny;
  std::string_view device;  // in the arrival
  uint16_t message_id = 0;
};

Route RouteOf(const Arrival& arrival);

}  // namespace seganet::coap

#endif  // SEGANET_CORE_PROTOCOL_COAP_ROUTE_H_

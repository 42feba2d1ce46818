// Decides which worker handles a CoAP datagram.
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

// A parsed datagram, used for its route and then by the server. Reused for the next datagram, with
// its memory.
struct Arrival {
  ParseStatus status = ParseStatus::kNoMessage;
  std::span<const uint8_t> bytes;  // of the whole datagram
  Message message;                 // views into `bytes`
  // Set if is_request().
  Request request;
  Refusal refusal;

  bool is_request() const {
    const bool asks = message.type == Type::kConfirmable || message.type == Type::kNonConfirmable;
    return status == ParseStatus::kOk && asks && message.code != kEmpty &&
           ClassOf(message.code) == 0;
  }
};

// Parses the datagram, whose bytes must stay valid while `arrival` is used. `part`: see
// ParseRequest.
void ReadArrival(std::span<const uint8_t> datagram, const Settings& settings, std::string_view part,
                 Arrival* arrival);
inline void ReadArrival(std::span<const uint8_t> datagram, const Settings& settings,
                        Arrival* arrival) {
  ReadArrival(datagram, settings, settings.part, arrival);
}

// Which worker's DatagramServer must handle a datagram.
struct Route {
  enum class Kind : uint8_t {
    kDevice,     // the owner of `device`
    kMessageId,  // the worker that sent `message_id`: message_id % workers
    kAny,        // the worker that received it: discovery, pings, unreadable datagrams
  };
  Kind kind = Kind::kAny;
  std::string_view device;  // points into the arrival
  uint16_t message_id = 0;
};

Route RouteOf(const Arrival& arrival);

}  // namespace seganet::coap

#endif  // SEGANET_CORE_PROTOCOL_COAP_ROUTE_H_

#ifndef SEGANET_CORE_PROTOCOL_COAP_ROUTE_H_
#define SEGANET_CORE_PROTOCOL_COAP_ROUTE_H_

#include <cstdint>
#include <span>
#include <string>

#include "core/protocol/coap/settings.h"

namespace seganet::coap {

// Which worker's DatagramServer has to have a datagram.
struct Route {
  enum class Kind : uint8_t {
    kDevice,     // the owner of `device`
    kMessageId,  // the worker that sent `message_id`: message_id % workers
    kAny,        // whoever has it: discovery, pings, and what cannot be read
  };
  Kind kind = Kind::kAny;
  std::string device;
  uint16_t message_id = 0;
};

Route RouteDatagram(std::span<const uint8_t> datagram, const Settings& settings);

}  // namespace seganet::coap

#endif  // SEGANET_CORE_PROTOCOL_COAP_ROUTE_H_

#include "core/protocol/coap/route.h"

#include <utility>

#include "core/protocol/coap/message.h"
#include "core/protocol/coap/request.h"

namespace seganet::coap {

Route RouteDatagram(std::span<const uint8_t> datagram, const Settings& settings) {
  Route route;
  Message message;
  if (ParseDatagram(datagram, &message) != ParseStatus::kOk) return route;
  if (message.type == Type::kAcknowledgement || message.type == Type::kReset) {
    route.kind = Route::Kind::kMessageId;
    route.message_id = message.id;
    return route;
  }
  if (message.code == kEmpty || ClassOf(message.code) != 0) return route;
  Request request;
  ParseRequest(message, settings, &request);
  if (request.device.empty()) return route;
  route.kind = Route::Kind::kDevice;
  route.device = std::move(request.device);
  return route;
}

}  // namespace seganet::coap

#include "core/protocol/coap/route.h"

namespace seganet::coap {

void ReadArrival(std::span<const uint8_t> datagram, const Settings& settings, std::string_view part,
                 Arrival* arrival) {
  arrival->bytes = datagram;
  arrival->status = ParseDatagram(datagram, &arrival->message);
  if (!arrival->is_request()) return;
  arrival->refusal = ParseRequest(arrival->message, settings, part, &arrival->request);
}

Route RouteOf(const Arrival& arrival) {
  Route route;
  if (arrival.status != ParseStatus::kOk) return route;
  const Message& message = arrival.message;
  if (message.type == Type::kAcknowledgement || message.type == Type::kReset) {
    route.kind = Route::Kind::kMessageId;
    route.message_id = message.id;
  } else if (arrival.is_request() && !arrival.request.device.empty()) {
    route.kind = Route::Kind::kDevice;
    route.device = arrival.request.device;
  }
  return route;
}

}  // namespace seganet::coap

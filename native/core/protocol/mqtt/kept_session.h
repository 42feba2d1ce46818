#ifndef SEGANET_CORE_PROTOCOL_MQTT_KEPT_SESSION_H_
#define SEGANET_CORE_PROTOCOL_MQTT_KEPT_SESSION_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/protocol/mqtt/incoming.h"
#include "core/protocol/mqtt/outgoing.h"
#include "core/protocol/mqtt/subscriptions.h"

namespace seganet::mqtt {

// What of a device's session outlives its connection (3.1.1: 3.1.2.4; 5: 4.1). ServerSession::Keep
// gives it, Handler::OnConnect takes it back.
struct KeptSession {
  // To be forgotten so long after the connection's end; 0xFFFFFFFF = never (5: 3.1.2.11.2).
  uint32_t expiry_s = 0;
  Subscriptions subscriptions;
  Incoming incoming;
  Outgoing outgoing;

  bool Listens(std::string_view topic) const { return subscriptions.Listens(topic); }
  // Ids of SendPublish() that the device has not answered: their answers will not come when the
  // session is dropped.
  std::vector<uint64_t> Unanswered() const { return outgoing.ids(); }
  size_t memory_bytes() const {
    return sizeof(*this) + subscriptions.memory_bytes() + incoming.memory_bytes() +
           outgoing.memory_bytes();
  }
};

}  // namespace seganet::mqtt

#endif  // SEGANET_CORE_PROTOCOL_MQTT_KEPT_SESSION_H_

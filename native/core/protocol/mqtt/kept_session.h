// The state of an MQTT session between two connections of its device.
#ifndef SEGANET_CORE_PROTOCOL_MQTT_KEPT_SESSION_H_
#define SEGANET_CORE_PROTOCOL_MQTT_KEPT_SESSION_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/protocol/mqtt/incoming.h"
#include "core/protocol/mqtt/outgoing.h"
#include "core/protocol/mqtt/subscriptions.h"

namespace seganet::mqtt {

// The session state that outlives a connection (3.1.1: 3.1.2.4; 5: 4.1). ServerSession::Keep()
// returns it; Handler::OnConnect() gives it to the next connection.
struct KeptSession {
  // Seconds from the connection's end until the session expires; 0xFFFFFFFF = never
  // (5: 3.1.2.11.2).
  uint32_t expiry_s = 0;
  Subscriptions subscriptions;
  Incoming incoming;
  Outgoing outgoing;

  // The owner's ticket of the latest change that must be saved on disk; 0 = none. See
  // Handler::OnSessionChanged().
  uint64_t ticket = 0;
  // For the owner: what is on disk. kUnsaved: nothing. 0: that the device is connected. Otherwise:
  // when the session ends, ms since 1970.
  static constexpr int64_t kUnsaved = -1;
  int64_t saved_end_ms = kUnsaved;

  // Removes the subscriptions that may(filter) forbids, and then the unanswered commands that no
  // other subscription covers. Returns the ids of these commands.
  template <typename May>
  std::vector<uint64_t> Restrict(May&& may) {
    std::vector<std::string> forbidden;
    for (const Subscriptions::Subscription& one : subscriptions.all()) {
      if (!may(one.filter)) forbidden.push_back(one.filter);
    }
    if (forbidden.empty()) return {};
    for (const std::string& filter : forbidden) subscriptions.Remove(filter);
    return outgoing.RemoveIf([this](const Outgoing::Item& item) { return !Listens(item.topic); });
  }

  // True if a subscription matches.
  bool Listens(std::string_view topic) const { return subscriptions.Listens(topic); }
  // Returns the ids of SendPublish() that the device has not answered. If the session is dropped,
  // their answers never come.
  std::vector<uint64_t> Unanswered() const { return outgoing.ids(); }
  size_t memory_bytes() const {
    return sizeof(*this) + subscriptions.memory_bytes() + incoming.memory_bytes() +
           outgoing.memory_bytes();
  }
};

}  // namespace seganet::mqtt

#endif  // SEGANET_CORE_PROTOCOL_MQTT_KEPT_SESSION_H_

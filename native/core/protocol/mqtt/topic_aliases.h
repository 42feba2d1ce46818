#ifndef SEGANET_CORE_PROTOCOL_MQTT_TOPIC_ALIASES_H_
#define SEGANET_CORE_PROTOCOL_MQTT_TOPIC_ALIASES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/protocol/mqtt/reason_code.h"

namespace seganet::mqtt {

// The topic aliases that a device set on this connection (5: 3.3.2.3.4). Takes no memory before the
// first one.
class TopicAliases {
 public:
  // Puts the alias' topic into an empty `topic`, which is valid until the next call; remembers any
  // other. `max_bytes` bounds all topics together.
  Fault Resolve(uint32_t alias, size_t max_aliases, size_t max_bytes, std::string_view* topic);

  size_t memory_bytes() const;

 private:
  std::vector<std::string> topics_;  // by alias - 1; empty = not set
  size_t topic_bytes_ = 0;
};

}  // namespace seganet::mqtt

#endif  // SEGANET_CORE_PROTOCOL_MQTT_TOPIC_ALIASES_H_

// Topic aliases from a device (MQTT 5.0, 3.3.2.3.4).
#ifndef SEGANET_CORE_PROTOCOL_MQTT_TOPIC_ALIASES_H_
#define SEGANET_CORE_PROTOCOL_MQTT_TOPIC_ALIASES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/protocol/mqtt/reason_code.h"

namespace seganet::mqtt {

// The topic aliases that a device set on one connection. Allocates nothing before the first alias.
//
// Thread safety: none; owned by one session.
class TopicAliases {
 public:
  // Sets an empty `topic` to the alias's topic, a view that is valid until the next call. Remembers
  // a non-empty `topic` for the alias. `max_bytes` bounds the bytes of all topics together. Faults:
  // kBadTopicAlias, kTooLarge.
  Fault Resolve(uint32_t alias, size_t max_aliases, size_t max_bytes, std::string_view* topic);

  size_t memory_bytes() const;

 private:
  std::vector<std::string> topics_;  // by alias - 1; empty = not set
  size_t topic_bytes_ = 0;
};

}  // namespace seganet::mqtt

#endif  // SEGANET_CORE_PROTOCOL_MQTT_TOPIC_ALIASES_H_

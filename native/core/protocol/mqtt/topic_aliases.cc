#include "core/protocol/mqtt/topic_aliases.h"

namespace seganet::mqtt {

Fault TopicAliases::Resolve(uint32_t alias, size_t max_aliases, size_t max_bytes,
                            std::string_view* topic) {
  // 5: [MQTT-3.3.2-8], [MQTT-3.3.2-9] Not 0, and not over the maximum of the CONNACK.
  if (alias == 0 || alias > max_aliases) return CloseReason::kBadTopicAlias;
  if (topic->empty()) {
    // 5: 3.3.4 An unset alias is a Protocol Error; 0x94 is its more specific code.
    if (alias > topics_.size() || topics_[alias - 1].empty()) return CloseReason::kBadTopicAlias;
    *topic = topics_[alias - 1];
    return {};
  }
  if (topics_.size() < alias) topics_.resize(alias);
  std::string& known = topics_[alias - 1];
  const size_t others = topic_bytes_ - known.size();
  if (topic->size() > max_bytes - others) {
    return {CloseReason::kTooLarge, reason::kQuotaExceeded};
  }
  topic_bytes_ = others + topic->size();
  known.assign(*topic);
  return {};
}

size_t TopicAliases::memory_bytes() const {
  size_t sum = topics_.capacity() * sizeof(std::string);
  for (const std::string& topic : topics_) sum += topic.capacity();
  return sum;
}

}  // namespace seganet::mqtt

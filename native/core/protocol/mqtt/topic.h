// Checks MQTT strings, topic names and filters. Clauses are those of 3.1.1; "5:" marks MQTT 5.0.
#ifndef SEGANET_CORE_PROTOCOL_MQTT_TOPIC_H_
#define SEGANET_CORE_PROTOCOL_MQTT_TOPIC_H_

#include <cstddef>
#include <string_view>

#include "core/protocol/close_reason.h"

namespace seganet::mqtt {

// The longest MQTT string: its length field has 16 bits.
inline constexpr size_t kMaxStringBytes = 65535;

// Shared subscriptions (5: 4.8.2). Refused in all versions: each device gets its own commands, and
// each subscriber all records.
inline constexpr std::string_view kSharedPrefix = "$share/";

// True for a UTF-8 string that MQTT allows: no surrogates, no overlong forms, nothing above
// U+10FFFF [MQTT-1.5.3-1] and no U+0000 [MQTT-1.5.3-2]. U+FEFF is an ordinary character
// [MQTT-1.5.3-3]. An empty string is valid.
bool ValidUtf8(std::string_view text);

// True for well-formed UTF-8, U+0000 included, as a payload may have (5: 3.3.2.3.2).
bool ValidUtf8Payload(std::string_view text);

// Checks a topic name (PUBLISH, will) or a filter (SUBSCRIBE, UNSUBSCRIBE). Returns kNone, kBadUtf8
// or kBadTopic. A topic with n slashes has n + 1 levels.
CloseReason CheckTopicName(std::string_view topic, size_t max_levels);
CloseReason CheckTopicFilter(std::string_view filter, size_t max_levels);

}  // namespace seganet::mqtt

#endif  // SEGANET_CORE_PROTOCOL_MQTT_TOPIC_H_

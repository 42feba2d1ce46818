#ifndef SEGANET_CORE_PROTOCOL_MQTT_TOPIC_H_
#define SEGANET_CORE_PROTOCOL_MQTT_TOPIC_H_

#include <cstddef>
#include <string_view>

#include "core/protocol/close_reason.h"

namespace seganet::mqtt {

// A string longer than this cannot be written in MQTT: its length field has 16 bits.
inline constexpr size_t kMaxStringBytes = 65535;

// 5: 4.8.2. Not offered in any version: each device gets the commands that are its own.
inline constexpr std::string_view kSharedPrefix = "$share/";

// A well-formed UTF-8 string as MQTT takes it: no surrogates, no overlong forms, nothing above
// U+10FFFF [MQTT-1.5.3-1] and no U+0000 [MQTT-1.5.3-2]. U+FEFF is a character like any other
// [MQTT-1.5.3-3]. Empty is valid.
bool ValidUtf8(std::string_view text);

// Well-formed UTF-8 of any kind, U+0000 included: a payload (5: 3.3.2.3.2).
bool ValidUtf8Payload(std::string_view text);

// What is wrong with a topic name (PUBLISH, will) or filter (SUBSCRIBE): kNone, kBadUtf8 or
// kBadTopic. A topic of `n` slashes has n + 1 levels.
CloseReason CheckTopicName(std::string_view topic, size_t max_levels);
CloseReason CheckTopicFilter(std::string_view filter, size_t max_levels);

}  // namespace seganet::mqtt

#endif  // SEGANET_CORE_PROTOCOL_MQTT_TOPIC_H_

// Recognizes a repeated PUBLISH by its content.
#ifndef SEGANET_CORE_PROTOCOL_MQTT_CONTENT_HASH_H_
#define SEGANET_CORE_PROTOCOL_MQTT_CONTENT_HASH_H_

#include <cstdint>
#include <string_view>

#include "core/base/jenkins.h"

namespace seganet::mqtt {

// On disk in sessions.db (docs/reference/log-format.md, "Sessions").
inline uint32_t ContentHash(std::string_view topic, std::string_view payload) {
  return JenkinsHash(payload, JenkinsHash(topic, 0));
}

}  // namespace seganet::mqtt

#endif  // SEGANET_CORE_PROTOCOL_MQTT_CONTENT_HASH_H_

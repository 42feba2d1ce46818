// Rules that give a record its class.
#ifndef SEGANET_CORE_RECORD_RULES_H_
#define SEGANET_CORE_RECORD_RULES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"

namespace seganet {

// True when `filter` is a topic filter as MQTT 3.1.1, 4.7 has it: + alone in a level, # alone and
// last.
bool ValidTopicFilter(std::string_view filter);

// MQTT 3.1.1, 4.7: + matches one level, # the rest and its parent level; neither matches a first
// level that begins with $ [MQTT-4.7.2-1]. REQUIRES: ValidTopicFilter(filter).
bool TopicMatches(std::string_view filter, std::string_view topic);

// * matches any run of bytes, ? one byte; the whole of `text` must match. Time is O(glob * text) at
// worst.
bool GlobMatches(std::string_view glob, std::string_view text);

// Empty topic or device matches everything.
struct Rule {
  std::string topic;
  std::string device;
  uint8_t record_class = 3;

  bool operator==(const Rule&) const = default;
};

inline constexpr size_t kMaxRules = 1024;

Status ValidateRules(const std::vector<Rule>& rules);

// The first rule that matches decides. None: `default_class`, or `current` when that is 0.
// REQUIRES: ValidateRules(rules).ok().
uint8_t Classify(const std::vector<Rule>& rules, uint8_t default_class, std::string_view device,
                 std::string_view topic, uint8_t current);

}  // namespace seganet

#endif  // SEGANET_CORE_RECORD_RULES_H_

// Rules that assign a class to a record, and the patterns that they use.
#ifndef SEGANET_CORE_RECORD_RULES_H_
#define SEGANET_CORE_RECORD_RULES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/record/condition.h"

namespace seganet {

// True if `filter` is a valid topic filter (MQTT 3.1.1, 4.7): + only as a whole level, # only as
// the whole last level.
bool ValidTopicFilter(std::string_view filter);

// True if the topic filter matches (MQTT 3.1.1, 4.7): + matches one level, # the remaining levels
// and their parent level; neither matches a first level that begins with $ [MQTT-4.7.2-1].
// REQUIRES: ValidTopicFilter(filter).
bool TopicMatches(std::string_view filter, std::string_view topic);

// True if the glob matches all of `text`: * matches any run of bytes; ? matches one UTF-8
// character, or one byte that is not valid UTF-8. Worst-case time is O(glob * text).
bool GlobMatches(std::string_view glob, std::string_view text);

// Assigns a class to the records that match all three. An empty topic or device matches everything,
// as does an empty condition.
struct Rule {
  std::string topic;   // MQTT topic filter
  std::string device;  // glob
  uint8_t record_class = 3;
  std::string when = {};  // condition on the payload (record/condition.h)

  bool operator==(const Rule&) const = default;
};

inline constexpr size_t kMaxRules = 1024;

// Checks that there are at most kMaxRules rules, each with a valid class, filter, glob and
// condition, and that their conditions read at most kMaxPaths different values.
Status ValidateRules(const std::vector<Rule>& rules);

// Rules, compiled. Thread safety: immutable after construction.
class Classifier {
 public:
  Classifier() = default;
  // `default_class` 0: a record that no rule matches keeps its class.
  // REQUIRES: ValidateRules(rules).ok().
  Classifier(std::vector<Rule> rules, uint8_t default_class);

  // Returns the class of the first rule that matches. If none matches, returns the default class,
  // or `current`. Reads the payload at most once, and only if a rule with a condition matches the
  // topic and the device.
  uint8_t ClassOf(std::string_view device, std::string_view topic, std::string_view payload,
                  uint8_t current) const;

 private:
  std::vector<Rule> rules_;
  std::vector<Condition> conditions_;  // by rule
  JsonPaths paths_;
  uint8_t default_class_ = 0;
};

}  // namespace seganet

#endif  // SEGANET_CORE_RECORD_RULES_H_

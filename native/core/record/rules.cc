#include "core/record/rules.h"

#include <utility>

#include "core/base/require.h"
#include "core/record/record.h"

namespace seganet {
namespace {

// Removes the next level from `rest`. Returns false if there is none.
bool NextLevel(std::string_view* rest, bool* more, std::string_view* level) {
  if (!*more) return false;
  const size_t slash = rest->find('/');
  *more = slash != std::string_view::npos;
  *level = rest->substr(0, slash);
  *rest = *more ? rest->substr(slash + 1) : std::string_view();
  return true;
}

}  // namespace

bool ValidTopicFilter(std::string_view filter) {
  if (filter.empty() || filter.size() > kMaxTopicBytes) return false;
  bool more = true;
  std::string_view level;
  while (NextLevel(&filter, &more, &level)) {
    if (level == "#") return !more;
    if (level == "+") continue;
    if (level.find_first_of(std::string_view("+#\0", 3)) != std::string_view::npos) return false;
  }
  return true;
}

bool TopicMatches(std::string_view filter, std::string_view topic) {
  SEGANET_REQUIRE(!filter.empty());  // the whole check would be O(n)
  if (!topic.empty() && topic.front() == '$' && (filter.front() == '+' || filter.front() == '#')) {
    return false;
  }
  // One pass, because this runs for each record and rule. A wildcard is always a whole level.
  size_t f = 0, t = 0;
  for (; f < filter.size(); ++f) {
    if (filter[f] == '#') return true;
    if (filter[f] == '+') {
      while (t < topic.size() && topic[t] != '/') ++t;
    } else if (t < topic.size() && topic[t] == filter[f]) {
      ++t;
    } else {
      return t == topic.size() && filter.substr(f) == "/#";  // the parent level
    }
  }
  return t == topic.size();
}

namespace {

// Returns the length of the character at `at`: a UTF-8 code point, or one byte of invalid UTF-8.
size_t CharacterBytes(std::string_view text, size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  const size_t bytes = lead < 0xC2 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 1;
  if (bytes > text.size() - at) return 1;
  for (size_t i = 1; i < bytes; ++i) {
    if ((static_cast<unsigned char>(text[at + i]) & 0xC0) != 0x80) return 1;
  }
  return bytes;
}

}  // namespace

bool GlobMatches(std::string_view glob, std::string_view text) {
  size_t g = 0, t = 0;
  size_t star = std::string_view::npos;  // position of the last *
  size_t resume = 0;                     // end of the text that it matches
  while (t < text.size()) {
    const size_t character = CharacterBytes(text, t);
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      resume = t;
    } else if (g < glob.size() && glob[g] == '?') {
      ++g;
      t += character;
    } else if (g < glob.size() && glob.substr(g, character) == text.substr(t, character)) {
      g += character;
      t += character;
    } else if (star != std::string_view::npos) {
      g = star + 1;
      resume += CharacterBytes(text, resume);
      t = resume;
    } else {
      return false;
    }
  }
  while (g < glob.size() && glob[g] == '*') ++g;
  return g == glob.size();
}

Status ValidateRules(const std::vector<Rule>& rules) {
  if (rules.size() > kMaxRules) {
    return Status::InvalidArgument("more than " + std::to_string(kMaxRules) + " rules");
  }
  JsonPaths paths;
  for (size_t i = 0; i < rules.size(); ++i) {
    const Rule& rule = rules[i];
    const std::string which = "rule " + std::to_string(i + 1);
    if (!ValidClass(rule.record_class)) {
      return Status::InvalidArgument(which + ": class must be 1 to " + std::to_string(kClasses));
    }
    if (!rule.topic.empty() && !ValidTopicFilter(rule.topic)) {
      return Status::InvalidArgument(which + ": '" + rule.topic + "' is not an MQTT topic filter");
    }
    if (rule.device.size() > kMaxDeviceBytes) {
      return Status::InvalidArgument(which + ": device pattern longer than 256 bytes");
    }
    Condition ignored;
    if (rule.when.empty()) continue;
    if (Status status = Condition::Parse(rule.when, &paths, &ignored); !status.ok()) {
      return Status::InvalidArgument(which + ": " + status.message());
    }
  }
  return {};
}

Classifier::Classifier(std::vector<Rule> rules, uint8_t default_class)
    : rules_(std::move(rules)), conditions_(rules_.size()), default_class_(default_class) {
  SEGANET_REQUIRE(ValidateRules(rules_).ok());
  for (size_t i = 0; i < rules_.size(); ++i) {
    if (!rules_[i].when.empty()) Condition::Parse(rules_[i].when, &paths_, &conditions_[i]);
  }
  paths_.Build();
}

uint8_t Classifier::ClassOf(std::string_view device, std::string_view topic,
                            std::string_view payload, uint8_t current) const {
  JsonValues values;
  bool is_read = false;
  for (size_t i = 0; i < rules_.size(); ++i) {
    const Rule& rule = rules_[i];
    if (!rule.topic.empty() && !TopicMatches(rule.topic, topic)) continue;
    if (!rule.device.empty() && !GlobMatches(rule.device, device)) continue;
    if (!rule.when.empty()) {
      if (!is_read) paths_.Read(payload, &values);
      is_read = true;
      if (!conditions_[i].Holds(paths_, values)) continue;
    }
    return rule.record_class;
  }
  return default_class_ == 0 ? current : default_class_;
}

}  // namespace seganet

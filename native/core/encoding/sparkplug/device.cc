#include "core/encoding/sparkplug/device.h"

#include <algorithm>
#include <utility>

#include "core/base/utf8.h"

namespace seganet::sparkplug {
namespace {

std::string_view MeaningName(Meaning meaning) {
  switch (meaning) {
    case Meaning::kValue:
      return "value";
    case Meaning::kRaw:
      return "raw";
    case Meaning::kRecord:
      return "record";
    case Meaning::kTrace:
      return "trace";
    case Meaning::kLine:
      break;
  }
  return "line";
}

// Returns the code point of a UTF-8 sequence.
uint32_t CodePointOf(std::string_view character) {
  const auto first = static_cast<uint8_t>(character[0]);
  if (character.size() == 1) return first;
  uint32_t code = first & (0x7Fu >> character.size());
  for (const char c : character.substr(1)) code = code << 6 | (static_cast<uint8_t>(c) & 0x3F);
  return code;
}

// True for what no level of a topic may have, for %, and for the control characters and
// noncharacters of Unicode: brokers such as mosquitto close the connection on them [MQTT 1.5.4].
bool MustEscape(std::string_view character) {
  const uint32_t code = CodePointOf(character);
  return code == '/' || code == '+' || code == '#' || code == '%' || code < 0x20 ||
         (code >= 0x7F && code < 0xA0) || (code >= 0xFDD0 && code <= 0xFDEF) ||
         (code & 0xFFFE) == 0xFFFE;
}

void AppendEscaped(char c, std::string* out) {
  static constexpr std::string_view kDigits = "0123456789ABCDEF";
  const auto byte = static_cast<uint8_t>(c);
  out->push_back('%');
  out->push_back(kDigits[byte >> 4]);
  out->push_back(kDigits[byte & 0xF]);
}

}  // namespace

std::string LevelOf(std::string_view device) {
  std::string level;
  while (!device.empty()) {
    const size_t size = Utf8Length(device);
    const std::string_view character = device.substr(0, std::max<size_t>(size, 1));
    if (size > 0 && !MustEscape(character)) {
      level += character;
    } else {
      for (const char c : character) AppendEscaped(c, &level);
    }
    device.remove_prefix(character.size());
  }
  return level;
}

size_t Device::Find(Meaning meaning, std::string_view topic, std::string_view path) {
  place_.assign(1, static_cast<char>('0' + static_cast<int>(meaning)));
  // A topic has no NUL.
  place_.append(topic).append(1, '\0').append(path);
  const auto found = by_place_.find(place_);
  return found == by_place_.end() ? kNone : found->second;
}

size_t Device::Take(Meaning meaning, std::string_view topic, std::string_view path, ValueType type,
                    uint64_t* next_alias) {
  const size_t found = Find(meaning, topic, path);
  if (found != kNone) {
    Metric& metric = metrics_[found];
    const ValueType wider = Wider(metric.type, type);
    if (wider == metric.type) return found;
    // The last value has another type.
    metric.last = {};
    metric.is_kept = false;
    if (DataTypeOf(wider) != DataTypeOf(metric.type) || wider == ValueType::kJson) Change();
    if (wider == ValueType::kJson) metric.alias = (*next_alias)++;
    metric.type = wider;
    return found;
  }
  Metric metric;
  metric.meaning = meaning;
  metric.alias = (*next_alias)++;
  metric.type = type;
  metric.name = UniqueName(NameOf(meaning, topic, path));
  metric.topic = topic;
  metric.path = path;
  metrics_.push_back(std::move(metric));
  by_place_.emplace(place_, metrics_.size() - 1);
  Change();
  return metrics_.size() - 1;
}

void Device::Change() {
  must_renumber_ = must_renumber_ || is_born_;
  is_born_ = false;
}

void Device::CarryLines() {
  metrics_.clear();
  by_place_.clear();
  names_.clear();
  has_only_lines_ = true;
  is_born_ = must_renumber_ = false;
}

void Device::Renumber(uint64_t* next_alias) {
  if (!must_renumber_) return;
  for (Metric& metric : metrics_) metric.alias = (*next_alias)++;
  must_renumber_ = false;
}

std::string Device::NameOf(Meaning meaning, std::string_view topic, std::string_view path) {
  switch (meaning) {
    case Meaning::kRecord:
      return "Gateway/Record";
    case Meaning::kTrace:
      return "Gateway/Trace";
    case Meaning::kLine:
      return "Gateway/Line";
    case Meaning::kValue:
    case Meaning::kRaw:
      break;
  }
  std::string name(topic);
  if (meaning == Meaning::kRaw) path = "/payload";
  name.append(name.empty() && path.starts_with('/') ? path.substr(1) : path);
  return name.empty() ? "payload" : name;
}

std::string Device::UniqueName(const std::string& name) {
  std::string unique = name;
  for (int i = 2; !names_.insert(unique).second; ++i) unique = name + "~" + std::to_string(i);
  return unique;
}

void Device::Keep(size_t index, const Value& value, int64_t ts_ms, bool is_history) {
  Metric& metric = metrics_[index];
  if (is_history && metric.is_kept && ts_ms < metric.last_ms) return;
  metric.is_kept = true;
  metric.last_ms = ts_ms;
  metric.last = value;
  metric.last.text = {};
  metric.last_text.clear();
  if (value.text.size() <= kMaxKeptBytes) {
    metric.last_text = value.text;
  } else {
    metric.last.kind = Value::Kind::kNull;
  }
}

void Device::AppendBirth(uint16_t run, PayloadWriter* payload) {
  const std::string run_text = std::to_string(run);
  for (const Metric& metric : metrics_) {
    MetricFields fields;
    fields.name = metric.name;
    fields.alias = metric.alias;
    fields.ts_ms = metric.last_ms;
    fields.type = DataTypeOf(metric.type);
    fields.value = metric.last;
    fields.value.text = metric.last_text;
    fields.properties.push_back({"seganet.meaning", MeaningName(metric.meaning)});
    if (metric.meaning == Meaning::kValue || metric.meaning == Meaning::kRaw) {
      fields.properties.push_back({"seganet.topic", metric.topic});
    }
    if (metric.meaning == Meaning::kValue) {
      fields.properties.push_back({"seganet.path", metric.path});
      if (metric.type == ValueType::kJson) fields.properties.push_back({"seganet.json", "1"});
    }
    if (metric.meaning == Meaning::kRecord) {
      fields.properties.push_back({"seganet.run", run_text});
    }
    payload->Add(fields);
  }
}

}  // namespace seganet::sparkplug

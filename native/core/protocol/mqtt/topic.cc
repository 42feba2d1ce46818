#include "core/protocol/mqtt/topic.h"

#include <cstdint>
#include <cstring>

namespace seganet::mqtt {
namespace {

constexpr uint64_t kOnes = 0x0101010101010101;
constexpr uint64_t kHighBits = 0x8080808080808080;

// One bit (0x01) in each byte of `ascii` that equals `c`. REQUIRES: no byte above 0x7F; the sum
// then cannot carry into the next byte, so the answer is exact for each one.
constexpr uint64_t Matches(uint64_t ascii, char c) {
  const uint64_t difference = ascii ^ (kOnes * static_cast<uint8_t>(c));
  return (~(difference + (kHighBits - kOnes)) & kHighBits) >> 7;
}

bool Between(uint8_t byte, uint8_t low, uint8_t high) { return byte >= low && byte <= high; }

// Bytes of the UTF-8 character at `p`, 0 when it is ill-formed or U+0000. The ranges are table 3-7
// of the Unicode standard, which leaves no room for overlong forms and surrogates.
size_t CharacterBytes(const uint8_t* p, size_t left) {
  const uint8_t lead = p[0];
  if (lead < 0x80) return lead == 0 ? 0 : 1;  // [MQTT-1.5.3-2]
  uint8_t low = 0x80;
  uint8_t high = 0xBF;
  size_t size = 2;
  if (Between(lead, 0xE0, 0xEF)) {
    size = 3;
    if (lead == 0xE0) low = 0xA0;   // overlong below
    if (lead == 0xED) high = 0x9F;  // surrogates above
  } else if (Between(lead, 0xF0, 0xF4)) {
    size = 4;
    if (lead == 0xF0) low = 0x90;   // overlong below
    if (lead == 0xF4) high = 0x8F;  // beyond U+10FFFF above
  } else if (!Between(lead, 0xC2, 0xDF)) {
    return 0;
  }
  if (left < size || !Between(p[1], low, high)) return 0;
  for (size_t i = 2; i < size; ++i) {
    if (!Between(p[i], 0x80, 0xBF)) return 0;
  }
  return size;
}

struct Scan {
  bool utf8 = true;
  bool wildcard = false;  // has a '+' or '#' anywhere
  size_t levels = 1;
};

// One pass for everything, eight bytes a step: this runs for each PUBLISH.
Scan ScanText(std::string_view text) {
  Scan scan;
  const auto* p = reinterpret_cast<const uint8_t*>(text.data());
  const uint8_t* const end = p + text.size();
  uint64_t wildcards = 0;
  while (p != end) {
    uint64_t word;
    if (end - p >= 8 && (std::memcpy(&word, p, 8), (word & kHighBits) == 0)) {
      if (Matches(word, '\0') != 0) return {.utf8 = false};  // [MQTT-1.5.3-2]
      wildcards |= Matches(word, '+') | Matches(word, '#');
      scan.levels += (Matches(word, '/') * kOnes) >> 56;
      p += 8;
      continue;
    }
    const size_t size = CharacterBytes(p, static_cast<size_t>(end - p));
    if (size == 0) return {.utf8 = false};  // [MQTT-1.5.3-1]
    wildcards |= static_cast<uint64_t>(*p == '+') | static_cast<uint64_t>(*p == '#');
    scan.levels += *p == '/';
    p += size;
  }
  scan.wildcard = wildcards != 0;
  return scan;
}

// REQUIRES: filter is not empty.
bool WildcardsInPlace(std::string_view filter) {
  const size_t last = filter.size() - 1;
  for (size_t i = 0; i <= last; ++i) {
    const char c = filter[i];
    if (c != '+' && c != '#') continue;
    // [MQTT-4.7.1-2] '#' is a level of its own and the last one.
    if (c == '#' && i != last) return false;
    // [MQTT-4.7.1-3] '+' is a whole level.
    if (i != 0 && filter[i - 1] != '/') return false;
    if (i != last && filter[i + 1] != '/') return false;
  }
  return true;
}

}  // namespace

bool ValidUtf8(std::string_view text) { return ScanText(text).utf8; }

CloseReason CheckTopicName(std::string_view topic, size_t max_levels) {
  // [MQTT-4.7.3-1] At least one character. [MQTT-4.7.3-3] At most 65,535 bytes.
  if (topic.empty() || topic.size() > kMaxStringBytes) return CloseReason::kBadTopic;
  const Scan scan = ScanText(topic);
  if (!scan.utf8) return CloseReason::kBadUtf8;  // [MQTT-3.3.2-1], [MQTT-4.7.3-2]
  // [MQTT-3.3.2-2], [MQTT-4.7.1-1] No wildcards in a topic name.
  if (scan.wildcard || scan.levels > max_levels) return CloseReason::kBadTopic;
  return CloseReason::kNone;
}

CloseReason CheckTopicFilter(std::string_view filter, size_t max_levels) {
  if (filter.empty() || filter.size() > kMaxStringBytes) return CloseReason::kBadTopic;
  const Scan scan = ScanText(filter);
  if (!scan.utf8) return CloseReason::kBadUtf8;  // [MQTT-3.8.3-1], [MQTT-3.10.3-1]
  if (scan.levels > max_levels) return CloseReason::kBadTopic;
  if (scan.wildcard && !WildcardsInPlace(filter)) return CloseReason::kBadTopic;
  return CloseReason::kNone;
}

bool ValidTopicName(std::string_view topic) {
  return CheckTopicName(topic, kMaxStringBytes + 1) == CloseReason::kNone;
}

bool ValidTopicFilter(std::string_view filter) {
  return CheckTopicFilter(filter, kMaxStringBytes + 1) == CloseReason::kNone;
}

}  // namespace seganet::mqtt

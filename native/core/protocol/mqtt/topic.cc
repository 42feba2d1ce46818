#include "core/protocol/mqtt/topic.h"

#include <cstdint>
#include <cstring>

#include "core/base/require.h"
#include "core/base/utf8.h"
#include "core/record/rules.h"

namespace seganet::mqtt {
namespace {

constexpr uint64_t kOnes = 0x0101010101010101;
constexpr uint64_t kHighBits = 0x8080808080808080;

// Returns 0x01 in each byte of `ascii` that equals `c`, and 0 in the others.
// REQUIRES: no byte above 0x7F. Then no sum carries into the next byte, so the result is exact.
constexpr uint64_t Matches(uint64_t ascii, char c) {
  SEGANET_REQUIRE((ascii & kHighBits) == 0);
  const uint64_t difference = ascii ^ (kOnes * static_cast<uint8_t>(c));
  return (~(difference + (kHighBits - kOnes)) & kHighBits) >> 7;
}

// Returns the bytes of the UTF-8 character at `p`, 0 if it is ill-formed [MQTT-1.5.3-1] or U+0000
// [MQTT-1.5.3-2].
size_t CharacterBytes(const uint8_t* p, size_t left) {
  return *p == 0 ? 0 : Utf8Length({reinterpret_cast<const char*>(p), left});
}

struct Scan {
  bool utf8 = true;
  bool wildcard = false;  // contains '+' or '#'
  size_t levels = 1;
};

// Does all checks in one pass of eight bytes per step, because it runs for each PUBLISH.
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

}  // namespace

bool ValidUtf8(std::string_view text) { return ScanText(text).utf8; }

bool ValidUtf8Payload(std::string_view text) {
  while (!text.empty()) {
    const size_t size = Utf8Length(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

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
  // [MQTT-4.7.1-2], [MQTT-4.7.1-3] Wildcards are whole levels.
  if (scan.wildcard && !ValidTopicFilter(filter)) return CloseReason::kBadTopic;
  return CloseReason::kNone;
}

}  // namespace seganet::mqtt

#include "core/record/odd_topic.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/base/require.h"
#include "core/base/utf8.h"

namespace seganet {
namespace {

constexpr uint64_t kOnes = 0x0101010101010101;
constexpr uint64_t kHighBits = 0x8080808080808080;

// True if each byte of `word` is in 0x20..0x7E. Only a non-ASCII byte can carry into the next byte,
// and then the result is false anyway.
bool IsPlainAscii(uint64_t word) {
  const uint64_t below = (word | kHighBits) - kOnes * 0x20;  // high bit clear: under 0x20
  const uint64_t above = word + kOnes;                       // high bit set: over 0x7E
  return (word & kHighBits) == 0 && (below & kHighBits) == kHighBits && (above & kHighBits) == 0;
}

// REQUIRES: `character` is one valid UTF-8 sequence.
bool IsOddCharacter(std::string_view character) {
  SEGANET_REQUIRE(!character.empty() && Utf8Length(character) == character.size());
  const auto lead = static_cast<uint8_t>(character[0]);
  if (lead < 0x80) return lead < 0x20 || lead == 0x7F;
  uint32_t code = lead & (0x7Fu >> character.size());
  for (size_t i = 1; i < character.size(); ++i) {
    code = code << 6 | (static_cast<uint8_t>(character[i]) & 0x3Fu);
  }
  return code < 0xA0 || (code >= 0xFDD0 && code <= 0xFDEF) || (code & 0xFFFE) == 0xFFFE;
}

}  // namespace

bool IsOddTopic(std::string_view topic) {
  if (topic.starts_with('$')) return true;
  while (!topic.empty()) {
    uint64_t word = 0;
    if (topic.size() >= sizeof word) {
      std::memcpy(&word, topic.data(), sizeof word);
      if (IsPlainAscii(word)) {
        topic.remove_prefix(sizeof word);
        continue;
      }
    }
    const size_t size = Utf8Length(topic);
    if (size == 0 || IsOddCharacter(topic.substr(0, size))) return true;
    topic.remove_prefix(size);
  }
  return false;
}

}  // namespace seganet

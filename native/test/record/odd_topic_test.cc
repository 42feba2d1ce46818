#include "core/record/odd_topic.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace seganet {
namespace {

std::string Utf8(uint32_t code) {
  if (code < 0x80) return {static_cast<char>(code)};
  const auto tail = [code](int shift) { return static_cast<char>(0x80 | (code >> shift & 0x3F)); };
  if (code < 0x800) return {static_cast<char>(0xC0 | code >> 6), tail(0)};
  if (code < 0x10000) return {static_cast<char>(0xE0 | code >> 12), tail(6), tail(0)};
  return {static_cast<char>(0xF0 | code >> 18), tail(12), tail(6), tail(0)};
}

TEST(OddTopic, KnowsEveryCharacterAtAnyPosition) {
  for (uint32_t code = 0; code <= 0x10FFFF; code += code < 0x300 || code >= 0xFD00 ? 1 : 7) {
    if (code >= 0xD800 && code <= 0xDFFF) continue;
    const bool odd = code < 0x20 || (code >= 0x7F && code <= 0x9F) ||
                     (code >= 0xFDD0 && code <= 0xFDEF) || (code & 0xFFFF) >= 0xFFFE;
    ASSERT_EQ(IsOddTopic("plant/7/" + Utf8(code) + "/x"), odd) << code;
  }
  for (size_t at = 0; at <= 20; ++at) {
    for (const char c : {'\0', '\x01', '\x1F', '\x7F', '\xFF', ' ', '~', '$'}) {
      std::string topic(20, 'x');
      topic.insert(at, 1, c);
      const bool odd = (c != ' ' && c != '~' && c != '$') || (c == '$' && at == 0);
      EXPECT_EQ(IsOddTopic(topic), odd) << at << " " << +c;
    }
  }
  EXPECT_FALSE(IsOddTopic(""));
  EXPECT_TRUE(IsOddTopic("$SYS/broker"));
}

}  // namespace
}  // namespace seganet

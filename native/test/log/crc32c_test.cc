#include "core/log/crc32c.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "test/support/support.h"

namespace seganet {
namespace {

struct Way {
  const char* name;
  Crc32cFunction function;
};

std::vector<Way> Ways() {
  std::vector<Way> ways = {{"best", Crc32c}, {"table", Crc32cByTable}};
  if (Crc32cByInstruction() != nullptr) ways.push_back({"instruction", Crc32cByInstruction()});
  return ways;
}

// RFC 3720, appendix B.4; the last but one is the check value of the catalogues of CRCs.
TEST(Crc32c, GivesTheAnswersOfRfc3720) {
  std::string up(32, '\0'), down(32, '\0');
  for (size_t i = 0; i < 32; ++i) {
    up[i] = static_cast<char>(i);
    down[i] = static_cast<char>(31 - i);
  }
  const unsigned char read[48] = {0x01, 0xc0, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
                                  0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x14, 0x00, 0x00, 0x00,
                                  0x00, 0x00, 0x04, 0x00, 0x00, 0x00, 0x00, 0x14, 0x00, 0x00,
                                  0x00, 0x18, 0x28, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
                                  0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00};
  for (const Way& way : Ways()) {
    SCOPED_TRACE(way.name);
    EXPECT_EQ(way.function(std::string(32, '\0'), 0), 0x8A9136AAu);
    EXPECT_EQ(way.function(std::string(32, '\xFF'), 0), 0x62A8AB43u);
    EXPECT_EQ(way.function(up, 0), 0x46DD794Eu);
    EXPECT_EQ(way.function(down, 0), 0x113FDB5Cu);
    EXPECT_EQ(way.function({reinterpret_cast<const char*>(read), sizeof read}, 0), 0xD9963A56u);
    EXPECT_EQ(way.function("123456789", 0), 0xE3069283u);
    EXPECT_EQ(way.function("", 0), 0u);
  }
}

// One bit at a time, straight from the definition.
uint32_t ByDefinition(std::string_view bytes) {
  uint32_t crc = 0xFFFFFFFF;
  for (const char c : bytes) {
    crc ^= static_cast<uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78u : 0u);
  }
  return ~crc;
}

TEST(Crc32c, IsTheSameInEveryWayWhereverTheBytesLieAndAreCut) {
  test::Random random;
  const std::string bytes = random.Bytes(300);
  for (size_t length = 0; length <= 80; ++length) {
    for (size_t offset = 0; offset < 9; ++offset) {
      const std::string_view part = std::string_view(bytes).substr(offset, length);
      const uint32_t expected = ByDefinition(part);
      const size_t cut = random.In<size_t>(0, length);
      for (const Way& way : Ways()) {
        ASSERT_EQ(way.function(part, 0), expected)
            << way.name << ", " << length << " at " << offset;
        const uint32_t begun = way.function(part.substr(0, cut), 0);
        ASSERT_EQ(way.function(part.substr(cut), begun), expected)
            << way.name << ", cut at " << cut;
      }
    }
  }
  for (const Way& way : Ways()) EXPECT_EQ(way.function(bytes, 0), ByDefinition(bytes)) << way.name;
}

}  // namespace
}  // namespace seganet

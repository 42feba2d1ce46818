#include "core/base/jenkins.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace seganet {
namespace {

// lookup3.c, driver5(). "Four score" shows the hashlittle2 halves of it, which are hashlittle's.
TEST(Jenkins, GivesTheAnswersOfLookup3) {
  constexpr std::string_view kFourScore = "Four score and seven years ago";
  EXPECT_EQ(JenkinsHash("", 0), 0xdeadbeefu);
  EXPECT_EQ(JenkinsHash("", 0xdeadbeef), 0xbd5b7ddeu);
  EXPECT_EQ(JenkinsHash(kFourScore, 0), 0x17770551u);
  EXPECT_EQ(JenkinsHash(kFourScore, 1), 0xcd628161u);
}

// driver3: the value depends only on the bytes, not on their address.
TEST(Jenkins, IgnoresAlignmentAndNeighbours) {
  const std::string key = "This is the time for all good men to come to the aid of their country";
  for (size_t length = 0; length <= key.size(); ++length) {
    const uint32_t expected = JenkinsHash(std::string_view(key).substr(0, length), 7);
    for (size_t offset = 1; offset < 8; ++offset) {
      std::string moved(offset, '\xAA');
      moved.append(key, 0, length).append("\x55\x55\x55\x55");
      EXPECT_EQ(JenkinsHash(std::string_view(moved).substr(offset, length), 7), expected)
          << length << " bytes at " << offset;
    }
  }
}

TEST(Jenkins, EveryByteAndTheLengthCount) {
  for (size_t length = 1; length <= 40; ++length) {
    const std::string zeros(length, '\0');
    const uint32_t hash = JenkinsHash(zeros, 0);
    EXPECT_NE(hash, JenkinsHash(zeros.substr(1), 0)) << length;
    for (size_t i = 0; i < length; ++i) {
      std::string other = zeros;
      other[i] = '\x80';
      EXPECT_NE(hash, JenkinsHash(other, 0)) << "byte " << i << " of " << length;
    }
  }
}

}  // namespace
}  // namespace seganet

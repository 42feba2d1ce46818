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

// driver3: the value depends on the bytes alone, not on where they lie.
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

// Pearson's chi-square of k bins has k - 1 degrees of freedom. The ids and the hash are fixed, so
// the test is no game of luck: the bound only tells a hash that spreads like a random one from one
// with a pattern on such ids. It is the 99.99 % quantile (a random hash would pass all 30 cases in
// 99.7 of 100 worlds) by Wilson and Hilferty's approximation with z = 3.719.
double Bound(double freedom) {
  const double spread = 2 / (9 * freedom);
  return freedom * std::pow(1 - spread + 3.719 * std::sqrt(spread), 3);
}

double ChiSquare(const std::vector<std::string>& ids, uint32_t workers) {
  std::vector<double> counts(workers);
  for (const std::string& id : ids) counts[WorkerFor(id, workers)] += 1;
  const double expected = static_cast<double>(ids.size()) / workers;
  double sum = 0;
  for (double count : counts) sum += (count - expected) * (count - expected) / expected;
  return sum;
}

TEST(Jenkins, SpreadsDevicesEvenlyOverWorkers) {
  std::vector<std::string> numbered, addresses;
  for (int i = 0; i < 10'000; ++i) {
    numbered.push_back("device-" + std::to_string(i));
    char address[18];
    std::snprintf(address, sizeof address, "02:00:5e:00:%02x:%02x", i >> 8, i & 255);
    addresses.push_back(address);
  }
  for (uint32_t workers = 2; workers <= 16; ++workers) {
    const double bound = Bound(workers - 1);
    EXPECT_LT(ChiSquare(numbered, workers), bound) << workers << " workers, numbered";
    EXPECT_LT(ChiSquare(addresses, workers), bound) << workers << " workers, MAC addresses";
  }
}

// These values are in the field: another one would move devices (and their order) on an update.
TEST(Jenkins, WorkerForIsStable) {
  EXPECT_EQ(WorkerFor("", 4), 3u);  // 0xdeadbeef is in the last quarter
  EXPECT_EQ(WorkerFor("Four score and seven years ago", 16), 1u);
  EXPECT_EQ(WorkerFor("Four score and seven years ago", 2), 0u);
  for (uint32_t workers = 1; workers <= 64; ++workers) {
    for (int i = 0; i < 100; ++i) {
      const std::string id = std::to_string(i);
      ASSERT_LT(WorkerFor(id, workers), workers);
      ASSERT_EQ(WorkerFor(id, workers), WorkerFor(std::string(id), workers));
    }
  }
}

}  // namespace
}  // namespace seganet

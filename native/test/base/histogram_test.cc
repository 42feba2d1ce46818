#include "core/base/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <thread>
#include <vector>

#include "test/support/support.h"

namespace seganet {
namespace {

TEST(Histogram, IsZeroWhenEmpty) {
  const Histogram histogram;
  EXPECT_EQ(histogram.Count(), 0u);
  EXPECT_EQ(histogram.Max(), 0u);
  EXPECT_EQ(histogram.Quantile(0.5), 0u);
  EXPECT_EQ(histogram.Quantile(1), 0u);
}

TEST(Histogram, SmallValuesAreExact) {
  for (int64_t value = 0; value < 16; ++value) {
    Histogram histogram;
    histogram.Add(value);
    EXPECT_EQ(histogram.Quantile(0.5), static_cast<uint64_t>(value));
  }
}

// A bucket of values around v is 2^floor(log2 v) / 8 wide, so its upper edge is at most v + v / 8.
TEST(Histogram, QuantilesAreWithinAnEighth) {
  test::Random random;
  for (int round = 0; round < 50; ++round) {
    Histogram histogram;
    std::vector<uint64_t> values;
    const int count = random.In(1, 3000);
    for (int i = 0; i < count; ++i) {
      // Logarithmic, so that every power of two gets its share.
      const auto value = (uint64_t{1} << random.In(0, 35)) + random.In<uint64_t>(0, 1 << 20);
      values.push_back(std::min<uint64_t>(value, (uint64_t{1} << 36) - 1));
      histogram.Add(static_cast<int64_t>(values.back()));
    }
    std::sort(values.begin(), values.end());
    for (double q : {0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 1.0}) {
      const auto rank = static_cast<size_t>(std::ceil(q * count - 1e-9));
      const uint64_t exact = values[std::max<size_t>(rank, 1) - 1];
      const uint64_t found = histogram.Quantile(q);
      ASSERT_GE(found, exact) << "q " << q << " of " << count;
      ASSERT_LE(found, exact + exact / 8) << "q " << q << " of " << count;
    }
    EXPECT_EQ(histogram.Quantile(1), values.back());
    EXPECT_EQ(histogram.Max(), values.back());
    EXPECT_EQ(histogram.Count(), static_cast<uint64_t>(count));
  }
}

TEST(Histogram, ValuesOutOfRangeCountAtTheEnds) {
  Histogram histogram;
  histogram.Add(-1);
  EXPECT_EQ(histogram.Quantile(1), 0u);
  histogram.Add(INT64_MAX);
  histogram.Add(int64_t{1} << 36);
  EXPECT_EQ(histogram.Count(), 3u);
  EXPECT_EQ(histogram.Quantile(1), (uint64_t{1} << 36) - 1);
  EXPECT_EQ(histogram.Max(), static_cast<uint64_t>(INT64_MAX));
}

TEST(Histogram, CountsFromManyThreads) {
  Histogram histogram;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&histogram, t] {
      for (int i = 0; i < 10'000; ++i) histogram.Add(t * 10'000 + i);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(histogram.Count(), 40'000u);
  EXPECT_EQ(histogram.Max(), 39'999u);
}

}  // namespace
}  // namespace seganet

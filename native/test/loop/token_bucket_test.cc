#include "core/loop/token_bucket.h"

#include <gtest/gtest.h>

namespace seganet {
namespace {

constexpr int64_t kSecond = 1'000'000;

TEST(TokenBucket, WithoutARateEverythingPasses) {
  TokenBucket bucket;
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(bucket.Take({}, 0));
  EXPECT_EQ(bucket.WaitUs({}, 0), 0);
}

TEST(TokenBucket, TheBurstPassesAtOnceAndThenTheRate) {
  const TokenRate rate{.per_s = 10, .burst = 3};
  TokenBucket bucket;
  int64_t now = kSecond;
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(bucket.Take(rate, now));
  EXPECT_FALSE(bucket.Take(rate, now));
  EXPECT_EQ(bucket.WaitUs(rate, now), kSecond / 10);
  EXPECT_FALSE(bucket.Take(rate, now + kSecond / 10 - 1));
  EXPECT_TRUE(bucket.Take(rate, now + kSecond / 10));
}

TEST(TokenBucket, ABurstOfZeroIsTheRecordsOfASecond) {
  const TokenRate rate{.per_s = 5};
  TokenBucket bucket;
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(bucket.Take(rate, 0));
  EXPECT_FALSE(bucket.Take(rate, 0));
}

TEST(TokenBucket, ARefusalCostsNothing) {
  const TokenRate rate{.per_s = 1, .burst = 1};
  TokenBucket bucket;
  EXPECT_TRUE(bucket.Take(rate, 0));
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(bucket.Take(rate, kSecond / 2));
  EXPECT_TRUE(bucket.Take(rate, kSecond));
}

TEST(TokenBucket, InTheLongRunTheRateIsExact) {
  const TokenRate rate{.per_s = 7, .burst = 7};
  TokenBucket bucket;
  int taken = 0;
  for (int64_t now = 0; now < 100 * kSecond; now += 1000) taken += bucket.Take(rate, now);
  EXPECT_NEAR(taken, 707, 1);
}

TEST(TokenBucket, ADebtIsPaidOffAndBounded) {
  const TokenRate rate{.per_s = 10, .burst = 10};
  TokenBucket bucket;
  for (int i = 0; i < 15; ++i) bucket.Pay(rate, 0);
  EXPECT_EQ(bucket.WaitUs(rate, 0), 6 * kSecond / 10);
  for (int i = 0; i < 1'000'000; ++i) bucket.Pay(rate, 0);
  EXPECT_EQ(bucket.WaitUs(rate, 0), 11 * kSecond / 10);
}

TEST(TokenBucket, ANewRateHoldsFromTheNextCallOn) {
  TokenBucket bucket;
  const TokenRate slow{.per_s = 1, .burst = 100};
  for (int i = 0; i < 200; ++i) bucket.Pay(slow, 0);
  const TokenRate fast{.per_s = 1000, .burst = 1};
  EXPECT_LE(bucket.WaitUs(fast, 0), 2000);
}

TEST(TokenBucket, TheLargestSettingsDoNotOverflow) {
  const int64_t year_us = 365LL * 24 * 3600 * kSecond;
  for (const TokenRate& rate : {TokenRate{1, 1'000'000}, TokenRate{1'000'000, 1'000'000}}) {
    TokenBucket bucket;
    for (int i = 0; i < 1'000'000; ++i) ASSERT_TRUE(bucket.Take(rate, year_us));
    EXPECT_FALSE(bucket.Take(rate, year_us));
  }
}

}  // namespace
}  // namespace seganet

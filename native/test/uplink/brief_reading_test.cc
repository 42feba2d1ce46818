// Whether it pays to read awaited acknowledgments a little late.
#include "core/uplink/brief_reading.h"

#include <gtest/gtest.h>

#include <random>

#include "test/support/support.h"

namespace seganet {
namespace {

using test::kMs;
using test::kSecond;

// A session by this rule, with its own clock.
class BriefReadingTest : public testing::Test {
 protected:
  // A packet is sent `gap_us` after the previous one, by a sender that had waited or not.
  void Send(int64_t gap_us, bool had_waited = false) {
    if (paused_ && gap_us >= BriefReading::kBriefUs) {
      ++over_;
      brief_.End(/*is_over=*/true, now_us_ + BriefReading::kBriefUs);
      paused_ = false;
    }
    now_us_ += gap_us;
    ++sent_;
    if (paused_) {
      ++ended_by_packets_;
      brief_.End(/*is_over=*/false, now_us_);
      brief_.Return(had_waited ? 1 : 0, now_us_);
    }
    paused_ = brief_.May(now_us_);
    if (paused_) brief_.Begin(now_us_);
  }
  int64_t now_us_ = 1000 * kSecond;
  int sent_ = 0, over_ = 0, ended_by_packets_ = 0;
  bool paused_ = false;
  BriefReading brief_;
};

TEST_F(BriefReadingTest, PausesAllTheTimeWhilePacketsEndThePauses) {
  for (int i = 0; i < 6400; ++i) Send(1'562);
  EXPECT_EQ(ended_by_packets_, sent_ - 1);
}

TEST_F(BriefReadingTest, PausesMostOfTheTimeWhenPacketsAreSentAtRandom) {
  std::mt19937 random(20261128);
  std::exponential_distribution<> gap_us(1 / 1'562.0);
  for (int i = 0; i < 64'000; ++i) Send(static_cast<int64_t>(gap_us(random)));
  EXPECT_GT(ended_by_packets_, sent_ / 2);
}

TEST_F(BriefReadingTest, DelaysOneDeviceThatSendsAloneOnceASecond) {
  for (int i = 0; i < 1000; ++i) Send(10 * kMs);
  EXPECT_LE(over_, 10);
}

TEST_F(BriefReadingTest, EndsWhenAllDevicesWaitForTimeToEndThePause) {
  // Eight devices send when they get their acknowledgments: one pause in eight is ended by time.
  for (int64_t until_us = now_us_ + 10 * kSecond; now_us_ < until_us;) {
    for (int i = 0; i < 7; ++i) Send(50);
    Send(BriefReading::kBriefUs);
  }
  EXPECT_LE(over_, 11);
}

TEST_F(BriefReadingTest, EndsWhenSendersWaitAmongOthersThatDoNot) {
  for (int i = 0; i < 10'000; ++i) Send(781, /*had_waited=*/i % 2 == 0);
  EXPECT_LE(ended_by_packets_, 20);
}

TEST_F(BriefReadingTest, GoesOnWhenFewSendersHadWaited) {
  for (int i = 0; i < 6400; ++i) Send(1'562, /*had_waited=*/i % 25 == 24);
  EXPECT_EQ(ended_by_packets_, sent_ - 1);
}

TEST_F(BriefReadingTest, NoticesAfterAFewPausesThatTheLoadHasChanged) {
  for (int i = 0; i < 6400; ++i) Send(1'562);
  for (int i = 0; i < 50; ++i) Send(20 * kMs);
  EXPECT_LE(over_, 13);
}

TEST_F(BriefReadingTest, PausesAgainASecondAfterItDidNotPay) {
  for (int i = 0; i < 10; ++i) Send(20 * kMs);
  ASSERT_EQ(over_, 1);
  for (int i = 0; i < 1000; ++i) Send(1 * kMs);
  EXPECT_GT(ended_by_packets_, 100);
}

}  // namespace
}  // namespace seganet

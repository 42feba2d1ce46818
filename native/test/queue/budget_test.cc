#include "core/queue/budget.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

namespace seganet {
namespace {

constexpr std::array<int64_t, kClasses + 1> LimitOf(uint8_t record_class, int64_t records) {
  std::array<int64_t, kClasses + 1> limits{};
  limits[record_class] = records;
  return limits;
}

TEST(Budget, IsHighAboveNineTenthsAndLowBelowThreeQuarters) {
  Budget budget(1000);
  EXPECT_TRUE(budget.low());
  budget.TakeBytes(749);
  EXPECT_TRUE(budget.low());
  budget.TakeBytes(1);
  EXPECT_FALSE(budget.low());
  budget.TakeBytes(150);
  EXPECT_FALSE(budget.high());
  budget.TakeBytes(1);
  EXPECT_TRUE(budget.high());
  EXPECT_EQ(budget.held(), 901);
  budget.GiveBytes(901);
  EXPECT_EQ(budget.held(), 0);
}

// Scarce memory is used for the more urgent classes.
TEST(Budget, LessUrgentClassesWaitAtLessMemoryAndResumeFifteenPointsLower) {
  Budget budget(1000);
  const auto first_full = [&](uint8_t c) {
    size_t held = 0;
    for (; !budget.full(c); ++held) budget.TakeBytes(1);
    budget.GiveBytes(held);
    return held;
  };
  const auto first_not_relaxed = [&](uint8_t c) {
    size_t held = 0;
    for (; budget.relaxed(c); ++held) budget.TakeBytes(1);
    budget.GiveBytes(held);
    return held;
  };
  for (uint8_t c = kCritical; c <= kClasses; ++c) {
    const size_t percent = c == kCritical ? 90 : c == kHigh ? 85 : c == kNormal ? 80 : 75;
    EXPECT_EQ(first_full(c), percent * 10 + 1) << int{c};
    EXPECT_EQ(first_not_relaxed(c), percent * 10 - 150) << int{c};
  }
}

TEST(Budget, AClassWithALimitWaitsFromItOnUntilBelowThreeQuarters) {
  Budget budget(1000);
  budget.SetClassLimits(LimitOf(kNormal, 100));
  budget.AddRecords(kNormal, 50);
  EXPECT_FALSE(budget.crowded(kNormal));
  budget.AddRecords(kNormal, 1);
  EXPECT_TRUE(budget.crowded(kNormal));
  budget.AddRecords(kNormal, 48);
  EXPECT_FALSE(budget.full(kNormal));
  budget.AddRecords(kNormal, 1);
  EXPECT_TRUE(budget.full(kNormal));
  EXPECT_FALSE(budget.over(kNormal)) << "at it is not over it";
  EXPECT_FALSE(budget.full(kHigh));
  EXPECT_FALSE(budget.full(kBulk));
  budget.AddRecords(kNormal, -25);
  EXPECT_FALSE(budget.relaxed(kNormal));
  budget.AddRecords(kNormal, -1);
  EXPECT_TRUE(budget.relaxed(kNormal));
}

TEST(Budget, NoClassWaitsForALimitThatDrops) {
  Budget budget(1000);
  budget.SetClassLimits(LimitOf(kBulk, 10));
  budget.SetDropping(true);
  budget.AddRecords(kBulk, 11);
  budget.TakeBytes(900);
  EXPECT_FALSE(budget.full(kBulk));
  EXPECT_TRUE(budget.over(kBulk));
  budget.TakeBytes(1);
  EXPECT_TRUE(budget.full(kBulk));
}

// A bulk session that is down for long keeps memory about half full: alarms are not written for it.
TEST(Budget, TheLeastUrgentAreCrowdedFirst) {
  Budget budget(1000);
  budget.TakeBytes(501);
  EXPECT_TRUE(budget.crowded(kBulk));
  EXPECT_FALSE(budget.crowded(kNormal));
  budget.TakeBytes(149);
  EXPECT_TRUE(budget.crowded(kHigh));
  EXPECT_FALSE(budget.crowded(kCritical));
  budget.TakeBytes(1);
  EXPECT_TRUE(budget.crowded(kCritical));
}

}  // namespace
}  // namespace seganet

// The distance between turns of the uplink's thread; the test controls the clock and the sleep.
#include "core/uplink/uplink_moderation.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/clock.h"

namespace seganet {
namespace {

constexpr int64_t kTurnUs = 100;

struct Wakes {
  int64_t ms;
  int64_t every_us;
  int64_t records_per_s;
  bool is_waiting = false;
};

struct Seen {
  int64_t turns_per_s = 0;
  int64_t longest_us = 0;  // that a wake-up waited
};

class Thread {
 public:
  // Something wakes the thread each `every_us`.
  Seen Run(const Wakes& wakes) {
    Seen seen;
    const int64_t from = time, end = time + wakes.ms * 1000;
    const uint64_t before = records;
    int64_t due = time, turns = 0;
    while (due < end) {
      time = std::max(time, due);
      seen.longest_us = std::max(seen.longest_us, time - due);
      ++turns;
      time += kTurnUs;
      // One turn serves everything that arrived before it.
      while (due <= time - kTurnUs) due += wakes.every_us;
      records = before + static_cast<uint64_t>((time - from) * wakes.records_per_s / 1'000'000);
      moderation.Rest(time, records, wakes.is_waiting);
    }
    seen.turns_per_s = turns * 1000 / wakes.ms;
    return seen;
  }

  int64_t time = 1'000'000;
  int64_t slept = 0;
  uint64_t records = 0;
  UplinkModeration moderation{time, [this](int64_t us) {
                                slept += us;
                                time += us;
                                return us;
                              }};
};

TEST(UplinkModeration, AtAHighRateTurnsAreApartAndNothingWaitsLongerThanBetweenTwoOfThem) {
  Thread thread;
  thread.Run({.ms = 200, .every_us = 300, .records_per_s = 10'000});
  const Seen seen = thread.Run({.ms = 2000, .every_us = 300, .records_per_s = 10'000});
  EXPECT_GT(seen.turns_per_s, 440);
  EXPECT_LE(seen.turns_per_s, 1'000'000 / UplinkModeration::kBusyUs + 1);
  EXPECT_LE(seen.longest_us, UplinkModeration::kBusyUs);
}

TEST(UplinkModeration, AtALowRateThereIsNoNapHoweverOftenItWakes) {
  Thread thread;
  for (const int64_t rate : {99, 633, 1980}) {
    thread.Run({.ms = 1000, .every_us = 500, .records_per_s = rate});
  }
  EXPECT_EQ(thread.slept, 0);
}

TEST(UplinkModeration, BetweenALowRateAndAHighOneTurnsMoveApartEvenly) {
  Thread thread;
  thread.Run({.ms = 1000, .every_us = 200, .records_per_s = 4000});
  const Seen seen = thread.Run({.ms = 1000, .every_us = 200, .records_per_s = 4000});
  const int64_t apart_us = UplinkModeration::kBusyUs / 2;
  EXPECT_NEAR(static_cast<double>(thread.moderation.interval_us()), static_cast<double>(apart_us),
              static_cast<double>(apart_us) / 10);
  // An event each 200 us is handled at the end of the nap, or by the next one.
  EXPECT_GT(seen.turns_per_s, 900'000 / (apart_us + 200));
  EXPECT_LT(seen.turns_per_s, 1'100'000 / apart_us);
}

TEST(UplinkModeration, TheFirstAfterAPauseIsNotDelayedNorDoesANapFollowIt) {
  Thread thread;
  thread.Run({.ms = 500, .every_us = 300, .records_per_s = 10'000});
  EXPECT_EQ(thread.moderation.interval_us(), UplinkModeration::kBusyUs);
  for (const int64_t pause_us : {UplinkModeration::kBusyUs, int64_t{10'000}, int64_t{60'000'000}}) {
    thread.time += pause_us;
    const int64_t slept = thread.slept;
    thread.moderation.Rest(thread.time, thread.records, false);
    EXPECT_EQ(thread.slept, slept);
  }
}

TEST(UplinkModeration, ABurstAfterAPauseIsNotDelayedBeforeItIsKnownToLast) {
  Thread thread;
  thread.Run({.ms = 500, .every_us = 300, .records_per_s = 10'000});
  thread.time += 1'000'000;
  thread.moderation.Rest(thread.time, thread.records, false);
  const int64_t slept = thread.slept;
  thread.Run({.ms = 45, .every_us = 300, .records_per_s = 50'000});
  EXPECT_EQ(thread.slept, slept);
}

TEST(UplinkModeration, BatchesThatWaitForRoomDoNotWaitForANapAsWell) {
  Thread thread;
  thread.Run({.ms = 1000, .every_us = 300, .records_per_s = 100'000, .is_waiting = true});
  EXPECT_EQ(thread.slept, 0);
}

TEST(UplinkModeration, SleepsByItselfWhereNoSleepIsGiven) {
  const int64_t window = UplinkModeration::kWindowUs;
  UplinkModeration moderation(0);
  moderation.Rest(window, 1000, false);
  ASSERT_EQ(moderation.interval_us(), UplinkModeration::kBusyUs);
  const int64_t before = MonotonicUs();
  moderation.Rest(window + 100, 1000, false);
  EXPECT_GE(MonotonicUs() - before, UplinkModeration::kBusyUs - 100);
}

}  // namespace
}  // namespace seganet

#include "core/loop/wakeup_moderation.h"

#include <gtest/gtest.h>

namespace seganet {
namespace {

constexpr int64_t kInterval = 700;

// A worker that wakes for each event, `apart_us` from one to the next; returns the total time of
// its naps.
int64_t Naps(WakeupModeration* moderation, int64_t from_us, int64_t apart_us, int events) {
  int64_t naps = 0;
  int64_t awake_us = from_us;
  for (int i = 0; i < events; ++i) {
    const int64_t event_us = from_us + i * apart_us;
    moderation->Count();
    if (event_us < awake_us) continue;  // it arrived in a nap
    const int64_t nap_us = moderation->NapUs(event_us, true);
    naps += nap_us;
    awake_us = event_us + nap_us;
  }
  return naps;
}

TEST(WakeupModeration, TheFirstEventAfterAQuietTimeNeverWaits) {
  WakeupModeration moderation(kInterval);
  moderation.Count();
  EXPECT_EQ(moderation.NapUs(1'000'000, true), 0);
  EXPECT_GT(Naps(&moderation, 1'000'000, 50, 2000), 0);
  moderation.Count();
  EXPECT_EQ(moderation.NapUs(5'000'000, true), 0);
}

TEST(WakeupModeration, ThereAreNoNapsWhereTheyServeOneEvent) {
  WakeupModeration moderation(kInterval);
  EXPECT_EQ(Naps(&moderation, 1'000'000, 1500, 1000), 0);
}

TEST(WakeupModeration, AFewDevicesThatSendTogetherAreNoLoad) {
  WakeupModeration moderation(800);
  // 64 devices send each 100 ms, 11 of them in the same 10 ms; each message is three events.
  int64_t naps = 0;
  for (int64_t from_us = 1'000'000; from_us < 3'000'000; from_us += 100'000) {
    naps += Naps(&moderation, from_us, 300, 33);
    naps += Naps(&moderation, from_us + 10'000, 560, 159);
  }
  EXPECT_EQ(naps, 0);
}

TEST(WakeupModeration, ABusyWorkerWakesOnceAnInterval) {
  WakeupModeration moderation(kInterval);
  const int64_t naps = Naps(&moderation, 1'000'000, 50, 10'000);  // half a second
  EXPECT_GT(naps, 400'000);
}

TEST(WakeupModeration, AFewEventsInAPartOfALongIntervalAreNoLoad) {
  constexpr int64_t kLong = 50'000;
  WakeupModeration moderation(kLong);
  // Three events 12 ms apart, each 200 ms: fewer than two an interval.
  int64_t naps = 0;
  for (int64_t from_us = 1'000'000; from_us < 5'000'000; from_us += 200'000) {
    naps += Naps(&moderation, from_us, 12'000, 3);
  }
  EXPECT_EQ(naps, 0);
  EXPECT_GT(Naps(&moderation, 6'000'000, 1'500, 1000), 1'000'000);  // 640 a second: a nap serves 32
}

TEST(WakeupModeration, WhatMayNotWaitDoesNot) {
  WakeupModeration moderation(kInterval);
  Naps(&moderation, 1'000'000, 50, 10'000);
  EXPECT_EQ(moderation.NapUs(1'500'100, false), 0);
}

TEST(WakeupModeration, AnIntervalOfNothingTurnsItOff) {
  WakeupModeration moderation(0);
  EXPECT_EQ(Naps(&moderation, 1'000'000, 10, 10'000), 0);
}

}  // namespace
}  // namespace seganet

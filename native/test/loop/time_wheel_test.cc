#include "core/loop/time_wheel.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

namespace seganet {
namespace {

constexpr int64_t kTick = TimeWheel::kTickUs;
constexpr int64_t kAround = kTick * static_cast<int64_t>(TimeWheel::kBuckets);

struct Thing : TimeWheel::Item {
  int64_t due_us = 0;
  int looks = 0;
};

Thing* Of(TimeWheel::Item* item) { return static_cast<Thing*>(item); }

TEST(TimeWheel, LooksAtEachWhenItIsDueAndNotBefore) {
  TimeWheel wheel(0);
  Thing soon, later;
  wheel.Add(&soon, kTick);
  wheel.Add(&later, 3 * kTick - 1);
  std::vector<Thing*> seen;
  const auto look = [&](TimeWheel::Item* item) {
    seen.push_back(Of(item));
    return kNever;
  };
  wheel.Turn(kTick - 1, look);
  EXPECT_TRUE(seen.empty());
  wheel.Turn(kTick, look);
  EXPECT_EQ(seen, std::vector<Thing*>{&soon});
  wheel.Turn(3 * kTick - 1, look);
  EXPECT_EQ(seen.size(), 1u);
  wheel.Turn(3 * kTick, look);
  EXPECT_EQ(seen, (std::vector<Thing*>{&soon, &later}));
}

TEST(TimeWheel, WhatIsNeverDueIsNotIn) {
  TimeWheel wheel(0);
  Thing thing;
  wheel.Add(&thing, kNever);
  wheel.Turn(10 * kAround, [](TimeWheel::Item*) -> int64_t {
    ADD_FAILURE();
    return kNever;
  });
  wheel.Remove(&thing);
}

TEST(TimeWheel, WhatIsFarAwayIsLookedAtOnceAround) {
  TimeWheel wheel(0);
  Thing thing;
  thing.due_us = 3 * kAround;
  wheel.Add(&thing, thing.due_us);
  for (int64_t now = 0; now <= thing.due_us; now += kTick) {
    wheel.Turn(now, [&](TimeWheel::Item* item) {
      ++Of(item)->looks;
      return now >= Of(item)->due_us ? kNever : Of(item)->due_us;
    });
  }
  EXPECT_GE(thing.looks, 3);
  EXPECT_LE(thing.looks, 5);
}

TEST(TimeWheel, ALookMayRemoveAnyOfThem) {
  TimeWheel wheel(0);
  Thing things[3];
  for (Thing& thing : things) wheel.Add(&thing, kTick);
  wheel.Turn(kTick, [&](TimeWheel::Item* item) {
    ++Of(item)->looks;
    for (Thing& thing : things) wheel.Remove(&thing);
    return kTick;
  });
  EXPECT_EQ(things[0].looks + things[1].looks + things[2].looks, 1);
  wheel.Turn(kAround, [&](TimeWheel::Item*) -> int64_t {
    ADD_FAILURE();
    return kNever;
  });
}

TEST(TimeWheel, ALongSleepLosesNone) {
  TimeWheel wheel(0);
  std::vector<Thing> things(200);
  for (size_t i = 0; i < things.size(); ++i) {
    wheel.Add(&things[i], static_cast<int64_t>(i % TimeWheel::kBuckets) * kTick);
  }
  wheel.Turn(100 * kAround, [](TimeWheel::Item* item) {
    ++Of(item)->looks;
    return kNever;
  });
  for (const Thing& thing : things) EXPECT_EQ(thing.looks, 1);
}

// Against the definition: each is visited within a tick of its time, whatever is added and removed.
TEST(TimeWheel, NoneIsForgotten) {
  std::mt19937 random(20'261);
  TimeWheel wheel(0);
  std::vector<std::unique_ptr<Thing>> things;
  int64_t now = 0;
  for (int step = 0; step < 20'000; ++step) {
    now += static_cast<int64_t>(random() % (2 * kTick));
    if (random() % 3 != 0) {
      auto thing = std::make_unique<Thing>();
      thing->due_us = now + static_cast<int64_t>(random() % (2 * kAround));
      wheel.Add(thing.get(), thing->due_us);
      things.push_back(std::move(thing));
    } else if (!things.empty()) {
      const size_t victim = random() % things.size();
      wheel.Remove(things[victim].get());
      things.erase(things.begin() + static_cast<std::ptrdiff_t>(victim));
    }
    wheel.Turn(now, [&](TimeWheel::Item* item) {
      Thing* const thing = Of(item);
      if (now < thing->due_us) return thing->due_us;
      ++thing->looks;
      thing->due_us = now + static_cast<int64_t>(random() % (2 * kAround));
      return thing->due_us;
    });
    for (const auto& thing : things) ASSERT_GT(thing->due_us + kTick, now) << "step " << step;
  }
}

}  // namespace
}  // namespace seganet

// What may leave memory for the log when memory is full, and what may not.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>

#include "test/lanes_save_support.h"

namespace seganet {
namespace {

using test::kMs;

constexpr int64_t kSecond = 1'000'000;

class LanesSpillTest : public test::LanesWithLog {
 protected:
  int64_t Now() override { return now_us_; }

  LanesContext Dropping() {
    budget_.SetDropping(true);
    LanesContext context = Context();
    context.save.drop_when_full = true;
    return context;
  }
  LanesContext DroppingAbove(int64_t records) {
    std::array<int64_t, kClasses + 1> limits{};
    limits[kNormal] = records;
    budget_.SetClassLimits(limits);
    return Dropping();
  }

  // All that is due by then is on disk.
  void Save(int64_t later_us) {
    while (const uint64_t ticket = Seal(now_us_ + later_us)) Commit(ticket, ++row_);
  }

  int64_t now_us_ = 1000 * kSecond;
  int64_t row_ = 0;
};

// Before, it was spilled where nothing else could go, and was read back behind newer records.
TEST_F(LanesSpillTest, WhatWasInFlightBeforeIsNotSpilledWhenItsClassIsFull) {
  Use(DroppingAbove(2));
  Connect();
  Push(kNormal, "was in flight");
  Take();
  Save(1100 * kMs);
  Reattach();
  Connect();
  for (const char* payload : {"older", "old", "newest"}) Push(kNormal, payload);
  EXPECT_EQ(ledger_.sums().backlog[kNormal], 0);
  EXPECT_EQ(Dropped(Drop::kQueueFull, kNormal), 2u);
  std::string payload;
  Take(false, &payload);
  EXPECT_EQ(payload, "was in flight");
  Take(false, &payload);
  EXPECT_EQ(payload, "newest");
  ExpectThatCountersReconcile();
}

TEST_F(LanesSpillTest, WhatWasInFlightBeforeIsNotSpilledWhenMemoryIsFull) {
  Use(Dropping());
  Connect();
  const std::string quarter(256 << 10, 'x');
  for (int i = 0; i < 2; ++i) Push(kBulk, quarter);
  for (int i = 0; i < 2; ++i) Take();
  Save(1100 * kMs);
  Reattach();
  for (int i = 0; i < 2; ++i) Push(kBulk, quarter);
  EXPECT_EQ(Dropped(Drop::kMemoryFull, kBulk), 1u);
  for (int i = 0; i < 2; ++i) Push(kNormal, quarter);
  EXPECT_EQ(Dropped(Drop::kMemoryFull, kBulk), 2u);
  EXPECT_EQ(Dropped(Drop::kMemoryFull, kNormal), 1u) << "there is nothing else to go";
  EXPECT_EQ(ledger_.sums().backlog[kBulk], 0);
  EXPECT_FALSE(budget_.high());
  ExpectThatCountersReconcile();
}

// A full log loses its oldest rows, also such as memory still holds.
TEST_F(LanesSpillTest, WhatTheLogHasNoMoreStaysInMemory) {
  Use(Context());
  Connect();
  Push();
  now_us_ += 2 * kSecond;
  Save(0);
  EXPECT_EQ(ledger_.Removed(1, kNormal, 1), 0) << "memory has it";
  now_us_ += kStaleUs;
  lanes_->Sweep(now_us_);
  ExpectThatCountersReconcile();
  EXPECT_TRUE(Release(Take()));
  ExpectThatCountersReconcile();
}

TEST_F(LanesSpillTest, WhatTheLogHasNoMoreIsDroppedAndCountedWhereRoomIsNeeded) {
  Use(DroppingAbove(2));
  for (int i = 0; i < 2; ++i) Push();
  const uint64_t ticket = Seal(now_us_ + 60 * kMs);
  ledger_.Committed(ticket, 1);
  ledger_.Removed(1, kNormal, 2);
  lanes_->Committed(ticket);
  Push();
  EXPECT_EQ(Dropped(Drop::kQueueFull, kNormal), 1u);
  ExpectThatCountersReconcile();
  lanes_->Clear(Drop::kUplinkRemoved);
  EXPECT_EQ(Dropped(Drop::kUplinkRemoved, kNormal), 2u);
  ExpectThatCountersReconcile();
}

}  // namespace
}  // namespace seganet

// Lanes for records that no longer belong to an uplink node.
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "test/support/lanes_save_support.h"

namespace seganet {
namespace {

class Leftovers : public test::LanesWithLog {
 protected:
  int64_t Now() override { return now_us_; }

  // One batch of each payload, from lanes that their stage has left.
  std::vector<BatchPtr> Strays(const std::vector<std::string>& payloads) {
    LanesContext context = Context();
    context.on_strays = [](std::vector<BatchPtr>) {};
    Use(std::move(context));
    for (const std::string& payload : payloads) Push(kNormal, payload);
    return lanes_->SetStages({});
  }
  void UseLeftovers(bool log = true) {
    LanesContext context = Context();
    context.leftovers = true;
    context.save.log = log;
    Use(std::move(context));
    lanes_->SaveAll();
  }

  int64_t now_us_ = 1'000'000'000;
};

TEST_F(Leftovers, SavedRecordsAreAcknowledgedAndLeaveMemory) {
  std::vector<BatchPtr> strays = Strays({"a", "b"});
  ASSERT_EQ(strays.size(), 2u);
  UseLeftovers();
  lanes_->TakeIn(std::move(strays));
  const uint64_t ticket = Seal(now_us_);
  ASSERT_NE(ticket, 0u) << "due at once";
  EXPECT_EQ(Payloads(), (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(desk_.handles.empty());
  Commit(ticket, 1);
  EXPECT_EQ(desk_.handles, (std::vector<uint64_t>{1, 2}));
  EXPECT_EQ(budget_.held(), 0);
  EXPECT_EQ(ledger_.sums().backlog[kNormal], 2);
  lanes_->Sweep(now_us_ + 2 * kLeftoverUs);
  EXPECT_EQ(AllDropped(), 0u);
  EXPECT_TRUE(desk_.withheld.empty());
}

TEST_F(Leftovers, RecordsNotSavedInTimeAreDroppedAndNotAcknowledged) {
  std::vector<BatchPtr> strays = Strays({"a", "b"});
  UseLeftovers();
  now_us_ += 60'000'000;  // its age does not count: the log is always tried for a while
  lanes_->TakeIn(std::move(strays));
  lanes_->Sweep(now_us_ + kLeftoverUs - 1);
  EXPECT_EQ(AllDropped(), 0u);
  lanes_->Failed(Seal(now_us_));
  lanes_->Sweep(now_us_ + kLeftoverUs + 1);
  EXPECT_EQ(Dropped(Drop::kUplinkRemoved, kNormal), 2u);
  EXPECT_EQ(desk_.withheld, (std::vector<uint64_t>{1, 2}));
  EXPECT_TRUE(desk_.handles.empty());
  EXPECT_EQ(budget_.held(), 0);
  EXPECT_EQ(Seal(now_us_), 0u);
}

TEST_F(Leftovers, WithoutALogNothingWaits) {
  std::vector<BatchPtr> strays = Strays({"a"});
  UseLeftovers(false);
  // Their engine has no log.
  strays[0]->saved = Saved::kNo;
  lanes_->TakeIn(std::move(strays));
  EXPECT_EQ(Dropped(Drop::kUplinkRemoved, kNormal), 1u);
  EXPECT_EQ(desk_.withheld, std::vector<uint64_t>{1});
}

TEST_F(Leftovers, RecordsOnDiskAlreadyStayThereAlone) {
  LanesContext context = Context();
  Use(std::move(context));
  Push();
  const uint64_t ticket = Seal(now_us_ + 2'000'000);
  Commit(ticket, 1);
  std::vector<BatchPtr> strays = lanes_->SetStages({2});
  ASSERT_EQ(strays.size(), 1u);
  UseLeftovers();
  lanes_->TakeIn(std::move(strays));
  EXPECT_EQ(budget_.held(), 0);
  EXPECT_EQ(ledger_.sums().backlog[kNormal], 1);
  EXPECT_EQ(AllDropped(), 0u);
}

class LanesMoves : public test::LanesWithLog {
 protected:
  void UseOther() {
    Use(Context());
    Connect();
  }
};

TEST_F(LanesMoves, WhatIsReadForAStageThatHasLeftGoesAfterIt) {
  std::vector<BatchPtr> strays;
  LanesContext context = Context();
  context.on_strays = [&strays](std::vector<BatchPtr> gone) { strays = std::move(gone); };
  Use(std::move(context));
  Connect();
  std::vector<BatchPtr> read;
  read.push_back(SingleBatch(test::MakeRecord("d", "t", "read")));
  read.back()->stage = 1;
  lanes_->SetStages({2});
  const int64_t held = lanes_->held_bytes();
  lanes_->PushBacklog(std::move(read));
  ASSERT_EQ(strays.size(), 1u);
  EXPECT_EQ(lanes_->held_bytes(), held);
  EXPECT_EQ(lanes_->BestBacklog(outlet_, Now()), 0);
  UseOther();
  lanes_->TakeIn(std::move(strays));
  std::string payload;
  EXPECT_NE(Take(true, &payload), 0u);
  EXPECT_EQ(payload, "read");
}

TEST_F(LanesMoves, WhilePausedNothingIsTakenAndThenTheSessionsRing) {
  Use(Context());
  Connect();
  Push(kCritical, "live");
  std::vector<BatchPtr> read;
  read.push_back(SingleBatch(test::MakeRecord("d", "t", "read")));
  lanes_->PushBacklog(std::move(read));
  lanes_->SetPaused(true);
  EXPECT_EQ(Take(), 0u);
  EXPECT_EQ(Take(true), 0u);
  EXPECT_EQ(lanes_->RetryUs(outlet_, Now()), -1);
  bell_.Answer();
  const int rings = bell_.rings();
  lanes_->SetPaused(false);
  EXPECT_EQ(bell_.rings(), rings + 1);
  EXPECT_NE(Take(), 0u);
  EXPECT_NE(Take(true), 0u);
}

}  // namespace
}  // namespace seganet

// Which records may leave memory for the log when memory is full, and which may not.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "test/support/lanes_save_support.h"

namespace seganet {
namespace {

using test::kMs;
using test::kSecond;

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

  // The disk gives up a row. Returns the records of it that memory does not hold.
  int64_t GiveUpRow(int64_t row, uint8_t record_class, int64_t records) {
    const GoneRow gone = ledger_.Removed(row, record_class, records);
    lanes_->Removed(gone.ticket);
    return gone.lost;
  }

  // Everything due by then is on disk.
  void Save(int64_t later_us) {
    while (const uint64_t ticket = Seal(now_us_ + later_us)) Commit(ticket, ++row_);
  }

  int64_t now_us_ = 1000 * kSecond;
  int64_t row_ = 0;
};

// Earlier it was spilled where nothing else could be, and was read back behind newer records.
TEST_F(LanesSpillTest, RecordsOnceInFlightAreNotSpilledWhenTheirClassIsFull) {
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

TEST_F(LanesSpillTest,
       WhatWasInFlightBeforeIsNotSpilledWhenMemoryIsFullButDroppedBeforeMoreUrgent) {
  Use(Dropping());
  Connect();
  const std::string fifth(200 << 10, 'x');
  for (int i = 0; i < 2; ++i) Push(kBulk, fifth);
  for (int i = 0; i < 2; ++i) Take();
  Save(1100 * kMs);
  Reattach();
  for (int i = 0; i < 2; ++i) Push(kBulk, fifth);
  EXPECT_EQ(Dropped(Drop::kMemoryFull, kBulk), 1u) << "the oldest of those that were not sent";
  for (int i = 0; i < 4; ++i) Push(kNormal, fifth);
  EXPECT_EQ(Dropped(Drop::kMemoryFull, kBulk), 4u);
  EXPECT_EQ(Dropped(Drop::kMemoryFull, kNormal), 0u);
  EXPECT_EQ(ledger_.sums().backlog[kBulk], 0);
  EXPECT_EQ(ledger_.sums().stored[kBulk], 0) << "they are dropped on disk as well";
  EXPECT_FALSE(budget_.high());
  ExpectThatCountersReconcile();
}

// A full log loses its oldest rows, also those that memory still holds.
TEST_F(LanesSpillTest, RecordsThatTheLogGaveUpLeaveMemoryAndAreCounted) {
  Use(Context());
  Push(kBulk, "a");
  Push(kBulk, "b");
  Save(60 * kMs);
  Push(kBulk, "not in that chunk");
  EXPECT_EQ(GiveUpRow(1, kBulk, 2), 0) << "memory has them";
  EXPECT_EQ(Dropped(Drop::kLogFull, kBulk), 2u);
  EXPECT_EQ(budget_.records(kBulk), 1);
  EXPECT_EQ(lanes_->Unsaved()[kBulk], 1);
  std::string payload;
  Take(false, &payload);
  EXPECT_EQ(payload, "not in that chunk");
  ExpectThatCountersReconcile();
}

TEST_F(LanesSpillTest, RecordsInFlightThatTheLogGivesUpAreCountedOnceAndMayStillArrive) {
  Use(Context());
  Connect();
  Push(kNormal, "arrives");
  Push(kNormal, "comes back");
  const uint64_t first = Take();
  Take();
  Save(1100 * kMs);
  EXPECT_EQ(desk_.handles.size(), 2u) << "acknowledged because they were on disk";
  GiveUpRow(1, kNormal, 2);
  EXPECT_EQ(Dropped(Drop::kLogFull, kNormal), 2u) << "a crash would lose them";
  EXPECT_EQ(lanes_->Unsaved()[kNormal], 0);
  ExpectThatCountersReconcile();
  EXPECT_TRUE(Release(first));
  EXPECT_EQ(Count(Counter::kRecordsDelivered), 0u);
  ExpectThatCountersReconcile();
  Reattach();
  EXPECT_EQ(Take(), 0u);
  EXPECT_EQ(AllDropped(), 2u);
  EXPECT_EQ(budget_.held(), 0);
  ExpectThatCountersReconcile();
}

TEST_F(LanesSpillTest, ABacklogThatTheLogGaveUpLeavesMemoryAsWell) {
  Use(Context());
  Connect();
  Push(kNormal);
  now_us_ += 2 * kSecond;
  Save(0);
  now_us_ += kStaleUs;
  lanes_->Sweep(now_us_);
  WantedRow wanted;
  ASSERT_TRUE(ledger_.Wants("one", kNormal, &wanted));
  uint64_t ticket = 0;
  std::vector<bool> needed;
  ASSERT_TRUE(ledger_.Loaded(wanted, 1, {1}, &ticket, &needed));
  std::vector<BatchPtr> batches;
  batches.push_back(SingleBatch(test::MakeRecord("d", "t", "x", kNormal, now_us_)));
  batches.back()->chunk = ticket;
  lanes_->PushBacklog(std::move(batches));
  GiveUpRow(1, kNormal, 1);
  EXPECT_EQ(Dropped(Drop::kLogFull, kNormal), 1u);
  EXPECT_EQ(Take(true), 0u);
  EXPECT_EQ(budget_.held(), 0);
  ExpectThatCountersReconcile();
}

TEST_F(LanesSpillTest, AChunkThatTheLogRefusesLeavesMemoryExceptRecordsInFlight) {
  Use(Context());
  Connect();
  Push(kNormal, "in flight");
  Push(kNormal, "waits");
  const uint64_t id = Take();
  const uint64_t ticket = Seal(now_us_ + 2 * kSecond);
  ASSERT_NE(ticket, 0u);
  lanes_->Discard(ticket);
  ledger_.Failed(ticket);
  EXPECT_EQ(desk_.handles, std::vector<uint64_t>{2}) << "of what is in flight nothing is known";
  EXPECT_EQ(Dropped(Drop::kLogFull, kNormal), 1u);
  EXPECT_EQ(lanes_->Unsaved()[kNormal], 1);
  EXPECT_EQ(Seal(now_us_ + 9 * kSecond), 0u) << "it is not offered again and again";
  EXPECT_TRUE(Release(id));
  EXPECT_EQ(desk_.handles, (std::vector<uint64_t>{2, 1}));
  ExpectThatCountersReconcile();
}

TEST_F(LanesSpillTest, RecordsRefusedInFlightAreOfferedAgainAfterTheirReturn) {
  Use(Context());
  Connect();
  Push(kNormal, "in flight");
  Take();
  const uint64_t ticket = Seal(now_us_ + 2 * kSecond);
  lanes_->Discard(ticket);
  ledger_.Failed(ticket);
  Reattach();
  const uint64_t again = Seal(now_us_ + 60 * kMs);
  ASSERT_NE(again, 0u);
  EXPECT_TRUE(desk_.handles.empty());
  lanes_->Discard(again);
  ledger_.Failed(again);
  EXPECT_EQ(desk_.handles.size(), 1u);
  EXPECT_EQ(Dropped(Drop::kLogFull, kNormal), 1u);
  ExpectThatCountersReconcile();
}

// The row may be gone before the lanes know: the log was lost, or the chunk is damaged.
TEST_F(LanesSpillTest, RecordsWhoseRowIsGoneAtTheSpillAreWrittenAgainAndStay) {
  Use(Context());
  Push(kNormal, "a");
  Save(60 * kMs);
  ledger_.Lost();
  now_us_ += kStaleUs + 1;
  lanes_->Sweep(now_us_);
  EXPECT_EQ(lanes_->Unsaved()[kNormal], 1);
  lanes_->Unsave();
  EXPECT_EQ(lanes_->Unsaved()[kNormal], 1);
  Save(60 * kMs);
  EXPECT_EQ(ledger_.sums().stored[kNormal], 1);
  lanes_->Sweep(now_us_);
  EXPECT_EQ(ledger_.sums().backlog[kNormal], 0) << "it would be read back behind newer ones";
  ExpectThatCountersReconcile();
}

TEST_F(LanesSpillTest, RecordsOfADamagedChunkInMemoryAreWrittenAgain) {
  Use(Context());
  Push(kNormal, "a");
  Push(kNormal, "b");
  Save(60 * kMs);
  const GoneRow gone = ledger_.Removed(1, kNormal, 2);
  lanes_->Unsave(gone.ticket);
  EXPECT_EQ(lanes_->Unsaved()[kNormal], 2);
  ASSERT_NE(Seal(now_us_ + 60 * kMs), 0u);
  EXPECT_EQ(Payloads(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(AllDropped(), 0u);
}

// A message of a flow has a ticket that the log does not keep.
TEST_F(LanesSpillTest, AMessageOfAFlowStaysAndThoseBehindItAreSpilled) {
  Use(Context());
  for (int i = 0; i < 300; ++i) {
    BatchPtr batch =
        SingleBatch(test::MakeRecord("d", "t", std::string(4000, 'x'), kNormal, Now()));
    batch->stage = 1;
    if (i % 100 == 0) batch->ticket = static_cast<uint32_t>(i + 1);
    budget_.AddRecords(kNormal, 1);
    lanes_->Push(std::move(batch));
    if (i % 10 == 9) Save(60 * kMs);
  }
  EXPECT_LE(budget_.held(), (1 << 20) / 100 * 56);
  EXPECT_EQ(ledger_.sums().backlog[kNormal] + budget_.records(kNormal), 300);
  std::vector<uint64_t> ids, tickets;
  const auto take = [&](const Batch& batch) {
    ids.push_back(batch.id);
    if (batch.ticket != 0) tickets.push_back(batch.ticket);
    return true;
  };
  while (lanes_->Take(outlet_, now_us_, take)) {
  }
  EXPECT_EQ(tickets, (std::vector<uint64_t>{1, 101, 201})) << "live, so before the backlog";
  EXPECT_TRUE(std::is_sorted(ids.begin(), ids.end()));
}

// With two uplinks the least urgent of both goes.
TEST_F(LanesSpillTest, MemoryThatIsFullLosesTheLeastUrgentOfAllUplinks) {
  LanesContext context = Dropping();
  auto other = std::make_shared<Lanes>(context);
  context.on_full = [&](uint8_t c) { MakeRoom({lanes_, other}, budget_, c); };
  Use(context);
  for (int i = 0; i < 700; ++i) {
    BatchPtr batch = SingleBatch(test::MakeRecord("d", "t", std::string(1000, 'b'), kBulk, Now()));
    budget_.AddRecords(kBulk, 1);
    other->Push(std::move(batch));
  }
  for (int i = 0; i < 700; ++i) Push(kHigh, std::string(1000, 'h'));
  EXPECT_EQ(Dropped(Drop::kMemoryFull, kHigh), 0u);
  const auto& drops = other->counters().drops[static_cast<size_t>(Drop::kMemoryFull)];
  EXPECT_GT(drops[kBulk].Get(), 0u);
  other->Clear(Drop::kClosed);
}

}  // namespace
}  // namespace seganet

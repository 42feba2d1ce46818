// Lanes and the log: which records are written and when, the receipts, and the records that return.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "test/support/lanes_save_support.h"

namespace seganet {
namespace {

using test::kMs;

class LanesSaveTest : public test::LanesWithLog {};

TEST_F(LanesSaveTest, NothingIsWrittenWhileTheCloudAnswers) {
  Use(Context());
  Connect();
  const int64_t before = MonotonicUs();
  Push();
  EXPECT_GE(told_, before + 1000 * kMs) << "a batch may wait for the cloud, with patience";
  EXPECT_GE(lanes_->NextSave(MonotonicUs()), before + 1000 * kMs);
  EXPECT_EQ(Seal(MonotonicUs() + 900 * kMs), 0u);
  ASSERT_TRUE(Release(Take()));
  EXPECT_EQ(desk_.handles, std::vector<uint64_t>{1});
  EXPECT_EQ(lanes_->NextSave(MonotonicUs()), kNever);
  EXPECT_EQ(Seal(MonotonicUs() + 5000 * kMs), 0u);
}

TEST_F(LanesSaveTest, UnacknowledgedRecordsAreWrittenWhenPatienceEnds) {
  Use(Context());
  Connect();
  Push();
  Take();
  const uint64_t ticket = Seal(MonotonicUs() + 1001 * kMs);
  ASSERT_NE(ticket, 0u);
  EXPECT_TRUE(desk_.handles.empty()) << "sealed is not committed";
  Commit(ticket, 1);
  EXPECT_EQ(desk_.handles, std::vector<uint64_t>{1});
  EXPECT_TRUE(ledger_.TakeFrees(9).empty());
  ASSERT_TRUE(Release(1));
  EXPECT_EQ(desk_.handles.size(), 1u) << "each gets one receipt";
  EXPECT_EQ(ledger_.TakeFrees(9), std::vector<int64_t>{1});
}

TEST_F(LanesSaveTest, WithoutTheCloudEachClassIsWrittenAfterItsLinger) {
  Use(Context());
  Push(kNormal);
  Push(kCritical);
  const int64_t now = MonotonicUs();
  EXPECT_EQ(Seal(now), 0u);
  EXPECT_LE(lanes_->NextSave(now), now + 10 * kMs);
  ASSERT_NE(Seal(now + 10 * kMs), 0u);
  EXPECT_EQ(chunk_.record_class, kCritical);
  EXPECT_EQ(Seal(now + 10 * kMs), 0u);
  ASSERT_NE(Seal(now + 50 * kMs), 0u);
  EXPECT_EQ(chunk_.record_class, kNormal);
}

class LanesReplicatedTest : public LanesSaveTest {
 protected:
  LanesReplicatedTest() {
    LanesContext context = Context();
    context.disk_counts = &counts_;
    Use(std::move(context));
  }

  std::atomic<bool> counts_{false};
};

TEST_F(LanesReplicatedTest, NothingIsWrittenAndOnlyTheCloudAcknowledges) {
  Push();
  EXPECT_EQ(told_, kNever);
  EXPECT_EQ(lanes_->NextSave(MonotonicUs() + 60'000 * kMs), kNever);
  EXPECT_EQ(Seal(MonotonicUs() + 60'000 * kMs), 0u);
  Connect();
  EXPECT_EQ(Seal(MonotonicUs() + 60'000 * kMs), 0u);
  ASSERT_TRUE(Release(Take()));
  EXPECT_EQ(desk_.handles, std::vector<uint64_t>{1});
}

TEST_F(LanesReplicatedTest, WhileTheDiskCountsItAcknowledges) {
  Push();
  counts_ = true;
  const uint64_t ticket = Seal(MonotonicUs() + 1001 * kMs);
  ASSERT_NE(ticket, 0u);
  counts_ = false;
  Push();
  EXPECT_EQ(Seal(MonotonicUs() + 60'000 * kMs), 0u);
  Commit(ticket, 1);
  EXPECT_EQ(desk_.handles, std::vector<uint64_t>{1})
      << "its chunk was sealed while the disk counted";
}

TEST_F(LanesReplicatedTest, AnOrderlyStopWritesTheRestAndAcknowledgesNoneOfIt) {
  Push();
  lanes_->SaveAll();
  const uint64_t ticket = Seal(MonotonicUs());
  ASSERT_NE(ticket, 0u);
  Commit(ticket, 1);
  EXPECT_TRUE(desk_.handles.empty());
  EXPECT_EQ(desk_.withheld, std::vector<uint64_t>{1}) << "its device sends it again";
}

TEST_F(LanesSaveTest, ARecordForAConsumerThatRestsIsWrittenAtOnceAndABurstOnceALinger) {
  Use(Context());
  lanes_->Detach(outlet_);
  outlet_ = lanes_->Attach(&bell_, kAllClasses, true);
  const int64_t start = MonotonicUs();
  EXPECT_EQ(lanes_->prompt_classes(start), kAllClasses);
  Push();
  EXPECT_LE(told_, MonotonicUs()) << "the log is not told to wait";
  const int64_t sealed = MonotonicUs();
  ASSERT_NE(Seal(sealed), 0u);
  EXPECT_EQ(chunk_.records, 1u);
  EXPECT_EQ(lanes_->prompt_classes(sealed), kAllClasses & ~MaskOf(kNormal));
  int commits = 0;
  for (int i = 0; i < 100; ++i) Push();
  for (int64_t ms = 0; ms < 50; ++ms) commits += Seal(sealed + ms * kMs) != 0;
  EXPECT_EQ(commits, 0) << "the rest of the burst shares a commit";
  ASSERT_NE(Seal(sealed + 50 * kMs), 0u);
  EXPECT_EQ(chunk_.records, 100u);
  Push(kCritical);
  EXPECT_NE(Seal(MonotonicUs()), 0u) << "another class does not wait";
}

TEST_F(LanesSaveTest, OnlyAConsumerThatRestsIsPrompt) {
  Use(Context());
  EXPECT_EQ(lanes_->prompt_classes(MonotonicUs()), 0) << "a session that is down";
  lanes_->Detach(outlet_);
  outlet_ = lanes_->Attach(&bell_, MaskOf(kBulk), true);
  EXPECT_EQ(lanes_->prompt_classes(MonotonicUs()), MaskOf(kBulk));
  Reattach();
  EXPECT_EQ(lanes_->prompt_classes(MonotonicUs()), 0) << "a session took over";
  Push();
  EXPECT_EQ(Seal(MonotonicUs()), 0u);
  LanesContext context = Context();
  context.save.log = false;
  Use(std::move(context));
  lanes_->Detach(outlet_);
  outlet_ = lanes_->Attach(&bell_, kAllClasses, true);
  EXPECT_EQ(lanes_->prompt_classes(MonotonicUs()), 0) << "without a log";
}

TEST_F(LanesSaveTest, SixtyFourKiBOrTwoHundredAndFiftySixRecordsDoNotLinger) {
  Use(Context());
  for (int i = 0; i < 255; ++i) Push();
  EXPECT_EQ(Seal(MonotonicUs() - 50 * kMs), 0u);
  Push();
  EXPECT_EQ(told_, 0);
  ASSERT_NE(Seal(MonotonicUs() - 50 * kMs), 0u);
  EXPECT_EQ(chunk_.records, 256u);
  for (int i = 0; i < 70; ++i) Push(kBulk, std::string(1000, 'b'));
  ASSERT_NE(Seal(MonotonicUs() - 50 * kMs), 0u);
  EXPECT_LE(chunk_.bytes.size(), kChunkBytes);
  EXPECT_GT(chunk_.bytes.size(), kChunkBytes - 1100);
}

TEST_F(LanesSaveTest, AChunkHoldsOneNodeInOrder) {
  Use(Context());
  Push(kNormal, "a", 1);
  Push(kNormal, "b", 2);
  Push(kNormal, "c", 1);
  const int64_t later = MonotonicUs() + 60 * kMs;
  ASSERT_NE(Seal(later), 0u);
  EXPECT_EQ(chunk_.node, "one");
  EXPECT_EQ(Payloads(), (std::vector<std::string>{"a", "c"}));
  ASSERT_NE(Seal(later), 0u);
  EXPECT_EQ(chunk_.node, "two");
  EXPECT_EQ(Seal(later), 0u);
}

TEST_F(LanesSaveTest, ADeliveryDuringTheWriteFreesTheRowAtOnce) {
  Use(Context());
  Push();
  const uint64_t ticket = Seal(MonotonicUs() + 60 * kMs);
  ASSERT_TRUE(Release(Take()));
  EXPECT_EQ(desk_.handles.size(), 1u);
  Commit(ticket, 3);
  EXPECT_EQ(desk_.handles.size(), 1u);
  EXPECT_EQ(ledger_.TakeFrees(9), std::vector<int64_t>{3});
  EXPECT_EQ(ledger_.sums().stored[kNormal], 0);
}

TEST_F(LanesSaveTest, AFailedCommitAcknowledgesNothingAndIsOfferedAgainInOrder) {
  Use(Context());
  Push(kNormal, "a");
  Push(kNormal, "b");
  const int64_t later = MonotonicUs() + 60 * kMs;
  const uint64_t first = Seal(later);
  Push(kNormal, "c");
  lanes_->Failed(first);
  ledger_.Failed(first);
  EXPECT_TRUE(desk_.handles.empty());
  EXPECT_EQ(lanes_->Unsaved()[kNormal], 3);
  const uint64_t second = Seal(later);
  ASSERT_NE(second, first);
  EXPECT_EQ(Payloads(), (std::vector<std::string>{"a", "b", "c"}));
  Commit(first, 1);  // a late result of a ticket that is over
  EXPECT_TRUE(desk_.handles.empty());
  Commit(second, 2);
  EXPECT_EQ(desk_.handles, (std::vector<uint64_t>{1, 2, 3}));
}

TEST_F(LanesSaveTest, AShortOutageLeavesTheRecordsInMemoryAndLive) {
  Use(Context());
  Push(kNormal, "a");
  Commit(Seal(MonotonicUs() + 60 * kMs), 1);
  Connect();
  std::string payload;
  const uint64_t id = Take(false, &payload);
  EXPECT_EQ(payload, "a");
  Release(id);
  EXPECT_EQ(ledger_.TakeFrees(9), std::vector<int64_t>{1});
}

TEST_F(LanesSaveTest, AfterALongOutageRecordsOnDiskAreBacklogAndDoNotDelayLiveOnes) {
  Use(Context());
  Push(kCritical, "old");
  Commit(Seal(MonotonicUs() + 60 * kMs), 1);
  Push(kCritical, "old and not on disk");
  Connect(true, 10'001 * kMs);
  EXPECT_EQ(ledger_.sums().backlog[kCritical], 1);
  std::string payload;
  Take(false, &payload);
  EXPECT_EQ(payload, "old and not on disk");
}

TEST_F(LanesSaveTest, WhenMemoryIsCrowdedTheOldestIsSpilledAndReadBack) {
  Use(Context());
  int64_t row = 0;
  for (int i = 0; i < 1200; ++i) {
    Push(kNormal, std::to_string(i) + std::string(996, '.'));
    while (const uint64_t ticket = Seal(MonotonicUs() + 60 * kMs)) Commit(ticket, ++row);
  }
  EXPECT_LE(budget_.held(), (1 << 20) / 100 * 55 + 4096);
  const LedgerSums sums = ledger_.sums();
  EXPECT_EQ(sums.stored[kNormal], 1200);
  EXPECT_EQ(sums.backlog[kNormal] + budget_.records(kNormal), 1200);
  EXPECT_EQ(desk_.handles.size(), 1200u);

  EXPECT_FALSE(lanes_->WantsBacklog(kNormal)) << "not before the cloud is there";
  Connect();
  ASSERT_TRUE(lanes_->WantsBacklog(kNormal));
  WantedRow wanted;
  ASSERT_TRUE(ledger_.Wants("one", kNormal, &wanted));
  EXPECT_EQ(wanted.up_to, 1);
  EXPECT_FALSE(ledger_.Wants("two", kNormal, &wanted));
}

TEST_F(LanesSaveTest, TheBacklogIsTakenApartAndReturnsToItsOwnLane) {
  Use(Context());
  Connect();
  std::vector<BatchPtr> old;
  for (const char* payload : {"old-1", "old-2"}) {
    old.push_back(SingleBatch(test::MakeRecord("d", "t", payload)));
    old.back()->epoch = 3;
  }
  lanes_->PushBacklog(std::move(old));
  Push(kNormal, "live");
  EXPECT_EQ(lanes_->Best(outlet_, 0), kNormal);
  EXPECT_EQ(lanes_->BestBacklog(outlet_, 0), kNormal);
  std::string payload;
  Take(true, &payload);
  EXPECT_EQ(payload, "old-1");
  Take(false, &payload);
  EXPECT_EQ(payload, "live");
  EXPECT_EQ(Take(false), 0u);
  Reattach();
  Take(true, &payload);
  EXPECT_EQ(payload, "old-1");
  Take(false, &payload);
  EXPECT_EQ(payload, "live");
}

TEST_F(LanesSaveTest, DiskFirstNothingLeavesBeforeItIsOnDisk) {
  LanesContext context = Context();
  context.save.disk_first = true;
  Use(std::move(context));
  Connect();
  Push();
  EXPECT_EQ(Take(), 0u);
  Commit(Seal(MonotonicUs() + 60 * kMs), 1);
  EXPECT_NE(Take(), 0u);
  // A disk that fails does not hold an alarm up indefinitely.
  Push(kCritical);
  EXPECT_EQ(lanes_->Best(outlet_, MonotonicUs()), 0);
  EXPECT_EQ(lanes_->Best(outlet_, MonotonicUs() + 1001 * kMs), kCritical);
}

// Nothing else wakes an idle session while the disk hangs.
TEST_F(LanesSaveTest, DiskFirstASweepWakesTheSessionWhenThePatienceEnds) {
  LanesContext context = Context();
  context.save.disk_first = true;
  Use(std::move(context));
  Connect();
  Push(kCritical);
  const int64_t now_us = Now();
  bell_.Answer();
  const int rings = bell_.rings();
  lanes_->Sweep(now_us + 900 * kMs);
  EXPECT_EQ(bell_.rings(), rings);
  lanes_->Sweep(now_us + 1001 * kMs);
  EXPECT_EQ(bell_.rings(), rings + 1);
  EXPECT_EQ(lanes_->Best(outlet_, now_us + 1001 * kMs), kCritical);
}

TEST_F(LanesSaveTest, DroppingTakesTheLeastUrgentOldestFirstAndItsDeviceGoesOn) {
  LanesContext context = Context();
  context.save.drop_when_full = true;
  Use(std::move(context));
  for (int i = 0; i < 500; ++i) Push(kNormal, std::string(1000, 'n'));
  for (int i = 0; i < 500; ++i) Push(kBulk, std::string(1000, 'b'));
  const uint64_t bulk = Dropped(Drop::kMemoryFull, kBulk);
  EXPECT_GT(bulk, 0u);
  EXPECT_EQ(Dropped(Drop::kMemoryFull, kNormal), 0u);
  EXPECT_EQ(desk_.handles.size(), bulk);
  EXPECT_EQ(desk_.handles.front(), 501u);
  for (int i = 0; i < 400; ++i) Push(kHigh, std::string(1000, 'h'));
  EXPECT_EQ(Dropped(Drop::kMemoryFull, kHigh), 0u);
  EXPECT_FALSE(budget_.high());
}

TEST_F(LanesSaveTest, ARefusedRecordBecomesADeadLetterAndTheRestIsDelivered) {
  Use(Context());
  Connect();
  BatchPtr batch = StartBatch(BatchKind::kEnvelope, test::MakeRecord("d", "t", "1"));
  batch->stage = 1;
  for (int i = 0; i < 3; ++i) {
    Record record = test::MakeRecord("d", "t", std::to_string(i));
    record.receipt = {0, 1, ++slot_};
    batch->bytes += "{\"n\":" + std::to_string(i) + "}\n";
    CountIn(record, batch.get());
  }
  budget_.AddRecords(kNormal, 3);
  lanes_->Push(std::move(batch));
  ASSERT_TRUE(Release(Take(), {{1}, 149, "too large"}));
  EXPECT_EQ(Dropped(Drop::kDeadLetter, kNormal), 1u);
  EXPECT_TRUE(desk_.handles.empty()) << "the device waits until the dead letter is on disk";
  EXPECT_GT(budget_.held(), 0);
  DeadLetter letter;
  ASSERT_TRUE(dead_letters_.Pop(&letter));
  EXPECT_EQ(letter.batch->bytes, "{\"n\":1}\n");
  EXPECT_EQ(letter.batch->record_count, 1u);
  EXPECT_EQ(letter.batch->receipts.size(), 3u);
  EXPECT_EQ(letter.code, 149u);
  EXPECT_GT(letter.batch->sequence, 1u) << "its key is not that of the delivered records";
  EXPECT_EQ(letter.batch->epoch, 7u);
}

TEST_F(LanesSaveTest, ABatchThatIsRefusedAsAWholeKeepsItsKey) {
  Use(Context());
  Connect();
  Push();
  ASSERT_TRUE(Release(Take(), {{0}, 149, "too large"}));
  DeadLetter letter;
  ASSERT_TRUE(dead_letters_.Pop(&letter));
  EXPECT_EQ(letter.batch->sequence, 1u);
}

TEST_F(LanesSaveTest, AnUplinkThatLeavesTheFlowKeepsItsRecordsOnDisk) {
  Use(Context());
  Push(kNormal, "saved");
  Commit(Seal(MonotonicUs() + 60 * kMs), 1);
  Push(kNormal, "not yet");
  lanes_->Clear(Drop::kUplinkRemoved);
  EXPECT_EQ(Dropped(Drop::kUplinkRemoved, kNormal), 1u);
  EXPECT_EQ(ledger_.sums().backlog[kNormal], 1);
  EXPECT_EQ(desk_.handles, (std::vector<uint64_t>{1, 2})) << "its device goes on as well";
  EXPECT_EQ(budget_.held(), 0);
}

TEST_F(LanesSaveTest, TheEndOfTheEngineAcknowledgesNothing) {
  Use(Context());
  Push();
  lanes_->Clear(Drop::kClosed);
  EXPECT_TRUE(desk_.handles.empty());
}

TEST_F(LanesSaveTest, AFreshLogGetsAllRecordsInMemory) {
  Use(Context());
  Push(kNormal, "a");
  Push(kNormal, "b");
  Commit(Seal(MonotonicUs() + 60 * kMs), 1);
  ASSERT_EQ(Take(), 1u);
  Push(kNormal, "c");
  EXPECT_EQ(ledger_.Lost()[kNormal], 0);
  lanes_->Unsave();
  ASSERT_NE(Seal(MonotonicUs() + 60 * kMs), 0u);
  EXPECT_EQ(Payloads(), (std::vector<std::string>{"a", "b", "c"}));
  Commit(chunk_.ticket, 2);
  EXPECT_EQ(desk_.handles, (std::vector<uint64_t>{1, 2, 3})) << "each gets one receipt";
  Release(1);
  EXPECT_EQ(ledger_.sums().stored[kNormal], 2);
}

// Each failed chunk of many waiting ones costs a walk over itself, not over all unsaved records.
TEST_F(LanesSaveTest, AFailedChunkReturnsToTheFrontWithoutAWalkOverAllUnsavedRecords) {
  budget_.SetLimit(int64_t{1} << 32);
  Use(Context());
  constexpr int kMany = 20'000;
  for (int i = 0; i < kMany; ++i) Push(kNormal, "x", i % 2 == 0 ? 1 : 2);
  const int64_t later = MonotonicUs() + 60 * kMs;
  std::vector<uint64_t> tickets;
  for (int i = 0; i < 20; ++i) tickets.push_back(Seal(later));
  const uint64_t before = lanes_->UnsavedSteps();
  for (const uint64_t ticket : tickets) {
    lanes_->Failed(ticket);
    ledger_.Failed(ticket);
  }
  EXPECT_LE(lanes_->UnsavedSteps() - before, 20 * 20 * kChunkRecords / 2);
  EXPECT_EQ(lanes_->Unsaved()[kNormal], kMany);
  int64_t row = 0;
  std::vector<uint64_t> last(3);
  while (const uint64_t ticket = Seal(later)) {
    ChunkHead head;
    std::vector<ChunkEntry> entries;
    ASSERT_EQ(ReadChunk(chunk_.bytes, &head, &entries), ChunkError::kNone);
    for (const ChunkEntry& entry : entries) {
      uint64_t& of_node = last[chunk_.node == "one" ? 1 : 2];
      ASSERT_GT(entry.sequence, of_node);
      of_node = entry.sequence;
    }
    Commit(ticket, ++row);
  }
  EXPECT_EQ(lanes_->Unsaved()[kNormal], 0);
}

TEST_F(LanesSaveTest, AfterALostLogOneWalkRestoresTheOrder) {
  budget_.SetLimit(int64_t{1} << 32);
  Use(Context());
  constexpr uint64_t kMany = 20'000;
  for (uint64_t i = 0; i < kMany; ++i) Push(kNormal, "x");
  int64_t row = 0;
  while (const uint64_t ticket = Seal(MonotonicUs() + 60 * kMs)) Commit(ticket, ++row);
  for (uint64_t i = 0; i < kMany; ++i) Push(kNormal, "x");
  ledger_.Lost();
  const uint64_t before = lanes_->UnsavedSteps();
  lanes_->Unsave();
  EXPECT_LE(lanes_->UnsavedSteps() - before, 2 * kMany);
  EXPECT_EQ(lanes_->Unsaved()[kNormal], static_cast<int64_t>(2 * kMany));
}

}  // namespace
}  // namespace seganet

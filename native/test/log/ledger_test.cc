#include "core/log/ledger.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace seganet {
namespace {

using Rows = std::vector<int64_t>;

class LedgerTest : public testing::Test {
 protected:
  // A committed chunk of batches with this many records.
  uint64_t Store(int64_t row, std::vector<uint32_t> records) {
    const uint64_t ticket = ledger_.Seal("n", kNormal, std::move(records));
    ledger_.Committed(ticket, row);
    return ticket;
  }
  int64_t stored() { return ledger_.sums().stored[kNormal]; }
  int64_t backlog() { return ledger_.sums().backlog[kNormal]; }

  Ledger ledger_;
  WantedRow wanted_;
  uint64_t ticket_ = 0;
  std::vector<bool> needed_;
};

TEST_F(LedgerTest, ARowIsFreeWhenAllOfItIsDone) {
  const uint64_t ticket = Store(1, {2, 3});
  EXPECT_EQ(stored(), 5);
  EXPECT_FALSE(ledger_.Done(ticket, 0));
  EXPECT_FALSE(ledger_.Done(ticket, 0)) << "once is enough";
  EXPECT_EQ(stored(), 3);
  EXPECT_TRUE(ledger_.Done(ticket, 1));
  EXPECT_EQ(ledger_.TakeFrees(9), Rows{1});
  EXPECT_EQ(ledger_.TakeFrees(9), Rows{});
  ledger_.Returned();  // the thread died before it deleted
  EXPECT_EQ(ledger_.TakeFrees(9), Rows{1});
  EXPECT_EQ(ledger_.Freed(), 1u);
  ledger_.Returned();
  EXPECT_EQ(ledger_.TakeFrees(9), Rows{});
}

TEST_F(LedgerTest, BytesOfANodeCountWhileTheyAreOnlyOnDisk) {
  const auto bytes = ledger_.DiskBytes("n");
  EXPECT_EQ(ledger_.DiskBytes("n"), bytes) << "always the same object";
  const uint64_t ticket = Store(1, {2, 3});
  EXPECT_EQ(bytes->load(), 0);
  EXPECT_TRUE(ledger_.Spilled(ticket, 0, 100));
  EXPECT_TRUE(ledger_.Spilled(ticket, 1, 20));
  EXPECT_FALSE(ledger_.Spilled(ticket, 1, 20));
  EXPECT_EQ(bytes->load(), 120);
  EXPECT_EQ(ledger_.DiskBytes("other")->load(), 0);
  ledger_.Wants("n", kNormal, &wanted_);
  ASSERT_TRUE(ledger_.Loaded(wanted_, 1, {2, 3}, &ticket_, &needed_));
  EXPECT_EQ(bytes->load(), 0);
  EXPECT_TRUE(ledger_.Spilled(ticket_, 0, 100));
  ledger_.Removed(1, kNormal, 5);
  EXPECT_EQ(bytes->load(), 0) << "the log was full";
  EXPECT_TRUE(ledger_.Spilled(Store(2, {1}), 0, 7));
  EXPECT_EQ(bytes->load(), 7);
  ledger_.Lost();
  EXPECT_EQ(bytes->load(), 0);
}

TEST_F(LedgerTest, BytesOfEarlierRunsCountUntilTheyAreRead) {
  EXPECT_TRUE(ledger_.Open(10, {0, 0, 0, 7, 0}, {{"n", 100}, {"other", 50}}));
  const auto bytes = ledger_.DiskBytes("n");
  EXPECT_EQ(bytes->load(), 100);
  ledger_.Wants("n", kNormal, &wanted_);
  ASSERT_TRUE(ledger_.Loaded(wanted_, 4, {3}, &ticket_, &needed_, 60));
  EXPECT_EQ(bytes->load(), 40);
  EXPECT_TRUE(ledger_.Spilled(ticket_, 0, 55));
  EXPECT_EQ(bytes->load(), 95) << "it has left memory again";
  ledger_.Wants("n", kNormal, &wanted_);
  ASSERT_TRUE(ledger_.Loaded(wanted_, 4, {3}, &ticket_, &needed_, 60));
  EXPECT_EQ(bytes->load(), 40) << "a known row counts by its batches";
  for (uint8_t c = kCritical; c <= kClasses; ++c) {
    ledger_.Wants("n", c, &wanted_);
    EXPECT_EQ(bytes->load(), 40);
    ledger_.Missing(wanted_);
  }
  EXPECT_EQ(bytes->load(), 0) << "the log had removed the rest";
  EXPECT_EQ(ledger_.DiskBytes("other")->load(), 50);
}

TEST_F(LedgerTest, NoBytesOfEarlierRunsCountWhenTheLastRowOfTheLogWasRead) {
  EXPECT_TRUE(ledger_.Open(10, {0, 0, 0, 7, 0}, {{"n", 100}}));
  const auto bytes = ledger_.DiskBytes("n");
  for (uint8_t c = kCritical; c <= kClasses; ++c) {
    if (c == kNormal) continue;
    ledger_.Wants("n", c, &wanted_);
    ledger_.Missing(wanted_);
  }
  EXPECT_EQ(bytes->load(), 100);
  ASSERT_TRUE(ledger_.Wants("n", kNormal, &wanted_));
  ASSERT_TRUE(ledger_.Loaded(wanted_, 10, {7}, &ticket_, &needed_, 60));
  EXPECT_FALSE(ledger_.Wants("n", kNormal, &wanted_)) << "there is no later row";
  EXPECT_EQ(bytes->load(), 0);
}

TEST_F(LedgerTest, ChunksOfEarlierRunsAreReadInOrderThenThoseOfThisOne) {
  EXPECT_TRUE(ledger_.Open(10, {0, 0, 0, 7, 0}));
  EXPECT_FALSE(ledger_.Open(99, {0, 0, 0, 9, 0})) << "a thread that starts again finds known rows";
  EXPECT_EQ(backlog(), 7);
  ledger_.Spilled(Store(11, {1}), 0);
  ASSERT_TRUE(ledger_.Wants("n", kNormal, &wanted_));
  EXPECT_EQ(wanted_.after, 0);
  EXPECT_EQ(wanted_.up_to, 10);
  ASSERT_TRUE(ledger_.Loaded(wanted_, 4, {3}, &ticket_, &needed_));
  EXPECT_EQ(backlog(), 5);
  ledger_.Wants("n", kNormal, &wanted_);
  EXPECT_EQ(wanted_.after, 4);
  ledger_.Missing(wanted_);
  ledger_.Wants("n", kNormal, &wanted_);
  EXPECT_EQ(wanted_.after, 10);
  EXPECT_EQ(wanted_.up_to, 11);
}

TEST_F(LedgerTest, OnlySpilledBatchesAreNeededAgain) {
  const uint64_t ticket = Store(5, {1, 1, 1});
  ledger_.Spilled(ticket, 0);
  ledger_.Done(ticket, 1);
  ASSERT_TRUE(ledger_.Wants("n", kNormal, &wanted_));
  ASSERT_TRUE(ledger_.Loaded(wanted_, 5, {1, 1, 1}, &ticket_, &needed_));
  EXPECT_EQ(ticket_, ticket);
  EXPECT_EQ(needed_, (std::vector<bool>{true, false, false}));
  EXPECT_FALSE(ledger_.Wants("n", kNormal, &wanted_));
  ledger_.Spilled(ticket, 0);
  EXPECT_TRUE(ledger_.Wants("n", kNormal, &wanted_));
}

// The ledger keeps only a few numbers of such a chunk, not its ticket.
TEST_F(LedgerTest, AChunkThatIsOnlyOnDiskIsReadWholeAndSpilledAgain) {
  const auto bytes = ledger_.DiskBytes("n");
  uint64_t ticket = Store(5, {2, 3, 4});
  for (int times = 0; times < 2; ++times) {
    for (const size_t place : {2, 0, 1}) EXPECT_TRUE(ledger_.Spilled(ticket, place, 10));
    EXPECT_FALSE(ledger_.Spilled(ticket, 1, 10));
    EXPECT_EQ(backlog(), 9);
    EXPECT_EQ(bytes->load(), 30);
    ASSERT_TRUE(ledger_.Wants("n", kNormal, &wanted_));
    ASSERT_TRUE(ledger_.Loaded(wanted_, 5, {2, 3, 4}, &ticket_, &needed_));
    EXPECT_NE(ticket_, ticket);
    EXPECT_FALSE(ledger_.Done(ticket, 0)) << "nothing has the earlier ticket";
    ticket = ticket_;
    EXPECT_EQ(needed_, (std::vector<bool>{true, true, true}));
    EXPECT_EQ(backlog(), 0);
    EXPECT_EQ(bytes->load(), 0);
  }
  EXPECT_EQ(stored(), 9);
  for (const size_t place : {0, 1, 2}) EXPECT_EQ(ledger_.Done(ticket, place), place == 2);
  EXPECT_EQ(stored(), 0);
}

TEST_F(LedgerTest, ChunksThatAreOnlyOnDiskAreReadInOrderInWhateverOrderTheyLeftMemory) {
  std::vector<uint64_t> tickets;
  for (int64_t row = 1; row <= 6; ++row) tickets.push_back(Store(row, {1}));
  for (const size_t i : {3, 0, 5, 1, 4, 2}) EXPECT_TRUE(ledger_.Spilled(tickets[i], 0, 10));
  EXPECT_EQ(ledger_.Removed(4, kNormal, 1).lost, 1);
  for (const int64_t row : {1, 2, 3, 5, 6}) {
    ASSERT_TRUE(ledger_.Wants("n", kNormal, &wanted_));
    EXPECT_EQ(wanted_.up_to, row);
    ASSERT_TRUE(ledger_.Loaded(wanted_, row, {1}, &ticket_, &needed_));
    EXPECT_TRUE(ledger_.Done(ticket_, 0));
  }
  EXPECT_FALSE(ledger_.Wants("n", kNormal, &wanted_));
  EXPECT_EQ(stored() + backlog() + ledger_.DiskBytes("n")->load(), 0);
}

TEST_F(LedgerTest, AChunkThatIsOnlyOnDiskAndIsDamagedOrRemovedLosesAllOfIt) {
  const auto bytes = ledger_.DiskBytes("n");
  for (const std::vector<uint32_t>& read : {std::vector<uint32_t>{2}, {3, 2}, {2, 3, 0}}) {
    const uint64_t ticket = Store(5, {2, 3});
    for (const size_t place : {0, 1}) ledger_.Spilled(ticket, place, 10);
    ASSERT_TRUE(ledger_.Wants("n", kNormal, &wanted_));
    EXPECT_FALSE(ledger_.Loaded(wanted_, 5, read, &ticket_, &needed_));
    EXPECT_EQ(ledger_.Corrupt(wanted_, 5, 5).lost, 5);
    EXPECT_EQ(stored() + backlog() + bytes->load(), 0);
  }
  const uint64_t ticket = Store(6, {2, 3});
  for (const size_t place : {0, 1}) ledger_.Spilled(ticket, place, 10);
  EXPECT_EQ(ledger_.Removed(6, kNormal, 5).lost, 5);
  EXPECT_EQ(stored() + backlog() + bytes->load(), 0);
  EXPECT_FALSE(ledger_.Wants("n", kNormal, &wanted_));
}

TEST_F(LedgerTest, ADeadLetterThatIsSentAgainIsReadLikeBacklogAndFreedWhenItIsDone) {
  ledger_.Open(10, {0, 0, 0, 2, 0});
  EXPECT_FALSE(ledger_.SendAgain(10, "n", kNormal, {1})) << "not above the rows of earlier runs";
  ASSERT_TRUE(ledger_.SendAgain(12, "n", kNormal, {3, 1}));
  EXPECT_FALSE(ledger_.SendAgain(12, "n", kNormal, {3, 1})) << "the row is known";
  EXPECT_EQ(stored(), 6);
  EXPECT_EQ(backlog(), 6);
  ASSERT_TRUE(ledger_.Wants("n", kNormal, &wanted_));
  EXPECT_EQ(wanted_.up_to, 10) << "rows of earlier runs come first";
  ledger_.Missing(wanted_);
  ASSERT_TRUE(ledger_.Wants("n", kNormal, &wanted_));
  EXPECT_EQ(wanted_.after, 11);
  EXPECT_EQ(wanted_.up_to, 12);
  ASSERT_TRUE(ledger_.Loaded(wanted_, 12, {3, 1}, &ticket_, &needed_));
  EXPECT_EQ(needed_, (std::vector<bool>{true, true}));
  EXPECT_FALSE(ledger_.Wants("n", kNormal, &wanted_));
  EXPECT_FALSE(ledger_.Done(ticket_, 0));
  EXPECT_TRUE(ledger_.Done(ticket_, 1));
  EXPECT_EQ(stored(), 2);
  EXPECT_EQ(ledger_.TakeFrees(9), Rows{12});
}

TEST_F(LedgerTest, ARowThatDiffersFromItsWriteIsGone) {
  const uint64_t ticket = Store(5, {2, 2});
  ledger_.Spilled(ticket, 0);
  ledger_.Wants("n", kNormal, &wanted_);
  EXPECT_FALSE(ledger_.Loaded(wanted_, 5, {2}, &ticket_, &needed_));
  EXPECT_EQ(ledger_.Corrupt(wanted_, 5, 4).lost, 2) << "the other batch is still in memory";
  EXPECT_EQ(stored(), 0);
  EXPECT_EQ(backlog(), 0);
  EXPECT_FALSE(ledger_.Wants("n", kNormal, &wanted_));
  EXPECT_FALSE(ledger_.Done(ticket, 1));
}

TEST_F(LedgerTest, AFreshLogHasLostBatchesThatMemoryDoesNotHold) {
  ledger_.Open(10, {0, 0, 0, 7, 0});
  const uint64_t ticket = Store(11, {2, 3});
  ledger_.Spilled(ticket, 0);
  const uint64_t under_way = ledger_.Seal("n", kNormal, {4});
  EXPECT_EQ(ledger_.Lost()[kNormal], 9);
  EXPECT_EQ(stored(), 0);
  EXPECT_FALSE(ledger_.Wants("n", kNormal, &wanted_));
  EXPECT_FALSE(ledger_.Done(ticket, 1));
  ledger_.Committed(under_way, 12);
  EXPECT_EQ(stored(), 4);
}

// A full log may remove a row that the engine has just freed.
TEST_F(LedgerTest, ARowThatIsFreeAlreadyLosesNothingWhenItIsRemoved) {
  ledger_.Open(10, {0, 0, 0, 3, 0});
  ASSERT_TRUE(ledger_.Wants("n", kNormal, &wanted_));
  ASSERT_TRUE(ledger_.Loaded(wanted_, 4, {3}, &ticket_, &needed_));
  ASSERT_TRUE(ledger_.Done(ticket_, 0));
  const uint64_t ticket = Store(11, {2});
  ASSERT_TRUE(ledger_.Done(ticket, 0));
  EXPECT_EQ(ledger_.Removed(4, kNormal, 3).lost, 0);
  EXPECT_EQ(ledger_.Removed(11, kNormal, 2).lost, 0);
  ledger_.TakeFrees(9);
  EXPECT_EQ(ledger_.Removed(4, kNormal, 3).lost, 0) << "it is being deleted";
  EXPECT_EQ(stored(), 0);
  EXPECT_EQ(backlog(), 0);
}

TEST_F(LedgerTest, ADamagedRowOfAnEarlierRunIsNotWantedAgain) {
  ledger_.Open(10, {0, 0, 0, 7, 0});
  ledger_.Wants("n", kNormal, &wanted_);
  EXPECT_EQ(ledger_.Corrupt(wanted_, 4, 3).lost, 3);
  ledger_.Wants("n", kNormal, &wanted_);
  EXPECT_EQ(wanted_.after, 4);
  EXPECT_EQ(ledger_.Removed(6, kNormal, 4).lost, 4);
  EXPECT_EQ(backlog(), 0);
}

}  // namespace
}  // namespace seganet

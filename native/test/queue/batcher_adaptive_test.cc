// Adaptive batching: batches whose size follows the uplink's load.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

#include "core/queue/batcher.h"
#include "core/queue/demand.h"
#include "core/record/encoder.h"
#include "test/support/support.h"

namespace seganet {
namespace {

using test::BatchList;
using test::MakeRecord;

constexpr int64_t kGapUs = 5'000;
constexpr int64_t kDelayUs = 100'000;

// m = 64 KiB at most, t = 100 ms, gap = 5 ms. n would forbid batching, if it counted.
BatcherOptions AdaptiveOptions() {
  BatcherOptions options;
  options.flush = BatchFlush::kAdaptive;
  options.min_devices = 1'000;
  options.max_bytes = kMaxAdaptiveBytes;
  options.max_delay_ms = kDelayUs / 1000;
  options.gap_us = kGapUs;
  return options;
}

class AdaptiveBatcher : public testing::Test {
 protected:
  AdaptiveBatcher() {
    batcher_.SetDemands({&demand_});
    MakeBusy(&batcher_);
  }

  // Adds enough records of each class, up to a gap ago, that the gap is the whole one.
  void MakeBusy(Batcher* batcher, int64_t per_s = kBusyRecordsPerS) {
    const int64_t end_us = -kGapUs;
    for (int64_t now = end_us - 2 * kRateWindowUs; now <= end_us; now += 1'000) {
      for (int64_t i = 0; i < per_s / 1'000; ++i) {
        for (uint8_t c = kHigh; c <= kBulk; ++c) batcher->Add(MakeRecord("d", "t", "1", c, now), 1);
      }
      batcher->EndTurn(now);
    }
    batcher->Flush(SealReason::kFlush);
    sealed_.batches.clear();
    demand_.Raise(kAllClasses);  // no session waits now
    demand_.Withdraw(kAllClasses);
  }

  void Add(int64_t now_us, uint8_t record_class = kNormal, std::string_view payload = "1") {
    batcher_.Add(MakeRecord("d", "t", payload, record_class, now_us), 1);
  }
  size_t count() const { return sealed_.batches.size(); }
  const Batch& last() const { return *sealed_.batches.back(); }

  Demand demand_;
  BatchList sealed_;
  Batcher batcher_{AdaptiveOptions(), &sealed_};
};

TEST(AdaptiveBatcherOptions, HaveAGapOfOneSecondAtMost) {
  BatcherOptions options = AdaptiveOptions();
  options.gap_us = kMaxGapUs;
  EXPECT_TRUE(Validate(options).ok());
  options.gap_us = kMaxGapUs + 1;
  EXPECT_EQ(Validate(options).message(), "batch gap must be 0 to 1000 ms");
}

TEST_F(AdaptiveBatcher, TheFirstOfAQuietClassLeavesAtOnceAndTheNextWaitsForTheGap) {
  demand_.Raise(kAllClasses);
  Add(1'000);
  batcher_.EndTurn(1'000);
  ASSERT_EQ(count(), 1u);
  EXPECT_EQ(last().reason, SealReason::kDemand);
  Add(2'000);
  batcher_.EndTurn(2'000);
  EXPECT_EQ(batcher_.NextDeadline(), 1'000 + kGapUs);
  Add(3'000);
  batcher_.EndTurn(5'999);
  EXPECT_EQ(count(), 1u);
  batcher_.OnTime(6'000);
  ASSERT_EQ(count(), 2u);
  EXPECT_EQ(last().record_count, 2u);
  EXPECT_EQ(last().reason, SealReason::kDemand);
  EXPECT_EQ(batcher_.NextDeadline(), kNever);
  Add(6'000 + kGapUs, kNormal);
  batcher_.EndTurn(6'000 + kGapUs);
  EXPECT_EQ(count(), 3u) << "quiet for a gap";
}

TEST_F(AdaptiveBatcher, TheGapIsShorterForFewerRecords) {
  for (const int64_t per_s : {1'000, 2'000, 3'000, 10'000}) {
    Batcher batcher(AdaptiveOptions(), &sealed_);
    batcher.SetDemands({&demand_});
    MakeBusy(&batcher, per_s);
    demand_.Raise(kAllClasses);
    for (int64_t now : {0, 1}) {
      batcher.Add(MakeRecord("d", "t", "1", kNormal, now), 1);
      batcher.EndTurn(now);
    }
    ASSERT_EQ(count(), 1u);
    const int64_t whole = kGapUs * std::min(per_s, kBusyRecordsPerS) / kBusyRecordsPerS;
    EXPECT_NEAR(static_cast<double>(batcher.NextDeadline()), static_cast<double>(whole),
                kGapUs / 20)
        << per_s;
    sealed_.batches.clear();
  }
}

TEST_F(AdaptiveBatcher, AfterAPauseThereIsNoGapUntilItIsKnownToBeBusyAgain) {
  demand_.Raise(kAllClasses);
  int64_t now = 60'000'000;
  for (int i = 0; i < 3; ++i, now += 1'000) {
    Add(now);
    batcher_.EndTurn(now);
    EXPECT_EQ(count(), static_cast<size_t>(i + 1));
  }
  for (; now < 60'000'000 + kRateWindowUs; now += 1'000) {
    for (int i = 0; i < 5; ++i) Add(now);
    batcher_.EndTurn(now);
  }
  Add(now);
  batcher_.EndTurn(now);
  Add(now + 1);
  batcher_.EndTurn(now + 1);
  EXPECT_GE(batcher_.NextDeadline(), now + kGapUs * 9 / 10 - 1'000);
}

TEST_F(AdaptiveBatcher, TheGapAlsoFollowsABatchThatWasFull) {
  demand_.Raise(kAllClasses);
  demand_.SetBatchBytes(kAllClasses, kMinBatchBytes);
  Add(0, kNormal, "\"" + std::string(kMinBatchBytes, 'x') + "\"");
  ASSERT_EQ(count(), 1u);
  Add(1'000);
  batcher_.EndTurn(1'000);
  EXPECT_EQ(count(), 1u);
  EXPECT_EQ(batcher_.NextDeadline(), kGapUs);
}

TEST_F(AdaptiveBatcher, ABusySessionLetsBatchesGrowUntilT) {
  Add(0);
  batcher_.EndTurn(0);
  EXPECT_EQ(batcher_.NextDeadline(), kDelayUs) << "no wake-up for a gap that nothing waits for";
  for (int64_t now = 10'000; now < kDelayUs; now += 10'000) {
    Add(now);
    batcher_.OnTime(now);
  }
  EXPECT_EQ(count(), 0u);
  batcher_.OnTime(kDelayUs);
  ASSERT_EQ(count(), 1u);
  EXPECT_EQ(last().record_count, 10u);
  EXPECT_EQ(last().reason, SealReason::kDelay);
}

TEST_F(AdaptiveBatcher, ABatchGrowsToTheLinksMAndFollowsIt) {
  const std::string payload = "\"" + std::string(400, 'x') + "\"";
  for (uint32_t m : {4096u, kMinBatchBytes, 8192u}) {
    demand_.SetBatchBytes(kAllClasses, m);
    const size_t before = count();
    for (int i = 0; count() == before; ++i) {
      ASSERT_LT(i, 30);
      Add(0, kNormal, payload);
    }
    EXPECT_EQ(last().reason, SealReason::kBytes);
    EXPECT_LE(last().bytes.size(), m);
    EXPECT_GT(last().bytes.size(), m - 600);
    batcher_.Flush(SealReason::kFlush);
  }
}

TEST_F(AdaptiveBatcher, AnOpenBatchThatIsTooLargeForASmallerMLeavesWithTheNextRecord) {
  for (int i = 0; i < 4; ++i) Add(0, kNormal, "\"" + std::string(400, 'x') + "\"");
  demand_.SetBatchBytes(kAllClasses, kMinBatchBytes);
  batcher_.EndTurn(0);
  EXPECT_EQ(count(), 0u);
  Add(0);
  ASSERT_EQ(count(), 1u);
  EXPECT_EQ(last().record_count, 4u);
  EXPECT_EQ(last().reason, SealReason::kBytes);
}

TEST_F(AdaptiveBatcher, ItsOwnMIsTheMost) {
  BatcherOptions options = AdaptiveOptions();
  options.max_bytes = 300;
  Batcher batcher(options, &sealed_);
  batcher.SetDemands({&demand_});
  for (int i = 0; i < 20; ++i) batcher.Add(MakeRecord("d", "t", "1"), 1);
  ASSERT_GT(count(), 2u);
  for (const BatchPtr& batch : sealed_.batches) EXPECT_LE(batch->bytes.size(), 300u);
}

TEST_F(AdaptiveBatcher, ASessionWithNewDemandLearnsThatABatcherWaits) {
  EXPECT_FALSE(demand_.Raise(kAllClasses)) << "nothing is held back";
  demand_.Withdraw(kAllClasses);
  Add(0, kNormal);
  batcher_.EndTurn(0);
  EXPECT_FALSE(demand_.Raise(MaskOf(kBulk))) << "of another class";
  EXPECT_TRUE(demand_.Raise(MaskOf(kNormal)));
  EXPECT_FALSE(demand_.Raise(MaskOf(kNormal))) << "woken already";
  batcher_.EndTurn(1'000);
  EXPECT_EQ(count(), 1u);
}

TEST_F(AdaptiveBatcher, RecordsOlderThanTheGapLeaveAtTheSessionsDemand) {
  Add(0);
  batcher_.EndTurn(50'000);
  EXPECT_EQ(count(), 0u);
  EXPECT_TRUE(demand_.Raise(kAllClasses));
  batcher_.EndTurn(50'001);
  ASSERT_EQ(count(), 1u);
  EXPECT_EQ(last().reason, SealReason::kDemand);
}

TEST_F(AdaptiveBatcher, AnotherBatcherMayHaveFedTheSessionFirst) {
  Add(0);
  batcher_.EndTurn(10'000);
  EXPECT_TRUE(demand_.Raise(kAllClasses));
  demand_.Withdraw(kAllClasses);
  batcher_.EndTurn(10'001);
  EXPECT_EQ(count(), 0u);
  EXPECT_TRUE(demand_.Raise(kAllClasses)) << "it waits again";
}

TEST_F(AdaptiveBatcher, EachClassFollowsItsOwnSession) {
  demand_.Raise(MaskOf(kHigh));
  Add(0, kBulk);
  Add(0, kHigh);
  Add(0, kNormal);
  batcher_.OnTime(kGapUs);
  ASSERT_EQ(count(), 1u);
  EXPECT_EQ(last().record_class, kHigh);
  EXPECT_TRUE(demand_.Raise(MaskOf(kBulk)));
  batcher_.EndTurn(kGapUs);
  ASSERT_EQ(count(), 2u);
  EXPECT_EQ(last().record_class, kBulk);
  EXPECT_EQ(batcher_.NextDeadline(), kDelayUs);
}

// Sealing one class feeds the session: its next class waits for its next demand.
TEST_F(AdaptiveBatcher, ASessionOfSeveralClassesGetsTheMostUrgentFirst) {
  class Lane : public BatchList {
   public:
    explicit Lane(Demand* demand) : demand_(demand) {}
    void OnBatch(BatchPtr batch) override {
      BatchList::OnBatch(std::move(batch));
      demand_->Withdraw(kAllClasses);
    }
    Demand* const demand_;
  } lane(&demand_);
  Batcher batcher(AdaptiveOptions(), &lane);
  batcher.SetDemands({&demand_});
  demand_.Raise(kAllClasses);
  for (uint8_t c : {kBulk, kNormal, kHigh}) batcher.Add(MakeRecord("d", "t", "1", c), 1);
  for (uint8_t c : {kHigh, kNormal, kBulk}) {
    batcher.EndTurn(kGapUs);
    ASSERT_EQ(lane.batches.back()->record_class, c);
    EXPECT_EQ(demand_.Raise(kAllClasses), c != kBulk);
  }
}

TEST_F(AdaptiveBatcher, OfSeveralUplinksAnyDemandSealsAndTheSmallestMCounts) {
  Demand second;
  batcher_.SetDemands({&demand_, &second});
  Add(0);
  batcher_.EndTurn(kGapUs);
  EXPECT_EQ(count(), 0u);
  EXPECT_TRUE(second.Raise(kAllClasses));
  batcher_.EndTurn(kGapUs);
  EXPECT_EQ(count(), 1u);
  demand_.SetBatchBytes(MaskOf(kNormal), 8192);
  second.SetBatchBytes(MaskOf(kNormal), kMinBatchBytes);
  for (int i = 0; i < 5; ++i) Add(0, kNormal, "\"" + std::string(400, 'x') + "\"");
  ASSERT_GT(count(), 1u);
  EXPECT_LE(last().bytes.size(), kMinBatchBytes);
}

TEST_F(AdaptiveBatcher, MessagesAloneAreAlwaysWanted) {
  batcher_.SetDemands({});
  for (int i = 0; i < 2; ++i) {
    Add(i);
    batcher_.EndTurn(i);
    EXPECT_EQ(count(), 1u);
  }
  EXPECT_EQ(batcher_.NextDeadline(), kGapUs);
  batcher_.OnTime(kGapUs);
  EXPECT_EQ(count(), 2u);
}

TEST_F(AdaptiveBatcher, WithoutAGapAWakeUpsRecordsLeaveTogether) {
  BatcherOptions options = AdaptiveOptions();
  options.gap_us = 0;
  Batcher batcher(options, &sealed_);
  batcher.SetDemands({&demand_});
  demand_.Raise(kAllClasses);
  for (int i = 0; i < 7; ++i) batcher.Add(MakeRecord("d", "t", "1", kNormal, 10 + i), 1);
  EXPECT_EQ(count(), 0u);
  batcher.EndTurn(20);
  ASSERT_EQ(count(), 1u);
  EXPECT_EQ(last().record_count, 7u);
}

TEST_F(AdaptiveBatcher, UrgentRecordsNeverWait) {
  Add(0, kCritical);
  ASSERT_EQ(count(), 1u);
  EXPECT_EQ(last().reason, SealReason::kSingle);
}

TEST_F(AdaptiveBatcher, AShorterLingerPrecedesT) {
  std::array<int64_t, kClasses + 1> linger_us;
  linger_us.fill(20'000);
  batcher_.SetMaxOpenTime(&linger_us, MaskOf(kNormal));
  Add(0);
  batcher_.EndTurn(0);
  EXPECT_EQ(batcher_.NextDeadline(), 20'000);
  batcher_.OnTime(20'000);
  ASSERT_EQ(count(), 1u);
  EXPECT_EQ(last().reason, SealReason::kDelay);
}

// Whatever sessions and links do: nothing is lost or doubled, a class keeps its order, a batch is
// within the largest m so far, and nothing waits without the session's knowledge.
TEST_F(AdaptiveBatcher, KeepsItsPromisesOnRandomTraffic) {
  test::Random random;
  demand_.SetBatchBytes(kAllClasses, 4096);
  std::map<uint8_t, std::string> expected, got;
  int64_t now = 0;
  for (int i = 0; i < 20'000; ++i) {
    now += random.In<int64_t>(0, 2'000);
    const uint8_t c = random.In<uint8_t>(kCritical, kBulk);
    if (random.OneIn(10)) demand_.SetBatchBytes(MaskOf(c), random.In<uint32_t>(1024, 4096));
    if (random.OneIn(10)) demand_.Raise(MaskOf(c));
    if (random.OneIn(10)) demand_.Withdraw(MaskOf(c));
    const std::string payload = random.Text(random.In<size_t>(1, 200), "1234");
    const Record record = MakeRecord("d", "t", payload, c, now);
    AppendNdjson(record, &expected[c]);
    batcher_.Add(record, 1);
    if (!random.OneIn(3)) continue;
    batcher_.OnTime(now);
    ASSERT_GT(batcher_.NextDeadline(), now);
    for (const BatchPtr& batch : sealed_.batches) {
      ASSERT_LE(batch->bytes.size(), 4096u);
      got[batch->record_class] += batch->bytes;
    }
    sealed_.batches.clear();
    for (uint8_t held = kHigh; held <= kBulk; ++held) {
      if (demand_.IsRaised(held) || got[held].size() == expected[held].size()) continue;
      ASSERT_TRUE(demand_.Raise(MaskOf(held)));
      demand_.Withdraw(MaskOf(held));
      batcher_.EndTurn(now);
    }
  }
  batcher_.Flush(SealReason::kFlush);
  for (const BatchPtr& batch : sealed_.batches) got[batch->record_class] += batch->bytes;
  EXPECT_EQ(got, expected);
}

}  // namespace
}  // namespace seganet

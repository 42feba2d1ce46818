// Batches that wait to save bytes: the rule, the estimate of delivery, the batcher and the lanes.
#include "core/queue/thrift.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <utility>

#include "core/queue/batcher.h"
#include "core/queue/demand.h"
#include "test/support/lanes_save_support.h"
#include "test/support/support.h"

namespace seganet {
namespace {

using test::BatchList;
using test::kMs;
using test::kSecond;
using test::MakeRecord;
using test::Random;

LinkCost FreeLink(int64_t reserve_us = 0) { return {false, 200, 40, reserve_us}; }
LinkCost MeteredLink(int64_t reserve_us = 0) { return {true, 200, 40, reserve_us}; }

TEST(Thrift, HasKnownAnswers) {
  // n* = 200 / (0.05 * 40) = 100 records.
  EXPECT_EQ(WaitUs(Thrift::kBalanced, kSecond, FreeLink(), 1'000), 100 * kMs);
  EXPECT_EQ(WaitUs(Thrift::kBalanced, kSecond, FreeLink(), 10'000), 10 * kMs);
  EXPECT_EQ(WaitUs(Thrift::kBalanced, kSecond, FreeLink(), 20), 0) << "4,000 bytes/s of heads";
  EXPECT_EQ(WaitUs(Thrift::kBalanced, kSecond, FreeLink(), 21), 875 * kMs) << "4,200 bytes/s";
  // n* = 200 / (0.01 * 40) = 500 records.
  EXPECT_EQ(WaitUs(Thrift::kThrifty, kSecond, FreeLink(), 1'000), 500 * kMs);
  EXPECT_EQ(WaitUs(Thrift::kThrifty, kSecond, FreeLink(), 10), 875 * kMs);
  EXPECT_EQ(WaitUs(Thrift::kThrifty, kSecond, FreeLink(), 0), 875 * kMs);
  EXPECT_EQ(WaitUs(Thrift::kThrifty, kSecond, FreeLink(300 * kMs), 10), 700 * kMs);
  EXPECT_EQ(WaitUs(Thrift::kThrifty, kSecond, FreeLink(kSecond), 10), 0);
  EXPECT_EQ(WaitUs(Thrift::kThrifty, kSecond, FreeLink(LinkCost::kUnknownReserve), 10), 500 * kMs);
  EXPECT_EQ(WaitUs(Thrift::kThrifty, 0, FreeLink(), 10), 0);
  EXPECT_EQ(WaitUs(Thrift::kFast, kSecond, MeteredLink(), 10), 0);
}

TEST(Thrift, KeepsThePatienceAndItsOrder) {
  Random random;
  for (int i = 0; i < 100'000; ++i) {
    const int64_t patience_us = random.In<int64_t>(0, 24 * 3600) * kSecond / random.In(1, 1000);
    const LinkCost link = {random.OneIn(2), random.In<uint32_t>(0, 2'000),
                           random.In<uint32_t>(0, 2'000), random.In<int64_t>(-1, 20 * kSecond)};
    const int64_t per_s = random.In<int64_t>(0, 200'000);
    const auto wait = [&](Thrift thrift, int64_t patience = -1, int64_t rate = -1) {
      return WaitUs(thrift, patience < 0 ? patience_us : patience, link, rate < 0 ? per_s : rate);
    };
    const int64_t thrifty = wait(Thrift::kThrifty);
    const int64_t balanced = wait(Thrift::kBalanced);
    ASSERT_EQ(wait(Thrift::kFast), 0);
    ASSERT_GE(balanced, 0);
    ASSERT_LE(balanced, thrifty);
    ASSERT_LE(thrifty + std::max<int64_t>(link.reserve_us, patience_us / 8),
              std::max(patience_us, link.reserve_us));
    ASSERT_LE(thrifty, wait(Thrift::kThrifty, patience_us + kSecond)) << "more patience";
    ASSERT_GE(thrifty, wait(Thrift::kThrifty, -1, per_s * 2 + 1)) << "more records";
    if (link.is_metered) {
      ASSERT_EQ(balanced, thrifty);
    }
    LinkCost metered = link;
    metered.is_metered = true;
    ASSERT_LE(balanced, WaitUs(Thrift::kBalanced, patience_us, metered, per_s));
  }
}

TEST(DeliveryTime, CoversNearlyAllDeliveriesOfALinkThatVaries) {
  Random random;
  DeliveryTime delivery;
  EXPECT_EQ(delivery.AtMostUs(), LinkCost::kUnknownReserve);
  int over = 0;
  constexpr int kDeliveries = 20'000;
  for (int i = 0; i < kDeliveries; ++i) {
    // 40 to 60 ms, and every 20th three times as long.
    const int64_t us = random.In<int64_t>(40, 60) * kMs * (random.OneIn(20) ? 3 : 1);
    if (i > 100 && us > delivery.AtMostUs()) ++over;
    delivery.Add(us);
  }
  EXPECT_LT(over, kDeliveries / 50);
  EXPECT_LT(delivery.AtMostUs(), 400 * kMs);
}

TEST(DeliveryTime, RisesAtOnceAndForgets) {
  DeliveryTime delivery;
  for (int i = 0; i < 50; ++i) delivery.Add(50 * kMs);
  EXPECT_LT(delivery.AtMostUs(), 100 * kMs);
  delivery.Add(2 * kSecond);
  EXPECT_GT(delivery.AtMostUs(), 2 * kSecond);
  for (int i = 0; i < 200; ++i) delivery.Add(50 * kMs);
  EXPECT_LT(delivery.AtMostUs(), 100 * kMs);
}

BatcherOptions Saving(Thrift thrift) {
  BatcherOptions options;
  options.flush = BatchFlush::kAdaptive;
  options.max_bytes = kMaxAdaptiveBytes;
  options.thrift = thrift;
  options.patience_ms = {0, 0, 100, 1'000, 10'000};
  return options;
}

class SavingBatcher : public testing::Test {
 protected:
  SavingBatcher() {
    demand_.SetReserve(kAllClasses, 0);
    demand_.Raise(kAllClasses);
  }

  void Use(const BatcherOptions& options) {
    batcher_ = std::make_unique<Batcher>(options, &sealed_);
    batcher_->SetDemands({&demand_});
    batcher_->SetWaits(&waits_);
  }
  void Add(int64_t now_us, uint8_t record_class = kNormal) {
    batcher_->Add(MakeRecord("d", "t", "1", record_class, now_us), 1);
    batcher_->EndTurn(now_us);
  }
  size_t count() const { return sealed_.batches.size(); }
  const Batch& last() const { return *sealed_.batches.back(); }

  Demand demand_;
  BatchList sealed_;
  Batcher::Waits waits_{};
  std::unique_ptr<Batcher> batcher_;
};

TEST(SavingBatcherOptions, HaveAPatienceOfADayAtMost) {
  BatcherOptions options = Saving(Thrift::kThrifty);
  options.patience_ms[8] = kMaxDelayMs;
  EXPECT_TRUE(Validate(options).ok());
  options.patience_ms[8] = kMaxDelayMs + 1;
  EXPECT_EQ(Validate(options).message(), "patience must be 0 to 86400000 ms");
}

TEST_F(SavingBatcher, EachClassWaitsForItsPatienceWithoutTheReserve) {
  Use(Saving(Thrift::kThrifty));
  demand_.SetReserve(kAllClasses, 20 * kMs);
  Add(0, kCritical);
  ASSERT_EQ(count(), 1u) << "class 1 never waits";
  EXPECT_EQ(last().due_us, 0);
  for (const uint8_t c : {kHigh, kNormal, kBulk}) Add(0, c);
  EXPECT_EQ(count(), 1u);
  const std::array<int64_t, 3> ends = {80 * kMs, 875 * kMs, 8'750 * kMs};
  for (size_t i = 0; i < ends.size(); ++i) {
    EXPECT_EQ(batcher_->NextDeadline(), ends[i]);
    batcher_->OnTime(ends[i] - 1);
    EXPECT_EQ(count(), i + 1);
    batcher_->OnTime(ends[i]);
    ASSERT_EQ(count(), i + 2);
    EXPECT_EQ(last().record_class, kHigh + i);
    EXPECT_EQ(last().reason, SealReason::kDemand);
  }
  EXPECT_EQ(last().due_us, 10 * kSecond);
  EXPECT_EQ(waits_[kHigh], 80u);
  EXPECT_EQ(waits_[kBulk], 8'750u);
}

TEST_F(SavingBatcher, AClassWithoutPatienceIsAsFastAsEver) {
  BatcherOptions options = Saving(Thrift::kThrifty);
  options.patience_ms = {};
  Use(options);
  Add(0);
  ASSERT_EQ(count(), 1u);
  EXPECT_EQ(last().due_us, 0);
}

TEST_F(SavingBatcher, ALinkThatNoLongerCostsByTheByteEndsTheWaitOfABalancedBatch) {
  Use(Saving(Thrift::kBalanced));
  EXPECT_TRUE(demand_.SetCost(kAllClasses, true, 200, 40));
  Add(0);
  EXPECT_EQ(count(), 0u);
  EXPECT_FALSE(demand_.SetCost(kAllClasses, true, 210, 40));
  EXPECT_TRUE(demand_.SetCost(kAllClasses, false, 200, 40));
  batcher_->EndTurn(10 * kMs);
  EXPECT_EQ(count(), 1u);
}

TEST_F(SavingBatcher, ABalancedBatchGetsAsManyRecordsAsPay) {
  Use(Saving(Thrift::kBalanced));
  demand_.SetCost(kAllClasses, false, 200, 40);
  for (int64_t now = 0; now < 3 * kSecond; now += kMs) Add(now);
  EXPECT_NEAR(last().record_count, 100, 5);
  EXPECT_NEAR(waits_[kNormal], 100, 5);
}

TEST_F(SavingBatcher, WithoutDemandItGrowsUntilThePatienceEnds) {
  Use(Saving(Thrift::kThrifty));
  demand_.Withdraw(kAllClasses);
  Add(0, kBulk);
  batcher_->OnTime(9'999 * kMs);
  EXPECT_EQ(count(), 0u);
  batcher_->OnTime(10'000 * kMs);
  ASSERT_EQ(count(), 1u);
  EXPECT_EQ(last().reason, SealReason::kDelay);
  Add(20 * kSecond, kHigh);
  batcher_->OnTime(20 * kSecond + 999 * kMs);
  EXPECT_EQ(count(), 1u) << "t is longer than its patience";
  batcher_->OnTime(21 * kSecond);
  EXPECT_EQ(count(), 2u);
}

TEST_F(SavingBatcher, OfSeveralLinksTheMostUrgentCounts) {
  Demand other;
  other.SetReserve(kAllClasses, 600 * kMs);
  Use(Saving(Thrift::kThrifty));
  batcher_->SetDemands({&demand_, &other});
  Add(0);
  EXPECT_EQ(batcher_->NextDeadline(), 400 * kMs);
}

TEST_F(SavingBatcher, IsKnownToItsUplinksAsLongAsItServesThem) {
  Demand other;
  Use(Saving(Thrift::kBalanced));
  EXPECT_TRUE(demand_.has_savers());
  batcher_->SetDemands({&other});
  EXPECT_FALSE(demand_.has_savers());
  EXPECT_TRUE(other.has_savers());
  batcher_.reset();
  EXPECT_FALSE(other.has_savers());
  Use(Saving(Thrift::kFast));
  EXPECT_FALSE(demand_.has_savers());
}

// Records of random classes and rates: each batch is sealed early enough to be delivered within the
// reserve.
TEST_F(SavingBatcher, EachRecordIsInTimeWhileDeliveryKeepsWithinTheReserve) {
  Random random;
  for (int run = 0; run < 50; ++run) {
    BatcherOptions options = Saving(random.OneIn(2) ? Thrift::kThrifty : Thrift::kBalanced);
    const int64_t reserve_us = random.In<int64_t>(1, 90) * kMs;
    demand_.SetReserve(kAllClasses, reserve_us);
    demand_.SetCost(kAllClasses, random.OneIn(2), random.In<uint32_t>(100, 400),
                    random.In<uint32_t>(10, 400));
    Use(options);
    const auto check = [&](int64_t now_us) {
      for (const BatchPtr& batch : std::exchange(sealed_.batches, {})) {
        ASSERT_EQ(batch->due_us - batch->oldest_us,
                  int64_t{options.patience_ms[batch->record_class]} * kMs);
        ASSERT_LE(now_us, std::max(batch->due_us - reserve_us, batch->oldest_us + options.gap_us));
      }
    };
    const int64_t apart_us = random.In<int64_t>(200, 200'000);
    for (int64_t now = 0; now < 20 * kSecond;) {
      now += random.In<int64_t>(1, 2 * apart_us);
      for (int64_t due; (due = batcher_->NextDeadline()) <= now;) {
        batcher_->OnTime(due);
        check(due);
      }
      Add(now, random.In(kHigh, kBulk));
      check(now);
    }
  }
}

class LateRecords : public test::LanesWithLog {
 protected:
  void SetUp() override {
    LanesContext context = Context();
    context.on_demand = [this] { ++raised_; };
    Use(std::move(context));
    Connect();
  }
  int64_t Now() override { return now_us_; }

  // Pushes a batch of two records whose patience ends after `due_us`, and takes it.
  uint64_t Send(int64_t due_us, int64_t age_us = 0) {
    Record record = MakeRecord("d", "t", "x", kNormal, now_us_ - age_us);
    BatchPtr batch = StartBatch(BatchKind::kEnvelope, record);
    for (int i = 0; i < 2; ++i) CountIn(record, batch.get());
    batch->bytes = "xx";
    batch->due_us = now_us_ + due_us;
    batch->stage = 1;
    budget_.AddRecords(kNormal, 2);
    lanes_->Push(std::move(batch));
    return Take();
  }
  uint64_t late() const { return lanes_->counters().late[kNormal].Get(); }
  int64_t reserve() { return lanes_->demand()->CostOf(kNormal).reserve_us; }

  int64_t now_us_ = 100 * kSecond;
  int raised_ = 0;
};

TEST_F(LateRecords, AreCountedByTheirBatchAndDeliveryIsMeasured) {
  uint64_t id = Send(50 * kMs);
  now_us_ += 50 * kMs;
  EXPECT_TRUE(Release(id));
  EXPECT_EQ(late(), 0u);
  EXPECT_EQ(reserve(), 150 * kMs) << "the first sample, and four times its half";
  id = Send(50 * kMs);
  now_us_ += 50 * kMs + 1;
  EXPECT_TRUE(Release(id));
  EXPECT_EQ(late(), 2u);
}

TEST_F(LateRecords, DoNotCountIfTheSessionWasDown) {
  uint64_t id = Send(50 * kMs);
  Connect(false);
  now_us_ += kSecond;
  Connect(true);
  EXPECT_TRUE(Release(id));
  EXPECT_EQ(late(), 0u);
  EXPECT_EQ(reserve(), LinkCost::kUnknownReserve);
  Send(50 * kMs);
  Reattach();
  Connect();
  now_us_ += kSecond;
  id = Take();
  EXPECT_TRUE(Release(id));
  EXPECT_EQ(late(), 0u) << "it was sent again";
}

TEST_F(LateRecords, DoNotCountIfTheyArrivedInAnOutage) {
  Connect(false);
  Connect(true, 10 * kMs);
  now_us_ += 20 * kMs;
  const uint64_t id = Send(0, /*age_us=*/30 * kMs);
  now_us_ += kMs;
  EXPECT_TRUE(Release(id));
  EXPECT_EQ(late(), 0u);
  EXPECT_EQ(reserve(), 3 * kMs);
}

TEST_F(LateRecords, BatchersAreWokenWhenTheLinkBeginsOrCeasesToCost) {
  lanes_->SetCost(outlet_, true, 200, 40);
  EXPECT_EQ(raised_, 0) << "none waits to save bytes";
  lanes_->demand()->AddSaver(1);
  lanes_->SetCost(outlet_, true, 300, 40);
  EXPECT_EQ(raised_, 0);
  lanes_->SetCost(outlet_, false, 300, 40);
  EXPECT_EQ(raised_, 1);
  EXPECT_EQ(lanes_->demand()->CostOf(kBulk).head_bytes, 300u);
}

TEST_F(LateRecords, AreOldSinceTheirBatchWasSealed) {
  Record record = MakeRecord("d", "t", "x", kNormal, now_us_ - 9 * kSecond);
  BatchPtr batch = SingleBatch(record);
  batch->stage = 1;
  budget_.AddRecords(kNormal, 1);
  lanes_->Push(std::move(batch));
  now_us_ += 5 * kMs;
  EXPECT_EQ(lanes_->OldestUs(outlet_, now_us_), 5 * kMs);
}

}  // namespace
}  // namespace seganet

// The limits of a class: an age, a rate, a number in memory. And the handling of an overload.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "test/support/lanes_save_support.h"

namespace seganet {
namespace {

using test::kMs;
using test::kSecond;

class LanesLimitsTest : public test::LanesWithLog {
 protected:
  int64_t Now() override { return now_us_; }

  LanesContext WithTtl(int64_t seconds) {
    LanesContext context = Context();
    context.limits.ttl_us[kNormal] = seconds * kSecond;
    return context;
  }
  LanesContext WithRate(uint32_t records_per_s) {
    LanesContext context = Context();
    context.limits.rate_per_s[kNormal] = records_per_s;
    return context;
  }
  LanesContext WithQueue(int64_t records, bool drop) {
    std::array<int64_t, kClasses + 1> limits{};
    limits[kNormal] = records;
    budget_.SetClassLimits(limits);
    budget_.SetDropping(drop);
    LanesContext context = Context();
    context.save.drop_when_full = drop;
    return context;
  }

  // A batch of this many records.
  void PushMany(uint32_t records, uint8_t record_class = kNormal) {
    const Record record = test::MakeRecord("d", "t", "x", record_class, Now());
    BatchPtr batch = StartBatch(BatchKind::kEnvelope, record);
    for (uint32_t i = 0; i < records; ++i) CountIn(record, batch.get());
    batch->bytes.assign(records * size_t{10}, 'x');
    batch->stage = 1;
    budget_.AddRecords(record_class, records);
    lanes_->Push(std::move(batch));
  }

  // A fast disk: everything due by then is on it.
  void Save(int64_t later_us = 60 * kMs) {
    while (const uint64_t ticket = Seal(now_us_ + later_us)) {
      rows_[++row_] = chunk_;
      Commit(ticket, row_);
    }
  }

  int64_t now_us_ = 1000 * kSecond;
  int64_t row_ = 0;
  std::map<int64_t, SealedChunk> rows_;
};

TEST_F(LanesLimitsTest, ExpiredRecordsLeaveAndAreAcknowledged) {
  Use(WithTtl(60));
  Push(kNormal, "old");
  Push(kBulk, "of a class that keeps everything");
  now_us_ += 60 * kSecond;
  Push(kNormal, "new");
  EXPECT_EQ(AllDropped(), 0u) << "as old as it may be";
  now_us_ += 1;
  std::string payload;
  Take(false, &payload);
  EXPECT_EQ(payload, "new");
  EXPECT_EQ(Dropped(Drop::kExpired, kNormal), 1u);
  EXPECT_EQ(desk_.handles, std::vector<uint64_t>{1});
  EXPECT_EQ(budget_.records(kNormal), 1);
  ExpectThatCountersReconcile();
}

TEST_F(LanesLimitsTest, AnIdleLaneExpiresInTheSweepAndABusyOneWhenABatchComes) {
  Use(WithTtl(5));
  Push();
  now_us_ += 6 * kSecond;
  lanes_->Sweep(now_us_);
  EXPECT_EQ(Dropped(Drop::kExpired, kNormal), 1u);
  Push();
  now_us_ += 6 * kSecond;
  Push();
  EXPECT_EQ(Dropped(Drop::kExpired, kNormal), 2u);
  EXPECT_EQ(lanes_->Best(outlet_, now_us_), kNormal);
  now_us_ += 6 * kSecond;
  EXPECT_EQ(lanes_->Best(outlet_, now_us_), 0);
  EXPECT_EQ(Dropped(Drop::kExpired, kNormal), 3u);
  ExpectThatCountersReconcile();
}

TEST_F(LanesLimitsTest, ExpiredRecordsLeaveTheLogAsWell) {
  Use(WithTtl(5));
  Push(kNormal, "on disk");
  Save();
  Push(kNormal, "in flight there");
  const uint64_t ticket = Seal(now_us_ + 60 * kMs);
  ASSERT_NE(ticket, 0u);
  now_us_ += 6 * kSecond;
  lanes_->Sweep(now_us_);
  EXPECT_EQ(Dropped(Drop::kExpired, kNormal), 2u);
  EXPECT_EQ(ledger_.TakeFrees(9), std::vector<int64_t>{1});
  Commit(ticket, 2);
  EXPECT_EQ(ledger_.TakeFrees(9), std::vector<int64_t>{2});
  EXPECT_EQ(ledger_.sums().stored[kNormal], 0);
  EXPECT_EQ(desk_.handles, (std::vector<uint64_t>{1, 2})) << "each gets one receipt";
  ExpectThatCountersReconcile();
}

TEST_F(LanesLimitsTest, RecordsInFlightDoNotExpire) {
  Use(WithTtl(5));
  Push();
  const uint64_t id = Take();
  now_us_ += 3600 * kSecond;
  lanes_->Sweep(now_us_);
  EXPECT_TRUE(Release(id));
  EXPECT_EQ(AllDropped(), 0u);
}

TEST_F(LanesLimitsTest, BacklogOfTheSameClockExpiresInMemoryToo) {
  Use(WithTtl(5));
  Connect();
  std::vector<BatchPtr> batches;
  for (const uint64_t epoch : {7, 3}) {
    batches.push_back(SingleBatch(test::MakeRecord("d", "t", "x", kNormal, now_us_)));
    batches.back()->epoch = epoch;
  }
  lanes_->PushBacklog(std::move(batches));
  now_us_ += 6 * kSecond;
  EXPECT_EQ(lanes_->BestBacklog(outlet_, now_us_), kNormal);
  EXPECT_EQ(Dropped(Drop::kExpired, kNormal), 1u);
  EXPECT_EQ(budget_.records(kNormal), 1);
}

TEST_F(LanesLimitsTest, AClassSendsAtItsRateLiveAndBacklogTogether) {
  Use(WithRate(100));
  Connect();
  std::vector<BatchPtr> old;
  for (int i = 0; i < 500; ++i) {
    old.push_back(SingleBatch(test::MakeRecord("d", "t", "x", kNormal, now_us_)));
  }
  lanes_->PushBacklog(std::move(old));
  for (int i = 0; i < 50; ++i) PushMany(10);
  uint64_t sent = 0;
  for (int ms = 0; ms < 6000; ++ms, now_us_ += kMs) {
    while (lanes_->Best(outlet_, now_us_) != 0) {
      ASSERT_TRUE(Release(Take()));
      sent += 10;
    }
    while (lanes_->BestBacklog(outlet_, now_us_) != 0) {
      ASSERT_TRUE(Release(Take(true)));
      ++sent;
    }
  }
  EXPECT_NEAR(static_cast<double>(sent), 600, 15);
  Push(kHigh);
  EXPECT_EQ(lanes_->Best(outlet_, now_us_), kHigh) << "the others have no limit";
  EXPECT_EQ(Count(Counter::kRecordsQueued) + 500,
            Count(Counter::kRecordsDelivered) + Held() + AllDropped());
}

TEST_F(LanesLimitsTest, AClassThatWaitsForItsRateReportsTheTime) {
  Use(WithRate(10));
  EXPECT_EQ(lanes_->RetryUs(outlet_, now_us_), -1);
  PushMany(5);
  EXPECT_EQ(lanes_->RetryUs(outlet_, now_us_), -1) << "it may go at once";
  ASSERT_NE(Take(), 0u);
  EXPECT_EQ(lanes_->RetryUs(outlet_, now_us_), -1) << "nothing waits";
  PushMany(1);
  EXPECT_EQ(lanes_->Best(outlet_, now_us_), 0);
  const int64_t wait = lanes_->RetryUs(outlet_, now_us_);
  EXPECT_EQ(wait, 500 * kMs - kBurstUs);
  EXPECT_EQ(lanes_->Best(outlet_, now_us_ + wait - 1), 0);
  EXPECT_EQ(lanes_->Best(outlet_, now_us_ + wait), kNormal);
}

TEST_F(LanesLimitsTest, AHugeRateIsKeptToo) {
  RateLimit limit;
  limit.SetRate(7'000'000);
  uint64_t sent = 0;
  for (int64_t now = 0; now < kSecond; now += kMs) {
    for (; limit.Ready(now); sent += 100) limit.Pay(100, now);
  }
  EXPECT_NEAR(static_cast<double>(sent), 7'000'000 * 1.05, 20'000) << "with its burst";
}

TEST_F(LanesLimitsTest, AboveItsLimitAClassLosesItsOldestRecords) {
  Use(WithQueue(100, true));
  for (int i = 0; i < 150; ++i) Push(kNormal, std::to_string(i));
  for (int i = 0; i < 150; ++i) Push(kBulk);
  EXPECT_EQ(Dropped(Drop::kQueueFull, kNormal), 50u);
  EXPECT_EQ(AllDropped(), 50u);
  EXPECT_EQ(budget_.records(kNormal), 100);
  EXPECT_EQ(desk_.handles.size(), 50u);
  std::string payload;
  Take(false, &payload);
  EXPECT_EQ(payload, "50");
  ExpectThatCountersReconcile();
}

TEST_F(LanesLimitsTest, RecordsInTheLogAreSpilledAndNotDropped) {
  Use(WithQueue(100, true));
  for (int i = 0; i < 300; ++i) {
    Push();
    Save();
  }
  EXPECT_EQ(AllDropped(), 0u);
  EXPECT_EQ(budget_.records(kNormal), 50) << "half of the limit: no device has to wait";
  EXPECT_EQ(ledger_.sums().backlog[kNormal], 250);
  ExpectThatCountersReconcile();
}

TEST_F(LanesLimitsTest, ALimitWithoutDroppingSlowsAndLosesNothing) {
  Use(WithQueue(100, false));
  Connect();
  for (int i = 0; i < 50; ++i) Push();
  EXPECT_FALSE(lanes_->must_write(kNormal));
  for (int i = 0; i < 50; ++i) Push();
  EXPECT_TRUE(lanes_->must_write(kNormal)) << "so that it gets to the log";
  EXPECT_FALSE(lanes_->must_write(kHigh));
  EXPECT_TRUE(budget_.full(kNormal));
  EXPECT_FALSE(budget_.full(kHigh));
  Push();
  EXPECT_EQ(AllDropped(), 0u) << "records in flight";
  Save();
  EXPECT_TRUE(budget_.relaxed(kNormal));
  EXPECT_EQ(budget_.records(kNormal), 50);
  ExpectThatCountersReconcile();
}

TEST_F(LanesLimitsTest, TheBatchThatCameLastStaysWhenItsClassIsFullElsewhere) {
  Use(WithQueue(10, true));
  budget_.AddRecords(kNormal, 100);  // in another uplink's lanes
  PushMany(20);
  PushMany(20);
  EXPECT_EQ(Dropped(Drop::kQueueFull, kNormal), 20u);
  EXPECT_NE(Take(), 0u);
}

// Records read back count against the limit; live records have its first half.
TEST_F(LanesLimitsTest, TheBacklogIsNotReadIntoAClassThatIsHalfFull) {
  Use(WithQueue(100, false));
  Connect();
  EXPECT_TRUE(lanes_->WantsBacklog(kNormal));
  PushMany(51);
  EXPECT_FALSE(lanes_->WantsBacklog(kNormal));
  const int before = wakes_;
  lanes_->Sweep(now_us_);
  EXPECT_EQ(wakes_, before);
  Release(Take());
  const int after = wakes_;
  lanes_->Sweep(now_us_);
  EXPECT_EQ(wakes_, after + 1) << "the log asks again";
  EXPECT_TRUE(lanes_->WantsBacklog(kNormal));
}

// Many uplinks with backlog would otherwise fill the memory, and all devices would wait.
TEST_F(LanesLimitsTest, OneChunkOfBacklogIsReadIntoMemoryThatIsNearlyFull) {
  Use(WithQueue(0, false));
  Connect();
  const auto most = static_cast<size_t>(budget_.limit() / 100 * 65);
  budget_.TakeBytes(most + 4096);  // in other uplinks' lanes
  EXPECT_FALSE(budget_.full(kNormal));
  EXPECT_TRUE(lanes_->WantsBacklog(kNormal)) << "the others may wait until it has left";
  std::vector<BatchPtr> read;
  read.push_back(SingleBatch(test::MakeRecord("d", "t", "read")));
  lanes_->PushBacklog(std::move(read));
  EXPECT_FALSE(lanes_->WantsBacklog(kNormal));
  budget_.GiveBytes(8192);
  const int before = wakes_;
  lanes_->Sweep(now_us_);
  EXPECT_EQ(wakes_, before + 1) << "the log asks again";
  EXPECT_TRUE(lanes_->WantsBacklog(kNormal));
}

TEST_F(LanesLimitsTest, StaleRecordsOnDiskAreBacklogAlsoWhileTheCloudIsConnected) {
  for (const uint8_t c : {kCritical, kNormal}) {
    Use(Context());
    Connect();
    Push(c, "on disk");
    now_us_ += 2 * kSecond;
    Save();
    Push(c, "not on disk");
    now_us_ += kStaleUs + 1;
    lanes_->Sweep(now_us_);
    std::string payload;
    Take(false, &payload);
    EXPECT_EQ(payload, "not on disk");
  }
  EXPECT_EQ(ledger_.sums().backlog[kCritical], 1);
  EXPECT_EQ(ledger_.sums().backlog[kNormal], 1);
}

// The log may have been read beyond the records that were in flight when their session ended.
TEST_F(LanesLimitsTest, RecordsOnceInFlightStayLiveAndDoNotHoldUpTheRest) {
  Use(Context());
  Connect();
  Push(kNormal, "was in flight");
  Push(kNormal, "waited");
  Take();
  now_us_ += 2 * kSecond;
  Save();
  Reattach();
  Connect();
  now_us_ += kStaleUs;
  lanes_->Sweep(now_us_);
  EXPECT_EQ(ledger_.sums().backlog[kNormal], 1);
  std::string payload;
  Take(false, &payload);
  EXPECT_EQ(payload, "was in flight");
  EXPECT_EQ(Take(), 0u);
}

// Twice the session's rate, for a minute: delivered records are about ten seconds old at most, and
// they are soon fresh again after the load has fallen to half of it.
TEST_F(LanesLimitsTest, AnOverloadWhileConnectedIsLikeAnOutage) {
  budget_.SetLimit(64 << 20);
  Use(Context());
  Connect();
  int64_t oldest = 0, oldest_later = 0;
  for (int tick = 0; tick < 9000; ++tick, now_us_ += 10 * kMs) {
    if (tick < 6000 || tick % 4 == 0) PushMany(1);
    if (tick % 2 == 0) {
      uint64_t id = 0;
      lanes_->Take(outlet_, now_us_, [&](const Batch& batch) {
        const int64_t age = now_us_ - batch.oldest_us;
        (tick < 8200 ? oldest : oldest_later) = std::max(tick < 8200 ? oldest : oldest_later, age);
        return (id = batch.id) != 0;
      });
      Release(id);
    }
    Save(0);
  }
  EXPECT_GT(oldest, 9 * kSecond);
  EXPECT_LE(oldest, kStaleUs + 200 * kMs);
  EXPECT_LE(oldest_later, 20 * kMs);
  EXPECT_GT(ledger_.sums().backlog[kNormal], 0);
  ExpectThatCountersReconcile();
}

}  // namespace
}  // namespace seganet

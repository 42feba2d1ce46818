#include "core/queue/lanes.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "test/support/support.h"

namespace seganet {
namespace {

class LanesTest : public testing::Test {
 protected:
  static constexpr int64_t kSecond = 1'000'000;

  BatchPtr Make(uint8_t record_class, int64_t oldest_us = 0, const std::string& payload = "x") {
    BatchPtr batch = SingleBatch(test::MakeRecord("d", "t", payload, record_class, oldest_us));
    budget_.AddRecords(record_class, 1);
    return batch;
  }

  // Payloads of the next `n` batches.
  std::string TakeAll(int n) {
    std::string all;
    for (int i = 0; i < n; ++i) all += Take();
    return all;
  }

  // Returns the payload of the best batch, which is then in flight; "" when there is none.
  std::string Take(int64_t now_us = 0) {
    std::string payload;
    lanes_.Take(outlet(), now_us, [&](const Batch& batch) {
      payload = batch.bytes.substr(2);
      last_id_ = batch.id;
      last_redelivery_ = batch.redelivery;
      return true;
    });
    return payload;
  }

  Outlet* outlet() { return sessions_.At(&lanes_); }

  uint64_t Count(Counter c) { return lanes_.counters().counters[static_cast<size_t>(c)].Get(); }
  uint64_t Count(Drop d, uint8_t c) {
    return lanes_.counters().drops[static_cast<size_t>(d)][c].Get();
  }

  Budget budget_{1 << 20};
  LatencyByClass latency_;
  std::atomic<uint64_t> sequence_{0};
  std::vector<std::pair<uint32_t, bool>> done_;
  Lanes lanes_{
      test::PlainLanes(&budget_, &latency_, &sequence_, [this](const Batch& batch, bool delivered) {
        done_.push_back({batch.ticket, delivered});
      })};
  test::Sessions sessions_;
  uint64_t last_id_ = 0;
  bool last_redelivery_ = false;
};

TEST_F(LanesTest, AreEmptyAtFirst) {
  EXPECT_EQ(lanes_.Best(outlet(), 0), 0);
  EXPECT_EQ(Take(), "");
  EXPECT_FALSE(lanes_.Release(outlet(), 1, 0));
  lanes_.Clear(Drop::kClosed);
  EXPECT_TRUE(done_.empty());
}

TEST_F(LanesTest, AClassIsFirstInFirstOut) {
  for (const char* payload : {"a", "b", "c"}) lanes_.Push(Make(kNormal, 0, payload));
  EXPECT_EQ(TakeAll(3), "abc");
}

TEST_F(LanesTest, ACriticalBatchLeavesBeforeTenThousandNormalOnes) {
  for (int i = 0; i < 10'000; ++i) lanes_.Push(Make(kNormal));
  lanes_.Push(Make(kCritical, 0, "alarm"));
  EXPECT_EQ(lanes_.Best(outlet(), 0), kCritical);
  EXPECT_EQ(Take(), "alarm");
}

TEST_F(LanesTest, ClassesGoInOrderOfUrgency) {
  for (uint8_t c : {kBulk, kNormal, kHigh, kCritical}) lanes_.Push(Make(c, 0, std::to_string(c)));
  EXPECT_EQ(TakeAll(4), "1234");
}

TEST_F(LanesTest, AgeingNeverOvertakesClassOne) {
  const int64_t now = MonotonicUs();
  lanes_.Push(Make(kBulk, now - 3600 * kSecond, "old"));
  lanes_.Push(Make(kCritical, now, "alarm"));
  EXPECT_EQ(Take(now), "alarm");
}

TEST_F(LanesTest, AFutureArrivalDoesNoHarm) {
  lanes_.Push(Make(kBulk, 100 * kSecond));
  EXPECT_EQ(lanes_.Best(outlet(), 0), kBulk);
}

TEST_F(LanesTest, ABatchThatTheConsumerDeclinesStays) {
  lanes_.Push(Make(kNormal));
  EXPECT_FALSE(lanes_.Take(outlet(), 0, [](const Batch&) { return false; }));
  EXPECT_EQ(lanes_.Best(outlet(), 0), kNormal);
  EXPECT_EQ(Take(), "x");
  EXPECT_EQ(lanes_.Best(outlet(), 0), 0);
}

TEST_F(LanesTest, ReleaseCountsOnceAndRejectsUnknownBatches) {
  BatchPtr batch = Make(kHigh, 1 * kSecond);
  batch->ticket = 5;
  lanes_.Push(std::move(batch));
  EXPECT_FALSE(lanes_.Release(outlet(), 1, 0)) << "not taken yet";
  Take();
  EXPECT_FALSE(lanes_.Release(outlet(), last_id_ + 1, 0));
  EXPECT_TRUE(lanes_.Release(outlet(), last_id_, 3 * kSecond));
  EXPECT_FALSE(lanes_.Release(outlet(), last_id_, 0));
  EXPECT_EQ(done_, (std::vector<std::pair<uint32_t, bool>>{{5, true}}));
  EXPECT_EQ(Count(Counter::kRecordsDelivered), 1u);
  EXPECT_EQ(Count(Counter::kBatchesDelivered), 1u);
  EXPECT_EQ(lanes_.counters().delivered[kHigh].Get(), 1u);
  EXPECT_EQ(latency_[kHigh].Max(), 2'000'000u);
  EXPECT_EQ(budget_.held(), 0);
  EXPECT_EQ(budget_.records(kHigh), 0);
}

TEST_F(LanesTest, CountsSealedBatchesByReasonAndTheirBytes) {
  BatchPtr single = Make(kNormal);
  BatchPtr delayed = Make(kNormal);
  delayed->reason = SealReason::kDelay;
  const uint64_t bytes = single->bytes.size() + delayed->bytes.size();
  lanes_.Push(std::move(single));
  lanes_.Push(std::move(delayed));
  EXPECT_EQ(Count(Counter::kBatchesSealed), 2u);
  EXPECT_EQ(Count(Counter::kSealedBySingle), 1u);
  EXPECT_EQ(Count(Counter::kSealedByDelay), 1u);
  EXPECT_EQ(Count(Counter::kSealedByDemand), 0u);
  EXPECT_EQ(Count(Counter::kSealedBytes), bytes);
}

TEST_F(LanesTest, ARefusedBatchIsADropWithoutLatency) {
  lanes_.Push(Make(kBulk));
  Take();
  EXPECT_TRUE(lanes_.Release(outlet(), last_id_, 0, Refusal{{0}, 135, "no"}));
  EXPECT_EQ(Count(Drop::kRefused, kBulk), 1u);
  EXPECT_EQ(Count(Counter::kRecordsDelivered), 0u);
  EXPECT_EQ(latency_[kBulk].Count(), 0u);
  EXPECT_EQ(done_, (std::vector<std::pair<uint32_t, bool>>{{0, false}}));
}

TEST_F(LanesTest, TheBellRingsOnceUntilItIsAnswered) {
  test::CountingBell bell;
  Outlet* outlet = lanes_.Attach(&bell);
  EXPECT_EQ(bell.rings(), 1) << "what was there before";
  lanes_.Push(Make(kNormal));
  lanes_.Push(Make(kNormal));
  EXPECT_EQ(bell.rings(), 1);
  bell.Answer();
  lanes_.Push(Make(kNormal));
  EXPECT_EQ(bell.rings(), 2);
  lanes_.Detach(outlet);
  bell.Answer();
  lanes_.Push(Make(kNormal));
  EXPECT_EQ(bell.rings(), 2);
}

TEST_F(LanesTest, DetachReturnsBatchesInFlightInOrder) {
  for (const char* payload : {"a", "b", "c", "d"}) lanes_.Push(Make(kNormal, 0, payload));
  lanes_.Push(Make(kHigh, 0, "H"));
  ASSERT_EQ(Take(), "H");
  ASSERT_EQ(Take(), "a");
  ASSERT_EQ(Take(), "b");
  const uint64_t b = last_id_;
  ASSERT_EQ(Take(), "c");
  lanes_.Release(outlet(), b, 0);
  sessions_.Leave(&lanes_);
  EXPECT_FALSE(lanes_.Release(outlet(), last_id_, 0));
  EXPECT_EQ(Take(), "H");
  EXPECT_TRUE(last_redelivery_);
  EXPECT_EQ(Take(), "a");
  EXPECT_EQ(Take(), "c");
  EXPECT_TRUE(last_redelivery_);
  EXPECT_EQ(Take(), "d");
  EXPECT_FALSE(last_redelivery_);
  EXPECT_EQ(Count(Counter::kBatchesRedelivered), 3u);
}

TEST_F(LanesTest, ClearCountsWaitingBatchesAndThoseInFlight) {
  lanes_.Push(Make(kCritical));
  lanes_.Push(Make(kBulk));
  Take();
  lanes_.Clear(Drop::kClosed);
  EXPECT_EQ(Count(Drop::kClosed, kCritical), 1u);
  EXPECT_EQ(Count(Drop::kClosed, kBulk), 1u);
  EXPECT_EQ(done_.size(), 2u);
  EXPECT_EQ(budget_.held(), 0);
  EXPECT_FALSE(lanes_.Release(outlet(), last_id_, 0));
}

// Two producers, a consumer that comes and goes, and an observer: for TSan, and for the sums.
TEST_F(LanesTest, SumsAgreeAfterConcurrentUse) {
  constexpr int kProducers = 2, kBatches = 5'000;
  std::atomic<int> producing{kProducers};
  std::vector<std::thread> threads;
  for (int p = 0; p < kProducers; ++p) {
    threads.emplace_back([this, &producing, p] {
      for (int i = 0; i < kBatches; ++i) {
        lanes_.Push(Make(static_cast<uint8_t>(1 + (i + p) % 4), i));
      }
      --producing;
    });
  }
  uint64_t released = 0, refused = 0;
  std::thread consumer([&] {
    for (int turn = 0; producing > 0 || lanes_.Best(outlet(), 0) != 0; ++turn) {
      for (int i = 0; i < 100; ++i) {
        if (Take(i) == "" || (i + turn) % 7 == 0) continue;  // every seventh is left to Detach
        const bool ok = i % 5 != 0;
        ASSERT_TRUE(
            lanes_.Release(outlet(), last_id_, i, ok ? Refusal{} : Refusal{{0}, 135, "no"}));
        ++(ok ? released : refused);
      }
      sessions_.Leave(&lanes_);
    }
  });
  while (producing > 0) {
    EXPECT_GE(budget_.held(), 0);
    Count(Counter::kRecordsQueued);
    std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
  consumer.join();
  EXPECT_EQ(Count(Counter::kRecordsQueued), uint64_t{kProducers * kBatches});
  EXPECT_EQ(released + refused, uint64_t{kProducers * kBatches});
  EXPECT_EQ(Count(Counter::kRecordsDelivered), released);
  EXPECT_EQ(budget_.held(), 0);
  for (uint8_t c = 1; c <= kClasses; ++c) EXPECT_EQ(budget_.records(c), 0);
}

}  // namespace
}  // namespace seganet

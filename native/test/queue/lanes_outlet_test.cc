// Several sessions at one queue: each has separate classes, a bell and a window.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "test/support/lanes_save_support.h"

namespace seganet {
namespace {

using test::CountingBell;
using test::kMs;
using test::kRest;
using test::kUrgent;

class LanesOutletTest : public test::LanesWithLog {
 protected:
  void SetUp() override {
    LanesContext context = Context();
    context.on_demand = [this] { ++raised_; };
    Open(std::move(context));
  }

  // An outlet of classes 1 and 2, and one of the others.
  void Open(LanesContext context) {
    Use(std::move(context));
    lanes_->Detach(outlet_);
    urgent_ = lanes_->Attach(&urgent_bell_, kUrgent);
    rest_ = lanes_->Attach(&rest_bell_, kRest);
    ASSERT_NE(urgent_, nullptr);
    ASSERT_NE(rest_, nullptr);
  }

  std::string TakeAt(Outlet* outlet) {
    std::string payload;
    lanes_->Take(outlet, Now(), [&](const Batch& batch) {
      payload = batch.bytes.substr(2);
      id_ = batch.id;
      return true;
    });
    return payload;
  }
  void ConnectBoth(bool urgent, bool rest) {
    lanes_->SetConnected(urgent_, urgent, Now());
    lanes_->SetConnected(rest_, rest, Now());
  }

  CountingBell urgent_bell_, rest_bell_;
  Outlet* urgent_ = nullptr;
  Outlet* rest_ = nullptr;
  uint64_t id_ = 0;
  int raised_ = 0;
};

TEST_F(LanesOutletTest, AClassIsServedOnce) {
  CountingBell bell;
  EXPECT_EQ(lanes_->Attach(&bell, kAllClasses), nullptr);
  EXPECT_EQ(lanes_->Attach(&bell, MaskOf(kBulk)), nullptr);
  EXPECT_EQ(lanes_->Attach(&bell, 0), nullptr);
  EXPECT_EQ(lanes_->Attach(&bell, ~kAllClasses), nullptr);
  EXPECT_EQ(bell.rings(), 0);
  lanes_->Detach(rest_);
  EXPECT_EQ(lanes_->Attach(&bell, MaskOf(kHigh) | MaskOf(kBulk)), nullptr);
  Outlet* bulk = lanes_->Attach(&bell, MaskOf(kBulk));
  EXPECT_NE(bulk, nullptr);
  EXPECT_EQ(bell.rings(), 1);
}

TEST_F(LanesOutletTest, EachTakesOnlyItsClassesAndTheirEvents) {
  urgent_bell_.Answer();
  rest_bell_.Answer();
  Push(kBulk, "bulk");
  EXPECT_EQ(urgent_bell_.rings(), 1);
  EXPECT_EQ(rest_bell_.rings(), 2);
  EXPECT_EQ(lanes_->Best(urgent_, Now()), 0);
  EXPECT_EQ(lanes_->Best(rest_, Now()), kBulk);
  Push(kCritical, "alarm");
  EXPECT_EQ(urgent_bell_.rings(), 2);
  EXPECT_EQ(rest_bell_.rings(), 2);
  EXPECT_EQ(TakeAt(rest_), "bulk");
  EXPECT_EQ(TakeAt(rest_), "");
  EXPECT_FALSE(lanes_->Release(urgent_, id_, Now())) << "another one has it";
  EXPECT_EQ(TakeAt(urgent_), "alarm");
  EXPECT_TRUE(lanes_->Release(urgent_, id_, Now()));
}

TEST_F(LanesOutletTest, ADetachReturnsTheBatchesOfThatOutlet) {
  Push(kHigh, "high");
  Push(kNormal, "normal");
  TakeAt(urgent_);
  const uint64_t high = id_;
  TakeAt(rest_);
  lanes_->Detach(rest_);
  EXPECT_TRUE(lanes_->Release(urgent_, high, Now()));
  rest_ = lanes_->Attach(&rest_bell_, kRest);
  EXPECT_EQ(TakeAt(rest_), "normal");
}

TEST_F(LanesOutletTest, TheOldestOfASessionBelongsToItsClasses) {
  EXPECT_EQ(lanes_->OldestUs(rest_, Now()), -1);
  Push(kBulk);
  EXPECT_EQ(lanes_->OldestUs(urgent_, Now()), -1);
  EXPECT_GE(lanes_->OldestUs(rest_, Now() + 5 * kMs), 5 * kMs);
}

TEST_F(LanesOutletTest, ASessionThatIsDownHasOnlyItsOwnClassesWritten) {
  ConnectBoth(true, false);
  Push(kCritical);
  Push(kBulk);
  EXPECT_FALSE(lanes_->must_write(kCritical));
  EXPECT_TRUE(lanes_->must_write(kBulk));
  EXPECT_TRUE(lanes_->must_write());
  ASSERT_NE(Seal(Now() + 900 * kMs), 0u);
  EXPECT_EQ(chunk_.record_class, kBulk);
  EXPECT_EQ(Seal(Now() + 900 * kMs), 0u);
  EXPECT_TRUE(lanes_->WantsBacklog(kCritical));
  EXPECT_FALSE(lanes_->WantsBacklog(kBulk));

  ConnectBoth(false, true);
  EXPECT_TRUE(lanes_->must_write(kCritical));
  EXPECT_FALSE(lanes_->must_write(kBulk));
}

TEST_F(LanesOutletTest, ASessionThatIsSlowHasOnlyItsOwnClassesWritten) {
  ConnectBoth(true, true);
  Push(kHigh);
  TakeAt(urgent_);
  const int64_t later = Now() + 1001 * kMs;
  lanes_->NextSave(later);
  EXPECT_TRUE(lanes_->must_write(kHigh));
  EXPECT_TRUE(lanes_->must_write(kCritical)) << "the same session";
  EXPECT_FALSE(lanes_->must_write(kNormal));
  lanes_->Release(urgent_, id_, later);
  lanes_->NextSave(later);
  EXPECT_FALSE(lanes_->must_write());
}

TEST_F(LanesOutletTest, ClassesWithoutAnOutletCountAsDown) {
  ConnectBoth(true, true);
  lanes_->NextSave(Now());
  EXPECT_FALSE(lanes_->must_write());
  lanes_->Detach(rest_);
  lanes_->NextSave(Now());
  EXPECT_FALSE(lanes_->must_write(kHigh));
  EXPECT_TRUE(lanes_->must_write(kNormal));
  EXPECT_FALSE(lanes_->WantsBacklog(kNormal));
}

TEST_F(LanesOutletTest, ASessionsDemandLastsUntilABatchArrives) {
  Demand* demand = lanes_->demand();
  lanes_->RaiseDemand(rest_, Now());
  EXPECT_FALSE(demand->IsRaised(kBulk)) << "it is down";
  ConnectBoth(true, true);
  demand->Wait(MaskOf(kNormal));
  lanes_->RaiseDemand(rest_, Now());
  EXPECT_EQ(raised_, 1);
  EXPECT_TRUE(demand->IsRaised(kNormal));
  EXPECT_FALSE(demand->IsRaised(kHigh));
  lanes_->RaiseDemand(rest_, Now());
  EXPECT_EQ(raised_, 1) << "nothing waits now";
  Push(kBulk);
  EXPECT_FALSE(demand->IsRaised(kNormal)) << "it has something to send";
  lanes_->RaiseDemand(rest_, Now());
  EXPECT_FALSE(demand->IsRaised(kNormal)) << "which came before its report";
  TakeAt(rest_);
  lanes_->RaiseDemand(rest_, Now());
  lanes_->RaiseDemand(urgent_, Now());
  lanes_->SetConnected(rest_, false, Now());
  EXPECT_FALSE(demand->IsRaised(kNormal));
  lanes_->Detach(urgent_);
  EXPECT_FALSE(demand->IsRaised(kHigh));
}

TEST_F(LanesOutletTest, TheSizeOfBatchesIsThatOfTheLinkOfTheirClass) {
  lanes_->SetBatchBytes(rest_, 4096);
  EXPECT_EQ(lanes_->demand()->BatchBytes(kBulk), 4096u);
  EXPECT_EQ(lanes_->demand()->BatchBytes(kCritical), kFirstBatchBytes);
}

// Producers, two sessions that come and go, an observer, the sweep: for TSan, and for the sums.
TEST_F(LanesOutletTest, SumsAgreeAfterConcurrentUse) {
  LanesContext context = Context();
  context.on_due = [](int64_t) {};
  context.wake_log = [] {};
  Use(std::move(context));
  lanes_->Detach(outlet_);
  constexpr int kProducers = 2, kBatches = 3'000;
  std::atomic<int> producing{kProducers};
  std::vector<std::thread> producers, sessions;
  for (int p = 0; p < kProducers; ++p) {
    producers.emplace_back([this, &producing, p] {
      for (int i = 0; i < kBatches; ++i) {
        const auto c = static_cast<uint8_t>(kCritical + (i + p) % kClasses);
        budget_.AddRecords(c, 1);
        lanes_->Push(SingleBatch(test::MakeRecord("d", "t", "x", c, MonotonicUs())));
      }
      --producing;
    });
  }
  std::atomic<int> released{0};
  const auto serve = [&](CountingBell* bell, ClassMask classes) {
    for (int turn = 0; producing > 0 || turn < 100; ++turn) {
      Outlet* outlet = lanes_->Attach(bell, classes);
      ASSERT_NE(outlet, nullptr);
      lanes_->SetConnected(outlet, turn % 3 != 0, MonotonicUs());
      for (int i = 0; i < 100; ++i) {
        uint64_t id = 0;
        bell->Answer();
        lanes_->Take(outlet, MonotonicUs(),
                     [&](const Batch& batch) { return (id = batch.id) != 0; });
        if (id == 0) lanes_->RaiseDemand(outlet, MonotonicUs());
        if (id == 0 || i % 7 == 0) continue;  // every seventh is left to Detach
        ASSERT_TRUE(lanes_->Release(outlet, id, MonotonicUs()));
        ++released;
      }
      lanes_->Detach(outlet);
    }
  };
  sessions.emplace_back(serve, &urgent_bell_, kUrgent);
  sessions.emplace_back(serve, &rest_bell_, kRest);
  while (producing > 0) {
    lanes_->Sweep(MonotonicUs());
    lanes_->must_write(kBulk);
    lanes_->demand()->IsRaised(kBulk);
    std::this_thread::yield();
  }
  for (std::thread& thread : producers) thread.join();
  for (std::thread& thread : sessions) thread.join();
  EXPECT_EQ(Count(Counter::kRecordsQueued), uint64_t{kProducers * kBatches});
  EXPECT_EQ(Count(Counter::kRecordsDelivered), static_cast<uint64_t>(released.load()));
  ExpectThatCountersReconcile();
}

}  // namespace
}  // namespace seganet

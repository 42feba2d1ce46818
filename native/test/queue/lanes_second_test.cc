// Two sessions for class 1: both send each batch, and either may deliver it.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "test/support/lanes_save_support.h"

namespace seganet {
namespace {

using test::CountingBell;
using test::Random;

constexpr ClassMask kAlarms = MaskOf(kCritical);

class LanesSecondTest : public test::LanesWithLog {
 protected:
  void SetUp() override {
    Use(Context());
    AttachAnew();
  }

  void AttachAnew() {
    lanes_->Detach(outlet_);
    outlet_ = lanes_->Attach(&bell_, kAlarms);
    second_ = lanes_->AttachSecond(&second_bell_);
    ASSERT_NE(second_, nullptr);
  }

  void Alarm(const std::string& payload) { Push(kCritical, payload); }

  std::string TakeAt(Outlet* outlet) {
    std::string payload;
    lanes_->Take(outlet, Now(), [&](const Batch& batch) {
      payload = batch.bytes.substr(2);
      id_ = batch.id;
      is_again_ = batch.redelivery;
      return true;
    });
    return payload;
  }
  std::string TakeAll(Outlet* outlet) {
    std::string all;
    for (std::string one; !(one = TakeAt(outlet)).empty();) all += one;
    return all;
  }
  bool ReleaseAt(Outlet* outlet, uint64_t id) { return lanes_->Release(outlet, id, Now()); }
  uint64_t Delivered() {
    return lanes_->counters().counters[static_cast<size_t>(Counter::kRecordsDelivered)].Get();
  }

  CountingBell second_bell_;
  Outlet* second_ = nullptr;
  uint64_t id_ = 0;
  bool is_again_ = false;
};

TEST_F(LanesSecondTest, IsAttachedOnceToAnOutletOfClassOne) {
  CountingBell bell;
  EXPECT_EQ(lanes_->AttachSecond(&bell), nullptr);
  lanes_->Detach(second_);
  lanes_->Detach(outlet_);
  EXPECT_EQ(lanes_->AttachSecond(&bell), nullptr);
  outlet_ = lanes_->Attach(&bell_, MaskOf(kHigh));
  EXPECT_EQ(lanes_->AttachSecond(&bell), nullptr);
  EXPECT_EQ(bell.rings(), 0);
}

TEST_F(LanesSecondTest, BothAreWokenAndTakeEachAlarmInItsOrder) {
  bell_.Answer();
  second_bell_.Answer();
  const int rings = bell_.rings(), second_rings = second_bell_.rings();
  Alarm("a");
  EXPECT_EQ(bell_.rings(), rings + 1);
  EXPECT_EQ(second_bell_.rings(), second_rings + 1);
  Alarm("b");
  EXPECT_EQ(TakeAll(outlet_), "ab");
  Alarm("c");
  EXPECT_EQ(lanes_->Best(second_, Now()), kCritical);
  EXPECT_EQ(TakeAll(second_), "abc");
  EXPECT_EQ(TakeAll(outlet_), "c");
  EXPECT_EQ(lanes_->Best(second_, Now()), 0);
  EXPECT_EQ(lanes_->copies().sent, 3u);
}

TEST_F(LanesSecondTest, TheFirstReleaseEndsABatchAndTheOtherOneIsIgnored) {
  Alarm("a");
  TakeAt(outlet_);
  EXPECT_FALSE(ReleaseAt(second_, id_)) << "it was not taken there";
  TakeAt(second_);
  EXPECT_TRUE(ReleaseAt(second_, id_));
  EXPECT_FALSE(ReleaseAt(outlet_, id_));
  EXPECT_FALSE(lanes_->Look(outlet_, id_, [](const Batch&) {}));
  Alarm("b");
  TakeAt(second_);
  TakeAt(outlet_);
  EXPECT_TRUE(ReleaseAt(outlet_, id_));
  EXPECT_FALSE(ReleaseAt(second_, id_));
  EXPECT_EQ(Delivered(), 2u);
  EXPECT_EQ(budget_.records(kCritical), 0);
  EXPECT_EQ(lanes_->copies().lead_first, 1u);
  EXPECT_EQ(lanes_->copies().second_first, 1u);
}

TEST_F(LanesSecondTest, WhatOneDeliveredAloneIsNoCopy) {
  Alarm("a");
  TakeAt(second_);
  EXPECT_TRUE(ReleaseAt(second_, id_));
  EXPECT_EQ(TakeAt(outlet_), "");
  EXPECT_EQ(lanes_->copies().sent, 0u);
}

TEST_F(LanesSecondTest, AnOutletWithoutRoomSkipsNothing) {
  Alarm("a");
  TakeAt(outlet_);
  Alarm("b");
  EXPECT_FALSE(lanes_->Take(second_, Now(), [](const Batch& batch) {
    EXPECT_EQ(batch.bytes.substr(2), "a");
    return false;
  }));
  EXPECT_EQ(TakeAll(second_), "ab");
}

TEST_F(LanesSecondTest, BeginsWithTheOldestBatchInFlight) {
  lanes_->Detach(second_);
  Alarm("a");
  Alarm("b");
  TakeAt(outlet_);
  second_ = lanes_->AttachSecond(&second_bell_);
  EXPECT_EQ(TakeAll(second_), "ab");
}

TEST_F(LanesSecondTest, WhatOnlyTheSecondHadReturnsToItsPlace) {
  for (const char* payload : {"a", "b", "c"}) Alarm(payload);
  TakeAt(outlet_);
  TakeAt(second_);
  TakeAt(second_);
  bell_.Answer();
  const int rings = bell_.rings();
  lanes_->Detach(second_);
  EXPECT_EQ(bell_.rings(), rings + 1);
  EXPECT_EQ(TakeAt(outlet_), "b");
  EXPECT_TRUE(is_again_);
  EXPECT_EQ(TakeAll(outlet_), "c");
}

TEST_F(LanesSecondTest, TakesNothingWithoutTheFirst) {
  Alarm("a");
  TakeAt(second_);
  lanes_->Detach(outlet_);
  EXPECT_EQ(TakeAt(second_), "");
  EXPECT_EQ(lanes_->Best(second_, Now()), 0);
  EXPECT_FALSE(ReleaseAt(second_, id_));
  lanes_->SetConnected(second_, true, Now());
  EXPECT_EQ(lanes_->WaitingAt(second_, Now()), 0u);
  outlet_ = lanes_->Attach(&bell_, kAlarms);
  EXPECT_EQ(TakeAt(second_), "") << "it belongs to the earlier one";
  EXPECT_EQ(TakeAt(outlet_), "a");
  lanes_->Detach(second_);
  EXPECT_TRUE(ReleaseAt(outlet_, id_));
}

TEST_F(LanesSecondTest, LeavesTheBacklogToTheFirst) {
  Alarm("a");
  const uint64_t ticket = Seal(Now() + 2'000'000);
  ASSERT_NE(ticket, 0u);
  Commit(ticket, 1);
  BatchPtr stored = SingleBatch(test::MakeRecord("d", "t", "old", kCritical, Now()));
  stored->stage = 1;
  std::vector<BatchPtr> batches;
  batches.push_back(std::move(stored));
  lanes_->PushBacklog(std::move(batches));
  EXPECT_EQ(lanes_->BestBacklog(second_, Now()), 0);
  EXPECT_EQ(lanes_->BestBacklog(outlet_, Now()), kCritical);
  std::string payload;
  EXPECT_NE(Take(/*backlog=*/true, &payload), 0u);
  EXPECT_EQ(payload, "old");
  EXPECT_EQ(TakeAll(second_), "a");
}

// A session that is down causes no writes while the other one delivers.
TEST_F(LanesSecondTest, OneSessionIsEnough) {
  lanes_->SetConnected(second_, true, Now());
  EXPECT_FALSE(lanes_->must_write(kCritical));
  lanes_->SetConnected(second_, false, Now());
  EXPECT_TRUE(lanes_->must_write(kCritical));
  lanes_->SetConnected(outlet_, true, Now());
  EXPECT_FALSE(lanes_->must_write(kCritical));
}

// A session's connections. What was sent arrives in order, each at any time or, except on the
// present connection, not at all.
struct Link {
  Outlet* outlet = nullptr;
  std::deque<std::pair<int, uint64_t>> taken;       // number and id, in order
  std::deque<std::pair<int, uint64_t>> on_the_way;  // of the present connection
  std::vector<std::deque<std::pair<int, uint64_t>>> ghosts;
  bool is_up = true;

  void Lose() {
    ghosts.push_back(std::exchange(on_the_way, {}));
    is_up = false;
  }
};

TEST_F(LanesSecondTest, FirstArrivalsStayInOrderWhateverIsStalledOrLost) {
  Random random;
  Link lead{.outlet = outlet_}, second{.outlet = second_};
  int pushed = 0, arrived = 0;
  const auto arrive = [&](const std::pair<int, uint64_t>& one) {
    ASSERT_LE(one.first, arrived + 1) << "an older one has not arrived";
    arrived = std::max(arrived, one.first);
  };
  const auto send = [&](Link* link) {
    const std::string payload = TakeAt(link->outlet);
    if (payload.empty()) return;
    link->taken.emplace_back(std::stoi(payload), id_);
    link->on_the_way.push_back(link->taken.back());
  };
  const auto deliver = [&](Link* link) {
    if (link->on_the_way.empty()) return;
    const auto one = link->on_the_way.front();
    link->on_the_way.pop_front();
    ASSERT_NO_FATAL_FAILURE(arrive(one));
    ReleaseAt(link->outlet, one.second);
    std::erase(link->taken, one);
  };
  // As the feeder does: what was taken is sent first, unless the other session delivered it.
  const auto reconnect_lead = [&] {
    std::erase_if(lead.taken, [&](const auto& one) {
      return !lanes_->Look(lead.outlet, one.second, [](const Batch&) {});
    });
    lead.on_the_way = lead.taken;
    lead.is_up = true;
  };
  const auto reconnect_second = [&] {
    second.outlet = lanes_->AttachSecond(&second_bell_);
    ASSERT_NE(second.outlet, nullptr);
    second.is_up = true;
  };
  for (int step = 0; step < 20'000; ++step) {
    if (pushed - arrived < 40 && random.OneIn(3)) Alarm(std::to_string(++pushed));
    if (lead.is_up && random.OneIn(3)) send(&lead);
    if (second.is_up && random.OneIn(3)) send(&second);
    // One of the two is usually stalled.
    const int stalled = step / 100 % 3;
    if (stalled != 1 && random.OneIn(3)) ASSERT_NO_FATAL_FAILURE(deliver(&lead));
    if (stalled != 2 && random.OneIn(3)) ASSERT_NO_FATAL_FAILURE(deliver(&second));
    for (Link* link : {&lead, &second}) {
      for (auto& ghost : link->ghosts) {
        if (ghost.empty() || !random.OneIn(20)) continue;
        ASSERT_NO_FATAL_FAILURE(arrive(ghost.front()));
        ghost.pop_front();
      }
      if (link->ghosts.size() > 4) link->ghosts.erase(link->ghosts.begin());
    }
    if (lead.is_up ? random.OneIn(100) : random.OneIn(30)) {
      lead.is_up ? lead.Lose() : reconnect_lead();
    }
    if (second.is_up && random.OneIn(100)) {
      lanes_->Detach(second.outlet);
      second.taken.clear();
      second.Lose();
    } else if (!second.is_up && random.OneIn(30)) {
      ASSERT_NO_FATAL_FAILURE(reconnect_second());
    }
  }
  if (!lead.is_up) reconnect_lead();
  for (int turn = 0; arrived < pushed && turn < 1000; ++turn) {
    send(&lead);
    ASSERT_NO_FATAL_FAILURE(deliver(&lead));
  }
  EXPECT_EQ(arrived, pushed);
  EXPECT_EQ(Delivered(), static_cast<uint64_t>(pushed));
  EXPECT_EQ(budget_.records(kCritical), 0);
}

// Both sessions have threads of their own, and the second one comes and goes.
TEST_F(LanesSecondTest, SessionsOfTwoThreadsDeliverEachAlarmOnce) {
  constexpr uint64_t kCount = 3000;
  LanesContext context = Context();
  context.on_due = [](int64_t) {};
  context.wake_log = [] {};
  Use(std::move(context));
  AttachAnew();
  std::atomic<bool> is_over{false};
  std::thread worker([&] {
    for (uint64_t i = 0; i < kCount; ++i) {
      while (i - Delivered() > 100) std::this_thread::yield();
      budget_.AddRecords(kCritical, 1);
      lanes_->Push(SingleBatch(test::MakeRecord("d", "t", "x", kCritical, Now())));
    }
  });
  const auto serve = [&](Outlet* outlet) {
    uint64_t id = 0;
    const bool is_taken = lanes_->Take(outlet, Now(), [&](const Batch& batch) {
      id = batch.id;
      return true;
    });
    if (is_taken) ReleaseAt(outlet, id);
  };
  std::thread other([&] {
    for (int turn = 1; !is_over; ++turn) {
      serve(second_);
      if (turn % 50 != 0) continue;
      lanes_->Detach(second_);
      second_ = lanes_->AttachSecond(&second_bell_);
    }
  });
  while (Delivered() < kCount) serve(outlet_);
  is_over = true;
  worker.join();
  other.join();
  EXPECT_EQ(Delivered(), kCount);
  EXPECT_EQ(budget_.records(kCritical), 0);
}

}  // namespace
}  // namespace seganet

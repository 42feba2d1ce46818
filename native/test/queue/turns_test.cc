// Several sessions on one link: which is next, which is held for others, and which has waited too
// long.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "test/support/lanes_save_support.h"

namespace seganet {
namespace {

using test::CountingBell;
using test::kMs;
using test::kRest;
using test::kSecond;
using test::kUrgent;

constexpr size_t kSize = 10 * 1024;

class LanesTurnsTest : public test::LanesWithLog {
 protected:
  void SetUp() override { Open(Context()); }
  int64_t Now() override { return now_us_; }

  void Open(LanesContext context) {
    Use(std::move(context));
    lanes_->Detach(outlet_);
    urgent_ = lanes_->Attach(&urgent_bell_, kUrgent);
    rest_ = lanes_->Attach(&rest_bell_, kRest);
    lanes_->SetConnected(urgent_, true, Now());
    lanes_->SetConnected(rest_, true, Now());
  }
  void OpenWithAging(int64_t aging_us) {
    LanesContext context = Context();
    context.selection.aging_us = aging_us;
    Open(std::move(context));
  }

  void Fill(uint8_t record_class, int batches) {
    for (int i = 0; i < batches; ++i) Push(record_class, std::string(kSize, 'x'));
  }

  // Returns the class that was taken and delivered, 0 = none.
  uint8_t Serve(Outlet* outlet, bool backlog = false) {
    uint64_t id = 0;
    uint8_t taken = 0;
    const uint8_t best = backlog ? lanes_->BestBacklog(outlet, Now()) : lanes_->Best(outlet, Now());
    lanes_->Take(
        outlet, Now(),
        [&](const Batch& batch) {
          id = batch.id;
          taken = batch.record_class;
          bytes_[taken] += batch.bytes.size();
          return true;
        },
        backlog);
    EXPECT_EQ(taken, best) << "Take takes the result of Best";
    if (id != 0) lanes_->Release(outlet, id, Now());
    return taken;
  }

  // Class 3 has taken its maximum while class 2 waits.
  void HoldTheRest() {
    Fill(kHigh, 3);
    Fill(kNormal, 20);
    for (int i = 0; i < 20 && Serve(rest_) != 0; ++i) {
    }
    ASSERT_EQ(lanes_->Best(rest_, Now()), 0);
    ASSERT_GE(bytes_[kNormal], kLeadBytes);
    ASSERT_LE(bytes_[kNormal], kLeadBytes + 2 * kSize);
    rest_bell_.Answer();
    rings_ = rest_bell_.rings();
  }
  int NewRings() {
    const int rings = rest_bell_.rings() - rings_;
    rings_ = rest_bell_.rings();
    return rings;
  }
  void ExpectThatItEnds(const std::function<void()>& event) {
    HoldTheRest();
    event();
    EXPECT_EQ(NewRings(), 1);
    EXPECT_EQ(lanes_->Best(rest_, Now()), kNormal);
  }

  int64_t now_us_ = 1000 * kSecond;
  CountingBell urgent_bell_, rest_bell_;
  Outlet* urgent_ = nullptr;
  Outlet* rest_ = nullptr;
  std::array<size_t, kClasses + 1> bytes_{};
  int rings_ = 0;
};

TEST_F(LanesTurnsTest, WeightsHoldHoweverMuchFasterOneSessionIs) {
  for (const bool urgent_is_slow : {true, false}) {
    bytes_ = {};
    Outlet* slow = urgent_is_slow ? urgent_ : rest_;
    Outlet* fast = urgent_is_slow ? rest_ : urgent_;
    for (const uint8_t c : {kHigh, kNormal, kBulk}) Fill(c, 2);
    const auto serve = [&](Outlet* outlet) {
      const uint8_t c = Serve(outlet);
      if (c != 0) Fill(c, 1);
    };
    for (int i = 0; i < 2000; ++i) {
      now_us_ += kMs;
      serve(slow);
      for (int turn = 0; turn < 20; ++turn) serve(fast);
    }
    // Each may be ahead by its lead and a batch, and behind by that of another one.
    const double unit = static_cast<double>(bytes_[kBulk]);
    const double slack = 2.0 * (kLeadBytes + kSize);
    EXPECT_GT(unit, 10 * slack);
    EXPECT_NEAR(static_cast<double>(bytes_[kHigh]), 8 * unit, 8 * slack) << urgent_is_slow;
    EXPECT_NEAR(static_cast<double>(bytes_[kNormal]), 4 * unit, 4 * slack) << urgent_is_slow;
    lanes_->Clear(Drop::kClosed);
  }
}

TEST_F(LanesTurnsTest, AClassThatIsBehindIsNotHeld) {
  HoldTheRest();
  EXPECT_EQ(Serve(urgent_), kHigh);
}

TEST_F(LanesTurnsTest, InspectingHoldsNoClass) {
  Fill(kHigh, 1);
  Fill(kNormal, 1);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(lanes_->Best(rest_, Now()), kNormal);
  HoldTheRest();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(lanes_->Best(rest_, Now()), 0);
  EXPECT_EQ(NewRings(), 0);
}

TEST_F(LanesTurnsTest, NoClassIsHeldForOneThatHasNothingToSend) {
  Fill(kNormal, 40);
  for (int i = 0; i < 40; ++i) EXPECT_EQ(Serve(rest_), kNormal);
  // An alarm session that is served at once.
  Fill(kNormal, 40);
  for (int i = 0; i < 40; ++i) {
    Fill(kHigh, 1);
    EXPECT_EQ(lanes_->Best(rest_, Now()), kNormal) << i;
    Serve(urgent_);
    EXPECT_EQ(Serve(rest_), kNormal);
  }
}

TEST_F(LanesTurnsTest, NoClassIsHeldForASessionThatIsDown) {
  lanes_->SetConnected(urgent_, false, Now());
  Fill(kHigh, 1);
  Fill(kNormal, 40);
  for (int i = 0; i < 40; ++i) EXPECT_EQ(Serve(rest_), kNormal);
  // And it has saved no credit when it is back.
  lanes_->SetConnected(urgent_, true, Now());
  Fill(kNormal, 1);
  EXPECT_EQ(Serve(rest_), kNormal);
}

TEST_F(LanesTurnsTest, ClassOneIsNeverHeldAndHoldsNoOther) {
  Fill(kCritical, 100);
  Fill(kNormal, 20);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(Serve(rest_), kNormal);
  Fill(kBulk, 1);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(Serve(urgent_), kCritical);
}

TEST_F(LanesTurnsTest, AHoldEndsWhenTheOneBehindHasCaughtUp) {
  ExpectThatItEnds([this] {
    EXPECT_EQ(Serve(urgent_), kHigh);
    EXPECT_EQ(NewRings(), 0) << "not yet";
    EXPECT_EQ(Serve(urgent_), kHigh);
  });
}

TEST_F(LanesTurnsTest, AHoldEndsWhenTheLastOneBehindIsTaken) {
  LanesContext context = Context();
  context.selection.weights[kHigh] = kMaxWeight;
  Open(std::move(context));
  ExpectThatItEnds([this] {
    for (int i = 0; i < 3; ++i) EXPECT_EQ(Serve(urgent_), kHigh);
  });
}

TEST_F(LanesTurnsTest, AHoldThatContinuesRingsNoBell) {
  LanesContext context = Context();
  context.selection.weights[kHigh] = kMaxWeight;
  Open(std::move(context));
  HoldTheRest();
  EXPECT_EQ(Serve(urgent_), kHigh);
  EXPECT_EQ(NewRings(), 0) << "class 2 has a thousandth of its way behind it";
  EXPECT_EQ(lanes_->Best(rest_, Now()), 0);
  lanes_->Sweep(Now());
  EXPECT_EQ(NewRings(), 0);
}

TEST_F(LanesTurnsTest, AHoldEndsWhenTheSessionBehindGoesDown) {
  ExpectThatItEnds([this] { lanes_->SetConnected(urgent_, false, Now()); });
}

TEST_F(LanesTurnsTest, AHoldEndsWhenTheSessionBehindLeaves) {
  ExpectThatItEnds([this] { lanes_->Detach(urgent_); });
}

TEST_F(LanesTurnsTest, AHoldEndsWhenTheOneBehindExpires) {
  LanesContext context = Context();
  context.limits.ttl_us[kHigh] = kSecond;
  Open(std::move(context));
  ExpectThatItEnds([this] {
    now_us_ += kSecond + 1;
    EXPECT_EQ(lanes_->Best(urgent_, Now()), 0) << "which is looked at there";
  });
  HoldTheRest();
  now_us_ += kSecond + 1;
  lanes_->Sweep(Now());
  EXPECT_EQ(NewRings(), 1);
}

TEST_F(LanesTurnsTest, AHoldEndsWhenTheOneBehindIsSpilled) {
  OpenWithAging(0);
  HoldTheRest();
  now_us_ += 60 * kMs;
  while (const uint64_t ticket = Seal(Now() + kSecond)) Commit(ticket, 1);
  EXPECT_EQ(NewRings(), 0);
  now_us_ += kStaleUs + 1;
  lanes_->Best(urgent_, Now());
  EXPECT_EQ(NewRings(), 1);
}

TEST_F(LanesTurnsTest, AHoldEndsWhenTheLanesAreCleared) {
  HoldTheRest();
  lanes_->Clear(Drop::kClosed);
  EXPECT_EQ(NewRings(), 1);
}

TEST_F(LanesTurnsTest, ASessionThatTakesNothingHoldsOthersBriefly) {
  OpenWithAging(0);
  HoldTheRest();
  now_us_ += 5000 * kMs;
  EXPECT_EQ(lanes_->Best(rest_, Now()), 0);
  now_us_ += 1;
  lanes_->Sweep(Now());
  EXPECT_EQ(NewRings(), 1);
  EXPECT_EQ(lanes_->Best(rest_, Now()), kNormal);
}

TEST_F(LanesTurnsTest, WhileAClassIsHeldItsSessionHasNoDemand) {
  HoldTheRest();
  EXPECT_GT(lanes_->RetryUs(rest_, Now()), 0);
  lanes_->RaiseDemand(rest_, Now());
  EXPECT_FALSE(lanes_->demand()->IsRaised(kBulk));
}

TEST_F(LanesTurnsTest, AStarvedClassIsServedOnceBeforeClassOne) {
  Fill(kHigh, 10);
  for (int period = 1; period <= 3; ++period) {
    for (int i = 0; i < 10; ++i) {
      Fill(kCritical, 1);
      EXPECT_EQ(Serve(urgent_), kCritical) << "period " << period << ", " << i;
      now_us_ += kSecond / 2;
    }
    Fill(kCritical, 1);
    for (int look = 0; look < 3; ++look) EXPECT_EQ(lanes_->Best(urgent_, Now()), kHigh);
    EXPECT_EQ(Serve(urgent_), kHigh);
    EXPECT_EQ(Serve(urgent_), kCritical);
  }
}

TEST_F(LanesTurnsTest, OfSeveralTheOneThatWaitsLongestIsFirst) {
  lanes_->Detach(urgent_);
  lanes_->Detach(rest_);
  outlet_ = lanes_->Attach(&bell_);
  Fill(kBulk, 2);
  now_us_ += kSecond;
  Fill(kHigh, 2);
  Fill(kCritical, 1);
  now_us_ += 5 * kSecond;
  EXPECT_EQ(Serve(outlet_), kBulk);
  EXPECT_EQ(Serve(outlet_), kHigh);
  EXPECT_EQ(Serve(outlet_), kCritical);
}

TEST_F(LanesTurnsTest, NoClassIsOverdueWhenAgingIsOff) {
  OpenWithAging(0);
  Fill(kHigh, 1);
  Fill(kCritical, 1);
  now_us_ += 9 * kSecond;
  EXPECT_EQ(Serve(urgent_), kCritical);
}

TEST_F(LanesTurnsTest, AnOutageDoesNotPutAClassBeforeClassOne) {
  lanes_->SetConnected(urgent_, false, Now());
  Fill(kHigh, 1);
  now_us_ += 8 * kSecond;
  Fill(kCritical, 1);
  lanes_->SetConnected(urgent_, true, Now());
  EXPECT_EQ(lanes_->Best(urgent_, Now()), kCritical);
  now_us_ += 5 * kSecond;
  lanes_->SetConnected(urgent_, true, Now());
  EXPECT_EQ(lanes_->Best(urgent_, Now()), kHigh) << "reported twice, it is up since the first time";
}

TEST_F(LanesTurnsTest, ARateLimitDoesNotPutAClassBeforeClassOne) {
  LanesContext context = Context();
  context.limits.rate_per_s[kHigh] = 1;
  context.selection.aging_us = 500 * kMs;
  Open(std::move(context));
  Fill(kHigh, 3);
  EXPECT_EQ(Serve(urgent_), kHigh);
  now_us_ += kSecond;
  Fill(kCritical, 1);
  EXPECT_EQ(lanes_->Best(urgent_, Now()), kCritical);
  now_us_ += 500 * kMs;
  EXPECT_EQ(lanes_->Best(urgent_, Now()), kHigh);
}

TEST_F(LanesTurnsTest, AHeldClassGetsItsBatchToo) {
  HoldTheRest();
  now_us_ += 5 * kSecond;
  lanes_->Sweep(Now());
  EXPECT_EQ(NewRings(), 1);
  EXPECT_EQ(Serve(rest_), kNormal);
  EXPECT_EQ(Serve(rest_), 0);
  rest_bell_.Answer();
  lanes_->Sweep(Now());
  EXPECT_EQ(NewRings(), 0);
}

}  // namespace
}  // namespace seganet

#include "core/placement/move_planner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace seganet {
namespace {

constexpr int64_t kPeriodUs = 5'000'000;

// Workers with the load of their slots, and a planner whose moves take effect at once.
class PlannerTest : public testing::Test {
 protected:
  // A record a period costs `kCost` of a core of 1,024.
  static constexpr double kCost = 0.001;

  void SetUp() override { Share({1024, 1024}); }

  void Share(std::vector<uint32_t> capacities) {
    capacities_ = std::move(capacities);
    Placement placement;
    placement.Assign(capacities_);
    for (uint32_t i = 0; i < Placement::kSlots; ++i) slots_[i] = {placement.Owner(i), 0};
  }

  std::vector<WorkerLoad> Loads() const {
    std::vector<WorkerLoad> loads;
    for (uint32_t capacity : capacities_) loads.push_back({0, capacity});
    for (const SlotLoad& slot : slots_) {
      loads[slot.worker].busy += slot.records * kCost * 1024 / capacities_[slot.worker];
    }
    return loads;
  }

  double Gap() const {
    double least = 1e9, most = 0;
    for (const WorkerLoad& load : Loads()) {
      least = std::min(least, load.busy);
      most = std::max(most, load.busy);
    }
    return most - least;
  }

  std::vector<SlotMove> Period() {
    now_us_ += kPeriodUs;
    const std::vector<SlotMove> moves = planner_->Plan(now_us_, Loads(), slots_);
    for (const SlotMove& move : moves) {
      EXPECT_EQ(slots_[move.slot].worker, move.from);
      slots_[move.slot].worker = move.to;
    }
    return moves;
  }

  std::vector<SlotMove> Periods(int n) {
    std::vector<SlotMove> all;
    for (int i = 0; i < n; ++i) {
      for (const SlotMove& move : Period()) all.push_back(move);
    }
    return all;
  }

  std::vector<uint32_t> capacities_;
  std::vector<SlotLoad> slots_{Placement::kSlots};
  MoveLimits limits_;
  std::optional<MovePlanner> planner_{limits_};
  int64_t now_us_ = 0;
};

TEST_F(PlannerTest, AnEvenLoadStays) {
  for (SlotLoad& slot : slots_) slot.records = 1;
  EXPECT_TRUE(Periods(20).empty());
}

TEST_F(PlannerTest, WhatDoesNotLastMovesNothing) {
  for (int round = 0; round < 10; ++round) {
    for (uint32_t i = 0; i < 8; ++i) slots_[i].records = 100;
    EXPECT_TRUE(Periods(2).empty());
    for (uint32_t i = 0; i < 8; ++i) slots_[i].records = 0;
    EXPECT_TRUE(Period().empty());
  }
}

TEST_F(PlannerTest, ALastingLoadIsSharedAtTheThirdPeriod) {
  for (uint32_t i = 0; i < 8; ++i) slots_[i].records = 100;
  EXPECT_TRUE(Periods(2).empty());
  EXPECT_EQ(Period().size(), 4u);
  EXPECT_NEAR(Gap(), 0, 1e-9);
  EXPECT_TRUE(Periods(10).empty());
}

TEST_F(PlannerTest, LittleOfACoreIsNotWorthAMove) {
  for (uint32_t i = 0; i < 8; ++i) slots_[i].records = 30;  // 0.24 of a core against none
  EXPECT_TRUE(Periods(10).empty());
}

TEST_F(PlannerTest, ASmallRatioIsNotWorthAMove) {
  for (uint32_t i = 0; i < 9; ++i) slots_[i].records = 100;
  for (uint32_t i = 0; i < 6; ++i) slots_[1023 - i].records = 103;
  ASSERT_GT(Gap(), limits_.least_gap);  // 0.9 against 0.618
  EXPECT_TRUE(Periods(10).empty());
}

TEST_F(PlannerTest, OneDeviceThatIsAllTheLoadStays) {
  slots_[7].records = 900;
  EXPECT_TRUE(Periods(10).empty());
}

TEST_F(PlannerTest, WhatStandsBesideABusyDeviceGoesAway) {
  slots_[7].records = 500;
  for (uint32_t i = 8; i < 13; ++i) slots_[i].records = 60;
  Periods(10);
  EXPECT_EQ(slots_[7].worker, 0u);
  for (uint32_t i = 8; i < 13; ++i) EXPECT_EQ(slots_[i].worker, 1u) << i;
}

TEST_F(PlannerTest, MovesAPeriodAreBounded) {
  for (uint32_t i = 0; i < 400; ++i) slots_[i].records = 2;
  for (int period = 0; period < 60; ++period) EXPECT_LE(Period().size(), limits_.most_moves);
  EXPECT_LE(Gap(), limits_.least_gap);
}

TEST_F(PlannerTest, ASlotThatWasChosenRests) {
  for (uint32_t i = 0; i < 8; ++i) slots_[i].records = 100;
  std::map<uint32_t, int64_t> chosen;
  // The load jumps to the worker that has fewer of the eight slots.
  for (uint32_t period = 0; period < 200; ++period) {
    for (uint32_t i = 0; i < 8; ++i) {
      slots_[i].records = slots_[i].worker == period / 5 % 2 ? 200 : 1;
    }
    for (const SlotMove& move : Period()) {
      const auto it = chosen.find(move.slot);
      if (it != chosen.end()) {
        EXPECT_GE(now_us_ - it->second, limits_.rest_us);
      }
      chosen[move.slot] = now_us_;
    }
  }
  EXPECT_FALSE(chosen.empty());
}

TEST_F(PlannerTest, OneWorkerHasNobodyToGiveTo) {
  Share({1024});
  for (uint32_t i = 0; i < 8; ++i) slots_[i].records = 100;
  EXPECT_TRUE(Periods(10).empty());
}

TEST_F(PlannerTest, AWeakCoreGetsWhatItCanDo) {
  Share({1024, 256});
  for (uint32_t i = 0; i < 100; ++i) slots_[i].records = 9;
  Periods(200);
  const std::vector<WorkerLoad> loads = Loads();
  EXPECT_LE(Gap(), limits_.least_gap);
  EXPECT_GT(loads[1].busy, 0.25);
}

// Whatever the loads, each period's moves make the larger of the two loads smaller. In the end no
// two workers differ for long by more than the limits allow, except for slots that are too large.
TEST_F(PlannerTest, AnyLoadGetsEven) {
  for (uint32_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    planner_.emplace(limits_);
    std::vector<uint32_t> capacities(2 + random() % 7);
    for (uint32_t& each : capacities) each = random() % 2 == 0 ? 1024 : 512;
    Share(capacities);
    uint32_t largest = 0;
    for (int i = 0; i < 150; ++i) {
      SlotLoad& slot = slots_[random() % (Placement::kSlots / (1 + random() % 4))];
      slot.records = 1 + random() % (random() % 4 == 0 ? 60 : 10);
      largest = std::max(largest, slot.records);
    }
    for (int period = 0; period < 400; ++period) {
      const std::vector<WorkerLoad> before = Loads();
      const std::vector<SlotMove> moves = Period();
      if (moves.empty()) continue;
      EXPECT_LE(moves.size(), limits_.most_moves);
      const uint32_t from = moves.front().from, to = moves.front().to;
      const std::vector<WorkerLoad> after = Loads();
      EXPECT_LT(std::max(after[from].busy, after[to].busy), before[from].busy);
    }
    EXPECT_LE(Gap(), limits_.least_gap + 2 * largest * kCost * 2);
    EXPECT_TRUE(Periods(12).empty()) << "it does not come to rest";
  }
}

}  // namespace
}  // namespace seganet

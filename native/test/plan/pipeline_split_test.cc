// Split stages in a pipeline: routes, order across plans, and what silent parts cost.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/plan/pipeline.h"
#include "test/support/plan_support.h"
#include "test/support/support.h"

namespace seganet {
namespace {

using test::BatchStage;
using test::MakeRecord;
using test::Spec;
using test::UplinkStage;

constexpr uint32_t kEntry = 1, kSplitter = 2;

class SplitPipelineTest : public testing::Test {
 protected:
  // Part n ("p<n>") has batch stage 10 + 2n, uplink stage 11 + 2n and lanes n.
  static StageSpec Splitter(const std::vector<uint32_t>& parts) {
    StageSpec split = Spec(kSplitter, StageKind::kSplit);
    for (const uint32_t n : parts) {
      split.parts.push_back({.name = "p" + std::to_string(n)});
      split.next.push_back(10 + 2 * n);
    }
    return split;
  }
  static std::vector<StageSpec> PlanOf(const std::vector<uint32_t>& parts) {
    std::vector<StageSpec> plan{Spec(kEntry, StageKind::kIngest, {kSplitter}), Splitter(parts)};
    for (const uint32_t n : parts) {
      plan.push_back(BatchStage(10 + 2 * n, {11 + 2 * n}));
      plan.push_back(UplinkStage(11 + 2 * n, n));
    }
    return plan;
  }

  void Apply(std::vector<StageSpec> specs) {
    const Status status = ValidatePlan(specs);
    ASSERT_TRUE(status.ok()) << status.message();
    plan_ = std::make_shared<const Plan>(std::move(specs), 1, plan_.get(), [this](uint32_t number) {
      auto& lanes = lanes_[number];
      if (!lanes) {
        lanes = std::make_shared<Lanes>(test::PlainLanes(&budget_, &latency_, &sequence_));
      }
      return lanes;
    });
    pipeline_.SetPlan(plan_);
  }

  Passage Run(std::string_view device, std::string_view payload = "1",
              uint8_t record_class = kNormal, int64_t now_us = 0) {
    return pipeline_.Run(kEntry, MakeRecord(device, "t", payload, record_class, now_us));
  }

  std::vector<Batch> Drain(uint32_t uplink) {
    std::vector<Batch> batches;
    Lanes& lanes = *lanes_[uplink];
    Outlet* outlet = sessions_.At(&lanes);
    while (lanes.Take(outlet, 0, [&](const Batch& batch) {
      batches.push_back(batch);
      return true;
    })) {
      lanes.Release(outlet, batches.back().id, 0);
    }
    return batches;
  }

  uint64_t Dropped(Drop reason) {
    uint64_t sum = 0;
    for (const SingleWriter& n : counters_.drops[static_cast<size_t>(reason)]) sum += n.Get();
    return sum;
  }

  Budget budget_{1 << 26};
  LatencyByClass latency_;
  CounterBlock counters_;
  ByteRing ring_{4096};
  test::CountingBell bell_;
  std::atomic<int64_t> devices_{100};
  std::atomic<uint64_t> sequence_{0};
  test::Sessions sessions_;
  std::map<uint32_t, std::shared_ptr<Lanes>> lanes_;
  std::shared_ptr<const Plan> plan_;
  Pipeline pipeline_{PipelineContext{0, &budget_, &counters_, &ring_, &bell_, &devices_}};
};

TEST_F(SplitPipelineTest, ARecordGoesToItsPartWithoutThePart) {
  Apply(PlanOf({0, 1}));
  EXPECT_TRUE(Run("p0:pump").taken);
  EXPECT_TRUE(Run("p1:pump").taken);
  EXPECT_TRUE(Run("p1:p0:pump").taken);
  pipeline_.Flush(0, SealReason::kFlush);
  const std::vector<Batch> first = Drain(0), second = Drain(1);
  ASSERT_EQ(first.size(), 1u);
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(first[0].record_count, 1u);
  EXPECT_NE(first[0].bytes.find("\"d\":\"pump\""), std::string::npos);
  EXPECT_EQ(second[0].record_count, 2u);
  EXPECT_NE(second[0].bytes.find("\"d\":\"p0:pump\""), std::string::npos);
  EXPECT_EQ(plan_->Find(kSplitter)->shared->counters[0].records_in.Get(), 3u);
  EXPECT_EQ(plan_->Find(kSplitter)->shared->counters[0].records_out.Get(), 3u);
}

TEST_F(SplitPipelineTest, RecordsWithoutAPartAreCountedAndNotTaken) {
  Apply(PlanOf({0}));
  for (const char* device : {"pump", "p1:pump", "p0:", ":p0", ""}) {
    const Passage passage = Run(device);
    EXPECT_FALSE(passage.taken) << device;
    EXPECT_EQ(passage.untaken, Untaken::kNoPart) << device;
    EXPECT_EQ(passage.copies, 0u);
    EXPECT_EQ(passage.record_class, kNormal);
  }
  EXPECT_EQ(Dropped(Drop::kNoPart), 5u);
  EXPECT_EQ(Dropped(Drop::kNoRoute), 0u) << "counted once";
  EXPECT_EQ(budget_.held(), 0);
}

TEST_F(SplitPipelineTest, APartAboveItsRateIsCountedAndNotTaken) {
  auto plan = PlanOf({0, 1});
  plan[1].parts[0].rate = 2;
  Apply(std::move(plan));
  EXPECT_TRUE(Run("p0:a", "1", kNormal, 5'000'000).taken);
  EXPECT_TRUE(Run("p0:b", "1", kNormal, 5'000'000).taken);
  const Passage passage = Run("p0:c", "1", kHigh, 5'000'000);
  EXPECT_FALSE(passage.taken);
  EXPECT_EQ(passage.untaken, Untaken::kPartFull);
  EXPECT_TRUE(Run("p1:c", "1", kNormal, 5'000'000).taken) << "the other part has no limit";
  EXPECT_EQ(Dropped(Drop::kPartFull), 1u);
  EXPECT_EQ(counters_.drops[static_cast<size_t>(Drop::kPartFull)][kHigh].Get(), 1u);
}

TEST_F(SplitPipelineTest, ARecordThatAnotherRouteTakesCounts) {
  auto plan = PlanOf({0});
  plan[0].next.push_back(500);
  plan.push_back(UplinkStage(500, 500));
  Apply(std::move(plan));
  const Passage passage = Run("stranger");
  EXPECT_TRUE(passage.taken);
  EXPECT_EQ(passage.copies, 1u);
  EXPECT_EQ(Dropped(Drop::kNoPart), 1u);
}

TEST_F(SplitPipelineTest, AMessageDoesNotReplaceTheCopyOfAPart) {
  auto plan = PlanOf({0});
  plan[0].messages = true;
  Apply(std::move(plan));
  EXPECT_TRUE(Run("p0:pump").taken);
  const Passage passage = Run("p1:pump");
  EXPECT_FALSE(passage.taken);
  EXPECT_EQ(passage.untaken, Untaken::kNoPart);
  EXPECT_EQ(Dropped(Drop::kNoPart), 1u);
  EXPECT_EQ(Dropped(Drop::kNoRoute), 0u);
}

TEST_F(SplitPipelineTest, ASilentPartHasNoBatcherAndNoDeadline) {
  Apply(PlanOf({0, 1, 2}));
  EXPECT_EQ(pipeline_.NextDeadline(), kNever);
  Run("p1:d", "1", kNormal, 1'000);
  EXPECT_EQ(pipeline_.NextDeadline(), 1'001'000);
  Run("p2:d", "1", kNormal, 2'000);
  pipeline_.OnTime(1'001'000);
  EXPECT_EQ(Drain(1).size(), 1u);
  EXPECT_EQ(Drain(2).size(), 0u);
  EXPECT_EQ(pipeline_.NextDeadline(), 1'002'000);
  pipeline_.OnTime(1'002'000);
  EXPECT_EQ(pipeline_.NextDeadline(), kNever);
  Run("p1:d", "2", kNormal, 3'000'000);
  EXPECT_EQ(pipeline_.NextDeadline(), 4'000'000) << "a part may become busy again";
}

TEST_F(SplitPipelineTest, OtherPartsDoNotEndOpenBatches) {
  Apply(PlanOf({0, 1}));
  Run("p0:d", "1");
  Run("p1:d", "1");
  Apply(PlanOf({2, 0}));  // p1 leaves, p2 is new, p0 has another place
  EXPECT_EQ(Drain(0).size(), 0u) << "still open";
  const std::vector<Batch> gone = Drain(1);
  ASSERT_EQ(gone.size(), 1u);
  EXPECT_EQ(gone[0].reason, SealReason::kPlan);
  EXPECT_FALSE(Run("p1:d", "2").taken);
  EXPECT_TRUE(Run("p0:d", "2").taken);
  pipeline_.Flush(0, SealReason::kFlush);
  const std::vector<Batch> batches = Drain(0);
  ASSERT_EQ(batches.size(), 1u);
  EXPECT_EQ(batches[0].record_count, 2u);
}

TEST_F(SplitPipelineTest, APartThatGetsAnotherStageEndsOpenBatches) {
  Apply(PlanOf({0, 1}));
  Run("p0:d", "1");
  auto plan = PlanOf({0, 1});
  std::swap(plan[1].next[0], plan[1].next[1]);
  Apply(std::move(plan));
  ASSERT_EQ(Drain(0).size(), 1u);
  Run("p0:d", "2");
  pipeline_.Flush(0, SealReason::kFlush);
  EXPECT_EQ(Drain(1).size(), 1u);
}

// Another way into the stage of a part that is gone: its records could overtake those of the open
// batch.
TEST_F(SplitPipelineTest, AnotherWayIntoAStageThatLeavesEndsOpenBatches) {
  auto plan = PlanOf({0, 1});
  plan[0].next.push_back(12);
  Apply(plan);
  Run("p0:d", "1");
  plan = PlanOf({0});
  Apply(plan);
  EXPECT_EQ(Drain(0).size(), 1u);
}

// Random devices, plans, flushes and times: each record that was taken arrives once, in order for
// its part, device and class, and no other does.
TEST_F(SplitPipelineTest, RandomPlansKeepOrderAndLoseNothing) {
  test::Random random;
  std::vector<uint32_t> parts{0, 1, 2};
  Apply(PlanOf(parts));
  using Key = std::tuple<uint32_t, std::string, uint8_t>;
  std::map<Key, std::vector<std::string>> taken, arrived;
  uint64_t refused = 0;
  int64_t now_us = 1'000'000;
  const auto collect = [&](uint32_t part) {
    if (lanes_[part] == nullptr) return;
    for (const Batch& batch : Drain(part)) {
      size_t at = 0;
      for (uint32_t i = 0; i < batch.record_count; ++i) {
        const size_t end = batch.bytes.find('\n', at);
        const std::string line = batch.bytes.substr(at, end - at);
        at = end + 1;
        const size_t d = line.find("\"d\":\"") + 5, p = line.find("\"p\":") + 4;
        arrived[{part, line.substr(d, line.find('"', d) - d), batch.record_class}].push_back(
            line.substr(p, line.find('}', p) - p));
      }
    }
  };
  for (int step = 0; step < 4000; ++step) {
    now_us += random.In<int64_t>(0, 20'000);
    if (random.OneIn(40)) {
      parts.clear();
      for (uint32_t n = 0; n < 6; ++n) {
        if (!random.OneIn(3)) parts.push_back(n);
      }
      for (size_t i = parts.size(); i > 1; --i) {
        std::swap(parts[i - 1], parts[random.In<size_t>(0, i - 1)]);
      }
      Apply(PlanOf(parts));
    } else if (random.OneIn(10)) {
      pipeline_.OnTime(now_us);
    } else if (random.OneIn(30)) {
      pipeline_.Flush(random.OneIn(2) ? 0 : 10 + 2 * random.In<uint32_t>(0, 5), SealReason::kFlush);
    } else if (random.OneIn(10)) {
      collect(random.In<uint32_t>(0, 5));
    } else {
      const uint32_t part = random.In<uint32_t>(0, 6);
      const std::string name(1, static_cast<char>('a' + random.In(0, 3)));
      const uint8_t record_class = random.In<uint8_t>(1, 4);
      const std::string payload = std::to_string(step);
      const bool known = std::find(parts.begin(), parts.end(), part) != parts.end();
      const Passage passage =
          Run("p" + std::to_string(part) + ":" + name, payload, record_class, now_us);
      ASSERT_EQ(passage.taken, known);
      if (known) {
        taken[{part, name, record_class}].push_back(payload);
      } else {
        ++refused;
      }
    }
  }
  pipeline_.Flush(0, SealReason::kFlush);
  for (uint32_t n = 0; n < 6; ++n) collect(n);
  EXPECT_EQ(taken, arrived);
  EXPECT_EQ(Dropped(Drop::kNoPart), refused);
  EXPECT_EQ(budget_.held(), 0);
  for (const auto& [number, lanes] : lanes_) EXPECT_EQ(lanes->held_bytes(), 0) << number;
}

}  // namespace
}  // namespace seganet

#include "core/plan/split.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/plan/plan.h"
#include "test/support/plan_support.h"
#include "test/support/support.h"

namespace seganet {
namespace {

using test::BatchStage;
using test::Problem;
using test::Spec;
using test::UplinkStage;

Split Of(const std::vector<SplitPart>& parts, const Split* before = nullptr) {
  return Split(parts, std::vector<Holdings>(parts.size()), before);
}

StageSpec SplitStage(uint32_t id, const std::vector<std::string>& names,
                     std::vector<uint32_t> next) {
  StageSpec spec = Spec(id, StageKind::kSplit, std::move(next));
  for (const std::string& name : names) spec.parts.push_back({.name = name});
  return spec;
}

TEST(Split, FindsThePartBeforeTheFirstColon) {
  const Split split = Of({{.name = "acme"}, {.name = "b"}});
  const auto found = [&split](std::string_view device) {
    const Split::Route route = split.Find(device);
    return route.part == nullptr
               ? "-"
               : std::to_string(route.part->index()) + " " + std::string(route.device);
  };
  EXPECT_EQ(found("acme:pump-1"), "0 pump-1");
  EXPECT_EQ(found("b:acme:pump-1"), "1 acme:pump-1") << "the rest is a name of the part";
  EXPECT_EQ(found("b::"), "1 :");
  for (const char* other :
       {"", ":", "acme", "acme:", ":acme", "acm:x", "acmee:x", "ACME:x", "x:y"}) {
    EXPECT_EQ(found(other), "-") << other;
  }
  EXPECT_EQ(found(std::string("acme\0:x", 7)), "-");
}

TEST(Split, ChecksItsParts) {
  EXPECT_EQ(Problem({SplitStage(1, {"a", "b"}, {2, 3}), UplinkStage(2), BatchStage(3, {2})}), "");
  EXPECT_EQ(Problem({SplitStage(1, {}, {})}), "") << "all parts may be gone";
  EXPECT_EQ(Problem({SplitStage(1, {"a"}, {}), UplinkStage(2)}),
            "stage 1: parts and next must have the same length");
  EXPECT_EQ(Problem({SplitStage(1, {"a", "a"}, {2, 3}), UplinkStage(2), UplinkStage(3)}),
            "stage 1: part 'a' is named twice");
  EXPECT_EQ(Problem({SplitStage(1, {"a", "b"}, {2, 2}), UplinkStage(2)}),
            "stage 1: stage 2 is named twice");
  EXPECT_EQ(Problem({SplitStage(1, {"a"}, {2}), Spec(2, StageKind::kSource)}),
            "stage 1: stage 2 takes no records from other stages");
  for (const std::string& name : {std::string(), std::string("a:b"), std::string(65, 'x')}) {
    EXPECT_EQ(Problem({SplitStage(1, {name}, {2}), UplinkStage(2)}),
              "stage 1: part '" + name + "' must be 1 to 64 bytes without ':'");
  }
  StageSpec split = SplitStage(1, {std::string(64, 'x')}, {2});
  EXPECT_EQ(Problem({split, UplinkStage(2)}), "");
  split.parts[0].rate = kMaxPartRate + 1;
  EXPECT_NE(Problem({split, UplinkStage(2)}), "");
  split.parts[0].rate = 0;
  split.messages = true;
  EXPECT_EQ(Problem({split, UplinkStage(2)}), "stage 1: a split has no messages");
}

TEST(Split, HasAtMost1024PartsWithABatchAndAnUplinkEach) {
  std::vector<StageSpec> plan{SplitStage(1, {}, {})};
  for (uint32_t i = 0; i < kMaxParts; ++i) {
    plan[0].parts.push_back({.name = "p" + std::to_string(i)});
    plan[0].next.push_back(2 + 2 * i);
    plan.push_back(BatchStage(2 + 2 * i, {3 + 2 * i}));
    plan.push_back(UplinkStage(3 + 2 * i, i));
  }
  EXPECT_EQ(Problem(plan), "") << "a record runs through three of the stages";
  plan[0].parts.push_back({.name = "more"});
  plan[0].next.push_back(9999);
  plan.push_back(UplinkStage(9999));
  EXPECT_EQ(Problem(plan), "stage 1: more than 1024 parts");
}

TEST(Split, ARecordTakesOneOfItsWays) {
  // Two ways of 1,000 stages: a tap would multiply them, a split takes one.
  std::vector<StageSpec> plan{SplitStage(1, {"a", "b"}, {2, 1002})};
  for (uint32_t id = 2; id < 2002; ++id) plan.push_back(Spec(id, StageKind::kTap, {id + 1}));
  plan[1000].next.clear();
  plan.back().next.clear();
  EXPECT_EQ(Problem(plan), "");
  plan[0] = Spec(1, StageKind::kTap, {2, 1002});
  EXPECT_EQ(Problem(plan), "stage 1: a record would run through more than 1024 stages");
}

TEST(PartRate, AllowsASecondsWorthAtOnceThenTheRate) {
  for (const uint32_t rate : {1u, 3u, 7u, 1000u}) {
    PartRate limit;
    int64_t now_us = 5'000'000;
    uint32_t taken = 0;
    for (uint32_t i = 0; i < 2 * rate + 2; ++i) taken += limit.Pay(rate, now_us);
    EXPECT_EQ(taken, rate);
    for (int second = 0; second < 10; ++second) {
      for (int step = 0; step < 10'000; ++step) taken += limit.Pay(rate, now_us += 100);
    }
    EXPECT_GE(taken, 11 * rate - 1);
    EXPECT_LE(taken, 11 * rate + 1);
  }
}

TEST(PartRate, AnEarlierClockIsNoCredit) {
  PartRate limit;
  EXPECT_TRUE(limit.Pay(1, 10'000'000));
  EXPECT_FALSE(limit.Pay(1, 9'000'000));
  EXPECT_FALSE(limit.Pay(1, 10'999'999));
  EXPECT_TRUE(limit.Pay(1, 11'000'000));
}

TEST(Split, ANewPlanIsNoNewCredit) {
  const Split before = Of({{.name = "a", .rate = 2}, {.name = "b", .rate = 2}});
  EXPECT_TRUE(before.PartOf("a")->Admits(7'000'000));
  EXPECT_TRUE(before.PartOf("a")->Admits(7'000'000));
  const Split after = Of({{.name = "c", .rate = 2}, {.name = "a", .rate = 2}}, &before);
  EXPECT_FALSE(after.PartOf("a")->Admits(7'000'000));
  EXPECT_EQ(after.PartOf("a")->refused(), 1u);
  EXPECT_TRUE(after.PartOf("c")->Admits(7'000'000));
  EXPECT_EQ(after.PartOf("b"), nullptr);
  const Split lifted = Of({{.name = "a"}}, &after);
  EXPECT_TRUE(lifted.PartOf("a")->Admits(7'000'000)) << "it has no limit anymore";
  EXPECT_EQ(lifted.PartOf("a")->refused(), 1u) << "a new plan does not forget the count";
}

TEST(Split, ABudgetCountsMemoryAndTheLog) {
  Budget budget{1 << 20};
  LatencyByClass latency;
  std::atomic<uint64_t> sequence{0};
  const auto lanes = std::make_shared<Lanes>(test::PlainLanes(&budget, &latency, &sequence));
  const auto stored = std::make_shared<std::atomic<int64_t>>(0);
  StageSpec split = SplitStage(1, {"a", "b"}, {2, 4});
  split.parts[0].budget = 2000;
  StageSpec uplink = UplinkStage(3, 7);
  uplink.name = "part/a";
  const Plan plan(
      {split, BatchStage(2, {3}), uplink, UplinkStage(4, 8)}, 1, nullptr,
      [&](uint32_t number) {
        return number == 7
                   ? lanes
                   : std::make_shared<Lanes>(test::PlainLanes(&budget, &latency, &sequence));
      },
      [&](const std::string& name) {
        EXPECT_EQ(name, "part/a");
        return BytesOnDisk(stored);
      });
  const Split::Part& part = *plan.Find(1)->split->PartOf("a");
  EXPECT_TRUE(part.Admits(0));
  lanes->Push(SingleBatch(test::MakeRecord("d", "t", std::string(1200, 'x'))));
  EXPECT_GT(lanes->held_bytes(), 1200);
  EXPECT_TRUE(part.Admits(0));
  stored->store(2000 - lanes->held_bytes());
  EXPECT_EQ(part.waiting_bytes(), 2000);
  EXPECT_FALSE(part.Admits(0));
  EXPECT_EQ(part.refused(), 1u);
  stored->store(0);
  EXPECT_TRUE(part.Admits(0));
  lanes->Push(SingleBatch(test::MakeRecord("d", "t", std::string(1200, 'x'))));
  EXPECT_FALSE(part.Admits(0));
  EXPECT_TRUE(plan.Find(1)->split->PartOf("b")->Admits(0));
  lanes->Clear(Drop::kClosed);
  EXPECT_EQ(lanes->held_bytes(), 0);
  EXPECT_TRUE(part.Admits(0));
}

}  // namespace
}  // namespace seganet

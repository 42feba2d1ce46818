#include "core/plan/plan.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "test/support/plan_support.h"

namespace seganet {
namespace {

using test::BatchStage;
using test::Problem;
using test::Spec;
using test::UplinkStage;

TEST(Plan, TakesNothingAndAWholeChain) {
  EXPECT_EQ(Problem({}), "");
  EXPECT_EQ(Problem({Spec(1, StageKind::kSource, {2}), Spec(2, StageKind::kPriority, {3}),
                     BatchStage(3, {4}), UplinkStage(4)}),
            "");
}

TEST(Plan, IdsAreUniqueAndNotZero) {
  EXPECT_EQ(Problem({Spec(0, StageKind::kTap)}), "stage 0: ids must be unique and not 0");
  EXPECT_EQ(Problem({Spec(7, StageKind::kTap), Spec(7, StageKind::kSource)}),
            "stage 7: ids must be unique and not 0");
}

TEST(Plan, WiresLeadToStagesThatTakeRecords) {
  EXPECT_EQ(Problem({Spec(1, StageKind::kSource, {2})}), "stage 1: no stage 2");
  EXPECT_EQ(Problem({Spec(1, StageKind::kTap, {2}), Spec(2, StageKind::kSource)}),
            "stage 1: stage 2 takes no records from other stages");
  EXPECT_EQ(Problem({Spec(1, StageKind::kTap, {2}), Spec(2, StageKind::kIngest)}),
            "stage 1: stage 2 takes no records from other stages");
}

TEST(Plan, BatchesGoToUplinksOnly) {
  EXPECT_EQ(Problem({BatchStage(1, {2}), Spec(2, StageKind::kTap)}),
            "stage 1: a batch can only go to an uplink");
}

TEST(Plan, UplinksHaveNoOutput) {
  StageSpec uplink = UplinkStage(1);
  uplink.messages = true;
  EXPECT_EQ(Problem({uplink}), "stage 1: an uplink has no output");
  uplink.messages = false;
  uplink.next = {2};
  EXPECT_EQ(Problem({uplink, UplinkStage(2)}), "stage 1: an uplink has no output");
}

TEST(Plan, ChecksRulesAndOptions) {
  StageSpec priority = Spec(1, StageKind::kPriority);
  priority.default_class = kClasses + 1;
  EXPECT_EQ(Problem({priority}), "stage 1: default class must be 0 to " + std::to_string(kClasses));
  priority.default_class = 0;
  priority.rules = {{"a/#b", "", 1}};
  EXPECT_EQ(Problem({priority}), "rule 1: 'a/#b' is not an MQTT topic filter");
  StageSpec batch = BatchStage(1, {});
  batch.batcher.max_bytes = 0;
  EXPECT_EQ(Problem({batch}), "batch bytes (m) must be 1 to 1048576");
}

TEST(Plan, RefusesCircles) {
  EXPECT_NE(Problem({Spec(1, StageKind::kTap, {1})}), "");
  EXPECT_NE(Problem({Spec(1, StageKind::kSource, {2}), Spec(2, StageKind::kTap, {3}),
                     Spec(3, StageKind::kPriority, {4}), Spec(4, StageKind::kTap, {2})}),
            "");
}

TEST(Plan, DiamondsAreNotCircles) {
  EXPECT_EQ(Problem({Spec(1, StageKind::kSource, {2, 3}), Spec(2, StageKind::kTap, {4}),
                     Spec(3, StageKind::kTap, {4}), UplinkStage(4)}),
            "");
}

TEST(Plan, RefusesAStageNamedTwice) {
  EXPECT_EQ(Problem({Spec(1, StageKind::kSource, {2, 2}), UplinkStage(2)}),
            "stage 1: stage 2 is named twice");
}

// Each diamond doubles the ways of a record: eleven of them are more than any flow needs.
TEST(Plan, RefusesDiamondsThatMultiply) {
  std::vector<StageSpec> plan;
  const auto diamonds = [&plan](uint32_t count) {
    plan.clear();
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t top = 3 * i + 1;
      plan.push_back(Spec(top, StageKind::kTap, {top + 1, top + 2}));
      plan.push_back(Spec(top + 1, StageKind::kTap, {top + 3}));
      plan.push_back(Spec(top + 2, StageKind::kTap, {top + 3}));
    }
    plan.push_back(Spec(3 * count + 1, StageKind::kTap));
    return Problem(plan);
  };
  EXPECT_EQ(diamonds(7), "");
  EXPECT_EQ(diamonds(11), "stage 1: a record would run through more than 1024 stages");
}

TEST(Plan, HasAtMost4096Stages) {
  std::vector<StageSpec> chain;
  for (uint32_t id = 1; id <= kMaxStages; ++id) {
    chain.push_back(Spec(id, StageKind::kTap, {id + 1}));
  }
  chain.back().next.clear();
  for (uint32_t id = kMaxVisits; id < kMaxStages; id += kMaxVisits) chain[id - 1].next.clear();
  EXPECT_EQ(Problem(chain), "") << "four chains";
  for (uint32_t id = 1; id < kMaxStages; ++id) chain[id - 1].next = {id + 1};
  chain.back().next = {1};  // the longest circle there can be
  EXPECT_NE(Problem(chain), "");
  chain.push_back(Spec(9000, StageKind::kTap));
  EXPECT_EQ(Problem(chain), "more than 4096 stages");
}

TEST(Plan, StagesThatStayKeepTheirCounters) {
  const auto lanes_of = [](uint32_t) { return std::shared_ptr<Lanes>(); };
  const Plan before({Spec(1, StageKind::kTap), Spec(2, StageKind::kTap)}, 2, nullptr, lanes_of);
  before.Find(1)->shared->counters[1].records_in.Add(5);
  const Plan after({Spec(3, StageKind::kTap, {1}), Spec(1, StageKind::kTap)}, 2, &before, lanes_of);
  EXPECT_EQ(after.Find(1)->shared->counters[1].records_in.Get(), 5u);
  EXPECT_EQ(after.Find(1)->index, 1u);
  EXPECT_EQ(after.Find(3)->next.front(), after.Find(1));
  EXPECT_EQ(after.Find(2), nullptr);
}

TEST(Plan, ARegisterThatStaysIsTheSameObject) {
  const auto plan = [](std::vector<DeviceClass> devices, const Plan* before) {
    StageSpec source = Spec(1, StageKind::kSource);
    source.devices = std::move(devices);
    return std::make_shared<Plan>(std::vector<StageSpec>{source}, 1, before, nullptr);
  };
  const auto first = plan({{"a", kBulk}}, nullptr);
  const auto same = plan({{"a", kBulk}}, first.get());
  const auto other = plan({{"a", kHigh}}, same.get());
  EXPECT_EQ(first->DevicesOf(1), same->DevicesOf(1));
  EXPECT_NE(same->DevicesOf(1), other->DevicesOf(1));
  EXPECT_EQ(other->DevicesOf(1)->Of("a"), kHigh);
  EXPECT_EQ(plan({}, other.get())->DevicesOf(1), nullptr);
  EXPECT_EQ(other->DevicesOf(2), nullptr);
}

TEST(Plan, ChecksRegisteredDevices) {
  StageSpec source = Spec(1, StageKind::kSource);
  source.devices = {{"", kHigh}};
  EXPECT_EQ(Problem({source}), "registered device 1: its id or pattern must be 1 to 256 bytes");
}

TEST(Plan, KnowsWhetherRecordsBecomeMessagesOnly) {
  const auto message_only = [](StageSpec spec) {
    spec.messages = true;
    return Plan({spec, Spec(2, StageKind::kTap)}, 1, nullptr, nullptr).message_only();
  };
  EXPECT_TRUE(message_only(Spec(1, StageKind::kSource)));
  EXPECT_TRUE(message_only(BatchStage(1, {})));
  EXPECT_FALSE(message_only(Spec(1, StageKind::kSource, {2})));
  EXPECT_FALSE(message_only(Spec(1, StageKind::kTap)));
}

}  // namespace
}  // namespace seganet

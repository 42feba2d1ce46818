// A pipeline that gets another plan while batches are open and filters know values.
#include <gtest/gtest.h>

#include <vector>

#include "test/support/pipeline_support.h"
#include "test/support/plan_support.h"

namespace seganet {
namespace {

using test::BatchStage;
using test::Spec;
using test::UplinkStage;

class PipelinePlanTest : public test::PipelineTest {};

TEST_F(PipelinePlanTest, AnUnchangedStageKeepsItsOpenBatch) {
  Apply({BatchStage(1, {2}), UplinkStage(2)});
  Run(1);
  Apply({UplinkStage(2), Spec(9, StageKind::kTap), BatchStage(1, {2})});
  EXPECT_TRUE(Drain(0).empty());
  Run(1);
  pipeline_.Flush(1, SealReason::kFlush);
  const std::vector<Batch> batches = Drain(0);
  ASSERT_EQ(batches.size(), 1u);
  EXPECT_EQ(batches[0].record_count, 2u);
}

TEST_F(PipelinePlanTest, AChangedStageSealsItsOpenBatchAndFollowsTheOldWires) {
  const std::vector<StageSpec> before = {BatchStage(1, {2}), UplinkStage(2, 10),
                                         UplinkStage(3, 11)};
  StageSpec other_options = BatchStage(1, {2});
  other_options.batcher.max_bytes = 500;
  const std::vector<std::vector<StageSpec>> changes = {
      {other_options, UplinkStage(2, 10)},
      {BatchStage(1, {3}), UplinkStage(2, 10), UplinkStage(3, 11)},
      {Spec(1, StageKind::kPriority, {2}), UplinkStage(2, 10)},
      {UplinkStage(2, 10)},
      {}};
  for (const std::vector<StageSpec>& after : changes) {
    Apply(before);
    Run(1);
    Apply(after);
    const std::vector<Batch> batches = Drain(10);
    ASSERT_EQ(batches.size(), 1u);
    EXPECT_EQ(batches[0].reason, SealReason::kPlan);
    EXPECT_TRUE(Drain(11).empty());
  }
  EXPECT_EQ(HeldRecords(), 0);
}

TEST_F(PipelinePlanTest, ARecordOnAnotherWayComesBehindThoseOfTheOpenBatch) {
  const StageSpec batch = BatchStage(2, {3});
  Apply({Spec(1, StageKind::kSource, {2}), batch, UplinkStage(3)});
  Run(1, "first");
  Apply({Spec(1, StageKind::kSource, {3}), batch, UplinkStage(3)});
  Run(1, "second");
  const std::vector<Batch> batches = Drain(0);
  ASSERT_EQ(batches.size(), 2u);
  EXPECT_EQ(batches[0].reason, SealReason::kPlan);
  EXPECT_EQ(batches[1].bytes.find("second"), batches[1].bytes.size() - 6);
}

// Records that wait to become a message when the stage's only wire is removed.
TEST_F(PipelinePlanTest, AStageThatLosesItsMessagesSealsForThemFirst) {
  StageSpec batch = BatchStage(1, {});
  batch.messages = true;
  Apply({batch});
  Run(1);
  Apply({BatchStage(1, {})});
  pipeline_.Flush(0, SealReason::kFlush);
  EXPECT_EQ(Messages().size() + Dropped(Drop::kNoRoute), 1u);
}

TEST_F(PipelinePlanTest, AFilterKeepsWhatItKnowsWhileItsOptionsStay) {
  StageSpec filter = Spec(2, StageKind::kFilter, {3});
  filter.filter.mode = FilterMode::kChange;
  Apply({Spec(1, StageKind::kSource, {2}), filter, UplinkStage(3)});
  Run(1, "5");
  Apply({Spec(9, StageKind::kSource, {2}), UplinkStage(3), filter});
  EXPECT_EQ(Run(9, "5").copies, 0u);
  filter.filter.band = 1;
  Apply({Spec(9, StageKind::kSource, {2}), UplinkStage(3), filter});
  EXPECT_EQ(Run(9, "5").copies, 1u);
  Drain(0);
}

TEST_F(PipelinePlanTest, AnAdaptiveBatchWaitsForTheUplinkOfTheCurrentPlan) {
  StageSpec batch = BatchStage(1, {2});
  batch.batcher.flush = BatchFlush::kAdaptive;
  Apply({batch, UplinkStage(2, 0)});
  Run(1);
  pipeline_.EndTurn(500'000);
  EXPECT_EQ(pipeline_.NextDeadline(), 1'000'000);
  Apply({batch, UplinkStage(2, 1)});
  const auto hungry = [this](uint32_t uplink) {
    Lanes* lanes = lanes_[uplink].get();
    lanes->SetConnected(sessions_.At(lanes), true, 500'000);
    lanes->RaiseDemand(sessions_.At(lanes), 500'000);
  };
  hungry(0);
  pipeline_.EndTurn(500'000);
  EXPECT_EQ(lanes_[1]->Best(sessions_.At(lanes_[1].get()), 500'000), 0);
  hungry(1);
  pipeline_.EndTurn(500'000);
  const std::vector<Batch> batches = Drain(1);
  ASSERT_EQ(batches.size(), 1u);
  EXPECT_EQ(batches[0].reason, SealReason::kDemand);
}

}  // namespace
}  // namespace seganet

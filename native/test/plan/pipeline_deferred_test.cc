// Records whose devices wait until a flow has delivered their messages.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/plan/deferred_receipts.h"
#include "core/plan/pipeline.h"
#include "core/record/frame.h"
#include "test/support/plan_support.h"
#include "test/support/support.h"

namespace seganet {
namespace {

using test::BatchStage;
using test::MakeRecord;
using test::Spec;
using test::UplinkStage;

TEST(DeferredReceipts, CountsRecordsUntilTheirMessageEnds) {
  std::atomic<int64_t> records{0};
  DeferredReceipts deferred(3, &records);
  const uint32_t one = deferred.Keep({{1, 1, 7}});
  const uint32_t two = deferred.Keep({{1, 1, 8}, {2, 1, 1}});
  EXPECT_NE(one, two);
  EXPECT_EQ(DeferredReceipts::WorkerOf(one), 3u);
  EXPECT_EQ(DeferredReceipts::WorkerOf(two), 3u);
  EXPECT_EQ(records, 3);
  EXPECT_EQ(deferred.Take(two).size(), 2u);
  EXPECT_EQ(records, 1);
  EXPECT_TRUE(deferred.Take(two).empty());
  EXPECT_TRUE(deferred.Take(0).empty());
  const std::vector<Receipt> last = deferred.Take(one);
  ASSERT_EQ(last.size(), 1u);
  EXPECT_EQ(last[0].handle, 7u);
  EXPECT_EQ(records, 0);
}

TEST(DeferredReceipts, NoLongerCountsRecordsOfAWorkerThatEnds) {
  std::atomic<int64_t> records{5};
  { DeferredReceipts(0, &records).Keep({{1, 1, 1}}); }
  EXPECT_EQ(records, 5);
}

class DeferredPipelineTest : public testing::Test {
 protected:
  void Apply(std::vector<StageSpec> specs) {
    const Status status = ValidatePlan(specs);
    ASSERT_TRUE(status.ok()) << status.message();
    pipeline_.SetPlan(
        std::make_shared<const Plan>(std::move(specs), 1, nullptr, [this](uint32_t number) {
          auto& lanes = lanes_[number];
          if (!lanes) {
            lanes = std::make_shared<Lanes>(test::PlainLanes(&budget_, &latency_, &sequence_));
          }
          return lanes;
        }));
  }

  Passage Run(uint64_t handle, std::string_view payload = "1") {
    Record record = MakeRecord("d", "t", payload, kNormal, 0);
    record.deferred = {4, 2, handle};
    return pipeline_.Run(1, record);
  }

  std::vector<uint32_t> Deferrals() {
    std::vector<uint32_t> ids;
    for (std::string_view frame = ring_.Front(); frame.data() != nullptr; frame = ring_.Front()) {
      FrameHeader header;
      std::memcpy(&header, frame.data(), sizeof header);
      ids.push_back(header.deferral);
      ring_.Pop();
    }
    return ids;
  }

  static StageSpec Messages(StageSpec spec) {
    spec.messages = true;
    return spec;
  }

  Budget budget_{1 << 20};
  LatencyByClass latency_;
  CounterBlock counters_;
  ByteRing ring_{4096};
  test::CountingBell bell_;
  std::atomic<int64_t> devices_{100};
  std::atomic<uint64_t> sequence_{0};
  std::atomic<int64_t> records_{0};
  std::map<uint32_t, std::shared_ptr<Lanes>> lanes_;
  DeferredReceipts deferred_{0, &records_};
  Pipeline pipeline_{
      PipelineContext{0, &budget_, &counters_, &ring_, &bell_, &devices_, {}, &deferred_}};
};

TEST_F(DeferredPipelineTest, AMessageKeepsTheReceiptOfItsRecord) {
  Apply({Messages(Spec(1, StageKind::kSource, {}))});
  const Passage passage = Run(9);
  EXPECT_TRUE(passage.taken);
  EXPECT_EQ(passage.deferred, 1u);
  EXPECT_EQ(passage.copies, 0u);
  const std::vector<uint32_t> ids = Deferrals();
  ASSERT_EQ(ids.size(), 1u);
  const std::vector<Receipt> receipts = deferred_.Take(ids[0]);
  ASSERT_EQ(receipts.size(), 1u);
  EXPECT_EQ(receipts[0].agent, 4u);
  EXPECT_EQ(receipts[0].handle, 9u);
}

TEST_F(DeferredPipelineTest, ARecordWithoutAWaiterHasNoDeferral) {
  Apply({Messages(Spec(1, StageKind::kSource, {}))});
  EXPECT_EQ(Run(0).deferred, 0u);
  EXPECT_EQ(Deferrals(), std::vector<uint32_t>{0});
  EXPECT_EQ(records_, 0);
}

TEST_F(DeferredPipelineTest, CountsMessagesOfEachStageBesideNativeCopies) {
  Apply({Messages(Spec(1, StageKind::kSource, {2})), Messages(Spec(2, StageKind::kPriority, {3})),
         UplinkStage(3)});
  const Passage passage = Run(1);
  EXPECT_EQ(passage.deferred, 2u);
  EXPECT_EQ(passage.copies, 1u);
  EXPECT_EQ(records_, 2);
}

TEST_F(DeferredPipelineTest, ATapThatSamplesDefersNothing) {
  StageSpec tap = Messages(Spec(2, StageKind::kTap, {}));
  tap.per_second = 100;
  Apply({Spec(1, StageKind::kSource, {2, 3}), tap, UplinkStage(3)});
  EXPECT_EQ(Run(1).deferred, 0u);
  EXPECT_EQ(Deferrals(), std::vector<uint32_t>{0});
}

TEST_F(DeferredPipelineTest, AnEnvelopeKeepsTheReceiptsOfAllItsRecords) {
  Apply({Spec(1, StageKind::kSource, {2}), Messages(BatchStage(2, {3})), UplinkStage(3)});
  EXPECT_EQ(Run(1).deferred, 1u);
  EXPECT_EQ(Run(2).deferred, 1u);
  EXPECT_EQ(records_, 0);
  pipeline_.Flush(0, SealReason::kFlush);
  const std::vector<uint32_t> ids = Deferrals();
  ASSERT_EQ(ids.size(), 1u);
  EXPECT_EQ(records_, 2);
  EXPECT_EQ(deferred_.Take(ids[0]).size(), 2u);
  EXPECT_TRUE(deferred_.TakeLost().empty());
}

TEST_F(DeferredPipelineTest, AnEnvelopeWithoutRoomGivesItsReceiptsBack) {
  Apply({Spec(1, StageKind::kSource, {2}), Messages(BatchStage(2, {}))});
  Run(1, std::string(5000, 'x'));
  pipeline_.Flush(0, SealReason::kFlush);
  EXPECT_TRUE(Deferrals().empty());
  EXPECT_EQ(deferred_.TakeLost().size(), 1u);
  EXPECT_TRUE(deferred_.TakeLost().empty());
}

}  // namespace
}  // namespace seganet

// Filters that aggregate the records of a time window, in a plan: what their devices wait for, and
// where windows go when the plan changes.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/devices/receipt_table.h"
#include "core/plan/pipeline.h"
#include "core/record/frame.h"
#include "core/runtime/window_receipts.h"
#include "test/support/plan_support.h"
#include "test/support/support.h"

namespace seganet {
namespace {

using test::kSecond;
using test::MakeRecord;
using test::Spec;
using test::UplinkStage;

// Notes what becomes of the devices' packets.
class Packets : public ReceiptHolder {
 public:
  void Acknowledge(uint64_t handle) override { notes += "+" + std::to_string(handle); }
  void Withhold(uint64_t handle) override { notes += "-" + std::to_string(handle); }
  void Refuse(uint64_t handle) override { notes += "!" + std::to_string(handle); }
  void Flush() override {}
  std::string Take() { return std::exchange(notes, {}); }

  std::string notes;
};

class WindowPipelineTest : public testing::Test {
 protected:
  WindowPipelineTest() {
    rows_.Enroll(&held_);
    rows_.Enroll(&packets_);
  }

  static StageSpec WindowStage(uint32_t id, std::vector<uint32_t> next, bool hold = true) {
    StageSpec spec = Spec(id, StageKind::kFilter, std::move(next));
    spec.filter.mode = FilterMode::kWindow;
    spec.filter.window = {.values = {"$"}, .aggregates = aggregate::kSum, .hold = hold};
    return spec;
  }
  static StageSpec Messages(StageSpec spec) {
    spec.messages = true;
    return spec;
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
    pipeline_.SetPlan(plan_, now_us_);
  }

  Passage Run(std::string_view payload, uint64_t handle = 0, std::string_view device = "d") {
    Record record = MakeRecord(device, "t", payload, kNormal, now_us_);
    if (handle != 0) record.receipt = packets_.ReceiptFor(handle);
    return pipeline_.Run(1, record);
  }

  // Takes the payloads that wait for an uplink, and returns their receipts as if they were safe.
  std::string Deliver(uint32_t uplink = 0) {
    std::string payloads;
    std::vector<Receipt> safe;
    Outlet* outlet = sessions_.At(lanes_[uplink].get());
    uint64_t id = 0;
    while (lanes_[uplink]->Take(outlet, 0, [&](const Batch& batch) {
      id = batch.id;
      payloads += batch.bytes.substr(batch.device_bytes + batch.topic_bytes) + "\n";
      safe.insert(safe.end(), batch.receipts.begin(), batch.receipts.end());
      return true;
    })) {
      lanes_[uplink]->Release(outlet, id, 0);
    }
    rows_.Serve(safe);
    ServeHeld();
    return payloads;
  }
  void ServeHeld() {
    for (;;) {
      const WindowReceipts::Ended ended = held_.TakeEnded();
      if (ended.empty()) return;
      rows_.Serve(ended.safe);
      rows_.Deny(ended.withheld);
      rows_.Refuse(ended.refused);
    }
  }

  void Pass(int64_t seconds) {
    now_us_ += seconds * kSecond;
    while (pipeline_.NextDeadline() <= now_us_) pipeline_.OnTime(now_us_);
  }

  size_t MessagesOut() {
    size_t count = 0;
    for (; ring_.Front().data() != nullptr; ring_.Pop()) ++count;
    return count;
  }
  uint64_t Count(Counter c) { return counters_.counters[static_cast<size_t>(c)].Get(); }
  uint64_t Dropped(Drop reason) {
    uint64_t sum = 0;
    for (const SingleWriter& n : counters_.drops[static_cast<size_t>(reason)]) sum += n.Get();
    return sum;
  }

  Budget budget_{64 << 20};
  LatencyByClass latency_;
  CounterBlock counters_;
  ByteRing ring_{4096};
  test::CountingBell bell_;
  std::atomic<int64_t> devices_{100};
  std::atomic<uint64_t> sequence_{0};
  std::atomic<int64_t> deferred_records_{0};
  test::Sessions sessions_;
  std::map<uint32_t, std::shared_ptr<Lanes>> lanes_;
  std::shared_ptr<const Plan> plan_;
  ReceiptTable rows_;
  Packets packets_;
  int wakes_ = 0;
  WindowReceipts held_{&budget_, [this] { ++wakes_; }};
  DeferredReceipts deferred_{0, &deferred_records_};
  WindowTotals totals_;
  int64_t now_us_ = 0;
  Now now_{0, 1'000'000};
  Pipeline pipeline_{PipelineContext{
      0, &budget_, &counters_, &ring_, &bell_, &devices_, {}, &deferred_, &held_, &totals_, &now_}};
};

constexpr const char* kSumOf3 =
    R"({"from":1000000,"to":1060000,"records":2,"values":{"$":{"sum":3}}})"
    "\n";

TEST_F(WindowPipelineTest, ARecordReplacesThoseOfItsWindow) {
  Apply({Spec(1, StageKind::kSource, {2}), WindowStage(2, {3}), UplinkStage(3)});
  const Passage passage = Run("1", 7);
  EXPECT_TRUE(passage.taken);
  EXPECT_EQ(passage.copies, 1u);
  EXPECT_EQ(Run("2", 8).copies, 1u);
  EXPECT_EQ(totals_.open, 1);
  EXPECT_EQ(pipeline_.NextDeadline(), 60 * kSecond);
  Pass(59);
  EXPECT_EQ(Deliver(), "");
  Pass(1);
  EXPECT_EQ(packets_.Take(), "") << "the window's record is not safe yet";
  EXPECT_EQ(held_.waiting(), 1u);
  EXPECT_EQ(Deliver(), kSumOf3);
  EXPECT_EQ(packets_.Take(), "+7+8");
  EXPECT_EQ(held_.waiting(), 0u);
  EXPECT_EQ(wakes_, 1);
  EXPECT_EQ(Count(Counter::kRecordsFiltered), 2u);
  EXPECT_EQ(Count(Counter::kRecordsReceived), 1u);
  EXPECT_EQ(Count(Counter::kWindowsEnded), 1u);
  EXPECT_EQ(Count(Counter::kWindowsEndedEarly), 0u);
  EXPECT_EQ(totals_.open, 0);
  EXPECT_EQ(budget_.held(), 0);
}

TEST_F(WindowPipelineTest, AcknowledgesAtOnceIfChosen) {
  Apply({Spec(1, StageKind::kSource, {2}), WindowStage(2, {3}, false), UplinkStage(3)});
  const Passage passage = Run("1", 7);
  EXPECT_TRUE(passage.taken);
  EXPECT_EQ(passage.copies, 0u);
  Pass(60);
  EXPECT_NE(Deliver(), "");
  EXPECT_EQ(packets_.Take(), "");
}

TEST_F(WindowPipelineTest, ARecordWithoutTheValuePasses) {
  Apply({Spec(1, StageKind::kSource, {2}), WindowStage(2, {3}), UplinkStage(3)});
  EXPECT_EQ(Run("\"on\"", 7).copies, 1u);
  EXPECT_EQ(Deliver(), "\"on\"\n");
  EXPECT_EQ(packets_.Take(), "+7");
  EXPECT_EQ(Count(Counter::kRecordsFiltered), 0u);
}

TEST_F(WindowPipelineTest, ADeviceWaitsForAllCopiesOfTheWindowsRecord) {
  Apply({Spec(1, StageKind::kSource, {2}), WindowStage(2, {3, 4}), UplinkStage(3, 0),
         UplinkStage(4, 1)});
  EXPECT_EQ(Run("1", 7).copies, 1u);
  Pass(60);
  Deliver(0);
  EXPECT_EQ(packets_.Take(), "");
  Deliver(1);
  EXPECT_EQ(packets_.Take(), "+7");
}

TEST_F(WindowPipelineTest, AWindowOfWindowsKeepsTheReceiptsOfAll) {
  StageSpec outer = WindowStage(3, {4});
  outer.filter.window.values = {"$.values['$'].sum"};
  outer.filter.window.length_s = 120;
  Apply({Spec(1, StageKind::kSource, {2}), WindowStage(2, {3}), outer, UplinkStage(4)});
  Run("1", 7);
  Pass(60);
  Run("2", 8);
  Pass(60);
  EXPECT_EQ(Deliver(), "");
  EXPECT_EQ(packets_.Take(), "");
  Pass(60);
  EXPECT_NE(Deliver().find(R"("records":2,"values":{"$.values['$'].sum":{"sum":3}})"),
            std::string::npos);
  EXPECT_EQ(packets_.Take(), "+7+8");
  EXPECT_EQ(budget_.held(), 0);
}

TEST_F(WindowPipelineTest, AMessageOfAWindowCompletesItsRecords) {
  Apply({Spec(1, StageKind::kSource, {2}), Messages(WindowStage(2, {}))});
  EXPECT_EQ(Run("1", 7).copies, 1u);
  Pass(60);
  EXPECT_EQ(MessagesOut(), 1u);
  ServeHeld();
  EXPECT_EQ(packets_.Take(), "+7");
}

TEST_F(WindowPipelineTest, RecordsOfAFlowWaitForTheMessageOfTheirWindow) {
  Apply({Spec(1, StageKind::kSource, {2}), Messages(WindowStage(2, {}))});
  Record record = MakeRecord("d", "t", "1", kNormal, 0);
  record.receipt = packets_.ReceiptFor(7);
  record.deferred = packets_.ReceiptFor(7);
  const Passage passage = pipeline_.Run(1, record);
  EXPECT_EQ(passage.copies + passage.deferred, 2u);
  Pass(60);
  FrameHeader header;
  std::memcpy(&header, ring_.Front().data(), sizeof header);
  ASSERT_NE(header.deferral, 0u);
  ServeHeld();
  EXPECT_EQ(packets_.Take(), "");
  rows_.Serve(deferred_.Take(header.deferral));
  ServeHeld();
  EXPECT_EQ(packets_.Take(), "+7+7") << "both that the packet expects";
}

TEST_F(WindowPipelineTest, AFlowThatFailsRefusesTheRecordsOfTheWindow) {
  Apply({Spec(1, StageKind::kSource, {2}), Messages(WindowStage(2, {}))});
  Record record = MakeRecord("d", "t", "1", kNormal, 0);
  record.deferred = packets_.ReceiptFor(7);
  pipeline_.Run(1, record);
  Pass(60);
  FrameHeader header;
  std::memcpy(&header, ring_.Front().data(), sizeof header);
  rows_.Refuse(deferred_.Take(header.deferral));
  ServeHeld();
  EXPECT_EQ(packets_.Take(), "!7");
}

TEST_F(WindowPipelineTest, WithholdsTheRecordsOfAWindowThatNothingTakes) {
  Apply({Spec(1, StageKind::kSource, {2}), Messages(WindowStage(2, {}))});
  Run("1", 7);
  while (ring_.Reserve(8) != nullptr) ring_.Commit();
  // Not by time: windows wait for room in the ring.
  pipeline_.EndWindows(2, nullptr, now_us_);
  ServeHeld();
  EXPECT_EQ(packets_.Take(), "-7");
  EXPECT_EQ(Dropped(Drop::kMessageRingFull), 1u);
}

TEST_F(WindowPipelineTest, WindowsWaitForRoomInTheMessageRing) {
  Apply({Spec(1, StageKind::kSource, {2}), Messages(WindowStage(2, {}, false))});
  for (int i = 0; i < 40; ++i) Run("1", 0, std::to_string(i));
  size_t messages = 0;
  now_us_ = 60 * kSecond;
  for (int turn = 0; turn < 20 && totals_.open > 0; ++turn) {
    pipeline_.OnTime(now_us_);
    messages += MessagesOut();
    if (totals_.open > 0) {
      EXPECT_GT(pipeline_.NextDeadline(), now_us_);
      now_us_ = pipeline_.NextDeadline();
    }
  }
  EXPECT_EQ(messages, 40u);
  EXPECT_EQ(Dropped(Drop::kMessageRingFull), 0u);
}

TEST_F(WindowPipelineTest, EndsManyWindowsInSeveralTurns) {
  Apply({Spec(1, StageKind::kSource, {2}), WindowStage(2, {3}), UplinkStage(3)});
  const auto most = static_cast<int64_t>(Pipeline::kWindowsPerTurn);
  for (int64_t i = 0; i < most + 9; ++i) Run("1", 0, std::to_string(i));
  pipeline_.OnTime(60 * kSecond);
  EXPECT_EQ(totals_.open, 9);
  EXPECT_LE(pipeline_.NextDeadline(), 60 * kSecond);
  pipeline_.OnTime(60 * kSecond);
  EXPECT_EQ(totals_.open, 0);
}

TEST_F(WindowPipelineTest, AWindowStaysOpenWhenAnotherStageChanges) {
  const std::vector<StageSpec> before = {Spec(1, StageKind::kSource, {2}), WindowStage(2, {3}),
                                         UplinkStage(3)};
  Apply(before);
  Run("1", 7);
  Apply({UplinkStage(4, 1), Spec(1, StageKind::kSource, {2}), WindowStage(2, {3, 4}),
         UplinkStage(3)});
  EXPECT_EQ(totals_.open, 1);
  Run("2", 8);
  Pass(60);
  EXPECT_EQ(Deliver(), kSumOf3);
  EXPECT_EQ(packets_.Take(), "") << "the new route has a copy";
  EXPECT_EQ(Deliver(1), kSumOf3);
  EXPECT_EQ(packets_.Take(), "+7+8");
}

TEST_F(WindowPipelineTest, AWindowEndsOnItsOldRouteWhenItsStageChanges) {
  Apply({Spec(1, StageKind::kSource, {2}), WindowStage(2, {3}), UplinkStage(3)});
  Run("1", 7);
  StageSpec longer = WindowStage(2, {4});
  longer.filter.window.length_s = 61;
  Apply({Spec(1, StageKind::kSource, {2}), longer, UplinkStage(3), UplinkStage(4, 1)});
  EXPECT_EQ(totals_.open, 0);
  EXPECT_NE(Deliver().find(R"("partial":true)"), std::string::npos);
  EXPECT_EQ(packets_.Take(), "+7");
  EXPECT_EQ(Count(Counter::kWindowsEndedEarly), 1u);
  Run("2", 8);
  EXPECT_EQ(pipeline_.NextDeadline(), 61 * kSecond);
}

TEST_F(WindowPipelineTest, WindowsOfWindowsEndTogetherWhenTheirStagesLeave) {
  StageSpec outer = WindowStage(3, {4});
  outer.filter.window.values = {"$.values['$'].sum"};
  // The order of the stages must not matter.
  for (const bool is_first : {true, false}) {
    std::vector<StageSpec> specs = {Spec(1, StageKind::kSource, {2}), WindowStage(2, {3}),
                                    UplinkStage(4)};
    specs.insert(specs.begin() + (is_first ? 0 : 3), outer);
    Apply(specs);
    Run("1", 7);
    Apply({Spec(1, StageKind::kSource, {4}), UplinkStage(4)});
    EXPECT_EQ(totals_.open, 0);
    Deliver();
    EXPECT_EQ(packets_.Take(), "+7");
    EXPECT_EQ(budget_.held(), 0);
  }
}

TEST_F(WindowPipelineTest, EndsTheWindowsOfSomeDevices) {
  Apply({Spec(1, StageKind::kSource, {2}), WindowStage(2, {3}), UplinkStage(3)});
  Run("1", 7, "a");
  Run("2", 8, "b");
  pipeline_.EndWindows(
      0, [](std::string_view device) { return device == "b"; }, now_us_);
  Deliver();
  EXPECT_EQ(packets_.Take(), "+8");
  EXPECT_EQ(totals_.open, 1);
  pipeline_.EndWindows(3, nullptr, now_us_);
  EXPECT_EQ(totals_.open, 1) << "another stage";
}

TEST_F(WindowPipelineTest, ARecordWithoutRouteIsNotTaken) {
  Apply({Spec(1, StageKind::kSource, {2}), WindowStage(2, {})});
  EXPECT_FALSE(Run("1", 7).taken);
  EXPECT_EQ(totals_.open, 0);
  EXPECT_EQ(Dropped(Drop::kNoRoute), 1u);
}

TEST_F(WindowPipelineTest, WindowsInABatchAreSealedWithIt) {
  Apply({Spec(1, StageKind::kSource, {2}), WindowStage(2, {3}), test::BatchStage(3, {4}),
         UplinkStage(4)});
  Run("1", 7, "a");
  Run("2", 8, "b");
  pipeline_.EndWindows(0, nullptr, now_us_);
  pipeline_.Flush(0, SealReason::kFlush);
  Deliver();
  EXPECT_EQ(packets_.Take(), "+7+8");
  EXPECT_EQ(held_.waiting(), 0u);
}

}  // namespace
}  // namespace seganet

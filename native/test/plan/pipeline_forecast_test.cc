// Forecast stages in a plan: where their records go, with which class and message, and what
// survives a change of plan.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/record/frame.h"
#include "test/support/pipeline_support.h"
#include "test/support/plan_support.h"
#include "test/support/support.h"

namespace seganet {
namespace {

using test::Spec;
using test::UplinkStage;

class ForecastPipelineTest : public test::PipelineTest {
 protected:
  static StageSpec ForecastStage(std::vector<uint32_t> next, bool messages = false) {
    StageSpec spec = Spec(2, StageKind::kForecast, std::move(next), messages);
    spec.forecast.slots = 4;
    spec.forecast.period_s = 4;
    spec.forecast.annotate = true;
    return spec;
  }
  Passage Put(std::string_view payload, uint8_t record_class = kNormal) {
    Record record = test::MakeRecord("d", "t", payload, record_class);
    record.ts_ms = 1000 * slot_++;
    return pipeline_.Run(1, record);
  }
  void Learn() {
    for (int i = 0; i < 40; ++i) Put(std::to_string(10 + i % 4 * 5 + i * 7 % 5 / 10.0));
    for (const auto& [number, lanes] : lanes_) Drain(number);
    Messages();
  }
  // The notes of the messages, one a line.
  std::string Notes() {
    std::string notes;
    for (std::string_view frame = ring_.Front(); frame.data() != nullptr; frame = ring_.Front()) {
      const Record record = ReadRecordFrame(frame.data());
      notes += std::string(record.payload) + " " + std::string(record.note) + "\n";
      ring_.Pop();
    }
    return notes;
  }
  uint64_t Anomalies() { return plan_->Find(2)->forecasts->figures().anomalies; }

  int64_t slot_ = 0;
};

TEST_F(ForecastPipelineTest, AnAnomalyGetsTheClassOfTheStage) {
  Apply({Spec(1, StageKind::kSource, {2}), ForecastStage({3}), UplinkStage(3)});
  Learn();
  EXPECT_EQ(Put("10", kBulk).record_class, kBulk);
  EXPECT_EQ(Put("500", kBulk).record_class, kCritical);
  EXPECT_EQ(Put("no number").record_class, kNormal);
  const std::vector<Batch> batches = Drain(0);
  ASSERT_EQ(batches.size(), 3u);
  // By class.
  EXPECT_EQ(batches[0].record_class, kCritical);
  EXPECT_EQ(batches[0].bytes, "dt500");
  EXPECT_EQ(Anomalies(), 1u);
  EXPECT_EQ(StageOf(2).records_in.Get(), 43u);
  EXPECT_EQ(StageOf(2).records_out.Get(), 43u);
}

TEST_F(ForecastPipelineTest, KeepsAMoreUrgentClassAndEveryClassWithoutOne) {
  StageSpec forecast = ForecastStage({3});
  forecast.forecast.record_class = kHigh;
  Apply({Spec(1, StageKind::kSource, {2}), forecast, UplinkStage(3)});
  Learn();
  EXPECT_EQ(Put("500", kCritical).record_class, kCritical);
  EXPECT_EQ(Put("500", kBulk).record_class, kHigh);
  forecast.forecast.record_class = 0;
  Apply({Spec(1, StageKind::kSource, {2}), forecast, UplinkStage(3)});
  EXPECT_EQ(Put("500", kBulk).record_class, kBulk);
  EXPECT_EQ(Anomalies(), 3u);
}

TEST_F(ForecastPipelineTest, OnlyItsOwnMessagesSayWhatWasExpected) {
  Apply({Spec(1, StageKind::kSource, {2}), ForecastStage({3, 4}, true),
         Spec(3, StageKind::kTap, {}, true), UplinkStage(4)});
  EXPECT_EQ(Put("10").copies, 1u);
  EXPECT_EQ(Notes(),
            "10 {\"forecast\":{\"expected\":null,\"low\":null,\"high\":null,\"sigma\":null,"
            "\"trusted\":false,\"anomaly\":false}}\n"
            "10 \n");
  for (int i = 0; i < 4; ++i) Put("10");
  EXPECT_NE(Notes().find("\"expected\":10,"), std::string::npos);
  Put("no number");
  EXPECT_EQ(Notes(), "no number \nno number \n");
  Drain(0);
}

TEST_F(ForecastPipelineTest, MessagesSayNothingUnlessChosen) {
  StageSpec forecast = ForecastStage({}, true);
  forecast.forecast.annotate = false;
  Apply({Spec(1, StageKind::kSource, {2}), forecast});
  EXPECT_TRUE(Put("10").taken);
  EXPECT_EQ(Notes(), "10 \n");
}

TEST_F(ForecastPipelineTest, ARecordForWhichTheMessageRingHasNoRoomIsNotTaken) {
  Apply({Spec(1, StageKind::kSource, {2}), ForecastStage({}, true)});
  while (Put("1" + std::string(1000, ' ')).taken) {
  }
  EXPECT_EQ(Dropped(Drop::kMessageRingFull), 1u);
  EXPECT_EQ(Dropped(Drop::kNoRoute), 0u);
}

TEST_F(ForecastPipelineTest, KeepsWhatItLearnedWhileItsModelIsTheSame) {
  StageSpec forecast = ForecastStage({3});
  const StageSpec source = Spec(1, StageKind::kSource, {2});
  Apply({source, forecast, UplinkStage(3)});
  Learn();
  forecast.forecast.sigmas = 6;
  forecast.forecast.record_class = kHigh;
  Apply({source, Spec(9, StageKind::kTap), forecast, UplinkStage(3)});
  EXPECT_EQ(Put("500", kBulk).record_class, kHigh);
  forecast.forecast.model = ForecastModel::kSeasonalNaive;
  Apply({source, forecast, UplinkStage(3)});
  EXPECT_EQ(Put("500", kBulk).record_class, kBulk);
  EXPECT_EQ(plan_->Find(2)->forecasts->figures().points, 1u);
  Drain(0);
}

TEST_F(ForecastPipelineTest, InvalidOptionsAreAnErrorThatNamesTheStage) {
  StageSpec forecast = ForecastStage({});
  forecast.forecast.slots = 1;
  EXPECT_EQ(test::Problem({forecast}), "stage 2: slots must be 2 to 1024");
}

}  // namespace
}  // namespace seganet

// The engine and the limits of its classes.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "test/support/engine_support.h"

namespace seganet {
namespace {

using test::MakeRecord;
using test::Until;

class EngineLimits : public test::EngineTest {
 protected:
  // Without a batch stage: each record separately.
  void StartDirect(const EngineOptions& options) {
    Start(options,
          {test::Spec(kIngest, StageKind::kIngest, {kUplink}), test::UplinkStage(kUplink)});
  }
  PushResult PushOne(uint8_t record_class) {
    return engine_.Push(kIngest, MakeRecord("d", "t", "1", record_class), true);
  }
};

TEST_F(EngineLimits, RecordsExpireInAnEngineWhereNothingMoves) {
  EngineOptions options;
  options.ttl_s[kBulk] = 1;
  StartDirect(options);
  EXPECT_EQ(PushOne(kBulk), PushResult::kOk);
  EXPECT_EQ(PushOne(kNormal), PushResult::kOk);
  EXPECT_TRUE(Until([this] { return Dropped(Drop::kExpired) == 1; }));
  EXPECT_EQ(HeldRecords(), 1);
}

TEST_F(EngineLimits, AClassWithALimitIsSlowedAlone) {
  EngineOptions options;
  options.queue_records[kBulk] = 10;
  StartDirect(options);
  EXPECT_EQ(engine_.slowed_from(), 0);
  ASSERT_TRUE(Until([this] { return PushOne(kBulk) == PushResult::kFull; }));
  EXPECT_EQ(engine_.slowed_from(), kBulk);
  EXPECT_EQ(PushOne(kNormal), PushResult::kOk);
  const uint64_t pushed = Count(Counter::kRecordsPushed);
  uint64_t taken = 0;
  ASSERT_TRUE(Until([&] { return (taken += DrainUplink()) >= pushed; }));
  EXPECT_EQ(engine_.slowed_from(), 0);
  EXPECT_EQ(AllDropped(), 0u);
}

TEST_F(EngineLimits, OrItsOldestRecordsAreDropped) {
  EngineOptions options;
  options.queue_records[kBulk] = 10;
  options.drop_when_full = true;
  StartDirect(options);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(PushOne(kBulk), PushResult::kOk);
  EXPECT_TRUE(Until([this] { return Dropped(Drop::kQueueFull) == 90; }));
  EXPECT_EQ(HeldRecords(), 10);
  EXPECT_EQ(engine_.slowed_from(), 0);
}

TEST_F(EngineLimits, LimitsOfOptionsAreChecked) {
  const auto refused = [this](auto change) {
    EngineOptions options;
    change(&options);
    return engine_.Start(options).message();
  };
  EXPECT_NE(refused([](EngineOptions* o) { o->weights[kHigh] = 0; }).find("weights"),
            std::string::npos);
  EXPECT_NE(refused([](EngineOptions* o) { o->weights[kBulk] = 1001; }).find("weights"),
            std::string::npos);
  EXPECT_NE(refused([](EngineOptions* o) { o->aging_ms = kMaxAgingMs + 1; }).find("agingMs"),
            std::string::npos);
  EXPECT_NE(
      refused([](EngineOptions* o) { o->rate_per_s[kBulk] = kMaxRatePerS + 1; }).find("ratePerS"),
      std::string::npos);
}

}  // namespace
}  // namespace seganet

// Devices that send more than their rate.
#include <gtest/gtest.h>

#include <string>

#include "core/loop/rate_meter.h"
#include "test/support/engine_support.h"

namespace seganet {
namespace {

using test::DeviceClient;
using test::Until;

class EngineRate : public test::EngineTest {
 protected:
  void StartWith(uint32_t rate, uint32_t burst) {
    std::vector<StageSpec> plan = UsualPlan();
    plan[0].source.rate = rate;
    plan[0].source.burst = burst;
    Start({}, std::move(plan));
  }
  static std::string Publishes(unsigned n) {
    std::string all;
    for (unsigned id = 1; id <= n; ++id) all += mqtt_test::Publish1("plant/temperature", id, "21");
    return all;
  }
  // Returns how long the acknowledgements of `n` publishes took, us.
  static int64_t SendAll(DeviceClient* device, unsigned n) {
    const int64_t start = MonotonicUs();
    EXPECT_TRUE(device->Send(Publishes(n)));
    EXPECT_EQ(device->Receive(4 * n).size(), 4 * n);
    return MonotonicUs() - start;
  }
};

TEST_F(EngineRate, AreReadNoFasterAndLoseNothing) {
  StartWith(200, 20);
  const uint16_t port = Listen();
  DeviceClient fast(port);
  ASSERT_TRUE(fast.Connect("fast"));
  const int64_t took_us = SendAll(&fast, 120);
  // 100 beyond the burst; one read takes slightly more than the bucket has.
  EXPECT_GT(took_us, 400'000);
  EXPECT_EQ(Count(Counter::kRecordsReceived), 120u);
  EXPECT_GT(Count(Counter::kThrottled), 0u);
  EXPECT_LT(Count(Counter::kThrottled), 121u) << "no busy loop";
}

TEST_F(EngineRate, HaveABucketEach) {
  StartWith(1, 20);
  const uint16_t port = Listen();
  DeviceClient fast(port), other(port);
  ASSERT_TRUE(fast.Connect("fast"));
  ASSERT_TRUE(other.Connect("other"));
  const int64_t start = MonotonicUs();
  ASSERT_TRUE(fast.Send(Publishes(60)));
  ASSERT_TRUE(Until([this] { return Count(Counter::kThrottled) > 0; }));
  SendAll(&other, 20);
  // With the rest of a read that the last token allowed.
  const uint64_t one_bucket = 30 + static_cast<uint64_t>((MonotonicUs() - start) / 1'000'000);
  EXPECT_GT(Count(Counter::kRecordsReceived), one_bucket);
}

TEST_F(EngineRate, CountsPacketsWithoutRecordsToo) {
  StartWith(200, 20);
  DeviceClient device(Listen());
  ASSERT_TRUE(device.Connect("a"));
  const std::string ping("\xC0\0", 2), subscribe("\x82\x06\0\1\0\1a\0", 8);
  const std::string release("\x62\2\0\1", 4);
  std::string all;
  for (int i = 0; i < 60; ++i) all += ping + subscribe + release;
  const int64_t start = MonotonicUs();
  ASSERT_TRUE(device.Send(all));
  EXPECT_EQ(device.Receive(size_t{60} * (2 + 5 + 4)).size(), size_t{60} * (2 + 5 + 4));
  // 160 beyond the burst at 200 a second; one read takes slightly more than the bucket has.
  EXPECT_GT(MonotonicUs() - start, 300'000);
  EXPECT_GT(Count(Counter::kThrottled), 0u);
}

TEST_F(EngineRate, HaveTheSameBucketOnTheirNextConnection) {
  StartWith(1, 20);
  const uint16_t port = Listen();
  DeviceClient first(port), other(port), second(port);
  ASSERT_TRUE(first.Connect("d"));
  SendAll(&first, 20);
  first.Close();
  ASSERT_TRUE(Until([this] { return engine_.devices() == 0; }));
  const uint64_t before = Count(Counter::kThrottled);
  ASSERT_TRUE(other.Connect("other"));
  SendAll(&other, 10);
  EXPECT_EQ(Count(Counter::kThrottled), before) << "a full bucket takes them at once";
  ASSERT_TRUE(second.Connect("d"));
  ASSERT_TRUE(second.Send(Publishes(10)));
  EXPECT_TRUE(Until([&] { return Count(Counter::kThrottled) > before; }));
}

TEST_F(EngineRate, LeaveWhileTheyWait) {
  StartWith(1, 1);
  const uint16_t port = Listen();
  DeviceClient device(port), young(port);
  ASSERT_TRUE(device.Connect("d"));
  ASSERT_TRUE(device.Send(Publishes(50)));
  ASSERT_TRUE(Until([this] { return Count(Counter::kThrottled) > 0; }));
  ASSERT_TRUE(young.Connect("d"));
  EXPECT_TRUE(device.ClosedByPeer());
  EXPECT_EQ(engine_.devices(), 1);
}

TEST_F(EngineRate, ANewRateHoldsForThoseThatAreConnected) {
  StartWith(1, 1);
  DeviceClient device(Listen());
  ASSERT_TRUE(device.Connect("d"));
  ASSERT_TRUE(device.Send(Publishes(50)));
  ASSERT_TRUE(Until([this] { return Count(Counter::kThrottled) > 0; }));
  Apply(UsualPlan());
  EXPECT_EQ(device.Receive(200).size(), 200u);
}

TEST(RateMeter, ReportsTheRateOfTheLastSeconds) {
  RateMeter meter;
  EXPECT_EQ(meter.PerSecond(5), 0);
  int64_t now = 1;
  for (int i = 0; i < 100; ++i, now += 100'000) meter.Add(now);
  EXPECT_NEAR(meter.PerSecond(now), 10, 1);
  EXPECT_NEAR(meter.PerSecond(now + 2 * RateMeter::kWindowUs), 0, 0.01);
  RateMeter young;
  young.Add(1);
  EXPECT_NEAR(young.PerSecond(2), 1, 0.01) << "one record is one a second, not a million";
}

}  // namespace
}  // namespace seganet

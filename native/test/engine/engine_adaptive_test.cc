// Adaptive batching in a whole engine: devices, workers, and a slow consumer.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "test/support/engine_support.h"

namespace seganet {
namespace {

using mqtt_test::Publish0;
using test::DeviceClient;
using test::Until;

// A session with a window of one batch, whose cloud needs `round_trip` for each.
class SlowSession {
 public:
  explicit SlowSession(std::shared_ptr<Lanes> lanes, std::chrono::microseconds round_trip = {})
      : lanes_(std::move(lanes)), round_trip_(round_trip), thread_([this] { Run(); }) {}
  ~SlowSession() { Stop(); }

  void Stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }

  // While it holds, the cloud does not acknowledge.
  void Hold(bool holds) { holds_ = holds; }

  uint64_t records() const { return records_; }
  // REQUIRES: stopped.
  const std::vector<Batch>& batches() const { return batches_; }

 private:
  void Run() {
    Outlet* outlet = lanes_->Attach(&bell_);
    lanes_->SetConnected(outlet, true, MonotonicUs());
    while (!stop_) {
      const bool taken = lanes_->Take(outlet, MonotonicUs(), [this](const Batch& batch) {
        batches_.push_back(batch);
        return true;
      });
      if (!taken) {
        lanes_->RaiseDemand(outlet, MonotonicUs());
        std::this_thread::sleep_for(std::chrono::microseconds(100));
        continue;
      }
      do {
        std::this_thread::sleep_for(round_trip_);
      } while (holds_ && !stop_);
      lanes_->Release(outlet, batches_.back().id, MonotonicUs());
      records_ += batches_.back().record_count;
    }
    lanes_->Detach(outlet);
  }

  test::CountingBell bell_;
  const std::shared_ptr<Lanes> lanes_;
  const std::chrono::microseconds round_trip_;
  std::atomic<bool> stop_{false}, holds_{false};
  std::atomic<uint64_t> records_{0};
  std::vector<Batch> batches_;
  std::thread thread_;
};

class EngineAdaptive : public test::EngineTest {
 protected:
  // t is long enough that it seals no batch.
  void StartAdaptive(uint32_t gap_us) {
    std::vector<StageSpec> plan = UsualPlan();
    BatcherOptions& batcher = plan[2].batcher;
    batcher.flush = BatchFlush::kAdaptive;
    batcher.gap_us = gap_us;
    batcher.max_bytes = kMaxAdaptiveBytes;
    batcher.max_delay_ms = kMaxDelayMs;
    Start({}, plan);
  }
};

// The same devices and the same records, with a fast cloud and with a slow one.
TEST_F(EngineAdaptive, BatchesGrowWithTheTimeThatTheCloudNeeds) {
  StartAdaptive(0);
  const uint16_t port = Listen();
  constexpr size_t kDevices = 4, kRounds = 100;
  std::vector<DeviceClient> devices;
  for (size_t d = 0; d < kDevices; ++d) {
    devices.emplace_back(port);
    ASSERT_TRUE(devices.back().Connect("d" + std::to_string(d)));
  }
  uint64_t sent = 0;
  const auto send = [&] {
    for (DeviceClient& device : devices) EXPECT_TRUE(device.Send(Publish0("t", "1")));
    sent += kDevices;
    return Until([&] { return Count(Counter::kRecordsReceived) == sent; });
  };
  {
    SlowSession fast(engine_.LanesOf(0));
    for (size_t i = 1; i <= kRounds; ++i) {
      ASSERT_TRUE(send());
      ASSERT_TRUE(Until([&] { return fast.records() == i * kDevices; }))
          << fast.records() << ": what is held leaves without a further record";
    }
    fast.Stop();
    EXPECT_GE(fast.batches().size(), kRounds);
  }
  SlowSession slow(engine_.LanesOf(0));
  slow.Hold(true);
  for (size_t i = 0; i < kRounds; ++i) ASSERT_TRUE(send());
  slow.Hold(false);
  ASSERT_TRUE(Until([&] { return slow.records() == kRounds * kDevices; })) << slow.records();
  slow.Stop();
  EXPECT_LE(slow.batches().size(), kRounds / 10);
  EXPECT_EQ(AllDropped(), 0u);
}

TEST_F(EngineAdaptive, UnderLightLoadARecordWaitsForTheGap) {
  constexpr uint32_t kGapUs = 40'000;
  StartAdaptive(kGapUs);
  DeviceClient device(Listen());
  ASSERT_TRUE(device.Connect("d"));
  SlowSession session(engine_.LanesOf(0));
  for (uint64_t i = 1; i <= 5; ++i) {
    ASSERT_TRUE(device.Send(Publish0("t", "1")));
    ASSERT_TRUE(Until([&] { return session.records() == i; }));
  }
  session.Stop();
  ASSERT_EQ(session.batches().size(), 5u);
  for (const Batch& batch : session.batches()) {
    EXPECT_EQ(batch.reason, SealReason::kDemand);
    EXPECT_EQ(batch.record_count, 1u);
  }
}

// Each record waits for a session whose demand begins at about the same time. None is forgotten,
// although no timer and no other record would release it.
TEST_F(EngineAdaptive, NoRecordIsForgottenBetweenABatcherAndItsSession) {
  StartAdaptive(0);
  SlowSession session(engine_.LanesOf(0), std::chrono::microseconds(50));
  for (uint64_t i = 1; i <= 2'000; ++i) {
    const std::string device = "d" + std::to_string(i % 7);
    ASSERT_EQ(engine_.Push(kIngest, test::MakeRecord(device, "t", "1"), true), PushResult::kOk);
    if (i % 3 == 0) {
      ASSERT_TRUE(Until([&] { return session.records() == i; })) << i;
    }
  }
  EXPECT_TRUE(Until([&] { return session.records() == 2'000; })) << session.records();
}

}  // namespace
}  // namespace seganet

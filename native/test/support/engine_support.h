// An engine under test with the uplink's end of its lanes.
#ifndef SEGANET_TEST_SUPPORT_ENGINE_SUPPORT_H_
#define SEGANET_TEST_SUPPORT_ENGINE_SUPPORT_H_

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/runtime/engine.h"
#include "test/support/device_client.h"
#include "test/support/plan_support.h"
#include "test/support/support.h"

namespace seganet::test {

class EngineTest : public testing::Test {
 protected:
  static constexpr uint32_t kSource = 1, kIngest = 2, kBatch = 3, kUplink = 4, kMessages = 5;

  // Two workers; devices and ingest feed a batch stage (m = 1024, t = 1 s) in front of uplink 0.
  void Start(EngineOptions options = {}, std::vector<StageSpec> plan = UsualPlan()) {
    if (options.workers == 0) options.workers = 2;
    const Status status = engine_.Start(options);
    ASSERT_TRUE(status.ok()) << status.message();
    Apply(std::move(plan));
  }

  static std::vector<StageSpec> UsualPlan() {
    return {Spec(kSource, StageKind::kSource, {kBatch}),
            Spec(kIngest, StageKind::kIngest, {kBatch}), BatchStage(kBatch, {kUplink}),
            UplinkStage(kUplink)};
  }

  void Apply(std::vector<StageSpec> plan) {
    const Status status = engine_.ApplyPlan(std::move(plan));
    ASSERT_TRUE(status.ok()) << status.message();
  }

  uint16_t Listen(int64_t connect_timeout_us = 600 * kSecond, uint16_t port = 0) {
    uint16_t bound = 0;
    const Status status = engine_.Listen(
        kSource, {.host = "127.0.0.1", .port = port, .connect_timeout_us = connect_timeout_us},
        &bound);
    EXPECT_TRUE(status.ok()) << status.message();
    return bound;
  }

  // Waits for the result of a command; drops those of others.
  CommandEnd EndOf(uint32_t ticket) {
    CommandEnd end = CommandEnd::kBusy;
    EXPECT_TRUE(Until([&] {
      for (const CommandResult& result : engine_.TakeCommandResults()) {
        if (result.ticket != ticket) continue;
        end = result.end;
        return true;
      }
      return false;
    }));
    return end;
  }

  // Takes and acknowledges everything ready; returns its records.
  uint32_t DrainUplink() {
    uint32_t records = 0;
    uint64_t id = 0;
    const auto lanes = engine_.LanesOf(0);
    Outlet* outlet = sessions_.At(lanes.get());
    while (lanes->Take(outlet, MonotonicUs(), [&](const Batch& batch) {
      id = batch.id;
      records += batch.record_count;
      return true;
    })) {
      EXPECT_TRUE(lanes->Release(outlet, id, MonotonicUs()));
    }
    return records;
  }

  // The same record by record, as "device topic payload"; REQUIRES: batches of one.
  std::vector<std::string> TakeRecords() {
    std::vector<std::string> records;
    uint64_t id = 0;
    const auto lanes = engine_.LanesOf(0);
    Outlet* outlet = sessions_.At(lanes.get());
    while (lanes->Take(outlet, MonotonicUs(), [&](const Batch& batch) {
      id = batch.id;
      const std::string_view device = std::string_view(batch.bytes).substr(0, batch.device_bytes);
      const std::string_view topic =
          std::string_view(batch.bytes).substr(batch.device_bytes, batch.topic_bytes);
      const std::string_view payload =
          std::string_view(batch.bytes).substr(batch.device_bytes + batch.topic_bytes);
      records.push_back(std::string(device) + " " + std::string(topic) + " " +
                        std::string(payload));
      return true;
    })) {
      EXPECT_TRUE(lanes->Release(outlet, id, MonotonicUs()));
    }
    return records;
  }

  uint64_t Count(Counter c) { return Read(), counters_[static_cast<size_t>(c)]; }
  uint64_t Dropped(Drop reason) {
    Read();
    uint64_t sum = 0;
    for (uint64_t n : drops_[static_cast<size_t>(reason)]) sum += n;
    return sum;
  }
  uint64_t AllDropped() {
    uint64_t sum = 0;
    for (size_t d = 0; d < kDrops; ++d) sum += Dropped(static_cast<Drop>(d));
    return sum;
  }
  uint64_t Closed(CloseReason reason) {
    return Read(), close_reasons_[static_cast<size_t>(reason)];
  }
  int64_t HeldRecords() {
    int64_t sum = 0;
    for (uint8_t c = 1; c <= kClasses; ++c) sum += engine_.budget().records(c);
    return sum;
  }

  CountingBell bell_;
  Sessions sessions_;
  Engine engine_{&bell_};

 private:
  void Read() { engine_.ReadCounters(&counters_, &drops_, &close_reasons_); }

  std::array<uint64_t, kCounters> counters_;
  std::array<std::array<uint64_t, kClassSlots>, kDrops> drops_;
  std::array<uint64_t, kCloseReasonCount> close_reasons_;
};

}  // namespace seganet::test

#endif  // SEGANET_TEST_SUPPORT_ENGINE_SUPPORT_H_

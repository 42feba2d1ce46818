// The engine under pressure: more than memory, rings, descriptors or one plan can hold.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "test/support/engine_support.h"

namespace seganet {
namespace {

using mqtt_test::Publish0;
using test::DeviceClient;
using test::Until;

class EnginePressure : public test::EngineTest {};

// A budget of 1 MiB and 3 MiB of records: the devices wait, nothing is lost, and everything arrives
// once the cloud takes it.
TEST_F(EnginePressure, ATinyBudgetSlowsDevicesAndDropsNothing) {
  EngineOptions options;
  options.memory_mib = 1;
  Start(options);
  const uint16_t port = Listen();
  constexpr uint32_t kDevices = 6, kEach = 500;
  std::vector<DeviceClient> devices;
  for (uint32_t i = 0; i < kDevices; ++i) {
    devices.emplace_back(port);
    ASSERT_TRUE(devices.back().Connect("d" + std::to_string(i)));
  }
  std::string packets;
  for (uint32_t i = 0; i < kEach; ++i) {
    packets += Publish0("t", "\"" + std::string(1024, 'x') + "\"");
  }
  std::vector<std::string_view> rest(kDevices, packets);
  const auto send_more = [&] {
    bool all = true;
    for (uint32_t i = 0; i < kDevices; ++i) {
      rest[i].remove_prefix(devices[i].SendSome(rest[i]));
      all = all && rest[i].empty();
    }
    return all;
  };
  ASSERT_TRUE(Until([&] { return send_more(), engine_.slowed(); }));
  // A slowed device is neither closed nor read: the amount stays constant, near the budget.
  const uint64_t limit = static_cast<uint64_t>(engine_.budget().limit());
  EXPECT_LT(static_cast<uint64_t>(engine_.budget().held()), 2 * limit);
  uint64_t taken = 0;
  ASSERT_TRUE(Until([&] {
    send_more();
    return (taken += DrainUplink()) == kDevices * kEach;
  })) << taken;
  EXPECT_TRUE(Until([this] { return !engine_.slowed(); }));
  EXPECT_GE(Count(Counter::kSlowed), 1u);
  EXPECT_EQ(AllDropped(), 0u);
  EXPECT_EQ(engine_.budget().held(), 0);
}

// These records become messages only: a Node-RED that does not take them stops the devices, and
// nothing is dropped.
TEST_F(EnginePressure, AFullMessageRingSlowsDevices) {
  EngineOptions options;
  options.message_ring_mib = 4;
  options.max_packet_bytes = 4096;
  Start(options, {test::Spec(kSource, StageKind::kSource, {}, true)});
  DeviceClient device(Listen());
  ASSERT_TRUE(device.Connect("d"));
  constexpr uint64_t kRecords = 4'000;
  std::string packets;
  for (uint64_t i = 0; i < kRecords; ++i) packets += Publish0("t", std::string(1024, 'x'));
  std::string_view rest = packets;
  const auto send_more = [&] { rest.remove_prefix(device.SendSome(rest)); };
  uint64_t before = 0;
  // Sends until progress stops.
  ASSERT_TRUE(Until([&] {
    const size_t left = rest.size();
    send_more();
    const uint64_t now = Count(Counter::kRecordsReceived);
    const bool still = now == before && now > 0 && rest.size() == left;
    before = now;
    if (still) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return still && Count(Counter::kRecordsReceived) == now;
  }));
  EXPECT_LT(before, kRecords);
  std::vector<char> frames(100'000);
  ASSERT_TRUE(Until([&] {
    send_more();
    while (engine_.TakeMessages(frames.data(), frames.size()) > 0) {
    }
    return Count(Counter::kMessagesOut) == kRecords;
  }));
  EXPECT_EQ(AllDropped(), 0u);
}

// The same for pushes from JavaScript: a message without room waits, and push() returns FULL.
TEST_F(EnginePressure, AFullMessageRingHoldsPushesBack) {
  EngineOptions options;
  options.workers = 1;
  Start(options, {test::Spec(kIngest, StageKind::kIngest, {}, true)});
  uint64_t pushed = 0;
  int quiet = 0;  // polls in a row at which nothing was taken
  const Record record = test::MakeRecord("d", "t", "1");
  ASSERT_TRUE(Until([&] {
    const uint64_t before = pushed;
    while (engine_.Push(kIngest, record, true) == PushResult::kOk) ++pushed;
    quiet = pushed == before ? quiet + 1 : 0;
    return quiet == 50;
  }));
  std::vector<char> frames(100'000);
  ASSERT_TRUE(Until([&] {
    while (engine_.TakeMessages(frames.data(), frames.size()) > 0) {
    }
    return Count(Counter::kMessagesOut) >= pushed;
  }));
  EXPECT_EQ(AllDropped(), 0u);
}

// Seven bytes of packet become a hundred of message, eight times over: one read must not
// acknowledge more of them than the ring holds.
TEST_F(EnginePressure, SmallPacketsDoNotOverrunTheMessageRing) {
  EngineOptions options;
  options.workers = 1;
  std::vector<uint32_t> next;
  for (uint32_t i = 0; i < 7; ++i) next.push_back(kMessages + i);
  std::vector<StageSpec> plan{test::Spec(kSource, StageKind::kSource, next, true)};
  for (uint32_t id : next) plan.push_back(test::Spec(id, StageKind::kPriority, {}, true));
  Start(options, plan);
  DeviceClient device(Listen());
  // All in one, so that the worker's first read gets its maximum.
  mqtt_test::ConnectFields fields;
  fields.payload = mqtt_test::Str("d");
  std::string packets = mqtt_test::ConnectPacket(fields);
  constexpr uint64_t kRecords = 20'000;
  for (uint64_t i = 0; i < kRecords; ++i) packets += Publish0("t", "1");
  std::string_view rest = packets;
  // A Node-RED that takes nothing until nothing more arrives.
  uint64_t before = 0;
  ASSERT_TRUE(Until([&] {
    rest.remove_prefix(device.SendSome(rest));
    const uint64_t received = Count(Counter::kRecordsReceived);
    const bool still = received > 0 && received == before;
    before = received;
    return still;
  }));
  std::vector<char> frames(1'000'000);
  ASSERT_TRUE(Until([&] {
    rest.remove_prefix(device.SendSome(rest));
    while (engine_.TakeMessages(frames.data(), frames.size()) > 0) {
    }
    return Count(Counter::kRecordsReceived) == kRecords &&
           Count(Counter::kMessagesOut) + 8 * AllDropped() >= 8 * kRecords;
  }));
  EXPECT_EQ(AllDropped(), 0u);
  EXPECT_EQ(Count(Counter::kMessagesOut), 8 * kRecords);
}

// Plans come and go while devices publish and an uplink takes: nothing is lost (for TSan as well).
TEST_F(EnginePressure, PlansChangeUnderTraffic) {
  Start();
  const uint16_t port = Listen();
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> published{0}, failed{0};
  std::vector<std::thread> devices;
  for (int d = 0; d < 4; ++d) {
    devices.emplace_back([&, d] {
      DeviceClient device(port);
      bool fine = device.Connect("d" + std::to_string(d));
      while (fine && !stop) {
        fine = device.Publish("t", "1");
        published += fine;
      }
      failed += !fine;
    });
  }
  std::atomic<uint64_t> taken{0};
  const auto lanes = engine_.LanesOf(0);
  std::thread uplink([&] {
    while (!stop) {
      taken += DrainUplink();
      std::this_thread::yield();
    }
  });
  for (int i = 0; i < 100; ++i) {
    std::vector<StageSpec> plan = UsualPlan();
    if (i % 3 == 0) plan[2].batcher.max_bytes = 200;
    if (i % 3 == 1) plan[0].next = {kUplink};
    Apply(plan);
    EXPECT_EQ(engine_.Push(kIngest, test::MakeRecord("js", "t", "1"), true), PushResult::kOk);
    Count(Counter::kReads);
  }
  ASSERT_TRUE(Until([&] { return published > 100; }));
  stop = true;
  for (std::thread& device : devices) device.join();
  uplink.join();
  EXPECT_EQ(failed, 0u);
  engine_.Flush(0);
  EXPECT_TRUE(Until([&] { return (taken += DrainUplink()) == published + 100; }))
      << taken << " of " << published + 100;
  EXPECT_EQ(AllDropped(), 0u);
}

// Without descriptors a connection waits in the backlog and is served when there are some again.
TEST_F(EnginePressure, ConnectionsWaitForDescriptors) {
  Start();
  const uint16_t port = Listen();
  DeviceClient device(port);
  ASSERT_TRUE(device.Connect("first"));
  DeviceClient waiting(port);
  ASSERT_TRUE(Until([this] { return Count(Counter::kConnectionsAccepted) == 2; }));
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const int next = dup(0);  // the first free descriptor
  rlimit tight = before;
  tight.rlim_cur = static_cast<rlim_t>(next) + 1;  // for the client's own socket
  close(next);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &tight), 0);
  DeviceClient late(port);
  const bool refused = Until([this] { return Count(Counter::kConnectionsRefused) > 0; });
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(refused);
  EXPECT_LT(Count(Counter::kConnectionsRefused), 100u) << "polls, but does not spin";
  EXPECT_TRUE(device.Publish("t", "1"));
  EXPECT_TRUE(late.Connect("late"));
}

}  // namespace
}  // namespace seganet

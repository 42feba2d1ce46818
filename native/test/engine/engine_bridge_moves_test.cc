// Devices that change their worker with their bridge.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "test/support/engine_bridge_support.h"

namespace seganet {
namespace {

using test::DeviceClient;
using test::EngineBridge;
using test::Subscribe;
using test::Until;

// Bridges that change their worker again and again while they publish, with connections of bridged
// ids that come and go.
TEST_F(EngineBridge, DevicesMoveWithTheirBridge) {
  constexpr size_t kBridges = 6;
  EngineOptions options;
  options.workers = 2;
  options.rebalance = true;
  options.rebalancing.period_us = 1000;
  options.rebalancing.limits.lasting_periods = 1;
  options.rebalancing.limits.least_gap = 0;
  options.rebalancing.limits.least_ratio = 1;
  options.rebalancing.limits.rest_us = 0;
  options.rebalancing.record_cost_us = 1000;
  Start(options, Plan(Zigbee()));
  const uint16_t port = Listen();
  std::vector<DeviceClient> bridges;
  std::vector<std::string> ids;
  std::set<uint32_t> slots;
  for (int i = 0; ids.size() < kBridges; ++i) {
    const std::string id = "z2m-" + std::to_string(i);
    if (engine_.WorkerOf(id) != 0 || !slots.insert(Placement::SlotOf(id)).second) continue;
    ids.push_back(id);
    bridges.emplace_back(port);
    ASSERT_TRUE(bridges.back().Connect(id));
  }
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> sent{0};
  std::thread publishing([&] {
    for (unsigned n = 0; !stop; ++n) {
      for (size_t i = 0; i < kBridges; ++i) {
        const std::string topic = "zigbee2mqtt/" + ids[i] + "-lamp-" + std::to_string(n % 3);
        ASSERT_TRUE(bridges[i].Publish(topic, std::to_string(n / 3)));
        ++sent;
      }
    }
  });
  std::thread connecting([&] {
    while (!stop) {
      DeviceClient device(port);
      ASSERT_TRUE(device.Connect(ids[0] + "-lamp-0"));
      ASSERT_TRUE(device.Publish("t", "own"));
      ++sent;
    }
  });
  std::vector<Seen> seen;
  const int64_t enough_us = MonotonicUs() + 2'000'000;
  EXPECT_TRUE(Until([&] {
    TakeInto(&seen);
    return HasFailure() || engine_.rebalanced().moved >= 20 || MonotonicUs() > enough_us;
  }));
  stop = true;
  std::atomic<bool> ended{false};
  std::thread joining([&] {
    publishing.join();
    connecting.join();
    ended = true;
  });
  EXPECT_TRUE(Until([&] { return TakeInto(&seen), ended.load(); }));
  joining.join();
  EXPECT_TRUE(Until([&] { return TakeInto(&seen), seen.size() == sent; }));
  EXPECT_GT(engine_.rebalanced().moved, 0u);

  std::map<std::string, std::set<uint32_t>> seqs;
  std::map<std::string, uint64_t> next;
  for (const Seen& each : seen) {
    EXPECT_TRUE(seqs[each.device].insert(each.seq).second) << each.device << " " << each.seq;
    // One id is contested, and its records may be those of its bridge.
    if (each.device.starts_with(ids[0])) continue;
    EXPECT_EQ(std::stoull(each.payload), next[each.device]++) << each.device;
    EXPECT_EQ(each.topic, "zigbee2mqtt/" + each.device);
  }
  for (const auto& [device, numbers] : seqs) {
    EXPECT_EQ(*numbers.rbegin() + 1, numbers.size()) << device;
  }
  for (const auto& [id, agent] : Agents()) {
    EXPECT_EQ(agent.worker, engine_.WorkerOf(agent.bridge.empty() ? id : agent.bridge)) << id;
  }
  for (size_t i = 0; i < kBridges; ++i) {
    ASSERT_EQ(Subscribe(&bridges[i], "#"), 1);
    const std::string device = ids[i] + "-lamp-1";
    EXPECT_EQ(Send(device, "cmd/" + device + "/set"), CommandEnd::kTaken);
    EXPECT_EQ(bridges[i].ReceivePacket(),
              mqtt_test::Publish0("zigbee2mqtt/" + device + "/set", "on"));
  }
}

}  // namespace
}  // namespace seganet

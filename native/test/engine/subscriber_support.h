// What the tests of local subscribers share: an engine with rows of subscribers, and what they
// read.
#ifndef SEGANET_TEST_ENGINE_SUBSCRIBER_SUPPORT_H_
#define SEGANET_TEST_ENGINE_SUBSCRIBER_SUPPORT_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/devices/subscribers/subscribers.h"
#include "core/devices/value_rows.h"
#include "test/support/device_packets.h"
#include "test/support/engine_support.h"

namespace seganet::subscriber_test {

using mqtt_test::Packet;
using mqtt_test::Publish0;
using mqtt_test::Str;
using mqtt_test::U16;
using test::Accepted;
using test::DeviceClient;
using test::LogIn;
using test::SessionPresent;
using test::Subscribe;
using test::Until;

inline constexpr std::string_view kPing("\xC0\0", 2);

// The topic and payload of a PUBLISH with QoS 0 of 3.1.1.
inline std::pair<std::string, std::string> Parsed(const std::string& packet) {
  size_t at = 1;
  while (static_cast<uint8_t>(packet.at(at++)) >= 0x80) {
  }
  const size_t topic =
      (size_t{static_cast<uint8_t>(packet.at(at))} << 8) + static_cast<uint8_t>(packet.at(at + 1));
  return {packet.substr(at + 2, topic), packet.substr(at + 2 + topic)};
}

class EngineSubscriber : public test::EngineTest {
 protected:
  static std::vector<StageSpec> Plan(std::vector<SubscriberRow> rows,
                                     std::vector<Permission> permissions = {}) {
    std::vector<StageSpec> plan = UsualPlan();
    plan[0].source.subscribers = std::move(rows);
    plan[0].source.permissions = std::move(permissions);
    return plan;
  }

  // Slots move between the workers all the time.
  static EngineOptions Moving() {
    EngineOptions options;
    options.workers = 2;
    options.rebalance = true;
    options.acknowledge = Acknowledge::kSafe;
    options.rebalancing.period_us = 1000;
    options.rebalancing.limits.lasting_periods = 1;
    options.rebalancing.limits.least_gap = 0;
    options.rebalancing.limits.least_ratio = 1;
    options.rebalancing.limits.rest_us = 0;
    options.rebalancing.record_cost_us = 1000;
    return options;
  }
  static constexpr int kDevices = 12;
  static constexpr int kRounds = 800;
  static constexpr int kEnd = 1'000'000;
  // Twelve devices publish 0, 1 … on topics of their own, and kEnd at last. Three at a time send,
  // so that the load of the workers changes, until slots have moved. `*round` goes to kRounds or
  // more.
  void SendInTurns(std::atomic<int>* round) {
    std::vector<DeviceClient> devices;
    for (int i = 0; i < kDevices; ++i) devices.push_back(Client("device-" + std::to_string(i)));
    std::map<int, int> sent;
    const auto send = [&](unsigned id, bool all) {
      const auto sends = [&](int i) { return all || i / 3 == round->load() / 20 % 4; };
      for (int i = 0; i < kDevices; ++i) {
        if (!sends(i)) continue;
        const std::string payload = std::to_string(all ? kEnd : sent[i]++);
        ASSERT_TRUE(devices[static_cast<size_t>(i)].Send(
            mqtt_test::Publish1("d/" + std::to_string(i), id, payload)));
      }
      for (int i = 0; i < kDevices; ++i) {
        if (!sends(i)) continue;
        ASSERT_EQ(devices[static_cast<size_t>(i)].Receive(4), mqtt_test::Puback(id));
      }
    };
    const auto goes_on = [&](int n) {
      return n < kRounds || (engine_.rebalanced().moved == 0 && n < 20 * kRounds);
    };
    for (int n = 0; goes_on(n); round->store(++n)) send(static_cast<unsigned>(n + 1), false);
    send(static_cast<unsigned>(round->load() + 1), true);
    EXPECT_GT(engine_.rebalanced().moved, 0u);
  }

  void StartWith(std::vector<SubscriberRow> rows, std::vector<Permission> permissions = {}) {
    Start({}, Plan(std::move(rows), std::move(permissions)));
    port_ = Listen();
  }

  DeviceClient Client(const std::string& id) {
    DeviceClient client(port_);
    EXPECT_TRUE(client.Connect(id));
    return client;
  }

  void Push(std::string_view device, std::string_view topic, std::string_view payload,
            uint32_t stage = kIngest) {
    Record record;
    record.device = device;
    record.topic = topic;
    record.payload = payload;
    EXPECT_EQ(engine_.Push(stage, record, true), PushResult::kOk);
  }

  AgentInfo Info(const std::string& id) {
    for (AgentInfo& info : engine_.Agents("", 1000)) {
      if (info.device == id) return info;
    }
    return {};
  }

  uint16_t port_ = 0;
};

}  // namespace seganet::subscriber_test

#endif  // SEGANET_TEST_ENGINE_SUBSCRIBER_SUPPORT_H_

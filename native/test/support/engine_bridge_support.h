// Engines with bridges, MQTT clients that speak for many devices, on loopback.
#ifndef SEGANET_TEST_SUPPORT_ENGINE_BRIDGE_SUPPORT_H_
#define SEGANET_TEST_SUPPORT_ENGINE_BRIDGE_SUPPORT_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/record/frame.h"
#include "test/support/device_packets.h"
#include "test/support/engine_support.h"

namespace seganet::test {

class EngineBridge : public EngineTest {
 protected:
  static constexpr uint32_t kProven = 12;

  struct Seen {
    std::string device;
    std::string topic;
    std::string payload;
    uint8_t record_class;
    uint32_t seq;
  };

  // Two sources and an ingest stage, whose records become messages. The second source has no
  // bridges.
  static std::vector<StageSpec> Plan(std::vector<BridgeRow> rows, SourceSettings settings = {}) {
    settings.bridges = std::move(rows);
    std::vector<StageSpec> plan{Spec(kSource, StageKind::kSource, {}, true),
                                Spec(kIngest, StageKind::kIngest, {}, true),
                                Spec(kProven, StageKind::kSource, {}, true)};
    plan[0].source = std::move(settings);
    return plan;
  }
  void StartWith(std::vector<BridgeRow> rows, SourceSettings settings = {}) {
    Start({}, Plan(std::move(rows), std::move(settings)));
  }
  static std::vector<BridgeRow> Zigbee() { return {{"z2m*", "zigbee2mqtt/{device}/#", ""}}; }

  std::vector<Seen> Records(size_t count) {
    std::vector<Seen> seen;
    EXPECT_TRUE(Until([&] { return TakeInto(&seen), seen.size() >= count; })) << seen.size();
    EXPECT_EQ(seen.size(), count);
    seen.resize(count);
    return seen;
  }
  void TakeInto(std::vector<Seen>* seen) {
    buffer_.resize(1 << 16);
    while (const size_t bytes = engine_.TakeMessages(buffer_.data(), buffer_.size())) {
      for (size_t at = 0; at < bytes;) {
        FrameHeader head;
        std::memcpy(&head, buffer_.data() + at, sizeof head);
        const Record record = ReadRecordFrame(buffer_.data() + at);
        seen->push_back({std::string(record.device), std::string(record.topic),
                         std::string(record.payload), record.record_class, record.seq});
        at += head.total_bytes;
      }
    }
  }
  // The device and number of the next record.
  std::string Next() {
    const Seen seen = Records(1)[0];
    return seen.device + " " + std::to_string(seen.seq);
  }

  CommandEnd Send(const std::string& device, const std::string& topic, uint8_t qos = 0,
                  bool own_topic = false) {
    Begin(device, topic, qos, own_topic);
    return End();
  }
  void Begin(const std::string& device, const std::string& topic, uint8_t qos = 1,
             bool own_topic = false) {
    seganet::Command command;
    command.ticket = ++ticket_;
    command.device = device;
    command.topic = topic;
    command.payload = "on";
    command.qos = qos;
    command.own_topic = own_topic;
    EXPECT_EQ(engine_.Command(std::move(command), 10'000'000), PushResult::kOk);
  }
  CommandEnd End() { return EndOf(ticket_); }

  // Waits for an event that reports that commands for `device` may be sent.
  bool HearsOf(const std::string& device) {
    return Until([&] {
      const auto events = engine_.TakeEvents();
      return std::any_of(events.begin(), events.end(), [&](const DeviceEvent& event) {
        return event.kind == DeviceEventKind::kListening && event.device == device;
      });
    });
  }

  // A connection whose id is proven, at a source without bridges.
  DeviceClient Proven(const std::string& device) {
    uint16_t port = 0;
    EXPECT_TRUE(engine_.Listen(kProven, {.transport = Transport::kStreams}, &port).ok());
    int fd = -1;
    EXPECT_TRUE(engine_.OpenStream(kProven, {.address = "tls", .device = device}, &fd).ok());
    return DeviceClient(DeviceClient::FromFd{fd});
  }

  // Returns an id that worker `worker` owns.
  std::string IdOf(uint32_t worker, const std::string& prefix) {
    for (int i = 0;; ++i) {
      const std::string id = prefix + std::to_string(i);
      if (engine_.WorkerOf(id) == worker) return id;
    }
  }

  std::map<std::string, AgentInfo> Agents() {
    std::map<std::string, AgentInfo> agents;
    for (AgentInfo& agent : engine_.Agents("", 100)) agents[agent.device] = agent;
    return agents;
  }

  std::vector<char> buffer_;
  uint32_t ticket_ = 0;
};

}  // namespace seganet::test

#endif  // SEGANET_TEST_SUPPORT_ENGINE_BRIDGE_SUPPORT_H_

// Bridges: MQTT clients that speak for many devices, on loopback.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/record/frame.h"
#include "test/support/device_packets.h"
#include "test/support/engine_support.h"

namespace seganet {
namespace {

using mqtt_test::Puback;
using test::Accepted;
using test::DeviceClient;
using test::LogIn;
using test::Spec;
using test::Subscribe;
using test::Until;

class EngineBridge : public test::EngineTest {
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
  CommandEnd End() {
    CommandEnd end = CommandEnd::kBusy;
    EXPECT_TRUE(Until([&] {
      for (const CommandResult& result : engine_.TakeCommandResults()) {
        if (result.ticket != ticket_) continue;
        end = result.end;
        return true;
      }
      return false;
    }));
    return end;
  }

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

TEST_F(EngineBridge, ARecordHasTheDeviceThatItsTopicNames) {
  auto plan = Plan(Zigbee());
  plan[0].devices = {{"alarm", kCritical}, {"z2m", kBulk}};
  Start({}, plan);
  DeviceClient bridge(Listen());
  ASSERT_TRUE(bridge.Connect("z2m"));
  for (const char* topic : {"zigbee2mqtt/lamp", "zigbee2mqtt/alarm/set", "zigbee2mqtt/lamp/x/y",
                            "zigbee2mqtt", "zigbee2mqtt/", "other/lamp", "zigbee2mqtt/z2m"}) {
    ASSERT_TRUE(bridge.Publish(topic, "1")) << topic;
  }
  std::vector<std::string> seen;
  for (const Seen& each : Records(7)) {
    seen.push_back(each.device + " " + std::to_string(each.record_class) + " " +
                   std::to_string(each.seq));
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"lamp 3 0", "alarm 1 0", "lamp 3 1", "z2m 4 0",
                                            "z2m 4 1", "z2m 4 2", "z2m 4 3"}));
  EXPECT_EQ(engine_.devices(), 3);
  EXPECT_EQ(Count(Counter::kNotSpokenFor), 0u);
  auto agents = Agents();
  ASSERT_EQ(agents.size(), 3u);
  EXPECT_EQ(agents["lamp"].bridge, "z2m");
  EXPECT_EQ(agents["lamp"].records, 2u);
  EXPECT_EQ(agents["lamp"].worker, engine_.WorkerOf("z2m"));
  EXPECT_TRUE(agents["lamp"].connected);
  EXPECT_FALSE(agents["lamp"].listening);
  EXPECT_EQ(agents["z2m"].bridge, "");
}

TEST_F(EngineBridge, ARecordHasTheDeviceThatItsPayloadNames) {
  StartWith({{"gw?", "", "$.mac"}, {"gw?", "x/{device}", ""}});
  DeviceClient bridge(Listen());
  ASSERT_TRUE(bridge.Connect("gw1"));
  const std::string longest(256, 'a');
  for (const std::string& payload :
       {std::string(R"({"mac":"a\u00e4"})"), std::string(R"({"mac":17})"),
        std::string(R"({"mac":""})"), std::string(R"({"mac":[1]})"), std::string("no json"),
        std::string(R"({"mac":"a\u0000b"})"), R"({"mac":")" + longest + R"("})",
        R"({"mac":")" + longest + R"(b"})", std::string(R"({"mac":"$SYS"})")}) {
    ASSERT_TRUE(bridge.Publish("t", payload));
  }
  ASSERT_TRUE(bridge.Publish("x/by topic", "no json"));
  std::vector<std::string> seen;
  for (const Seen& each : Records(10)) seen.push_back(each.device);
  EXPECT_EQ(seen, (std::vector<std::string>{"aä", "17", "gw1", "gw1", "gw1", "gw1", longest, "gw1",
                                            "gw1", "by topic"}));
  EXPECT_EQ(Count(Counter::kNotSpokenFor), 1u) << "$SYS";
}

TEST_F(EngineBridge, AClientThatMatchesNoRowSpeaksForItselfAlone) {
  StartWith(Zigbee());
  DeviceClient device(Listen());
  ASSERT_TRUE(device.Connect("other"));
  ASSERT_TRUE(device.Publish("zigbee2mqtt/lamp", "1"));
  EXPECT_EQ(Next(), "other 0");
}

TEST_F(EngineBridge, ACommandGoesBelowTheTopicOfTheLatestRecord) {
  StartWith({{"cs", "application/+/device/{device}/#", ""}, {"cs", "", "$.id"}});
  const uint16_t port = Listen();
  DeviceClient bridge(port);
  ASSERT_TRUE(bridge.Connect("cs"));
  EXPECT_EQ(Send("70b3", "cmd/70b3/command/down"), CommandEnd::kOffline) << "not seen yet";
  ASSERT_TRUE(bridge.Publish("application/7/device/70b3/event/up", "1"));
  EXPECT_EQ(Send("70b3", "cmd/70b3/command/down"), CommandEnd::kNotListening);
  ASSERT_EQ(Subscribe(&bridge, "#"), 1);
  EXPECT_TRUE(HearsOf("70b3"));
  EXPECT_TRUE(Agents()["70b3"].listening);
  EXPECT_EQ(Send("70b3", "cmd/70b3/command/down"), CommandEnd::kTaken);
  EXPECT_EQ(bridge.ReceivePacket(),
            mqtt_test::Publish0("application/7/device/70b3/command/down", "on"));
  // A topic of another form, or one that a rule of the user gave.
  EXPECT_EQ(Send("70b3", "other/70b3"), CommandEnd::kTaken);
  EXPECT_EQ(bridge.ReceivePacket(), mqtt_test::Publish0("other/70b3", "on"));
  EXPECT_EQ(Send("70b3", "cmd/70b3/x", 0, true), CommandEnd::kTaken);
  EXPECT_EQ(bridge.ReceivePacket(), mqtt_test::Publish0("cmd/70b3/x", "on"));
  // A device that a payload names has no topic of its own.
  ASSERT_TRUE(bridge.Publish("t", R"({"id":"b"})"));
  EXPECT_TRUE(HearsOf("b"));
  EXPECT_EQ(Send("b", "cmd/b/x"), CommandEnd::kTaken);
  EXPECT_EQ(bridge.ReceivePacket(), mqtt_test::Publish0("cmd/b/x", "on"));
  // It is the bridge that answers.
  Begin("b", "cmd/b/x", 1);
  ASSERT_TRUE(bridge.Send(Puback(test::PacketId(bridge.ReceivePacket()))));
  EXPECT_EQ(End(), CommandEnd::kTaken);
}

TEST_F(EngineBridge, DevicesAreGoneWithTheConnectionAndReachableWithTheNext) {
  StartWith(Zigbee());
  const uint16_t port = Listen();
  {
    DeviceClient bridge(port);
    ASSERT_TRUE(bridge.Connect("z2m"));
    ASSERT_EQ(Subscribe(&bridge, "#"), 1);
    ASSERT_TRUE(bridge.Publish("zigbee2mqtt/lamp", "1"));
    EXPECT_EQ(engine_.devices(), 2);
    Begin("lamp", "cmd/lamp/set");
    bridge.ReceivePacket();
  }
  EXPECT_EQ(End(), CommandEnd::kGone);
  EXPECT_TRUE(Until([this] { return engine_.devices() == 0; }));
  EXPECT_FALSE(Agents()["lamp"].connected);
  EXPECT_EQ(Send("lamp", "cmd/lamp/set"), CommandEnd::kOffline);
  engine_.TakeEvents();
  // The bridge subscribes, and the device need not speak first.
  DeviceClient bridge(port);
  ASSERT_TRUE(bridge.Connect("z2m"));
  ASSERT_EQ(Subscribe(&bridge, "#"), 1);
  EXPECT_TRUE(HearsOf("lamp"));
  EXPECT_EQ(Send("lamp", "cmd/lamp/set"), CommandEnd::kTaken);
  EXPECT_EQ(bridge.ReceivePacket(), mqtt_test::Publish0("zigbee2mqtt/lamp/set", "on"));
  EXPECT_EQ(engine_.devices(), 1);
  ASSERT_TRUE(bridge.Publish("zigbee2mqtt/lamp", "2"));
  EXPECT_EQ(engine_.devices(), 2);
  std::vector<uint32_t> seqs;
  for (const Seen& each : Records(2)) seqs.push_back(each.seq);
  EXPECT_EQ(seqs, (std::vector<uint32_t>{0, 1}));
}

TEST_F(EngineBridge, ANewConnectionOfTheBridgeTakesOverItsDevices) {
  StartWith(Zigbee());
  const uint16_t port = Listen();
  DeviceClient first(port), second(port);
  ASSERT_TRUE(first.Connect("z2m"));
  ASSERT_TRUE(first.Publish("zigbee2mqtt/lamp", "1"));
  ASSERT_TRUE(second.Connect("z2m"));
  EXPECT_TRUE(first.ClosedByPeer());
  ASSERT_TRUE(second.Publish("zigbee2mqtt/lamp", "2"));
  EXPECT_EQ(Records(2)[1].seq, 1u);
  EXPECT_EQ(engine_.devices(), 2);
  EXPECT_EQ(Count(Counter::kNotSpokenFor), 0u);
}

// On the bridge's worker, and on another one.
class EngineBridgeAndDevice : public EngineBridge, public testing::WithParamInterface<uint32_t> {};

TEST_P(EngineBridgeAndDevice, AConnectionOfItsOwnTakesPrecedence) {
  StartWith(Zigbee());
  const std::string id = IdOf(GetParam(), "lamp-"), bridge_id = IdOf(0, "z2m-");
  const std::string topic = "zigbee2mqtt/" + id;
  const uint16_t port = Listen();
  DeviceClient bridge(port);
  ASSERT_TRUE(bridge.Connect(bridge_id));
  ASSERT_EQ(Subscribe(&bridge, "#"), 1);
  ASSERT_TRUE(bridge.Publish(topic, "1"));
  EXPECT_EQ(Next(), id + " 0");
  {
    DeviceClient device(port);
    ASSERT_TRUE(device.Connect(id));
    ASSERT_EQ(Subscribe(&device, "#"), 1);
    ASSERT_TRUE(bridge.Publish(topic, "2"));
    EXPECT_EQ(Next(), bridge_id + " 0");
    EXPECT_EQ(Count(Counter::kNotSpokenFor), 1u);
    ASSERT_TRUE(device.Publish("t", "3"));
    EXPECT_EQ(Next(), id + " 1");
    EXPECT_EQ(Agents()[id].bridge, "");
    EXPECT_EQ(engine_.devices(), 2);
    EXPECT_EQ(Send(id, "cmd/" + id + "/set"), CommandEnd::kTaken);
    EXPECT_EQ(device.ReceivePacket(), mqtt_test::Publish0("cmd/" + id + "/set", "on"));
  }
  ASSERT_TRUE(Until([&] { return Count(Counter::kConnectionsClosed) == 1; }));
  ASSERT_TRUE(bridge.Publish(topic, "4"));
  EXPECT_EQ(Next(), id + " 2");
  EXPECT_EQ(Agents()[id].bridge, bridge_id);
  EXPECT_EQ(Send(id, "cmd/" + id + "/set"), CommandEnd::kTaken);
  EXPECT_EQ(bridge.ReceivePacket(), mqtt_test::Publish0(topic + "/set", "on"));
}

TEST_P(EngineBridgeAndDevice, NoBridgeSpeaksForAnIdThatHasAProof) {
  StartWith(Zigbee());
  const std::string id = IdOf(GetParam(), "lamp-"), bridge_id = IdOf(0, "z2m-");
  {
    DeviceClient device = Proven(id);
    ASSERT_TRUE(device.Connect(id));
  }
  ASSERT_TRUE(Until([&] { return Count(Counter::kConnectionsClosed) == 1; }));
  DeviceClient bridge(Listen());
  ASSERT_TRUE(bridge.Connect(bridge_id));
  ASSERT_TRUE(bridge.Publish("zigbee2mqtt/" + id, "1"));
  EXPECT_EQ(Next(), bridge_id + " 0");
  EXPECT_EQ(Count(Counter::kNotSpokenFor), 1u);
  engine_.Unlisten(kProven);
  ASSERT_TRUE(bridge.Publish("zigbee2mqtt/" + id, "2"));
  EXPECT_EQ(Next(), id + " 0");
}

TEST_P(EngineBridgeAndDevice, PushedRecordsAndThoseOfABridgeShareTheirNumbers) {
  // The first record is older than the bridges.
  Start({}, Plan({}));
  const std::string id = IdOf(GetParam(), "lamp-"), bridge_id = IdOf(0, "z2m-");
  Record pushed;
  pushed.device = id;
  pushed.topic = "t";
  ASSERT_EQ(engine_.Push(kIngest, pushed, true), PushResult::kOk);
  EXPECT_EQ(Next(), id + " 0");
  Apply(Plan(Zigbee()));
  DeviceClient bridge(Listen());
  ASSERT_TRUE(bridge.Connect(bridge_id));
  ASSERT_TRUE(bridge.Publish("zigbee2mqtt/" + id, "1"));
  EXPECT_EQ(Next(), id + " 1");
  ASSERT_EQ(engine_.Push(kIngest, pushed, true), PushResult::kOk);
  EXPECT_EQ(Next(), id + " 2");
  ASSERT_TRUE(bridge.Publish("zigbee2mqtt/" + id, "3"));
  EXPECT_EQ(Next(), id + " 3");
  EXPECT_EQ(engine_.Agents("", 100).size(), 2u) << "one row an id";
}

TEST_P(EngineBridgeAndDevice, ADeviceIsBehindOneBridgeAtATime) {
  StartWith(Zigbee());
  const std::string one = IdOf(0, "z2m-a"), other = IdOf(GetParam(), "z2m-b");
  const uint16_t port = Listen();
  DeviceClient second(port);
  ASSERT_TRUE(second.Connect(other));
  {
    DeviceClient first(port);
    ASSERT_TRUE(first.Connect(one));
    ASSERT_TRUE(first.Publish("zigbee2mqtt/lamp", "1"));
    EXPECT_EQ(Next(), "lamp 0");
    ASSERT_TRUE(second.Publish("zigbee2mqtt/lamp", "2"));
    EXPECT_EQ(Next(), other + " 0");
    EXPECT_EQ(Count(Counter::kNotSpokenFor), 1u);
    EXPECT_EQ(Agents()["lamp"].bridge, one);
  }
  ASSERT_TRUE(Until([&] { return Count(Counter::kConnectionsClosed) == 1; }));
  ASSERT_TRUE(second.Publish("zigbee2mqtt/lamp", "3"));
  EXPECT_EQ(Next(), "lamp 1");
  EXPECT_EQ(Agents()["lamp"].bridge, other);
}

INSTANTIATE_TEST_SUITE_P(Workers, EngineBridgeAndDevice, testing::Values(0u, 1u));

TEST_F(EngineBridge, TakesAtMostHalfOfTheRowsOfItsWorker) {
  EngineOptions options;
  options.workers = 1;
  options.max_devices = 1;  // four rows
  Start(options, Plan(Zigbee()));
  DeviceClient bridge(Listen());
  ASSERT_TRUE(bridge.Connect("z2m"));
  for (const char* id : {"a", "b", "c", "a"}) {
    ASSERT_TRUE(bridge.Publish("zigbee2mqtt/" + std::string(id), "1"));
  }
  std::vector<std::string> seen;
  for (const Seen& each : Records(4)) seen.push_back(each.device);
  EXPECT_EQ(seen, (std::vector<std::string>{"a", "b", "z2m", "a"}));
  EXPECT_EQ(Count(Counter::kNotSpokenFor), 1u);
  EXPECT_EQ(engine_.devices(), 3);
}

TEST_F(EngineBridge, DevicesGetThePartOfTheirBridge) {
  SourceSettings settings;
  settings.parted = true;
  settings.part = "acme";
  StartWith({{"acme:z2m", "zigbee2mqtt/{device}/#", ""}}, settings);
  DeviceClient bridge(Listen());
  ASSERT_TRUE(bridge.Connect("z2m"));
  ASSERT_EQ(Subscribe(&bridge, "#"), 1);
  ASSERT_TRUE(bridge.Publish("zigbee2mqtt/lamp", "1"));
  ASSERT_TRUE(bridge.Publish("zigbee2mqtt/other:lamp", "1"));
  const auto seen = Records(2);
  EXPECT_EQ(seen[0].device, "acme:lamp");
  EXPECT_EQ(seen[1].device, "acme:other:lamp");
  EXPECT_EQ(Send("acme:lamp", "cmd/acme:lamp/set"), CommandEnd::kTaken);
  EXPECT_EQ(bridge.ReceivePacket(), mqtt_test::Publish0("zigbee2mqtt/lamp/set", "on"));
}

TEST_F(EngineBridge, APlanChangesWhoIsABridge) {
  auto plan = Plan(Zigbee());
  plan[0].devices = {{"lamp", kCritical}};
  Start({}, Plan({}));
  DeviceClient bridge(Listen());
  ASSERT_TRUE(bridge.Connect("z2m"));
  ASSERT_TRUE(bridge.Publish("zigbee2mqtt/lamp", "1"));
  EXPECT_EQ(Records(1)[0].device, "z2m");
  Apply(Plan(Zigbee()));
  ASSERT_TRUE(bridge.Publish("zigbee2mqtt/lamp", "2"));
  EXPECT_EQ(Records(1)[0].record_class, kNormal);
  Apply(plan);
  ASSERT_TRUE(bridge.Publish("zigbee2mqtt/lamp", "3"));
  const Seen seen = Records(1)[0];
  EXPECT_EQ(seen.device, "lamp");
  EXPECT_EQ(seen.record_class, kCritical);
  EXPECT_EQ(engine_.devices(), 2);
  Apply(Plan({}));
  EXPECT_EQ(engine_.devices(), 1);
  EXPECT_EQ(Agents().count("lamp"), 0u);
  EXPECT_EQ(Send("lamp", "cmd/lamp/set"), CommandEnd::kOffline);
  ASSERT_TRUE(bridge.Publish("zigbee2mqtt/lamp", "4"));
  EXPECT_EQ(Records(1)[0].device, "z2m");
}

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

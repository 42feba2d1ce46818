// Which device a record of a bridge has, and where its commands go.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "test/support/engine_bridge_support.h"

namespace seganet {
namespace {

using mqtt_test::Puback;
using test::DeviceClient;
using test::EngineBridge;
using test::Subscribe;
using test::Until;

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

}  // namespace
}  // namespace seganet

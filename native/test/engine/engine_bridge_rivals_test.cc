// Others that speak for a device of a bridge: the device itself, pushed records, another bridge.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "test/support/engine_bridge_support.h"

namespace seganet {
namespace {

using test::DeviceClient;
using test::EngineBridge;
using test::Subscribe;
using test::Until;

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

}  // namespace
}  // namespace seganet

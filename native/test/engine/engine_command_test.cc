// Commands from the engine to devices on loopback.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/protocol/mqtt/server_session.h"
#include "test/support/device_packets.h"
#include "test/support/engine_support.h"

namespace seganet {
namespace {

using test::Accepted;
using test::DeviceClient;
using test::Lit;
using test::LogIn;
using test::Subscribe;
using test::Until;

class EngineCommand : public test::EngineTest {
 protected:
  PushResult Send(uint32_t ticket, const std::string& device, const std::string& topic,
                  const std::string& payload = "on", uint8_t qos = 1,
                  int64_t timeout_us = 10'000'000) {
    return engine_.Command({ticket, device, topic, payload, qos, 0}, timeout_us);
  }
  // The end of the only pending command.
  CommandEnd End(uint32_t ticket) {
    std::vector<CommandResult> all;
    EXPECT_TRUE(Until([&] {
      for (const CommandResult& result : engine_.TakeCommandResults()) all.push_back(result);
      return !all.empty();
    }));
    if (all.size() != 1 || all[0].ticket != ticket) ADD_FAILURE() << all.size() << " results";
    return all.empty() ? CommandEnd::kTimeout : all[0].end;
  }
};

TEST_F(EngineCommand, IsTakenWhenTheDeviceAcknowledgesIt) {
  Start();
  DeviceClient device(Listen());
  ASSERT_TRUE(device.Connect("d"));
  ASSERT_EQ(Subscribe(&device, "cmd/d/#"), 1);
  ASSERT_EQ(Send(7, "d", "cmd/d/lamp"), PushResult::kOk);
  const std::string publish = device.ReceivePacket();
  EXPECT_EQ(publish, mqtt_test::Publish1("cmd/d/lamp", test::PacketId(publish), "on"));
  EXPECT_TRUE(engine_.TakeCommandResults().empty());
  ASSERT_TRUE(device.Send(mqtt_test::Puback(test::PacketId(publish))));
  EXPECT_EQ(End(7), CommandEnd::kTaken);
}

TEST_F(EngineCommand, WithQos0IsTakenWhenItIsSent) {
  Start();
  DeviceClient device(Listen());
  ASSERT_TRUE(device.Connect("d"));
  ASSERT_EQ(Subscribe(&device, "#"), 1);
  ASSERT_EQ(Send(1, "d", "any/topic", "on", 0), PushResult::kOk);
  EXPECT_EQ(device.ReceivePacket(), mqtt_test::Publish0("any/topic", "on"));
  EXPECT_EQ(End(1), CommandEnd::kTaken);
}

TEST_F(EngineCommand, ReportsAnAbsentDeviceAndOneThatDoesNotListen) {
  Start();
  DeviceClient device(Listen());
  ASSERT_EQ(Send(1, "d", "cmd/d/x"), PushResult::kOk);
  EXPECT_EQ(End(1), CommandEnd::kOffline);
  ASSERT_TRUE(device.Connect("d"));
  ASSERT_EQ(Send(2, "d", "cmd/d/x"), PushResult::kOk);
  EXPECT_EQ(End(2), CommandEnd::kNotListening);
  ASSERT_EQ(Subscribe(&device, "cmd/d/y"), 1);
  ASSERT_EQ(Send(3, "d", "cmd/d/x"), PushResult::kOk);
  EXPECT_EQ(End(3), CommandEnd::kNotListening);
  Record record;
  record.device = "pushed";
  engine_.Push(kIngest, record, true);
  ASSERT_TRUE(Until([this] { return engine_.Agents("", 10).size() == 2; }));
  ASSERT_EQ(Send(4, "pushed", "cmd/d/x"), PushResult::kOk);
  EXPECT_EQ(End(4), CommandEnd::kOffline) << "known, with no connection";
}

TEST_F(EngineCommand, TimesOutAndALateAnswerChangesNothing) {
  Start();
  DeviceClient device(Listen());
  ASSERT_TRUE(device.Connect("d"));
  ASSERT_EQ(Subscribe(&device, "cmd/d/#"), 1);
  ASSERT_EQ(Send(1, "d", "cmd/d/x", "on", 1, 1000), PushResult::kOk);
  EXPECT_EQ(End(1), CommandEnd::kTimeout);
  ASSERT_TRUE(device.Send(mqtt_test::Puback(test::PacketId(device.ReceivePacket()))));
  ASSERT_TRUE(device.Publish("t", "1"));
  EXPECT_TRUE(engine_.TakeCommandResults().empty());
}

TEST_F(EngineCommand, IsGoneWithTheSession) {
  Start();
  DeviceClient device(Listen());
  ASSERT_TRUE(device.Connect("d"));
  ASSERT_EQ(Subscribe(&device, "cmd/d/#"), 1);
  ASSERT_EQ(Send(1, "d", "cmd/d/x"), PushResult::kOk);
  ASSERT_NE(device.ReceivePacket(), "");
  device.Close();
  EXPECT_EQ(End(1), CommandEnd::kGone);
}

// [MQTT-4.4.0-1]
TEST_F(EngineCommand, IsSentAgainWhereTheSessionIsKept) {
  Start();
  const uint16_t port = Listen();
  DeviceClient first(port), second(port);
  ASSERT_TRUE(Accepted(LogIn(&first, {.clean = false})));
  ASSERT_EQ(Subscribe(&first, "cmd/d/#"), 1);
  ASSERT_EQ(Send(1, "d", "cmd/d/x"), PushResult::kOk);
  const std::string publish = first.ReceivePacket();
  first.Close();
  ASSERT_TRUE(Until([this] { return engine_.devices() == 0; }));
  ASSERT_TRUE(test::SessionPresent(LogIn(&second, {.clean = false})));
  const std::string again = second.ReceivePacket();
  EXPECT_EQ(again, mqtt_test::Publish1("cmd/d/x", test::PacketId(publish), "on", 0x3A));
  ASSERT_TRUE(second.Send(mqtt_test::Puback(test::PacketId(again))));
  EXPECT_EQ(End(1), CommandEnd::kTaken);
}

// The time of command 1 ends while the device is away or, on a dead connection, before that.
TEST_F(EngineCommand, IsNotSentAgainAfterItsTime) {
  Start();
  const uint16_t port = Listen();
  for (const bool away : {true, false}) {
    DeviceClient first(port), second(port);
    ASSERT_TRUE(Accepted(LogIn(&first, {.clean = false})));
    ASSERT_EQ(Subscribe(&first, "cmd/d/#"), 1);
    const auto leave = [&] {
      first.Close();
      return Until([this] { return engine_.devices() == 0; });
    };
    ASSERT_EQ(Send(1, "d", "cmd/d/x", "late", 1, away ? 2'000'000 : 1000), PushResult::kOk);
    ASSERT_NE(first.ReceivePacket(), "");
    if (!away) EXPECT_EQ(End(1), CommandEnd::kTimeout);
    ASSERT_EQ(Send(2, "d", "cmd/d/x", "in time"), PushResult::kOk);
    ASSERT_NE(first.ReceivePacket(), "");
    ASSERT_TRUE(leave());
    EXPECT_TRUE(engine_.TakeCommandResults().empty());
    if (away) EXPECT_EQ(End(1), CommandEnd::kTimeout);
    ASSERT_TRUE(test::SessionPresent(LogIn(&second, {.clean = false})));
    const std::string again = second.ReceivePacket();
    EXPECT_EQ(again, mqtt_test::Publish1("cmd/d/x", test::PacketId(again), "in time", 0x3A));
    ASSERT_TRUE(second.Send(mqtt_test::Puback(test::PacketId(again))));
    EXPECT_EQ(End(2), CommandEnd::kTaken);
    ASSERT_TRUE(second.Send(Lit("\xC0\0")));
    EXPECT_EQ(second.ReceivePacket(), Lit("\xD0\0")) << "nothing else was sent";
    second.Close();
    ASSERT_TRUE(Until([this] { return engine_.devices() == 0; }));
  }
}

TEST_F(EngineCommand, IsGoneWhenTheDeviceBeginsANewSession) {
  Start();
  const uint16_t port = Listen();
  DeviceClient first(port), second(port);
  ASSERT_TRUE(Accepted(LogIn(&first, {.clean = false})));
  ASSERT_EQ(Subscribe(&first, "cmd/d/#"), 1);
  ASSERT_EQ(Send(1, "d", "cmd/d/x"), PushResult::kOk);
  ASSERT_NE(first.ReceivePacket(), "");
  first.Close();
  ASSERT_TRUE(Until([this] { return engine_.devices() == 0; }));
  EXPECT_TRUE(engine_.TakeCommandResults().empty());
  ASSERT_TRUE(Accepted(LogIn(&second, {.clean = true})));
  EXPECT_EQ(End(1), CommandEnd::kGone);
}

TEST_F(EngineCommand, Mqtt5DevicesMayRefuseAndHaveAPacketLimit) {
  Start();
  DeviceClient device(Listen());
  const auto connack =
      LogIn(&device, {.level = 5, .properties = Lit("\x27") + test::U32(64)});  // Maximum Packet
  ASSERT_TRUE(Accepted(connack));
  ASSERT_EQ(Subscribe(&device, "cmd/d/#", 5), 1);
  ASSERT_EQ(Send(1, "d", "cmd/d/x", std::string(100, 'x')), PushResult::kOk);
  EXPECT_EQ(End(1), CommandEnd::kTooLarge);
  ASSERT_EQ(Send(2, "d", "cmd/d/x"), PushResult::kOk);
  const unsigned id = test::PacketId(device.ReceivePacket());
  ASSERT_TRUE(device.Send(test::Packet(0x40, test::U16(id) + "\x87")));
  EXPECT_EQ(End(2), CommandEnd::kRefused);
}

TEST_F(EngineCommand, TooManyForOneDeviceAreBusy) {
  Start();
  DeviceClient device(Listen());
  ASSERT_TRUE(device.Connect("d"));
  ASSERT_EQ(Subscribe(&device, "cmd/d/#"), 1);
  const size_t window = mqtt::Limits().max_kept_commands;
  for (uint32_t i = 1; i <= window + 1; ++i) {
    ASSERT_EQ(Send(i, "d", "cmd/d/x"), PushResult::kOk);
  }
  EXPECT_EQ(End(static_cast<uint32_t>(window + 1)), CommandEnd::kBusy);
}

TEST_F(EngineCommand, HundredsOfDevicesGetOneEach) {
  constexpr uint32_t kDevices = 300;
  Start();
  const uint16_t port = Listen();
  std::vector<DeviceClient> devices;
  for (uint32_t i = 0; i < kDevices; ++i) {
    devices.emplace_back(port);
    ASSERT_TRUE(devices.back().Connect("d" + std::to_string(i)));
    ASSERT_EQ(Subscribe(&devices.back(), "cmd/+/x"), 1);
  }
  for (uint32_t i = 0; i < kDevices; ++i) {
    const std::string id = "d" + std::to_string(i);
    ASSERT_EQ(Send(i + 1, id, "cmd/" + id + "/x", id), PushResult::kOk);
  }
  for (uint32_t i = 0; i < kDevices; ++i) {
    const std::string id = "d" + std::to_string(i);
    const std::string publish = devices[i].ReceivePacket();
    const unsigned packet_id = test::PacketId(publish);
    EXPECT_EQ(publish, mqtt_test::Publish1("cmd/" + id + "/x", packet_id, id));
    ASSERT_TRUE(devices[i].Send(mqtt_test::Puback(packet_id)));
  }
  std::map<uint32_t, CommandEnd> ends;
  ASSERT_TRUE(Until([&] {
    for (const CommandResult& result : engine_.TakeCommandResults()) {
      EXPECT_TRUE(ends.emplace(result.ticket, result.end).second) << "each once";
    }
    return ends.size() == kDevices;
  }));
  for (const auto& [ticket, end] : ends) EXPECT_EQ(end, CommandEnd::kTaken) << ticket;
}

TEST_F(EngineCommand, InvalidCommandsAreRefusedAtOnce) {
  Start();
  EXPECT_EQ(Send(1, "", "t"), PushResult::kTooLong);
  EXPECT_EQ(Send(1, std::string(257, 'd'), "t"), PushResult::kTooLong);
  EXPECT_EQ(Send(1, "d", ""), PushResult::kTooLong);
  EXPECT_EQ(Send(1, "d", std::string(65'536, 't')), PushResult::kTooLong);
  EXPECT_EQ(Send(1, "d", "t", std::string(262'145, 'p')), PushResult::kTooLong);
  engine_.Close();
  EXPECT_EQ(Send(1, "d", "t"), PushResult::kClosed);
}

TEST_F(EngineCommand, TheEndOfTheEngineEndsThem) {
  Start();
  DeviceClient device(Listen());
  ASSERT_TRUE(device.Connect("d"));
  ASSERT_EQ(Subscribe(&device, "#"), 1);
  ASSERT_EQ(Send(1, "d", "t"), PushResult::kOk);
  ASSERT_NE(device.ReceivePacket(), "");
  engine_.Close();
  EXPECT_EQ(End(1), CommandEnd::kGone);
}

TEST_F(EngineCommand, SubscribingIsAnEvent) {
  Start();
  const uint16_t port = Listen();
  DeviceClient first(port), second(port);
  ASSERT_TRUE(Accepted(LogIn(&first, {.clean = false})));
  ASSERT_EQ(Subscribe(&first, "cmd/d/#"), 1);
  first.Close();
  std::string kinds;
  const auto see = [&](size_t events) {
    return Until([&] {
      for (const DeviceEvent& event : engine_.TakeEvents()) kinds += Name(event.kind)[0];
      return kinds.size() == events;
    });
  };
  ASSERT_TRUE(see(3));
  ASSERT_TRUE(Accepted(LogIn(&second, {.clean = false})));
  ASSERT_TRUE(see(5));
  EXPECT_EQ(kinds, "cldcl") << "a session that goes on listens at once";
}

}  // namespace
}  // namespace seganet

// The engine with real devices on loopback.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "test/support/engine_support.h"

namespace seganet {
namespace {

using mqtt_test::Publish0;
using mqtt_test::Publish1;
using test::DeviceClient;
using test::Until;

class EngineSockets : public test::EngineTest {};

TEST_F(EngineSockets, TwoHundredDevicesPublish) {
  constexpr int kDevices = 200, kEach = 5;
  Start();
  const uint16_t port = Listen();
  std::vector<DeviceClient> devices;
  for (int i = 0; i < kDevices; ++i) {
    devices.emplace_back(port);
    ASSERT_TRUE(devices.back().Connect("device-" + std::to_string(i))) << i;
  }
  EXPECT_EQ(engine_.devices(), kDevices);
  for (int round = 0; round < kEach; ++round) {
    for (DeviceClient& device : devices) ASSERT_TRUE(device.Publish("t", "{\"v\":1}"));
  }
  uint32_t taken = 0;
  engine_.Flush(0);
  ASSERT_TRUE(Until([&] { return (taken += DrainUplink()) == kDevices * kEach; }));
  devices.clear();
  EXPECT_TRUE(Until([this] { return engine_.devices() == 0; }));
  EXPECT_EQ(Count(Counter::kConnectionsAccepted), uint64_t{kDevices});
  EXPECT_EQ(Count(Counter::kDevicesConnected), uint64_t{kDevices});
  EXPECT_EQ(Count(Counter::kConnectionsClosed), uint64_t{kDevices});
  EXPECT_EQ(AllDropped(), 0u);
  EXPECT_EQ(engine_.budget().held(), 0);
}

TEST_F(EngineSockets, APacketInPiecesIsOne) {
  Start();
  DeviceClient device(Listen());
  const std::string stream = mqtt_test::ConnectPacket() + Publish1("t", 1, "1");
  for (char byte : stream) ASSERT_TRUE(device.Send({&byte, 1}));
  EXPECT_EQ(device.Receive(8), std::string(DeviceClient::kAccepted) + mqtt_test::Puback(1));
}

TEST_F(EngineSockets, TheBatchDelaySealsWithoutMoreTraffic) {
  Start();
  DeviceClient device(Listen());
  ASSERT_TRUE(device.Connect("d"));
  const int64_t start = MonotonicUs();
  ASSERT_TRUE(device.Publish("t", "1"));
  ASSERT_TRUE(Until([this] { return DrainUplink() == 1; }));
  EXPECT_GT(MonotonicUs() - start, 900'000) << "t is 1 s";
}

TEST_F(EngineSockets, AKnownIdTakesOverTheConnection) {
  Start();
  const uint16_t port = Listen();
  DeviceClient old(port);
  ASSERT_TRUE(old.Connect("same"));
  DeviceClient young(port);
  ASSERT_TRUE(young.Connect("same"));
  EXPECT_TRUE(old.ClosedByPeer());
  EXPECT_TRUE(young.Publish("t", "1"));
  EXPECT_EQ(engine_.devices(), 1);
  EXPECT_EQ(Count(Counter::kTakeOvers), 1u);
}

TEST_F(EngineSockets, ASilentDeviceIsClosedAfterItsKeepAlive) {
  Start();
  const uint16_t port = Listen();
  DeviceClient silent(port), forever(port);
  ASSERT_TRUE(forever.Connect("forever", 0));
  const int64_t start = MonotonicUs();
  ASSERT_TRUE(silent.Connect("silent", 1));
  EXPECT_TRUE(silent.ClosedByPeer());
  EXPECT_GE(MonotonicUs() - start, 1'400'000) << "1.5 times the keep-alive";
  EXPECT_TRUE(forever.Publish("t", "1"));
  EXPECT_EQ(Count(Counter::kKeepAliveTimeouts), 1u);
}

TEST_F(EngineSockets, AConnectionWithoutConnectInTimeIsClosed) {
  Start();
  const uint16_t port = Listen(300'000);
  DeviceClient silent(port), dripping(port);
  ASSERT_TRUE(dripping.Send("\x10"));
  EXPECT_TRUE(silent.ClosedByPeer());
  EXPECT_TRUE(dripping.ClosedByPeer());
  EXPECT_EQ(Count(Counter::kConnectTimeouts), 2u);
  EXPECT_EQ(engine_.devices(), 0);
}

TEST_F(EngineSockets, AVersionAbove5IsRefusedWithTheCodeOf5) {
  Start();
  DeviceClient device(Listen());
  mqtt_test::ConnectFields fields;
  fields.level = 6;
  ASSERT_TRUE(device.Send(mqtt_test::ConnectPacket(fields)));
  EXPECT_EQ(device.Receive(5), mqtt_test::Lit("\x20\x03\x00\x84\x00"));
  EXPECT_TRUE(device.ClosedByPeer());
  EXPECT_EQ(Closed(CloseReason::kUnsupportedVersion), 1u);
}

TEST_F(EngineSockets, IdsOver256BytesAreRejected) {
  Start();
  const uint16_t port = Listen();
  DeviceClient longest(port), longer(port);
  EXPECT_TRUE(longest.Connect(std::string(256, 'a')));
  EXPECT_FALSE(longer.Connect(std::string(257, 'a')));
  EXPECT_TRUE(longer.ClosedByPeer());
}

// [MQTT-3.1.3-6] to [MQTT-3.1.3-8]
TEST_F(EngineSockets, EmptyIdsGetOneWithACleanSessionOnly) {
  Start();
  const uint16_t port = Listen();
  DeviceClient first(port), second(port), keeps(port);
  EXPECT_TRUE(first.Connect(""));
  EXPECT_TRUE(second.Connect(""));
  EXPECT_TRUE(first.Publish("t", "1")) << "the second one is another device";
  EXPECT_EQ(engine_.devices(), 2);
  mqtt_test::ConnectFields fields;
  fields.flags = 0;
  fields.payload = mqtt_test::Str("");
  ASSERT_TRUE(keeps.Send(mqtt_test::ConnectPacket(fields)));
  EXPECT_EQ(keeps.Receive(4), mqtt_test::Lit("\x20\x02\x00\x02"));
  EXPECT_TRUE(keeps.ClosedByPeer());
}

TEST_F(EngineSockets, MalformedInputIsClosedAndCounted) {
  Start();
  const uint16_t port = Listen();
  for (const std::string& bytes :
       {std::string("GET / HTTP/1.1\r\n\r\n"), mqtt_test::Packet(0xC0, ""), std::string(9, '\xFF'),
        mqtt_test::ConnectPacket() + mqtt_test::ConnectPacket(),
        mqtt_test::ConnectPacket() + Publish0("a/#", "")}) {
    DeviceClient device(port);
    device.Send(bytes);
    EXPECT_TRUE(device.ClosedByPeer()) << testing::PrintToString(bytes);
  }
  EXPECT_TRUE(Until([this] { return Count(Counter::kProtocolErrors) == 5; }));
  EXPECT_EQ(Closed(CloseReason::kSecondConnect), 1u);
  EXPECT_EQ(Closed(CloseReason::kBadTopic), 1u);
}

TEST_F(EngineSockets, MaxDevicesCountsOpenConnections) {
  EngineOptions options;
  options.max_devices = 3;
  Start(options);
  const uint16_t port = Listen();
  std::vector<DeviceClient> devices;
  for (int i = 0; i < 3; ++i) {
    devices.emplace_back(port);
    ASSERT_TRUE(devices.back().Connect(std::to_string(i)));
  }
  DeviceClient late(port);
  EXPECT_TRUE(late.ClosedByPeer());
  EXPECT_EQ(Count(Counter::kConnectionsRefused), 1u);
  devices.pop_back();
  EXPECT_TRUE(Until([&] { return DeviceClient(port).Connect("again"); }));
}

TEST_F(EngineSockets, StopReadingEndsAcceptingAndReading) {
  Start();
  const uint16_t port = Listen();
  DeviceClient device(port);
  ASSERT_TRUE(device.Connect("d"));
  ASSERT_TRUE(device.Publish("t", "1"));
  engine_.StopReading();
  EXPECT_FALSE(DeviceClient(port).open());
  engine_.Flush(0);
  ASSERT_TRUE(Until([this] { return DrainUplink() == 1; })) << "what came before goes on";
  ASSERT_TRUE(device.Send(Publish1("t", 9, "1")));
  // Two flushes are two turns of each worker after the packet's arrival: if it could be read, it
  // would have been.
  engine_.Flush(0);
  ASSERT_TRUE(device.Send(Publish1("t", 10, "1")));
  engine_.Flush(0);
  EXPECT_EQ(Count(Counter::kRecordsReceived), 1u);
  engine_.Close();
  EXPECT_TRUE(device.ClosedByPeer());
}

TEST_F(EngineSockets, HoldReadingKeepsRecordsInTheSocketUntilItEnds) {
  Start();
  const uint16_t port = Listen();
  DeviceClient device(port);
  ASSERT_TRUE(device.Connect("d"));
  ASSERT_TRUE(device.Publish("t", "1"));
  engine_.HoldReading(true);
  ASSERT_TRUE(device.Send(Publish1("t", 9, "2")));
  DeviceClient late(port);
  // Two flushes are two turns of each worker after the packet's arrival: if it could be read, it
  // would have been.
  engine_.Flush(0);
  ASSERT_TRUE(device.Send(Publish1("t", 10, "3")));
  engine_.Flush(0);
  EXPECT_EQ(Count(Counter::kRecordsReceived), 1u);
  EXPECT_TRUE(late.open());
  engine_.HoldReading(false);
  EXPECT_TRUE(Until([this] { return Count(Counter::kRecordsReceived) == 3; }));
}

TEST_F(EngineSockets, UnlistenClosesDevicesAndFreesThePort) {
  Start();
  uint16_t port = Listen();
  for (int round = 0; round < 20; ++round) {
    DeviceClient device(port), half_open(port);
    ASSERT_TRUE(device.Connect("d"));
    engine_.Unlisten(kSource);
    ASSERT_TRUE(device.ClosedByPeer());
    ASSERT_TRUE(half_open.ClosedByPeer());
    ASSERT_FALSE(DeviceClient(port).open());
    ASSERT_EQ(Listen(10'000'000, port), port) << "round " << round;
  }
  EXPECT_EQ(engine_.devices(), 0);
}

TEST_F(EngineSockets, ListenReportsTheError) {
  Start();
  const uint16_t port = Listen();
  uint16_t bound = 0;
  const auto listen = [&](uint32_t stage, const char* host, uint16_t at) {
    return engine_.Listen(stage, {.host = host, .port = at, .connect_timeout_us = 1'000'000},
                          &bound);
  };
  EXPECT_EQ(listen(kSource, "127.0.0.1", 0).message(), "stage 1 is already listening");
  EXPECT_EQ(listen(kBatch, "127.0.0.1", 0).message(), "stage 3 is not a source of the plan");
  EXPECT_EQ(listen(99, "127.0.0.1", 0).message(), "stage 99 is not a source of the plan");
  engine_.Unlisten(kSource);
  test::CountingBell bell;
  Engine other(&bell);
  EngineOptions options;
  options.workers = 1;
  ASSERT_TRUE(other.Start(options).ok());
  ASSERT_TRUE(other.ApplyPlan(UsualPlan()).ok());
  ASSERT_TRUE(other.Listen(kSource, {.host = "127.0.0.1", .port = port}, &bound).ok());
  EXPECT_EQ(listen(kSource, "127.0.0.1", port).error(), EADDRINUSE);
  EXPECT_EQ(listen(kSource, "192.0.2.1", 0).error(), EADDRNOTAVAIL);
  EXPECT_EQ(listen(kSource, "not a host", 0).error(), EADDRNOTAVAIL);
}

TEST_F(EngineSockets, CloseCountsHeldRecords) {
  Start();
  DeviceClient device(Listen());
  ASSERT_TRUE(device.Connect("d"));
  for (int i = 0; i < 30; ++i) ASSERT_TRUE(device.Publish("t", "1"));
  engine_.Close();
  EXPECT_TRUE(device.ClosedByPeer());
  EXPECT_EQ(Dropped(Drop::kClosed), 30u);
  EXPECT_EQ(HeldRecords(), 0);
  EXPECT_EQ(engine_.devices(), 0);
}

}  // namespace
}  // namespace seganet

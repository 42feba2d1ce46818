// MQTT sessions over connections: their kept state, and the devices' answers.
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/devices/kept_sessions.h"
#include "test/support/device_packets.h"
#include "test/support/engine_support.h"

namespace seganet {
namespace {

using test::Accepted;
using test::DeviceClient;
using test::kSecond;
using test::Lit;
using test::LogIn;
using test::Login;
using test::SessionExpiry;
using test::SessionPresent;
using test::Until;

class EngineSession : public test::EngineTest {
 protected:
  void StartWith(const SourceSettings& source, EngineOptions options = {}) {
    std::vector<StageSpec> plan = UsualPlan();
    plan[0].source = source;
    Start(options, std::move(plan));
  }
  void Gone(DeviceClient* device) {
    device->Close();
    ASSERT_TRUE(Until([this] { return engine_.devices() == 0; }));
  }
};

TEST_F(EngineSession, ContinuesOverConnections) {
  Start();
  const uint16_t port = Listen();
  DeviceClient first(port), second(port), third(port), fourth(port);
  EXPECT_FALSE(SessionPresent(LogIn(&first, {.clean = false})));
  EXPECT_EQ(test::Subscribe(&first, "cmd/d/#"), 1);
  Gone(&first);
  EXPECT_FALSE(engine_.Agents("", 1)[0].listening);
  EXPECT_TRUE(SessionPresent(LogIn(&second, {.clean = false})));
  EXPECT_TRUE(engine_.Agents("", 1)[0].listening);
  Gone(&second);
  EXPECT_FALSE(SessionPresent(LogIn(&third, {.clean = true}))) << "[MQTT-3.1.2-6]";
  EXPECT_FALSE(engine_.Agents("", 1)[0].listening);
  Gone(&third);
  EXPECT_FALSE(SessionPresent(LogIn(&fourth, {.clean = false})));
}

TEST_F(EngineSession, ContinuesOverATakeOverAndADisconnect) {
  Start();
  const uint16_t port = Listen();
  const Login five{.level = 5, .clean = false, .properties = SessionExpiry(100)};
  DeviceClient first(port), second(port), third(port);
  ASSERT_TRUE(Accepted(LogIn(&first, five)));
  EXPECT_TRUE(SessionPresent(LogIn(&second, five)));
  EXPECT_EQ(first.ReceivePacket(), Lit("\xE0\x02\x8E\0").substr(0, 1) + "\x01\x8E");
  ASSERT_TRUE(second.Send(test::Packet(0xE0, "")));
  ASSERT_TRUE(second.ClosedByPeer());
  EXPECT_TRUE(SessionPresent(LogIn(&third, five)));
}

TEST_F(EngineSession, OfMqtt5EndsWithItsConnectionUnlessTheDeviceAsksForMore) {
  Start();
  const uint16_t port = Listen();
  DeviceClient first(port), second(port);
  ASSERT_TRUE(Accepted(LogIn(&first, {.level = 5, .clean = false})));
  Gone(&first);
  EXPECT_FALSE(SessionPresent(LogIn(&second, {.level = 5, .clean = false})));
}

TEST_F(EngineSession, IsNotKeptIfTheSourceForbidsIt) {
  SourceSettings source;
  source.session_expiry_max_s = 0;
  StartWith(source);
  const uint16_t port = Listen();
  DeviceClient first(port), second(port);
  ASSERT_TRUE(Accepted(LogIn(&first, {.clean = false})));
  Gone(&first);
  EXPECT_FALSE(SessionPresent(LogIn(&second, {.clean = false})));
}

// 3.1.1: 4.3.3
TEST_F(EngineSession, AQos2RecordComesOnceOverAReconnect) {
  Start();
  const uint16_t port = Listen();
  DeviceClient first(port), second(port);
  ASSERT_TRUE(Accepted(LogIn(&first, {.clean = false})));
  const std::string publish = mqtt_test::Publish1("t", 9, "1", 0x34);
  ASSERT_TRUE(first.Send(publish));
  EXPECT_EQ(first.ReceivePacket(), Lit("\x50\x02\0\x09"));
  Gone(&first);
  ASSERT_TRUE(SessionPresent(LogIn(&second, {.clean = false})));
  ASSERT_TRUE(second.Send(mqtt_test::Publish1("t", 9, "1", 0x3C)));  // DUP
  EXPECT_EQ(second.ReceivePacket(), Lit("\x50\x02\0\x09"));
  ASSERT_TRUE(second.Send(Lit("\x62\x02\0\x09")));
  EXPECT_EQ(second.ReceivePacket(), Lit("\x70\x02\0\x09"));
  ASSERT_TRUE(second.Send(publish)) << "the identifier is free again";
  EXPECT_EQ(second.ReceivePacket(), Lit("\x50\x02\0\x09"));
  EXPECT_EQ(Count(Counter::kRecordsReceived), 2u);
}

TEST_F(EngineSession, DevicesAreNotifiedOfTheGatewaysStop) {
  Start();
  const uint16_t port = Listen();
  DeviceClient five(port), old(port);
  ASSERT_TRUE(Accepted(LogIn(&five, {.id = "five", .level = 5})));
  ASSERT_TRUE(Accepted(LogIn(&old, {.id = "old"})));
  engine_.Unlisten(kSource);
  EXPECT_EQ(five.ReceivePacket(), "\xE0\x01\x8B");
  EXPECT_EQ(old.ReceivePacket(), "") << "3.1.1 has no packet for it";
}

TEST_F(EngineSession, TheKeepAliveMaximumHoldsForAll) {
  SourceSettings source;
  source.keep_alive_max_s = 1;
  StartWith(source);
  const uint16_t port = Listen();
  DeviceClient five(port), old(port);
  const std::string connack = LogIn(&five, {.id = "five", .level = 5, .keep_alive = 600});
  ASSERT_TRUE(Accepted(connack));
  EXPECT_NE(connack.find(Lit("\x13\0\x01")), std::string::npos) << "Server Keep Alive";
  ASSERT_TRUE(Accepted(LogIn(&old, {.id = "old", .keep_alive = 0})));
  EXPECT_EQ(five.ReceivePacket(), "\xE0\x01\x8D");
  EXPECT_TRUE(old.ClosedByPeer());
  EXPECT_TRUE(Until([this] { return Count(Counter::kKeepAliveTimeouts) == 2; }));
}

TEST_F(EngineSession, AnAssignedIdIsSentToTheDevice) {
  Start();
  DeviceClient device(Listen());
  const std::string connack = LogIn(&device, {.id = "", .level = 5});
  ASSERT_TRUE(Accepted(connack));
  EXPECT_NE(connack.find("\x12"), std::string::npos);
  EXPECT_NE(connack.find(engine_.Agents("", 1)[0].device), std::string::npos);
}

TEST_F(EngineSession, UnfinishedPacketsOfAllDevicesAreBounded) {
  EngineOptions options;
  options.memory_mib = 1;  // a quarter of it, but not less than 16 MiB
  options.max_packet_bytes = 16'777'216;
  StartWith({}, options);
  const uint16_t port = Listen();
  DeviceClient first(port), second(port), third(port);
  ASSERT_TRUE(Accepted(LogIn(&first, {.id = "a", .level = 5})));
  ASSERT_TRUE(Accepted(LogIn(&second, {.id = "b", .level = 5})));
  const std::string part =
      mqtt_test::Publish0("t", std::string(10'000'000, 'x')).substr(0, 9'000'000);
  ASSERT_TRUE(first.Send(part));
  second.Send(part);
  const auto closed = [this] { return Closed(CloseReason::kUnfinished) > 0; };
  ASSERT_TRUE(Until(closed));
  ASSERT_TRUE(Until([this] { return engine_.devices() == 1; }));
  ASSERT_TRUE(Accepted(LogIn(&third, {.id = "c"})));
  EXPECT_TRUE(third.Publish("t", "1")) << "who holds nothing is not concerned";
}

class KeptSessionsTest : public testing::Test {
 protected:
  static std::unique_ptr<mqtt::KeptSession> Session(uint32_t expiry_s) {
    auto session = std::make_unique<mqtt::KeptSession>();
    session->expiry_s = expiry_s;
    return session;
  }
  MemoryShare memory_;
  std::vector<std::string> ended_;
  std::set<uint64_t> over_;
  KeptSessions kept_{3, &memory_, [this](const std::string& device) { ended_.push_back(device); },
                     [this](uint64_t id) { return over_.contains(id); }};
};

TEST_F(KeptSessionsTest, EndWhenTheirTimeIsOver) {
  ASSERT_TRUE(kept_.Put("a", "s", Session(10), 0));
  ASSERT_TRUE(kept_.Put("b", "s", Session(20), 0));
  ASSERT_TRUE(kept_.Put("c", "s", Session(UINT32_MAX), 0));
  EXPECT_FALSE(kept_.Put("d", "s", Session(0), 0));
  EXPECT_FALSE(kept_.Put("d", "s", nullptr, 0));
  kept_.Expire(10 * kSecond);
  EXPECT_EQ(ended_, std::vector<std::string>{"a"});
  EXPECT_EQ(kept_.Take("b", "s", 100, 20 * kSecond), nullptr) << "in time, in either order";
  EXPECT_EQ(ended_.size(), 2u);
  EXPECT_NE(kept_.Take("c", "s", 100, INT64_MAX - 1), nullptr);
  EXPECT_EQ(ended_.size(), 2u);
  EXPECT_EQ(memory_.used(), 0);
}

TEST_F(KeptSessionsTest, OfAnotherSourceEnd) {
  ASSERT_TRUE(kept_.Put("a", "s", Session(10), 0));
  EXPECT_EQ(kept_.Take("a", "other", 100, 0), nullptr);
  EXPECT_EQ(ended_.size(), 1u);
}

TEST_F(KeptSessionsTest, AreBoundedAndTheOneThatEndsSoonestGoes) {
  ASSERT_TRUE(kept_.Put("a", "s", Session(30), 0));
  ASSERT_TRUE(kept_.Put("b", "s", Session(10), 0));
  ASSERT_TRUE(kept_.Put("c", "s", Session(20), 0));
  ASSERT_TRUE(kept_.Put("d", "s", Session(40), 0));
  EXPECT_EQ(kept_.size(), 3u);
  EXPECT_EQ(ended_, std::vector<std::string>{"b"});
}

TEST_F(KeptSessionsTest, TakeNoMoreMemoryThanTheyMay) {
  ASSERT_TRUE(kept_.Put("a", "s", Session(30), 0));
  memory_.SetLimit(memory_.used() + 10);
  EXPECT_TRUE(kept_.Put("b", "s", Session(10), 0));
  EXPECT_EQ(ended_, std::vector<std::string>{"a"});
  memory_.SetLimit(10);
  EXPECT_FALSE(kept_.Put("c", "s", Session(10), 0));
  EXPECT_EQ(kept_.size(), 0u);
  EXPECT_EQ(memory_.used(), 0);
}

TEST_F(KeptSessionsTest, CommandsThatAreWithdrawnGiveTheirMemoryBack) {
  auto session = Session(30);
  const std::vector<uint8_t> payload(1000);
  for (const uint64_t id : {1, 2, 3}) session->outgoing.Add(id, "t", payload);
  ASSERT_TRUE(kept_.Put("a", "s", std::move(session), 0));
  const int64_t before = memory_.used();
  kept_.Withdraw("b", 2);
  EXPECT_EQ(memory_.used(), before);
  kept_.Withdraw("a", 2);
  EXPECT_EQ(memory_.used(), before - 1001);
  EXPECT_EQ(kept_.Find("a").session->Unanswered(), (std::vector<uint64_t>{1, 3}));
  kept_.Withdraw("a", 1);
  kept_.Withdraw("a", 3);
  kept_.Drop("a");
  EXPECT_EQ(memory_.used(), 0);
}

TEST_F(KeptSessionsTest, CommandsThatAreOverEndNoOtherSession) {
  ASSERT_TRUE(kept_.Put("a", "s", Session(30), 0));
  memory_.SetLimit(memory_.used() * 3);
  auto session = Session(30);
  const std::vector<uint8_t> payload(1 << 20);
  for (const uint64_t id : {1, 2}) session->outgoing.Add(id, "t", payload);
  over_ = {1, 2};
  ASSERT_TRUE(kept_.Put("b", "s", std::move(session), 0));
  EXPECT_TRUE(ended_.empty());
  EXPECT_TRUE(kept_.Find("b").session->Unanswered().empty());
}

}  // namespace
}  // namespace seganet

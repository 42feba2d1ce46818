// Wills of devices on loopback, and when they are published.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/devices/wills.h"
#include "test/support/device_packets.h"
#include "test/support/engine_support.h"

namespace seganet {
namespace {

using test::Accepted;
using test::DeviceClient;
using test::kSecond;
using test::LogIn;
using test::Login;
using test::SessionExpiry;
using test::Until;
using test::WillDelay;
using Records = std::vector<std::string>;

class EngineWill : public test::EngineTest {
 protected:
  void StartUnbatched(const SourceSettings& source = {}) {
    std::vector<StageSpec> plan = UsualPlan();
    plan[0].source = source;
    plan[2].batcher.mode = BatchMode::kOff;
    Start({}, std::move(plan));
  }
  // Waits for the connections to end, so that their wills are there.
  Records RecordsAfter(int64_t devices) {
    EXPECT_TRUE(Until([&] { return engine_.devices() == devices; }));
    engine_.Agents("", 1);  // after the workers' turns
    return TakeRecords();
  }
  static Login WithDelay(uint32_t delay_s) {
    return {.level = 5,
            .clean = false,
            .properties = SessionExpiry(100),
            .will_topic = "will/d",
            .will_properties = WillDelay(delay_s)};
  }
};

TEST_F(EngineWill, IsARecordOfItsDeviceWhenTheConnectionBreaks) {
  StartUnbatched();
  DeviceClient device(Listen());
  ASSERT_TRUE(Accepted(LogIn(&device, {.will_topic = "will/d"})));
  ASSERT_TRUE(device.Publish("t", "1"));
  device.Close();
  EXPECT_EQ(RecordsAfter(0), (Records{"d t 1", "d will/d gone"}));
  EXPECT_EQ(Count(Counter::kRecordsReceived), 2u);
}

// [MQTT-3.14.4-3]
TEST_F(EngineWill, IsDroppedByADisconnect) {
  StartUnbatched();
  const uint16_t port = Listen();
  DeviceClient old(port), five(port);
  ASSERT_TRUE(Accepted(LogIn(&old, {.id = "old", .will_topic = "will/old"})));
  ASSERT_TRUE(Accepted(LogIn(&five, {.id = "five", .level = 5, .will_topic = "will/five"})));
  ASSERT_TRUE(old.Send(test::Packet(0xE0, "")));
  ASSERT_TRUE(five.Send(test::Packet(0xE0, "")));
  EXPECT_EQ(RecordsAfter(0), Records());
}

// 5: 3.14.2.1, 0x04 "Disconnect with Will Message"
TEST_F(EngineWill, StaysWhenTheDisconnectRequestsIt) {
  StartUnbatched();
  DeviceClient device(Listen());
  ASSERT_TRUE(Accepted(LogIn(&device, {.level = 5, .will_topic = "will/d"})));
  ASSERT_TRUE(device.Send(test::Packet(0xE0, "\x04")));
  EXPECT_EQ(RecordsAfter(0), Records{"d will/d gone"});
}

TEST_F(EngineWill, IsPublishedOnATakeOver) {
  StartUnbatched();
  const uint16_t port = Listen();
  DeviceClient old(port), young(port);
  ASSERT_TRUE(Accepted(LogIn(&old, {.will_topic = "will/d"})));
  ASSERT_TRUE(Accepted(LogIn(&young, {})));
  ASSERT_TRUE(old.ClosedByPeer());
  EXPECT_EQ(RecordsAfter(1), Records{"d will/d gone"});
}

TEST_F(EngineWill, WithADelayIsForgottenWhenTheSessionContinues) {
  StartUnbatched();
  const uint16_t port = Listen();
  DeviceClient first(port), second(port), third(port);
  ASSERT_TRUE(Accepted(LogIn(&first, WithDelay(60))));
  first.Close();
  EXPECT_EQ(RecordsAfter(0), Records());
  const std::string connack = LogIn(&second, WithDelay(60));
  ASSERT_TRUE(Accepted(connack));
  EXPECT_TRUE(test::SessionPresent(connack));
  EXPECT_EQ(RecordsAfter(1), Records());
  second.Close();
  ASSERT_TRUE(Until([this] { return engine_.devices() == 0; }));
  Login another = WithDelay(60);
  another.clean = true;
  ASSERT_TRUE(Accepted(LogIn(&third, another)));
  EXPECT_EQ(RecordsAfter(1), Records{"d will/d gone"}) << "the old session is over";
}

TEST_F(EngineWill, WaitsNoLongerThanTheGatewayReads) {
  StartUnbatched();
  DeviceClient device(Listen());
  ASSERT_TRUE(Accepted(LogIn(&device, WithDelay(60))));
  device.Close();
  EXPECT_EQ(RecordsAfter(0), Records());
  engine_.StopReading();
  EXPECT_EQ(RecordsAfter(0), Records{"d will/d gone"});
}

// [MQTT-3.1.2-8] The gateway closes the connection without a DISCONNECT of the device.
TEST_F(EngineWill, OfAConnectedDeviceIsPublishedWhenTheGatewayStops) {
  StartUnbatched();
  const uint16_t port = Listen();
  DeviceClient old(port), five(port), left(port);
  ASSERT_TRUE(Accepted(LogIn(&old, {.id = "old", .will_topic = "will/old"})));
  ASSERT_TRUE(Accepted(LogIn(&five, WithDelay(60))));
  ASSERT_TRUE(Accepted(LogIn(&left, {.id = "left", .will_topic = "will/left"})));
  ASSERT_TRUE(left.Send(test::Packet(0xE0, "")));
  ASSERT_TRUE(Until([this] { return engine_.devices() == 2; }));
  engine_.StopReading();
  Records records = TakeRecords();
  std::sort(records.begin(), records.end());
  EXPECT_EQ(records, (Records{"d will/d gone", "old will/old gone"}));
  EXPECT_EQ(engine_.devices(), 2) << "they still get acknowledgements";
  engine_.Close();
  EXPECT_EQ(five.ReceivePacket(), "\xE0\x01\x8B");
  EXPECT_EQ(TakeRecords(), Records()) << "once";
}

TEST_F(EngineWill, OfASourceThatLeavesThePlanIsPublishedBeforeItIsGone) {
  StartUnbatched();
  DeviceClient device(Listen());
  ASSERT_TRUE(Accepted(LogIn(&device, WithDelay(60))));
  device.Close();
  EXPECT_EQ(RecordsAfter(0), Records());
  engine_.Unlisten(kSource);
  std::vector<StageSpec> plan = UsualPlan();
  plan.erase(plan.begin());
  plan[1].batcher.mode = BatchMode::kOff;
  Apply(std::move(plan));
  EXPECT_EQ(RecordsAfter(0), Records{"d will/d gone"});
}

TEST_F(EngineWill, ForATopicThatIsNotAllowedIsRefusedWithItsDevice) {
  SourceSettings source;
  source.permissions = {{"*", {"data/{device}/#"}, {}}};
  StartUnbatched(source);
  const uint16_t port = Listen();
  DeviceClient old(port), five(port), good(port);
  EXPECT_EQ(LogIn(&old, {.will_topic = "will/d"}), test::Lit("\x20\x02\0\x05"));
  const std::string connack = LogIn(&five, {.level = 5, .will_topic = "will/d"});
  ASSERT_GE(connack.size(), 4u);
  EXPECT_EQ(connack[3], '\x87');
  EXPECT_TRUE(Accepted(LogIn(&good, {.will_topic = "data/d/end"})));
  EXPECT_EQ(Count(Counter::kNotAllowed), 2u);
}

class WillsTest : public testing::Test {
 protected:
  static WillRecord Will(const std::string& device) { return {device, 1, "t", "p", 0, 0}; }
  MemoryShare memory_;
  std::vector<std::string> published_;
  Wills wills_{&memory_, [this](const WillRecord& will) { published_.push_back(will.device); }};
};

TEST_F(WillsTest, LeaveWhenTheirDelayIsOver) {
  wills_.Ended(Will("late"), 5, 0);
  wills_.Ended(Will("early"), 2, 0);
  wills_.Ended(Will("now"), 0, 0);
  EXPECT_EQ(published_, Records{"now"});
  wills_.OnTime(2 * kSecond - 1);
  EXPECT_EQ(published_.size(), 1u);
  wills_.OnTime(5 * kSecond);
  EXPECT_EQ(published_, (Records{"now", "early", "late"}));
  EXPECT_EQ(memory_.used(), 0);
}

TEST_F(WillsTest, LeaveAtOnceWhereThereIsNoMemoryForThem) {
  memory_.SetLimit(10);
  wills_.Ended(Will("a"), 5, 0);
  EXPECT_EQ(published_, Records{"a"});
  EXPECT_EQ(memory_.used(), 0);
}

TEST_F(WillsTest, OneADeviceWaits) {
  wills_.Ended(Will("a"), 5, 0);
  wills_.Ended(Will("a"), 9, 0);
  EXPECT_EQ(published_, Records{"a"});
  wills_.Cancel("a");
  wills_.OnTime(100 * kSecond);
  EXPECT_EQ(published_.size(), 1u);
  wills_.SessionEnded("a");
  EXPECT_EQ(published_.size(), 1u);
}

}  // namespace
}  // namespace seganet

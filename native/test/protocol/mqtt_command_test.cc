#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "core/protocol/mqtt/server_session.h"
#include "test/support/mqtt_bytes.h"
#include "test/support/mqtt_recorder.h"

// Publishes to a device: subscriptions, the window, answers.
namespace seganet::mqtt {
namespace {

using mqtt_test::Bytes;
using mqtt_test::Connect5;
using mqtt_test::ConnectFields;
using mqtt_test::ConnectPacket;
using mqtt_test::Lit;
using mqtt_test::Packet;
using mqtt_test::Props;
using mqtt_test::Puback;
using mqtt_test::Publish0;
using mqtt_test::Publish1;
using mqtt_test::Publish5;
using mqtt_test::Recorder;
using mqtt_test::Str;
using mqtt_test::Subscribe;
using mqtt_test::Subscribe5;
using mqtt_test::U16;

TEST(MqttCommand, GoesWithTheLowerOfBothQos) {
  Recorder device;
  ASSERT_EQ(device.Feed(ConnectPacket() + Subscribe(1, "cmd/one", 1) + Subscribe(2, "cmd/zero", 0)),
            CloseReason::kNone);
  EXPECT_EQ(device.subscribed, 2u);
  device.TakeOutput();
  EXPECT_EQ(device.Send(11, "cmd/one", "on"), SendResult::kSent);
  EXPECT_EQ(device.TakeOutput(), Publish1("cmd/one", 1, "on"));
  EXPECT_EQ(device.Send(12, "cmd/one", "on", 0), SendResult::kDone);
  EXPECT_EQ(device.TakeOutput(), Publish0("cmd/one", "on"));
  EXPECT_EQ(device.Send(13, "cmd/zero", "on"), SendResult::kDone);
  EXPECT_EQ(device.TakeOutput(), Publish0("cmd/zero", "on"));
  EXPECT_EQ(device.Send(14, "cmd/other", "on"), SendResult::kNoSubscription);
  EXPECT_EQ(device.TakeOutput(), "");
}

TEST(MqttCommand, TheDevicesAnswerComesBackWithItsId) {
  Recorder device;
  ASSERT_EQ(device.Feed(ConnectPacket() + Subscribe(1, "cmd/#")), CloseReason::kNone);
  device.log.clear();
  ASSERT_EQ(device.Send(500, "cmd/a", "1"), SendResult::kSent);
  ASSERT_EQ(device.Send(600, "cmd/b", "2"), SendResult::kSent);
  EXPECT_EQ(device.session.Unanswered(), (std::vector<uint64_t>{500, 600}));
  ASSERT_EQ(device.Feed(Puback(2)), CloseReason::kNone);
  EXPECT_EQ(device.log, "\nanswer 600 code 0");
  ASSERT_EQ(device.Feed(Puback(2) + Puback(77)), CloseReason::kNone) << "unknown: no effect";
  ASSERT_EQ(device.Feed(Puback(1)), CloseReason::kNone);
  EXPECT_EQ(device.log, "\nanswer 600 code 0\nanswer 500 code 0");
  EXPECT_TRUE(device.session.Unanswered().empty());
}

TEST(MqttCommand, A5DeviceMayRefuse) {
  Recorder device;
  ASSERT_EQ(device.Feed(Connect5() + Subscribe5(1, "cmd/#")), CloseReason::kNone);
  device.log.clear();
  device.TakeOutput();
  ASSERT_EQ(device.Send(5, "cmd/a", "1"), SendResult::kSent);
  EXPECT_EQ(device.TakeOutput(), Publish5(0x32, "cmd/a", 1, "", "1"));
  ASSERT_EQ(device.Feed(Packet(0x40, U16(1) + '\x87' + Props(Lit("\x1F") + Str("no")))),
            CloseReason::kNone);
  EXPECT_EQ(device.log, "\nanswer 5 code 135");
}

TEST(MqttCommand, CarriesTheIdentifiersOfAllSubscriptionsThatMatch) {
  Recorder device;
  ASSERT_EQ(device.Feed(Connect5() + Subscribe5(1, "cmd/#", 0, Lit("\x0B\x05")) +
                        Subscribe5(2, "+/a", 1, Lit("\x0B\x80\x01")) + Subscribe5(3, "cmd/a")),
            CloseReason::kNone);
  device.TakeOutput();
  ASSERT_EQ(device.Send(5, "cmd/a", "1"), SendResult::kSent) << "the highest QoS counts";
  EXPECT_EQ(device.TakeOutput(), Publish5(0x32, "cmd/a", 1, Lit("\x0B\x05\x0B\x80\x01"), "1"));
  // [MQTT-3.8.4-3] A subscription replaces the one with its filter.
  ASSERT_EQ(device.Feed(Subscribe5(4, "cmd/#", 1)), CloseReason::kNone);
  device.TakeOutput();
  ASSERT_EQ(device.Send(6, "cmd/b", "1"), SendResult::kSent);
  EXPECT_EQ(device.TakeOutput(), Publish5(0x32, "cmd/b", 2, "", "1"));
}

TEST(MqttCommand, TheWindowIsTheSmallerOfOursAndTheDevices) {
  Limits limits;
  limits.max_kept_commands = 3;
  Recorder three(Recorder::Ack::kAtOnce, limits);
  ASSERT_EQ(three.Feed(ConnectPacket() + Subscribe(1, "#")), CloseReason::kNone);
  for (uint64_t id = 1; id <= 3; ++id) ASSERT_EQ(three.Send(id, "a", ""), SendResult::kSent);
  EXPECT_EQ(three.Send(4, "a", ""), SendResult::kWindowFull);
  EXPECT_EQ(three.Send(4, "a", "", 0), SendResult::kDone) << "QoS 0 waits for nobody";
  ASSERT_EQ(three.Feed(Puback(2)), CloseReason::kNone);
  EXPECT_EQ(three.Send(4, "a", ""), SendResult::kSent);

  Recorder five(Recorder::Ack::kAtOnce, limits);
  ASSERT_EQ(five.Feed(Connect5(Lit("\x21\x00\x01")) + Subscribe5(1, "#")), CloseReason::kNone);
  EXPECT_EQ(five.Send(1, "a", ""), SendResult::kSent);
  EXPECT_EQ(five.Send(2, "a", ""), SendResult::kWindowFull);
}

TEST(MqttCommand, TheWindowIsBoundedInBytes) {
  Limits limits;
  limits.max_command_bytes = 100;
  Recorder device(Recorder::Ack::kAtOnce, limits);
  ASSERT_EQ(device.Feed(ConnectPacket() + Subscribe(1, "#")), CloseReason::kNone);
  EXPECT_EQ(device.Send(1, "a", Bytes(500, 'x')), SendResult::kSent)
      << "a single one may be larger";
  EXPECT_EQ(device.Send(2, "a", ""), SendResult::kWindowFull);
  ASSERT_EQ(device.Feed(Puback(1)), CloseReason::kNone);
  EXPECT_EQ(device.Send(2, "a", Bytes(50, 'x')), SendResult::kSent);
  EXPECT_EQ(device.Send(3, "a", Bytes(48, 'x')), SendResult::kSent);
  EXPECT_EQ(device.Send(4, "a", ""), SendResult::kWindowFull);
}

TEST(MqttCommand, StopsWhileTheDeviceDoesNotReadItsOutput) {
  Limits limits;
  limits.max_output_bytes = 100;
  Recorder owner;
  ServerSession session(&owner, limits);
  const Bytes bytes = ConnectPacket() + Subscribe(1, "#");
  ASSERT_EQ(session.Feed(mqtt_test::Span(bytes)), CloseReason::kNone);
  session.ConsumeOutput(session.output().size());
  const Bytes payload(200, 'x');
  EXPECT_EQ(session.SendPublish(1, "a", mqtt_test::Span(payload), 0), SendResult::kDone)
      << "a single one may be larger";
  EXPECT_EQ(session.SendPublish(2, "a", {}, 0), SendResult::kWindowFull);
  EXPECT_TRUE(session.WantsPause());
  session.ConsumeOutput(session.output().size());
  EXPECT_EQ(session.SendPublish(2, "a", {}, 0), SendResult::kDone);
}

TEST(MqttCommand, RespectsTheDevicesMaximumPacketSize) {
  Recorder device;
  ASSERT_EQ(device.Feed(Connect5(Lit("\x27\x00\x00\x00\x14")) + Subscribe5(1, "#")),
            CloseReason::kNone);
  device.TakeOutput();
  // Header 2, topic 3, identifier 2, properties 1: 12 are left of 20.
  EXPECT_EQ(device.Send(1, "a", Bytes(13, 'x')), SendResult::kTooLarge);
  EXPECT_EQ(device.TakeOutput(), "");
  EXPECT_EQ(device.Send(1, "a", Bytes(12, 'x')), SendResult::kSent);
  EXPECT_EQ(device.TakeOutput().size(), 20u);
  EXPECT_EQ(device.Send(2, "a", Bytes(14, 'x'), 0), SendResult::kDone) << "no identifier: 2 more";
}

TEST(MqttCommand, SendsNoTopicThatIsNoTopicName) {
  Recorder device;
  ASSERT_EQ(device.Feed(ConnectPacket() + Subscribe(1, "#")), CloseReason::kNone);
  for (const Bytes& topic : {Bytes(), Bytes("a/#"), Bytes("\xFF"), Lit("\0"), Bytes(65536, 'x')}) {
    EXPECT_EQ(device.Send(1, topic, "x"), SendResult::kTooLarge);
  }
}

TEST(MqttCommand, SubscriptionsAreBoundedInNumberAndBytes) {
  Limits limits;
  limits.max_subscriptions = 2;
  limits.max_subscription_bytes = 10;
  Recorder three(Recorder::Ack::kAtOnce, limits);
  ASSERT_EQ(three.Feed(ConnectPacket()), CloseReason::kNone);
  three.TakeOutput();
  ASSERT_EQ(
      three.Feed(Packet(0x82, U16(1) + Str("a") + '\x01' + Str("a") + '\x00' + Str("12345678901") +
                                  '\x01' + Str("b") + '\x02' + Str("c") + '\x01')),
      CloseReason::kNone);
  EXPECT_EQ(three.TakeOutput(), Lit("\x90\x07\x00\x01\x01\x00\x80\x01\x80"));
  ASSERT_EQ(three.Feed(Packet(0xA2, U16(2) + Str("b")) + Subscribe(3, "c")), CloseReason::kNone);
  EXPECT_EQ(three.TakeOutput(), Lit("\xB0\x02\x00\x02\x90\x03\x00\x03\x01"))
      << "there is room again";
  EXPECT_TRUE(three.session.Listens("c"));
  EXPECT_FALSE(three.session.Listens("b"));

  Recorder five(Recorder::Ack::kAtOnce, limits);
  ASSERT_EQ(five.Feed(Connect5() + Subscribe5(1, "12345678901")), CloseReason::kNone);
  EXPECT_EQ(five.output.substr(five.output.size() - 6), Lit("\x90\x04\x00\x01\x00\x97"));
}

TEST(MqttCommand, OneThatTheOwnerRefusesIsNoSubscription) {
  Recorder three;
  ASSERT_EQ(three.Feed(ConnectPacket() + Subscribe(1, "no")), CloseReason::kNone);
  EXPECT_EQ(three.Send(1, "no", ""), SendResult::kNoSubscription);
  Recorder five;
  ASSERT_EQ(five.Feed(Connect5()), CloseReason::kNone);
  five.TakeOutput();
  ASSERT_EQ(five.Feed(Subscribe5(1, "no")), CloseReason::kNone);
  EXPECT_EQ(five.TakeOutput(), Lit("\x90\x04\x00\x01\x00\x87"));
}

TEST(MqttCommand, SharedSubscriptionsAreNotOffered) {
  Recorder five;
  ASSERT_EQ(five.Feed(Connect5()), CloseReason::kNone);
  five.TakeOutput();
  ASSERT_EQ(five.Feed(Subscribe5(1, "$share/group/cmd/#")), CloseReason::kNone);
  EXPECT_EQ(five.TakeOutput(), Lit("\x90\x04\x00\x01\x00\x9E"));
  Recorder three;
  ASSERT_EQ(three.Feed(ConnectPacket() + Subscribe(1, "$share/group/cmd/#")), CloseReason::kNone);
  EXPECT_EQ(three.output.substr(4), Lit("\x90\x03\x00\x01\x80"));
}

TEST(MqttCommand, NothingIsSentBeforeTheConnectAndAfterTheEnd) {
  Recorder device;
  EXPECT_EQ(device.Send(1, "a", ""), SendResult::kNoSubscription);
  EXPECT_FALSE(device.session.Listens("a"));
  ASSERT_EQ(device.Feed(ConnectPacket() + Subscribe(1, "#")), CloseReason::kNone);
  EXPECT_TRUE(device.session.Listens("a"));
  EXPECT_EQ(device.Feed(Packet(0xE0, "")), CloseReason::kDisconnected);
  EXPECT_EQ(device.Send(1, "a", ""), SendResult::kNoSubscription);
  EXPECT_FALSE(device.session.Listens("a"));
}

TEST(MqttCommand, NeverUsesAnIdentifierThatIsInUse) {
  Recorder device;
  ASSERT_EQ(device.Feed(ConnectPacket() + Subscribe(1, "#")), CloseReason::kNone);
  ASSERT_EQ(device.Send(1, "a", "kept"), SendResult::kSent);  // has 1
  device.TakeOutput();
  unsigned expected = 2;
  for (int i = 0; i < 70'000; ++i) {
    ASSERT_EQ(device.Send(2, "a", ""), SendResult::kSent);
    ASSERT_EQ(device.TakeOutput(), Publish1("a", expected, ""));
    ASSERT_EQ(device.Feed(Puback(expected)), CloseReason::kNone);
    device.log.clear();
    expected = expected == 65535 ? 2 : expected + 1;
  }
}

}  // namespace
}  // namespace seganet::mqtt

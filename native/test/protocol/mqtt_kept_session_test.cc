#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "core/protocol/mqtt/server_session.h"
#include "test/support/mqtt_bytes.h"
#include "test/support/mqtt_recorder.h"

namespace seganet::mqtt {
namespace {

using mqtt_test::Bytes;
using mqtt_test::Connect5;
using mqtt_test::ConnectFields;
using mqtt_test::ConnectPacket;
using mqtt_test::Lit;
using mqtt_test::Packet;
using mqtt_test::Puback;
using mqtt_test::Publish1;
using mqtt_test::Recorder;
using mqtt_test::Str;
using mqtt_test::Subscribe;
using mqtt_test::Subscribe5;
using mqtt_test::U16;

const Bytes kResumed = Lit("\x20\x02\x01\x00");
const Bytes kFresh = Lit("\x20\x02\x00\x00");

Bytes Connect311(bool clean) {
  ConnectFields fields;
  fields.flags = clean ? 0x02 : 0x00;
  return ConnectPacket(fields);
}

// A device that subscribed to "cmd/#", with commands 1..n that it has not answered.
std::unique_ptr<KeptSession> KeptWith(uint64_t n, const Limits& limits = {}) {
  Recorder device(Recorder::Ack::kAtOnce, limits);
  EXPECT_EQ(device.Feed(Connect311(false) + Subscribe(1, "cmd/#")), CloseReason::kNone);
  for (uint64_t id = 1; id <= n; ++id) {
    EXPECT_EQ(device.Send(id, "cmd/x", std::to_string(id)), SendResult::kSent);
  }
  return device.session.Keep();
}

TEST(MqttKeptSession, EndsWithTheConnectionOfACleanSession) {
  Recorder device;
  ASSERT_EQ(device.Feed(Connect311(true) + Subscribe(1, "cmd/#")), CloseReason::kNone);
  EXPECT_EQ(device.session.Keep(), nullptr);
  Recorder five;  // 5: 3.1.2.11.2 Without a session expiry it ends too.
  ASSERT_EQ(five.Feed(Connect5({}, 0x00)), CloseReason::kNone);
  EXPECT_EQ(five.session.Keep(), nullptr);
}

TEST(MqttKeptSession, IsNothingBeforeTheConnectOrAfterARefusal) {
  Recorder none;
  EXPECT_EQ(none.session.Keep(), nullptr);
  Recorder refused;
  refused.connect_code = ConnectCode::kServerUnavailable;
  EXPECT_EQ(refused.Feed(Connect311(false)), CloseReason::kRefused);
  EXPECT_EQ(refused.session.Keep(), nullptr);
}

TEST(MqttKeptSession, OutlivesAnUncleanEndToo) {
  Recorder device;
  ASSERT_EQ(device.Feed(Connect311(false) + Subscribe(1, "cmd/#")), CloseReason::kNone);
  EXPECT_EQ(device.Feed(Lit("\xF0")), CloseReason::kMalformed);
  const std::unique_ptr<KeptSession> kept = device.session.Keep();
  ASSERT_NE(kept, nullptr);
  EXPECT_EQ(kept->expiry_s, 3600u);
  EXPECT_TRUE(kept->Listens("cmd/x"));
  EXPECT_FALSE(kept->Listens("other"));
  EXPECT_GE(kept->memory_bytes(), sizeof(KeptSession) + 5);
}

TEST(MqttKeptSession, ContinuesWithItsSubscriptions) {
  Recorder device;
  device.kept = KeptWith(0);
  ASSERT_EQ(device.Feed(Connect311(false)), CloseReason::kNone);
  EXPECT_EQ(device.TakeOutput(), kResumed);
  EXPECT_EQ(device.subscribed, 1u) << "commands may go at once";
  EXPECT_EQ(device.Send(1, "cmd/x", "on"), SendResult::kSent);
}

TEST(MqttKeptSession, AskingForACleanSessionDropsIt) {
  Recorder device;
  device.kept = KeptWith(2);
  ASSERT_EQ(device.Feed(Connect311(true)), CloseReason::kNone);
  EXPECT_EQ(device.TakeOutput(), kFresh);
  EXPECT_FALSE(device.session.Listens("cmd/x"));
  EXPECT_TRUE(device.session.Unanswered().empty());
}

TEST(MqttKeptSession, RepeatsUnansweredCommandsInOrderWithDup) {
  Recorder device;
  device.kept = KeptWith(3);
  EXPECT_EQ(device.kept->Unanswered(), (std::vector<uint64_t>{1, 2, 3}));
  ASSERT_EQ(device.Feed(Connect311(false)), CloseReason::kNone);
  EXPECT_EQ(device.TakeOutput(), kResumed + Publish1("cmd/x", 1, "1", 0x3A) +
                                     Publish1("cmd/x", 2, "2", 0x3A) +
                                     Publish1("cmd/x", 3, "3", 0x3A));
  device.log.clear();
  ASSERT_EQ(device.Feed(Puback(1) + Puback(2) + Puback(3)), CloseReason::kNone);
  EXPECT_EQ(device.log, "\nanswer 1 code 0\nanswer 2 code 0\nanswer 3 code 0");
  ASSERT_EQ(device.Send(9, "cmd/x", "new"), SendResult::kSent);
  EXPECT_EQ(device.TakeOutput(), Publish1("cmd/x", 4, "new"));
}

TEST(MqttKeptSession, RepeatsNoMoreThanTheDeviceAcceptsNow) {
  Recorder device;
  device.kept = KeptWith(3);
  ASSERT_EQ(device.Feed(Connect5(Lit("\x11\x00\x00\x00\x0A\x21\x00\x01"), 0x00)),
            CloseReason::kNone);
  const Bytes first = device.TakeOutput();
  EXPECT_EQ(first.substr(first.size() - 13), mqtt_test::Publish5(0x3A, "cmd/x", 1, "", "1"));
  EXPECT_EQ(device.Send(9, "cmd/x", "new"), SendResult::kWindowFull) << "the old ones go first";
  ASSERT_EQ(device.Feed(Puback(2)), CloseReason::kNone) << "not sent yet: not answered";
  EXPECT_EQ(device.TakeOutput(), "");
  ASSERT_EQ(device.Feed(Puback(1)), CloseReason::kNone);
  EXPECT_EQ(device.TakeOutput(), mqtt_test::Publish5(0x3A, "cmd/x", 2, "", "2"));
}

TEST(MqttKeptSession, GivesUpCommandsTooLargeForTheNewConnection) {
  Recorder big;
  ASSERT_EQ(big.Feed(Connect311(false) + Subscribe(1, "cmd/#")), CloseReason::kNone);
  ASSERT_EQ(big.Send(1, "cmd/x", Bytes(100, 'x')), SendResult::kSent);
  ASSERT_EQ(big.Send(2, "cmd/x", "small"), SendResult::kSent);
  Recorder device;
  device.kept = big.session.Keep();
  ASSERT_EQ(device.Feed(Connect5(Lit("\x27\x00\x00\x00\x40"), 0x00)), CloseReason::kNone);
  EXPECT_TRUE(device.log.ends_with("\nanswer 1 code 149")) << device.log;
  EXPECT_EQ(device.session.Unanswered(), (std::vector<uint64_t>{2}));
}

TEST(MqttKeptSession, ExpiresAsRequestedWithinTheLimit) {
  Limits limits;
  limits.session_expiry_max_s = 100;
  const auto kept = [&](const Bytes& bytes) {
    Recorder device(Recorder::Ack::kAtOnce, limits);
    EXPECT_NE(device.Feed(bytes), CloseReason::kMalformed);
    const std::unique_ptr<KeptSession> session = device.session.Keep();
    return session ? session->expiry_s : 0;
  };
  EXPECT_EQ(kept(Connect311(false)), 100u);
  EXPECT_EQ(kept(Connect5(Lit("\x11\x00\x00\x00\x0A"))), 10u);
  EXPECT_EQ(kept(Connect5(Lit("\x11\xFF\xFF\xFF\xFF"))), 100u);
  // 5: 3.14.2.2.2 The DISCONNECT may change it.
  EXPECT_EQ(kept(Connect5(Lit("\x11\x00\x00\x00\x0A")) +
                 Packet(0xE0, Lit("\x00\x05\x11\x00\x00\x00\x14"))),
            20u);
  EXPECT_EQ(kept(Connect5(Lit("\x11\x00\x00\x00\x0A")) +
                 Packet(0xE0, Lit("\x00\x05\x11\x00\x00\x00\x00"))),
            0u);
  limits.session_expiry_max_s = 0;
  EXPECT_EQ(kept(Connect311(false)), 0u);
  EXPECT_EQ(kept(Connect5(Lit("\x11\xFF\xFF\xFF\xFF"))), 0u);
}

TEST(MqttKeptSession, A31ClientGetsNoSessionPresentFlag) {
  Recorder device;
  device.kept = KeptWith(0);
  ConnectFields fields = {.name = "MQIsdp", .level = 3, .flags = 0};
  ASSERT_EQ(device.Feed(ConnectPacket(fields)), CloseReason::kNone);
  EXPECT_EQ(device.TakeOutput(), kFresh) << "the bit is reserved";
  EXPECT_TRUE(device.session.Listens("cmd/x"));
}

TEST(MqttKeptSession, TheOldConnectionIsClosedByKeeping) {
  Recorder device;
  ASSERT_EQ(device.Feed(Connect311(false) + Subscribe(1, "#")), CloseReason::kNone);
  ASSERT_NE(device.session.Keep(), nullptr);
  EXPECT_EQ(device.Send(1, "a", ""), SendResult::kNoSubscription);
  EXPECT_EQ(device.Feed(Publish1("a", 1, "")), CloseReason::kDisconnected);
  EXPECT_EQ(device.publishes, 0u);
}

}  // namespace
}  // namespace seganet::mqtt

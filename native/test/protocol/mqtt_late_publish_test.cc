#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/protocol/mqtt/server_session.h"
#include "test/support/mqtt_bytes.h"
#include "test/support/mqtt_recorder.h"

// 4.3.3: an identifier is held from the PUBLISH on, also if the connection ends before the PUBREC.
namespace seganet::mqtt {
namespace {

using mqtt_test::Bytes;
using mqtt_test::Connect5;
using mqtt_test::ConnectFields;
using mqtt_test::ConnectPacket;
using mqtt_test::Lit;
using mqtt_test::Pubcomp;
using mqtt_test::Publish1;
using mqtt_test::Publish2;
using mqtt_test::Publish5;
using mqtt_test::Pubrec;
using mqtt_test::Pubrel;
using mqtt_test::Recorder;
using mqtt_test::UncleanConnect;

constexpr uint8_t kDup = 0x3C;

Bytes UncleanConnect5() { return Connect5(Lit("\x11\x00\x00\x00\x0A"), 0x00); }

// A connection whose records are not safe until the test says so.
class Connection : public Recorder {
 public:
  explicit Connection(std::unique_ptr<KeptSession> session = nullptr,
                      const Bytes& connect = UncleanConnect())
      : Recorder(Ack::kNever) {
    kept = std::move(session);
    EXPECT_EQ(Feed(connect), CloseReason::kNone);
    TakeOutput();
  }

  // Ends it; adds its records that are not safe to `late`.
  std::unique_ptr<KeptSession> End(std::vector<LatePublish>* late) { return session.Keep(late); }
};

// A session whose packet 7 with payload "x" waits for its record, which is `late`.
std::unique_ptr<KeptSession> Cut(LatePublish* late, const Bytes& connect = UncleanConnect(),
                                 const Bytes& publish = Publish2("a", 7, "x")) {
  Connection first(nullptr, connect);
  EXPECT_EQ(first.Feed(publish), CloseReason::kNone);
  std::vector<LatePublish> all;
  std::unique_ptr<KeptSession> kept = first.End(&all);
  EXPECT_EQ(all.size(), 1u);
  if (!all.empty()) *late = all[0];
  return kept;
}

TEST(MqttLatePublish, ItsRepetitionWaitsForTheFirstRecord) {
  LatePublish late;
  Connection second(Cut(&late));
  EXPECT_EQ(late.packet_id, 7u);
  EXPECT_EQ(late.missing, 1u);
  ASSERT_EQ(second.Feed(Publish2("a", 7, "x", kDup)), CloseReason::kNone);
  EXPECT_EQ(second.publishes, 0u);
  EXPECT_EQ(second.TakeOutput(), "");
  ASSERT_EQ(second.Feed(Publish2("a", 7, "x", kDup)), CloseReason::kNone) << "twice";
  EXPECT_TRUE(second.session.EndLate(late, LateEnd::kSafe));
  EXPECT_EQ(second.TakeOutput(), Pubrec(7));
  ASSERT_EQ(second.Feed(Pubrel(7)), CloseReason::kNone);
  EXPECT_EQ(second.TakeOutput(), Pubcomp(7));
  EXPECT_TRUE(second.session.EndLate(late, LateEnd::kSafe)) << "no effect";
  ASSERT_EQ(second.Feed(Publish2("a", 7, "x")), CloseReason::kNone);
  EXPECT_EQ(second.publishes, 1u) << "the identifier is free again";
}

TEST(MqttLatePublish, ARecordThatBecameSafeMeanwhileIsAcknowledgedAtOnce) {
  LatePublish late;
  std::unique_ptr<KeptSession> kept = Cut(&late);
  kept->incoming.EndLate(late.packet_id, late.hash, true);
  EXPECT_EQ(kept->incoming.received(), std::vector<uint16_t>{7});
  Connection away(std::move(kept));
  ASSERT_EQ(away.Feed(Publish2("a", 7, "x", kDup)), CloseReason::kNone);
  EXPECT_EQ(away.TakeOutput(), Pubrec(7));

  Connection here(Cut(&late));
  EXPECT_TRUE(here.session.EndLate(late, LateEnd::kSafe)) << "before the repetition";
  EXPECT_EQ(here.TakeOutput(), "");
  ASSERT_EQ(here.Feed(Publish2("a", 7, "x", kDup)), CloseReason::kNone);
  EXPECT_EQ(here.TakeOutput(), Pubrec(7));
  EXPECT_EQ(away.publishes + here.publishes, 0u);
}

TEST(MqttLatePublish, TheRepetitionOfALostRecordIsANewOne) {
  LatePublish late;
  std::unique_ptr<KeptSession> kept = Cut(&late);
  kept->incoming.EndLate(late.packet_id, late.hash, false);
  Connection away(std::move(kept));
  ASSERT_EQ(away.Feed(Publish2("a", 7, "x", kDup)), CloseReason::kNone);
  EXPECT_EQ(away.publishes, 1u);

  Connection here(Cut(&late));
  EXPECT_TRUE(here.session.EndLate(late, LateEnd::kLost));
  ASSERT_EQ(here.Feed(Publish2("a", 7, "x", kDup)), CloseReason::kNone);
  EXPECT_EQ(here.publishes, 1u);
  EXPECT_EQ(here.TakeOutput(), "");
}

TEST(MqttLatePublish, ALostRecordThatWasRepeatedEndsTheConnection) {
  LatePublish late;
  Connection second(Cut(&late, UncleanConnect5(), Publish5(0x34, "a", 7, "", "x")),
                    UncleanConnect5());
  ASSERT_EQ(second.Feed(Publish5(0x3C, "a", 7, "", "x")), CloseReason::kNone);
  EXPECT_FALSE(second.session.EndLate(late, LateEnd::kLost));
  EXPECT_EQ(second.TakeOutput(), Lit("\xE0\x01\x98")) << "Administrative action";
  std::vector<LatePublish> none;
  Connection third(second.End(&none), UncleanConnect5());
  EXPECT_TRUE(none.empty());
  ASSERT_EQ(third.Feed(Publish5(0x3C, "a", 7, "", "x")), CloseReason::kNone);
  EXPECT_EQ(third.publishes, 1u);
}

TEST(MqttLatePublish, ARefusalIsAPubrecOf5AndEndsOlderConnections) {
  LatePublish late;
  Connection five(Cut(&late, UncleanConnect5(), Publish5(0x34, "a", 7, "", "x")),
                  UncleanConnect5());
  ASSERT_EQ(five.Feed(Publish5(0x3C, "a", 7, "", "x")), CloseReason::kNone);
  EXPECT_TRUE(five.session.EndLate(late, LateEnd::kRefused));
  EXPECT_EQ(five.TakeOutput(), Lit("\x50\x03\x00\x07\x83"));
  ASSERT_EQ(five.Feed(Publish5(0x34, "a", 7, "", "x")), CloseReason::kNone);
  EXPECT_EQ(five.publishes, 1u) << "a refused identifier is free";

  Connection older(Cut(&late));
  ASSERT_EQ(older.Feed(Publish2("a", 7, "x", kDup)), CloseReason::kNone);
  EXPECT_FALSE(older.session.EndLate(late, LateEnd::kRefused));
  EXPECT_EQ(older.TakeOutput(), "");
}

TEST(MqttLatePublish, AnswersLeaveInTheOrderOfTheRepetitions) {
  LatePublish late;
  Connection second(Cut(&late));
  ASSERT_EQ(second.Feed(Publish2("a", 7, "x", kDup) + Publish2("a", 8, "y")), CloseReason::kNone);
  EXPECT_TRUE(second.Acknowledge(second.handles[0]));
  EXPECT_EQ(second.TakeOutput(), "") << "[MQTT-4.6.0-3]";
  EXPECT_TRUE(second.session.EndLate(late, LateEnd::kSafe));
  EXPECT_EQ(second.TakeOutput(), Pubrec(7) + Pubrec(8));
}

TEST(MqttLatePublish, WaitsOverSeveralConnections) {
  LatePublish late;
  Connection second(Cut(&late));
  ASSERT_EQ(second.Feed(Publish2("a", 7, "x", kDup) + Publish2("a", 8, "y")), CloseReason::kNone);
  std::vector<LatePublish> more;
  Connection third(second.End(&more));
  ASSERT_EQ(more.size(), 1u) << "the owner still has the receipt of 7";
  EXPECT_EQ(more[0].packet_id, 8u);
  ASSERT_EQ(third.Feed(Publish2("a", 7, "x", kDup) + Publish2("a", 8, "y", kDup)),
            CloseReason::kNone);
  EXPECT_TRUE(third.session.EndLate(more[0], LateEnd::kSafe));
  EXPECT_TRUE(third.session.EndLate(late, LateEnd::kSafe));
  EXPECT_EQ(third.TakeOutput(), Pubrec(7) + Pubrec(8));
  EXPECT_EQ(third.publishes, 0u);
}

TEST(MqttLatePublish, ASafeRecordBehindAnUnsafeOneIsReceived) {
  Connection first;
  ASSERT_EQ(first.Feed(Publish2("a", 7, "x") + Publish2("a", 8, "y") + Publish1("a", 9, "z")),
            CloseReason::kNone);
  first.session.ExpectAcknowledgements(first.handles[0], 3);
  EXPECT_TRUE(first.Acknowledge(first.handles[0]));
  EXPECT_TRUE(first.Acknowledge(first.handles[1]));
  EXPECT_EQ(first.TakeOutput(), "");
  EXPECT_EQ(first.session.lasting()->incoming.received(), std::vector<uint16_t>{8});
  std::vector<LatePublish> late;
  Connection second(first.End(&late));
  ASSERT_EQ(late.size(), 1u) << "QoS 1 has no state";
  EXPECT_EQ(late[0].packet_id, 7u);
  EXPECT_EQ(late[0].missing, 2u);
  ASSERT_EQ(second.Feed(Publish2("a", 8, "y", kDup)), CloseReason::kNone);
  EXPECT_EQ(second.TakeOutput(), Pubrec(8));
  EXPECT_EQ(second.publishes, 0u);
}

TEST(MqttLatePublish, ARefusedOrGivenUpIdentifierIsNotHeld) {
  Connection first(nullptr, UncleanConnect5());
  ASSERT_EQ(first.Feed(Publish5(0x34, "a", 7, "", "x") + Publish5(0x34, "a", 8, "", "y") +
                       Publish5(0x34, "a", 9, "", "z")),
            CloseReason::kNone);
  EXPECT_TRUE(first.Refuse(first.handles[1], 0x97)) << "behind an unsafe one";
  first.session.GiveUpPublish(first.handles[2], 0x98);
  EXPECT_EQ(first.TakeOutput(), Lit("\xE0\x01\x98"));
  std::vector<LatePublish> late;
  Connection second(first.End(&late), UncleanConnect5());
  ASSERT_EQ(late.size(), 1u);
  EXPECT_EQ(late[0].packet_id, 7u);
  ASSERT_EQ(second.Feed(Publish5(0x3C, "a", 8, "", "y") + Publish5(0x3C, "a", 9, "", "z")),
            CloseReason::kNone);
  EXPECT_EQ(second.publishes, 2u);
}

// A device that lost its own state begins at its first identifier again, without DUP or, with some
// clients, also with it.
TEST(MqttLatePublish, AnotherContentUnderItsIdentifierIsANewRecord) {
  LatePublish late;
  Connection second(Cut(&late));
  ASSERT_EQ(second.Feed(Publish2("a", 7, "another")), CloseReason::kNone);
  EXPECT_EQ(second.publishes, 1u);
  EXPECT_TRUE(second.session.EndLate(late, LateEnd::kSafe));
  EXPECT_EQ(second.TakeOutput(), "") << "that was the earlier record";
  std::vector<LatePublish> more;
  Connection third(second.End(&more));
  ASSERT_EQ(third.Feed(Publish2("a", 7, "another", kDup)), CloseReason::kNone);
  EXPECT_TRUE(third.session.EndLate(late, LateEnd::kSafe));
  EXPECT_EQ(third.TakeOutput(), "");
  EXPECT_TRUE(third.session.EndLate(more[0], LateEnd::kSafe));
  EXPECT_EQ(third.TakeOutput(), Pubrec(7));
  Connection fourth(third.End(&more));
  ASSERT_EQ(fourth.Feed(Publish2("b", 7, "another", kDup)), CloseReason::kNone);
  EXPECT_EQ(fourth.publishes, 1u) << "received, and another topic";
}

TEST(MqttLatePublish, ClosesAReleaseBeforeThePubrec) {
  LatePublish late;
  Connection second(Cut(&late));
  EXPECT_EQ(second.Feed(Pubrel(7)), CloseReason::kProtocolError);
}

TEST(MqttLatePublish, ASessionThatEndsHoldsNothing) {
  Connection first(nullptr, ConnectPacket());
  ASSERT_EQ(first.Feed(Publish2("a", 7, "x")), CloseReason::kNone);
  std::vector<LatePublish> late;
  EXPECT_EQ(first.End(&late), nullptr);
  EXPECT_TRUE(late.empty());
  LatePublish one;
  Connection clean(Cut(&one), ConnectPacket());
  ASSERT_EQ(clean.Feed(Publish2("a", 7, "x", kDup)), CloseReason::kNone);
  EXPECT_EQ(clean.publishes, 1u) << "[MQTT-3.1.2-6]";
}

TEST(MqttLatePublish, HeldIdentifiersCountTowardTheLimits) {
  Limits limits;
  limits.receive_maximum = 2;
  std::vector<LatePublish> late;
  const auto connect = [&](const Bytes& bytes) {
    auto device = std::make_unique<Recorder>(Recorder::Ack::kNever, limits);
    EXPECT_EQ(device->Feed(bytes), CloseReason::kNone);
    return device;
  };
  const auto three = connect(UncleanConnect() + Publish2("a", 1, "x") + Publish2("a", 2, "x"));
  auto next = std::make_unique<Recorder>(Recorder::Ack::kNever, limits);
  next->kept = three->session.Keep(&late);
  ASSERT_EQ(next->Feed(UncleanConnect() + Publish2("a", 2, "x", kDup)), CloseReason::kNone);
  EXPECT_EQ(next->Feed(Publish2("a", 3, "x")), CloseReason::kReceiveMaximum);

  const auto five = connect(UncleanConnect5() + Publish5(0x34, "a", 1, "", "x") +
                            Publish5(0x34, "a", 2, "", "x"));
  next = std::make_unique<Recorder>(Recorder::Ack::kNever, limits);
  next->kept = five->session.Keep(&late);
  // 5: 4.9 The repetitions count as the device counts them.
  ASSERT_EQ(next->Feed(UncleanConnect5() + Publish5(0x3C, "a", 1, "", "x") +
                       Publish5(0x3C, "a", 2, "", "x")),
            CloseReason::kNone);
  EXPECT_EQ(next->Feed(Publish5(0x34, "a", 3, "", "x")), CloseReason::kReceiveMaximum);
}

}  // namespace
}  // namespace seganet::mqtt

#include <gtest/gtest.h>

#include <string>

#include "core/protocol/mqtt/server_session.h"
#include "test/support/mqtt_bytes.h"
#include "test/support/mqtt_recorder.h"

// "Exactly once" of MQTT, 4.3.3, from the receiver's side.
namespace seganet::mqtt {
namespace {

using mqtt_test::Bytes;
using mqtt_test::Connect5;
using mqtt_test::ConnectFields;
using mqtt_test::ConnectPacket;
using mqtt_test::Lit;
using mqtt_test::Packet;
using mqtt_test::Puback;
using mqtt_test::Pubcomp;
using mqtt_test::Publish1;
using mqtt_test::Publish2;
using mqtt_test::Publish5;
using mqtt_test::Pubrec;
using mqtt_test::Pubrel;
using mqtt_test::Recorder;
using mqtt_test::U16;
using mqtt_test::UncleanConnect;

TEST(MqttQos2, HandsAnIdentifierOverOnceUntilItsRelease) {
  Recorder device;
  ASSERT_EQ(device.Feed(ConnectPacket() + Publish2("a", 7, "x")), CloseReason::kNone);
  device.TakeOutput();
  EXPECT_EQ(device.publishes, 1u);
  ASSERT_EQ(device.Feed(Publish2("a", 7, "x", 0x3C)), CloseReason::kNone);
  EXPECT_EQ(device.TakeOutput(), Pubrec(7)) << "answered, and not reported";
  EXPECT_EQ(device.publishes, 1u);
  ASSERT_EQ(device.Feed(Pubrel(7)), CloseReason::kNone);
  EXPECT_EQ(device.TakeOutput(), Pubcomp(7));
  ASSERT_EQ(device.Feed(Publish2("a", 7, "y")), CloseReason::kNone);
  EXPECT_EQ(device.publishes, 2u) << "the identifier is free again";
}

TEST(MqttQos2, SendsNoPubrecBeforeTheRecordIsSafe) {
  Recorder device(Recorder::Ack::kNever);
  ASSERT_EQ(device.Feed(ConnectPacket() + Publish2("a", 7, "x")), CloseReason::kNone);
  device.TakeOutput();
  ASSERT_EQ(device.Feed(Publish2("a", 7, "x", 0x3C)), CloseReason::kNone);
  EXPECT_EQ(device.TakeOutput(), "");
  EXPECT_EQ(device.publishes, 1u);
  EXPECT_TRUE(device.Acknowledge(device.handles[0]));
  EXPECT_EQ(device.TakeOutput(), Pubrec(7));
}

TEST(MqttQos2, AnswersLeaveInTheOrderOfArrivalAcrossBothQos) {
  Recorder device(Recorder::Ack::kNever);
  ASSERT_EQ(device.Feed(ConnectPacket() + Publish2("a", 3, "") + Publish1("a", 1, "") +
                        Publish2("a", 2, "")),
            CloseReason::kNone);
  device.TakeOutput();
  EXPECT_TRUE(device.Acknowledge(device.handles[2]));
  EXPECT_TRUE(device.Acknowledge(device.handles[1]));
  EXPECT_EQ(device.TakeOutput(), "");
  EXPECT_TRUE(device.Acknowledge(device.handles[0]));
  EXPECT_EQ(device.TakeOutput(), Pubrec(3) + Puback(1) + Pubrec(2));
}

TEST(MqttQos2, ClosesAReleaseBeforeItsPubrec) {
  Recorder device(Recorder::Ack::kNever);
  ASSERT_EQ(device.Feed(ConnectPacket() + Publish2("a", 7, "x")), CloseReason::kNone);
  EXPECT_EQ(device.Feed(Pubrel(7)), CloseReason::kProtocolError);
}

TEST(MqttQos2, CompletesAnUnknownRelease) {
  Recorder three;
  ASSERT_EQ(three.Feed(ConnectPacket() + Pubrel(9)), CloseReason::kNone);
  EXPECT_EQ(three.output.substr(4), Pubcomp(9));
  Recorder five;
  ASSERT_EQ(five.Feed(Connect5()), CloseReason::kNone);
  five.TakeOutput();
  ASSERT_EQ(five.Feed(Pubrel(9)), CloseReason::kNone);
  EXPECT_EQ(five.TakeOutput(), Lit("\x70\x03\x00\x09\x92"));
}

TEST(MqttQos2, KeepsReceivedIdentifiersOverConnections) {
  Recorder first;
  ASSERT_EQ(first.Feed(UncleanConnect() + Publish2("a", 7, "x") + Publish2("a", 8, "x")),
            CloseReason::kNone);
  Recorder second;
  second.kept = first.session.Keep();
  ASSERT_NE(second.kept, nullptr);
  ASSERT_EQ(second.Feed(UncleanConnect()), CloseReason::kNone);
  EXPECT_EQ(second.TakeOutput(), Lit("\x20\x02\x01\x00"));
  ASSERT_EQ(second.Feed(Publish2("a", 7, "x", 0x3C) + Pubrel(8)), CloseReason::kNone);
  EXPECT_EQ(second.TakeOutput(), Pubrec(7) + Pubcomp(8));
  EXPECT_EQ(second.publishes, 0u);
}

TEST(MqttQos2, ReportsRecordsAgainThatWereUnsafeWhenTheConnectionEnded) {
  Recorder first(Recorder::Ack::kNever);
  ASSERT_EQ(first.Feed(UncleanConnect() + Publish2("a", 7, "x")), CloseReason::kNone);
  Recorder second;
  second.kept = first.session.Keep();
  ASSERT_EQ(second.Feed(UncleanConnect() + Publish2("a", 7, "x", 0x3C)), CloseReason::kNone);
  EXPECT_EQ(second.publishes, 1u) << "nothing would report the first as safe";
}

TEST(MqttQos2, ARefusalOf5FreesTheIdentifier) {
  Recorder device(Recorder::Ack::kNever);
  ASSERT_EQ(device.Feed(Connect5() + Publish5(0x34, "a", 7, "", "x")), CloseReason::kNone);
  device.TakeOutput();
  EXPECT_TRUE(device.Refuse(device.handles[0], 0x87));
  EXPECT_EQ(device.TakeOutput(), Lit("\x50\x03\x00\x07\x87"));
  EXPECT_FALSE(device.Refuse(device.handles[0], 0x87)) << "only once";
  EXPECT_FALSE(device.Acknowledge(device.handles[0]));
  ASSERT_EQ(device.Feed(Publish5(0x34, "a", 7, "", "y")), CloseReason::kNone);
  EXPECT_EQ(device.publishes, 2u);
}

TEST(MqttQos2, ARefusalOf311IsAnAcknowledgement) {
  Recorder device(Recorder::Ack::kNever);
  ASSERT_EQ(device.Feed(ConnectPacket() + Publish2("a", 7, "x") + Publish1("a", 8, "x")),
            CloseReason::kNone);
  device.TakeOutput();
  EXPECT_TRUE(device.Refuse(device.handles[1], 0x87));
  EXPECT_TRUE(device.Refuse(device.handles[0], 0x87));
  EXPECT_EQ(device.TakeOutput(), Pubrec(7) + Puback(8));
  ASSERT_EQ(device.Feed(Pubrel(7)), CloseReason::kNone);
  EXPECT_EQ(device.TakeOutput(), Pubcomp(7));
}

TEST(MqttQos2, AFailureOfTheReceiverIsARefusalOnlyIn5) {
  Recorder five(Recorder::Ack::kNever);
  ASSERT_EQ(five.Feed(Connect5() + Publish5(0x32, "a", 7, "", "x")), CloseReason::kNone);
  five.TakeOutput();
  EXPECT_TRUE(five.session.FailPublish(five.handles[0]));
  EXPECT_EQ(five.TakeOutput(), Lit("\x40\x03\x00\x07\x83"));
  EXPECT_TRUE(five.session.FailPublish(five.handles[0])) << "and has no effect";
  EXPECT_EQ(five.TakeOutput(), "");

  Recorder older(Recorder::Ack::kNever);
  ASSERT_EQ(older.Feed(ConnectPacket() + Publish1("a", 8, "x")), CloseReason::kNone);
  older.TakeOutput();
  EXPECT_FALSE(older.session.FailPublish(older.handles[0]));
  EXPECT_EQ(older.TakeOutput(), "") << "the caller closes the connection";
}

TEST(MqttQos2, ARefusalNeedsNoFurtherCopies) {
  Recorder device(Recorder::Ack::kNever);
  ASSERT_EQ(device.Feed(Connect5() + Publish5(0x32, "a", 7, "", "x")), CloseReason::kNone);
  device.TakeOutput();
  device.session.ExpectAcknowledgements(device.handles[0], 3);
  EXPECT_TRUE(device.Acknowledge(device.handles[0]));
  EXPECT_TRUE(device.Refuse(device.handles[0], 0x97));
  EXPECT_EQ(device.TakeOutput(), Lit("\x40\x03\x00\x07\x97"));
}

// All possible identifiers, in the worst order for a sorted list.
TEST(MqttQos2, HoldsEveryIdentifierInBoundedMemory) {
  Limits limits;
  limits.receive_maximum = 65535;
  Recorder device(Recorder::Ack::kAtOnce, limits);
  ASSERT_EQ(device.Feed(ConnectPacket()), CloseReason::kNone);
  for (unsigned id = 65535; id > 0; id -= 5) {
    ASSERT_EQ(device.Feed(Publish2("a", id, "")), CloseReason::kNone);
  }
  EXPECT_LE(device.session.memory_bytes(), 65536 * 4 + 16384u);
  for (unsigned id = 65535; id > 0; id -= 5) {
    ASSERT_EQ(device.Feed(Pubrel(id)), CloseReason::kNone);
  }
  EXPECT_LE(device.session.memory_bytes(), 8192u);
}

TEST(MqttQos2, BoundsTheIdentifiersOfADeviceThatReleasesNone) {
  Limits limits;
  limits.receive_maximum = 3;
  Recorder device(Recorder::Ack::kAtOnce, limits);
  ASSERT_EQ(device.Feed(ConnectPacket() + Publish2("a", 1, "x") + Publish2("a", 2, "x") +
                        Publish2("a", 3, "x") + Publish1("a", 4, "x")),
            CloseReason::kNone);
  ASSERT_EQ(device.Feed(Pubrel(2) + Publish2("a", 5, "x")), CloseReason::kNone);
  ASSERT_EQ(device.Feed(Publish2("a", 5, "x", 0x3C)), CloseReason::kNone) << "it is known";
  EXPECT_EQ(device.Feed(Publish2("a", 6, "x")), CloseReason::kReceiveMaximum);
}

TEST(MqttQos2, AnswersAPubrecThatBelongsToNothing) {
  Recorder device;
  ASSERT_EQ(device.Feed(ConnectPacket() + Pubrec(9) + Pubcomp(9)), CloseReason::kNone);
  EXPECT_EQ(device.TakeOutput(), Lit("\x20\x02\x00\x00") + Pubrel(9));
  Recorder five;
  ASSERT_EQ(five.Feed(Connect5()), CloseReason::kNone);
  five.TakeOutput();
  ASSERT_EQ(five.Feed(Pubrec(9)), CloseReason::kNone);
  EXPECT_EQ(five.TakeOutput(), Lit("\x62\x03\x00\x09\x92"));
  ASSERT_EQ(five.Feed(Lit("\x70\x03\x00\x09\x92") + Lit("\x50\x03\x00\x09\x80")),
            CloseReason::kNone);
  EXPECT_EQ(five.TakeOutput(), "") << "a PUBREC that refuses is the end of it";
  EXPECT_EQ(five.Feed(Lit("\x50\x03\x00\x09\x01")), CloseReason::kProtocolError);
}

}  // namespace
}  // namespace seganet::mqtt

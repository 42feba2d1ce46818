#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/protocol/mqtt/server_session.h"
#include "test/support/mqtt_bytes.h"
#include "test/support/mqtt_recorder.h"

namespace seganet::mqtt {
namespace {

using mqtt_test::Bytes;
using mqtt_test::ConnectFields;
using mqtt_test::ConnectPacket;
using mqtt_test::kConnackOk;
using mqtt_test::Lit;
using mqtt_test::Packet;
using mqtt_test::Publish0;
using mqtt_test::Publish1;
using mqtt_test::Recorder;
using mqtt_test::Str;
using mqtt_test::U16;

// Packets that a connected device may not send, and the reason for which it is closed.
struct Bad {
  const char* what;
  Bytes packet;
  CloseReason reason;
};

void ExpectClosed(const Bad& bad, const ConnectFields& connect = {}) {
  SCOPED_TRACE(bad.what);
  Recorder device;
  ASSERT_EQ(device.Feed(ConnectPacket(connect)), CloseReason::kNone);
  const std::string log = device.log;
  EXPECT_EQ(device.Feed(bad.packet + Publish1("after", 7, "x")), bad.reason)
      << Name(device.session.close_reason());
  EXPECT_EQ(device.log, log) << "a bad packet has no effect";
  EXPECT_EQ(device.output, kConnackOk) << "a bad packet has no answer";
  EXPECT_EQ(device.Feed(Publish1("after", 7, "x")), bad.reason);
  EXPECT_EQ(device.session.buffered_bytes(), 0u);
}

TEST(MqttRefusal, ClosesOnEveryFirstByteThatADeviceMayNotSend) {
  const Bytes allowed =
      Lit("\x30\x31\x32\x33\x34\x35\x3A\x3B\x3C\x3D\x40\x50\x62\x70\x82\xA2\xC0\xE0");
  for (unsigned first = 0; first < 256; ++first) {
    if (allowed.find(static_cast<char>(first)) != Bytes::npos) continue;
    CloseReason reason = CloseReason::kBadFlags;
    const unsigned type = first >> 4;
    const unsigned flags = first & 15;
    if (type == 0 || type == 15) reason = CloseReason::kMalformed;
    if (type == 1) reason = CloseReason::kSecondConnect;
    if (type == 2 || type == 9 || type == 11 || type == 13) {
      reason = CloseReason::kServerPacketFromClient;
    }
    if (type == 3 && (flags & 6) == 6) reason = CloseReason::kQos3;
    const Bytes byte(1, static_cast<char>(first));
    ExpectClosed({"with a body", byte + Lit("\x04\x00\x01\x00\x01"), reason});
    // The session does not wait for the body.
    Recorder device;
    ASSERT_EQ(device.Feed(ConnectPacket()), CloseReason::kNone);
    EXPECT_EQ(device.Feed(byte), reason) << first;
  }
}

TEST(MqttRefusal, ClosesOnAMalformedPacket) {
  const std::vector<Bad> all = {
      {"five length bytes", Lit("\x30\xFF\xFF\xFF\xFF\x01"), CloseReason::kMalformed},
      {"publish without topic", Packet(0x30, ""), CloseReason::kMalformed},
      {"half a topic length", Packet(0x30, Lit("\0")), CloseReason::kMalformed},
      {"topic beyond the packet", Packet(0x30, U16(5) + "abcd"), CloseReason::kMalformed},
      {"empty topic", Publish0("", "x"), CloseReason::kBadTopic},
      {"wildcard +", Publish0("a/+", "x"), CloseReason::kBadTopic},
      {"wildcard #", Publish1("#", 1, "x"), CloseReason::kBadTopic},
      {"129 levels", Publish0(Bytes(128, '/'), "x"), CloseReason::kBadTopic},
      {"NUL in a topic", Publish0(Lit("a\0b"), "x"), CloseReason::kBadUtf8},
      {"ill-formed topic", Publish0("a\xFF", "x"), CloseReason::kBadUtf8},
      {"surrogate", Publish0("\xED\xA0\x80", "x"), CloseReason::kBadUtf8},
      {"overlong", Publish0("\xC0\xAF", "x"), CloseReason::kBadUtf8},
      {"qos 1 without identifier", Packet(0x32, Str("a")), CloseReason::kMalformed},
      {"half an identifier", Packet(0x32, Str("a") + "\x01"), CloseReason::kMalformed},
      {"publish identifier 0", Publish1("a", 0, "x"), CloseReason::kBadPacketId},
      {"puback too short", Packet(0x40, "\x01"), CloseReason::kMalformed},
      {"puback too long", Packet(0x40, U16(1) + "x"), CloseReason::kMalformed},
      {"puback identifier 0", Packet(0x40, U16(0)), CloseReason::kBadPacketId},
      {"subscribe identifier 0", Packet(0x82, U16(0) + Str("a") + "\x01"),
       CloseReason::kBadPacketId},
      {"subscribe without identifier", Packet(0x82, ""), CloseReason::kMalformed},
      {"subscribe without filter", Packet(0x82, U16(1)), CloseReason::kMalformed},
      {"subscribe without qos", Packet(0x82, U16(1) + Str("a")), CloseReason::kMalformed},
      {"requested qos 3", Packet(0x82, U16(1) + Str("a") + "\x03"), CloseReason::kMalformed},
      {"reserved qos bits", Packet(0x82, U16(1) + Str("a") + "\x81"), CloseReason::kMalformed},
      {"second filter bad", Packet(0x82, U16(1) + Str("a") + "\x01" + Str("a#") + "\x01"),
       CloseReason::kBadTopic},
      {"filter empty", Packet(0x82, U16(1) + Str("") + "\x01"), CloseReason::kBadTopic},
      {"filter ill-formed", Packet(0x82, U16(1) + Str("\xFF") + "\x01"), CloseReason::kBadUtf8},
      {"filter cut", Packet(0x82, U16(1) + U16(9) + "a\x01"), CloseReason::kMalformed},
      {"unsubscribe identifier 0", Packet(0xA2, U16(0) + Str("a")), CloseReason::kBadPacketId},
      {"unsubscribe without filter", Packet(0xA2, U16(1)), CloseReason::kMalformed},
      {"unsubscribe bad filter", Packet(0xA2, U16(1) + Str("+a")), CloseReason::kBadTopic},
      {"unsubscribe with qos", Packet(0xA2, U16(1) + Str("a") + "\x01"), CloseReason::kMalformed},
      {"pingreq with a body", Packet(0xC0, "x"), CloseReason::kMalformed},
      {"disconnect with a body", Packet(0xE0, "x"), CloseReason::kMalformed},
  };
  for (const Bad& bad : all) ExpectClosed(bad);
}

TEST(MqttRefusal, AClosedSessionHoldsNoBuffer) {
  Recorder device;
  const Bytes bad = Publish0("a/+", Bytes(500, 'x'));
  ASSERT_EQ(device.Feed(ConnectPacket() + bad.substr(0, 400)), CloseReason::kNone);
  EXPECT_GE(device.session.buffered_bytes(), 400u);
  EXPECT_EQ(device.Feed(bad.substr(400)), CloseReason::kBadTopic);
  EXPECT_EQ(device.session.buffered_bytes(), 0u);
}

TEST(MqttRefusal, AnswersNoPacketBeforeConnect) {
  for (const Bytes& packet :
       {Publish1("a", 1, "x"), Packet(0xC0, ""), Packet(0xE0, ""),
        Packet(0x82, U16(1) + Str("a") + "\x01"), Lit("\x00"), Bytes("GET / HTTP/1.1\r\n\r\n")}) {
    Recorder device;
    EXPECT_EQ(device.Feed(packet), CloseReason::kNotConnect);
    EXPECT_TRUE(device.output.empty());
    EXPECT_TRUE(device.log.empty());
    EXPECT_FALSE(device.session.connected());
  }
}

CloseReason ConnectReason(const ConnectFields& fields, Bytes* output = nullptr) {
  Recorder device;
  const CloseReason reason = device.Feed(ConnectPacket(fields) + Publish1("a", 1, "x"));
  if (output != nullptr) *output = device.output;
  EXPECT_EQ(device.log.empty(), reason != CloseReason::kNone) << device.log;
  return reason;
}

TEST(MqttRefusal, ClosesOnABadConnectWithoutAnswer) {
  const auto closed = [](uint8_t flags, const Bytes& payload, CloseReason reason) {
    ConnectFields fields;
    fields.flags = flags;
    fields.payload = payload;
    Bytes output;
    EXPECT_EQ(ConnectReason(fields, &output), reason) << int{flags};
    EXPECT_EQ(output.empty(), reason != CloseReason::kNone) << int{flags};
  };
  const Bytes id = Str("d");
  const Bytes will = Str("w") + Str("m");
  closed(0x02, id, CloseReason::kNone);
  closed(0x03, id, CloseReason::kBadFlags);                        // reserved bit
  closed(0x0A, id, CloseReason::kBadFlags);                        // will QoS without will
  closed(0x22, id, CloseReason::kBadFlags);                        // will retain without will
  closed(0x1E, id + will, CloseReason::kBadFlags);                 // will QoS 3
  closed(0x16, id + will, CloseReason::kNone);                     // will QoS 2 is the will's
  closed(0x42, id + Str("p"), CloseReason::kBadFlags);             // password without user name
  closed(0x02, "", CloseReason::kMalformed);                       // no identifier
  closed(0x02, U16(3) + "ab", CloseReason::kMalformed);            // identifier cut
  closed(0x02, id + "x", CloseReason::kMalformed);                 // surplus
  closed(0x02, id + will, CloseReason::kMalformed);                // will not announced
  closed(0x06, id, CloseReason::kMalformed);                       // will missing
  closed(0x06, id + Str("w"), CloseReason::kMalformed);            // will message missing
  closed(0x06, id + Str("") + Str("m"), CloseReason::kBadTopic);   // will topic empty
  closed(0x06, id + Str("#") + Str("m"), CloseReason::kBadTopic);  // will topic a filter
  closed(0x06, id + Str("\xC3") + Str("m"), CloseReason::kBadUtf8);
  closed(0x06, id + Str("w") + Str(""), CloseReason::kNone);  // an empty will message is allowed
  closed(0x82, id, CloseReason::kMalformed);                  // user name missing
  closed(0xC2, id + Str("u"), CloseReason::kMalformed);       // password missing
  closed(0xC2, id + Str("u") + Str(Lit("\0\xFF")), CloseReason::kNone);  // a password is binary
  closed(0x82, id + Str(Lit("\0")), CloseReason::kBadUtf8);
  closed(0x02, Str(Lit("a\0b")), CloseReason::kBadUtf8);
}

TEST(MqttRefusal, RefusesAnUnsupportedVersionWithItsCode) {
  ConnectFields fields;
  Bytes output;
  fields.level = 6;
  EXPECT_EQ(ConnectReason(fields, &output), CloseReason::kUnsupportedVersion);
  EXPECT_EQ(output, Lit("\x20\x03\x00\x84\x00"));
  fields.level = 0x84;
  EXPECT_EQ(ConnectReason(fields, &output), CloseReason::kUnsupportedVersion);
  EXPECT_EQ(output, Lit("\x20\x02\x00\x01"));
  fields.name = "MQIsdp";
  EXPECT_EQ(ConnectReason(fields, &output), CloseReason::kUnsupportedVersion);
  fields.name = "mqtt";
  EXPECT_EQ(ConnectReason(fields, &output), CloseReason::kMalformed);
  EXPECT_TRUE(output.empty());
}

TEST(MqttRefusal, RefusesAnEmptyIdentifierUnlessTheSessionIsClean) {
  ConnectFields fields;
  fields.payload = Str("");
  Bytes output;
  EXPECT_EQ(ConnectReason(fields), CloseReason::kNone);
  fields.flags = 0;
  EXPECT_EQ(ConnectReason(fields, &output), CloseReason::kRefused);
  EXPECT_EQ(output, Lit("\x20\x02\x00\x02"));
  fields = {.name = "MQIsdp", .level = 3, .payload = Str("")};
  EXPECT_EQ(ConnectReason(fields, &output), CloseReason::kRefused);
  EXPECT_EQ(output, Lit("\x20\x02\x00\x02"));
}

TEST(MqttRefusal, SendsTheOwnersRefusalAndTakesNothingMore) {
  Recorder device;
  device.connect_code = ConnectCode::kBadCredentials;
  ConnectFields fields;
  fields.flags = 0x06;
  fields.payload = Str("d") + Str("w") + Str("m");
  EXPECT_EQ(device.Feed(ConnectPacket(fields) + Publish1("a", 1, "x")), CloseReason::kRefused);
  EXPECT_EQ(device.output, Lit("\x20\x02\x00\x04"));  // [MQTT-3.1.4-5]
  EXPECT_EQ(device.publishes, 0u);
  EXPECT_FALSE(device.session.connected());
  EXPECT_EQ(device.session.will(), nullptr);
}

TEST(MqttRefusal, SpeaksMqtt31) {
  const ConnectFields fields = {
      .name = "MQIsdp", .level = 3, .flags = 0xC2, .payload = Str("old") + Str("user")};
  Recorder device;
  EXPECT_EQ(device.Feed(ConnectPacket(fields)), CloseReason::kNone)
      << "the password may be missing";
  EXPECT_EQ(device.session.protocol_level(), 3);
  // DUP is allowed here, and there is no code for a refusal.
  EXPECT_EQ(device.Feed(Packet(0x8A, U16(1) + Str("no") + "\x02")), CloseReason::kNone);
  EXPECT_EQ(device.Feed(Packet(0xAA, U16(2) + Str("no"))), CloseReason::kNone);
  EXPECT_EQ(device.output, kConnackOk + Lit("\x90\x03\x00\x01\x01\xB0\x02\x00\x02"));
  ExpectClosed({"no QoS 1", Packet(0x88, U16(1) + Str("a") + "\x01"), CloseReason::kBadFlags},
               fields);
}

}  // namespace
}  // namespace seganet::mqtt

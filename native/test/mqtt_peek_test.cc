#include <gtest/gtest.h>

#include "core/protocol/mqtt/connect_peek.h"
#include "test/mqtt_bytes.h"

namespace seganet::mqtt {
namespace {

using mqtt_test::Bytes;
using mqtt_test::ConnectFields;
using mqtt_test::ConnectPacket;
using mqtt_test::Lit;
using mqtt_test::Packet;
using mqtt_test::Span;
using mqtt_test::Str;
using Status = ConnectPeek::Status;

constexpr size_t kMax = 4096;

ConnectPeek Peek(std::string_view bytes, size_t max = kMax) {
  return PeekConnect(Span(bytes), max);
}

TEST(MqttPeek, FindsTheDeviceOnceTheWholeConnectIsThere) {
  const Bytes connect = ConnectPacket();
  const Bytes stream = connect + mqtt_test::Publish0("a", "b");
  for (size_t n = 0; n <= stream.size(); ++n) {
    const ConnectPeek peek = Peek(std::string_view(stream).substr(0, n));
    if (n < connect.size()) {
      ASSERT_EQ(peek.status, Status::kNeedMore) << n;
      continue;
    }
    ASSERT_EQ(peek.status, Status::kOk) << n;
    EXPECT_EQ(peek.reason, CloseReason::kNone);
    EXPECT_EQ(peek.client_id, "dev-1");
    EXPECT_TRUE(peek.clean_session);
    EXPECT_EQ(peek.protocol_level, 4);
    EXPECT_TRUE(RefusalFor(peek).empty());
  }
}

TEST(MqttPeek, Knows31AndAnUncleanSession) {
  ConnectFields fields;
  fields.name = "MQIsdp";
  fields.level = 3;
  fields.flags = 0;
  const Bytes connect = ConnectPacket(fields);
  const ConnectPeek peek = Peek(connect);
  EXPECT_EQ(peek.status, Status::kOk);
  EXPECT_EQ(peek.protocol_level, 3);
  EXPECT_FALSE(peek.clean_session);
}

TEST(MqttPeek, LeavesAnEmptyIdentifierToTheSession) {
  ConnectFields fields;
  fields.flags = 0;
  fields.payload = Str("");
  const Bytes connect = ConnectPacket(fields);
  EXPECT_EQ(Peek(connect).status, Status::kOk);
  EXPECT_TRUE(Peek(connect).client_id.empty());
}

TEST(MqttPeek, RefusesMqtt5InItsOwnWordsAsSoonAsTheLevelIsThere) {
  // Receive Maximum 10 as a property: another layout than that of 3.1.1.
  const Bytes connect =
      Packet(0x10, Str("MQTT") + Lit("\x05\x02\x00\x3C") + Lit("\x03\x21\x00\x0A") + Str("dev-1"));
  for (size_t n = 0; n <= connect.size(); ++n) {
    const ConnectPeek peek = Peek(std::string_view(connect).substr(0, n));
    ASSERT_EQ(peek.status, n < 9 ? Status::kNeedMore : Status::kUnsupportedVersion) << n;
    if (n < 9) continue;
    EXPECT_EQ(peek.reason, CloseReason::kUnsupportedVersion);
    EXPECT_EQ(peek.protocol_level, 5);
    EXPECT_EQ(RefusalFor(peek), Lit("\x20\x03\x00\x84\x00"));
  }
}

TEST(MqttPeek, RefusesOtherLevelsWithCode1) {
  const auto refuse = [](const char* name, uint8_t level) {
    ConnectFields fields;
    fields.name = name;
    fields.level = level;
    const Bytes connect = ConnectPacket(fields);
    const ConnectPeek peek = Peek(connect);
    EXPECT_EQ(peek.status, Status::kUnsupportedVersion) << name << int{level};
    EXPECT_EQ(RefusalFor(peek), Lit("\x20\x02\x00\x01")) << name << int{level};
  };
  refuse("MQTT", 0);
  refuse("MQTT", 3);
  refuse("MQTT", 6);
  refuse("MQTT", 0x84);  // a mosquitto bridge tries this first, then 4
  refuse("MQIsdp", 4);
}

TEST(MqttPeek, KnowsWhatIsNotMqttFromTheFirstByte) {
  for (unsigned first = 0; first < 256; ++first) {
    const ConnectPeek peek = Peek(Bytes(1, static_cast<char>(first)));
    if (first == 0x10) {
      EXPECT_EQ(peek.status, Status::kNeedMore);
    } else if (first >> 4 == 1) {
      EXPECT_EQ(peek.status, Status::kMalformed);
      EXPECT_EQ(peek.reason, CloseReason::kBadFlags);
    } else {
      EXPECT_EQ(peek.status, Status::kNotConnect);
      EXPECT_EQ(peek.reason, CloseReason::kNotConnect);
    }
    EXPECT_TRUE(RefusalFor(peek).empty());
  }
  EXPECT_EQ(Peek("GET / HTTP/1.1\r\n").status, Status::kNotConnect);
  EXPECT_EQ(Peek(Lit("\x16\x03\x01")).reason, CloseReason::kBadFlags);  // a TLS ClientHello
}

TEST(MqttPeek, RefusesATooLargeConnectByItsHeader) {
  const Bytes connect = ConnectPacket();
  EXPECT_EQ(Peek(connect, connect.size()).status, Status::kOk);
  const ConnectPeek peek = Peek(std::string_view(connect).substr(0, 2), connect.size() - 1);
  EXPECT_EQ(peek.status, Status::kMalformed);
  EXPECT_EQ(peek.reason, CloseReason::kTooLarge);
  EXPECT_EQ(Peek(Lit("\x10\xFF\xFF\xFF\x7F")).reason, CloseReason::kTooLarge);
  EXPECT_EQ(Peek(Lit("\x10\xFF\xFF\xFF\xFF")).reason, CloseReason::kMalformed);
}

TEST(MqttPeek, NamesWhatIsWrong) {
  ConnectFields fields;
  fields.payload = Str("\xC3\x28");
  EXPECT_EQ(Peek(ConnectPacket(fields)).reason, CloseReason::kBadUtf8);
  fields.payload = Str("x") + "surplus";
  EXPECT_EQ(Peek(ConnectPacket(fields)).reason, CloseReason::kMalformed);
  fields.payload = Str("x");
  fields.flags = 0x01;
  EXPECT_EQ(Peek(ConnectPacket(fields)).reason, CloseReason::kBadFlags);
  fields.name = "MQTQ";
  EXPECT_EQ(Peek(ConnectPacket(fields)).reason, CloseReason::kMalformed);
}

}  // namespace
}  // namespace seganet::mqtt

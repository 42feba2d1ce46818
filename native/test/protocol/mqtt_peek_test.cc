#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "core/protocol/mqtt/connect_peek.h"
#include "test/support/mqtt_bytes.h"

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

TEST(MqttPeek, FindsIdentifierAndCredentialsOfMqtt5) {
  // A will with properties precedes them, and there is a password without a user name.
  const Bytes connect =
      Packet(0x10, Str("MQTT") + Lit("\x05\x46\x00\x3C") + Lit("\x03\x21\x00\x0A") + Str("dev-1") +
                       Lit("\x05\x18\x00\x00\x00\x05") + Str("w") + Str("gone") + Str("secret"));
  for (size_t n = 0; n < connect.size(); ++n) {
    ASSERT_EQ(Peek(std::string_view(connect).substr(0, n)).status, Status::kNeedMore) << n;
  }
  const ConnectPeek peek = Peek(connect);
  ASSERT_EQ(peek.status, Status::kOk);
  EXPECT_EQ(peek.protocol_level, 5);
  EXPECT_EQ(peek.client_id, "dev-1");
  EXPECT_TRUE(peek.clean_session);
  EXPECT_FALSE(peek.user_name);
  ASSERT_TRUE(peek.password);
  EXPECT_EQ(Bytes(peek.password->begin(), peek.password->end()), "secret");
}

TEST(MqttPeek, ShowsTheCredentialsOf311) {
  ConnectFields fields;
  fields.flags = 0xC2;
  fields.payload = Str("dev-1") + Str("user") + Str(Lit("p\0w"));
  const Bytes connect = ConnectPacket(fields);
  const ConnectPeek peek = Peek(connect);
  ASSERT_EQ(peek.status, Status::kOk);
  EXPECT_EQ(peek.user_name, "user");
  ASSERT_TRUE(peek.password);
  EXPECT_EQ(Bytes(peek.password->begin(), peek.password->end()), Lit("p\0w"));
  EXPECT_FALSE(Peek(ConnectPacket()).user_name);
  EXPECT_FALSE(Peek(ConnectPacket()).password);
}

TEST(MqttPeek, TellsAnMqtt5DeviceWhatIsWrongWithItsConnect) {
  const auto refused = [](const Bytes& properties, const Bytes& payload, CloseReason reason,
                          uint8_t code) {
    const Bytes connect =
        Packet(0x10, Str("MQTT") + Lit("\x05\x02\x00\x3C") + properties + payload);
    const ConnectPeek peek = Peek(connect);
    EXPECT_EQ(peek.status, Status::kMalformed);
    EXPECT_EQ(peek.reason, reason) << Name(peek.reason);
    EXPECT_EQ(RefusalFor(peek), Lit("\x20\x03\x00") + static_cast<char>(code) + Lit("\x00"));
  };
  refused(Lit("\x00"), Str("\xC3\x28"), CloseReason::kBadUtf8, 0x81);
  refused(Lit("\x00"), Str("d") + "surplus", CloseReason::kMalformed, 0x81);
  refused(Lit("\x03\x21\x00\x00"), Str("d"), CloseReason::kBadProperty, 0x82);
  refused(Lit("\x02\x01\x00"), Str("d"), CloseReason::kBadProperty, 0x81);
  refused(Lit("\x07\x15\x00\x04test"), Str("d"), CloseReason::kAuthMethod, 0x8C);
}

TEST(MqttPeek, RefusesALoginInTheWordsOfEachVersion) {
  const std::vector<std::pair<ConnectCode, uint8_t>> codes = {
      {ConnectCode::kIdentifierRejected, 0x85},
      {ConnectCode::kServerUnavailable, 0x88},
      {ConnectCode::kBadCredentials, 0x86},
      {ConnectCode::kNotAuthorized, 0x87}};
  for (const auto& [code, five] : codes) {
    const Bytes three = Lit("\x20\x02\x00") + static_cast<char>(code);
    EXPECT_EQ(LoginRefusal(3, code), three);
    EXPECT_EQ(LoginRefusal(4, code), three);
    EXPECT_EQ(LoginRefusal(5, code), Lit("\x20\x03\x00") + static_cast<char>(five) + Lit("\x00"));
  }
}

TEST(MqttPeek, RefusesAHigherVersionInTheWordsOf5AsSoonAsTheLevelIsThere) {
  const Bytes connect = Packet(0x10, Str("MQTT") + Lit("\x06\x02\x00\x3C\x00") + Str("dev-1"));
  for (size_t n = 0; n <= connect.size(); ++n) {
    const ConnectPeek peek = Peek(std::string_view(connect).substr(0, n));
    ASSERT_EQ(peek.status, n < 9 ? Status::kNeedMore : Status::kUnsupportedVersion) << n;
    if (n < 9) continue;
    EXPECT_EQ(peek.reason, CloseReason::kUnsupportedVersion);
    EXPECT_EQ(peek.protocol_level, 6);
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
  refuse("MQTT", 0x84);  // a mosquitto bridge tries this first, then 4
  refuse("MQIsdp", 4);
}

TEST(MqttPeek, KnowsWhatIsNotMqttFromTheFirstByte) {
  for (unsigned first = 0; first < 256; ++first) {
    const ConnectPeek peek = Peek(Bytes(1, static_cast<char>(first)));
    if (first >> 4 == 1) {
      // The version, which decides whether the flags may be set, has not arrived yet.
      EXPECT_EQ(peek.status, Status::kNeedMore);
    } else {
      EXPECT_EQ(peek.status, Status::kNotConnect);
      EXPECT_EQ(peek.reason, CloseReason::kNotConnect);
    }
    EXPECT_TRUE(RefusalFor(peek).empty());
  }
  EXPECT_EQ(Peek("GET / HTTP/1.1\r\n").status, Status::kNotConnect);
  // The beginning of a TLS handshake: no MQTT 3.1, so its flags may not be set.
  EXPECT_EQ(Peek(Lit("\x16\x03\x01\x02\x00")).reason, CloseReason::kBadFlags);
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

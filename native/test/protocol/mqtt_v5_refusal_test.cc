#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/protocol/mqtt/connect_peek.h"
#include "core/protocol/mqtt/server_session.h"
#include "test/support/mqtt_bytes.h"
#include "test/support/mqtt_recorder.h"

// Input that MQTT 5 forbids, the reason code sent to the device, and the counter.
namespace seganet::mqtt {
namespace {

using mqtt_test::Bytes;
using mqtt_test::Connect5;
using mqtt_test::Lit;
using mqtt_test::Packet;
using mqtt_test::Props;
using mqtt_test::Publish5;
using mqtt_test::Recorder;
using mqtt_test::Span;
using mqtt_test::Str;
using mqtt_test::Subscribe5;
using mqtt_test::U16;

struct Bad5 {
  const char* what;
  Bytes packet;
  CloseReason reason;
  uint8_t code;
};

void ExpectDisconnect(const Bad5& bad) {
  SCOPED_TRACE(bad.what);
  Recorder device(Recorder::Ack::kNever);
  ASSERT_EQ(device.Feed(Connect5()), CloseReason::kNone);
  device.TakeOutput();
  const Bytes log = device.log;
  EXPECT_EQ(device.Feed(bad.packet + Publish5(0x30, "after", 0, "", "x")), bad.reason)
      << Name(device.session.close_reason());
  EXPECT_EQ(device.log, log) << "a bad packet has no effect";
  EXPECT_EQ(device.TakeOutput(), Lit("\xE0\x01") + static_cast<char>(bad.code));
  EXPECT_EQ(device.Feed(Publish5(0x30, "after", 0, "", "x")), bad.reason);
  EXPECT_EQ(device.TakeOutput(), "") << "sent once";
}

TEST(MqttV5Refusal, ABadPacketEndsTheConnectionWithItsReason) {
  const Bytes sub = U16(1);
  const std::vector<Bad5> all = {
      {"length longer than needed", Lit("\xC0\x80\x00"), CloseReason::kMalformed, 0x81},
      {"five length bytes", Lit("\x30\xFF\xFF\xFF\xFF\x01"), CloseReason::kMalformed, 0x81},
      {"too large", Lit("\x30\x81\x80\x10"), CloseReason::kTooLarge, 0x95},
      {"packet type 0", Lit("\x00"), CloseReason::kMalformed, 0x81},
      {"second connect", Connect5(), CloseReason::kSecondConnect, 0x82},
      {"auth", Packet(0xF0, ""), CloseReason::kProtocolError, 0x82},
      {"auth with flags", Lit("\xF1\x00"), CloseReason::kBadFlags, 0x81},
      {"connack", Lit("\x20"), CloseReason::kServerPacketFromClient, 0x82},
      {"pubrel flags", Lit("\x60\x02\x00\x01"), CloseReason::kBadFlags, 0x81},
      {"qos 3", Lit("\x36"), CloseReason::kQos3, 0x81},
      {"dup with qos 0", Lit("\x38"), CloseReason::kBadFlags, 0x81},
      {"pingreq with a body", Packet(0xC0, "x"), CloseReason::kMalformed, 0x81},

      {"no properties", Packet(0x30, Str("a")), CloseReason::kMalformed, 0x81},
      {"property length beyond the packet", Packet(0x30, Str("a") + "\x02\x01"),
       CloseReason::kMalformed, 0x81},
      {"property length too long", Packet(0x30, Str("a") + Lit("\x82\x00\x01\x00")),
       CloseReason::kMalformed, 0x81},
      {"property length of five bytes", Packet(0x30, Str("a") + Lit("\xFF\xFF\xFF\xFF\x01")),
       CloseReason::kMalformed, 0x81},
      {"property cut", Publish5(0x30, "a", 0, Lit("\x02\x00\x00"), ""), CloseReason::kMalformed,
       0x81},
      {"property string cut", Publish5(0x30, "a", 0, Lit("\x03\x00\x05hi"), ""),
       CloseReason::kMalformed, 0x81},
      {"unknown property", Publish5(0x30, "a", 0, Lit("\x7F\x00"), ""), CloseReason::kBadProperty,
       0x81},
      {"property 0", Publish5(0x30, "a", 0, Lit("\x00\x00"), ""), CloseReason::kBadProperty, 0x81},
      {"property of a connect", Publish5(0x30, "a", 0, Lit("\x21\x00\x05"), ""),
       CloseReason::kBadProperty, 0x81},
      {"subscription identifier from a client", Publish5(0x30, "a", 0, Lit("\x0B\x01"), ""),
       CloseReason::kBadProperty, 0x82},
      {"property twice", Publish5(0x30, "a", 0, Lit("\x01\x00\x01\x00"), ""),
       CloseReason::kBadProperty, 0x82},
      {"payload format 2", Publish5(0x30, "a", 0, Lit("\x01\x02"), ""), CloseReason::kBadProperty,
       0x82},
      {"user property not utf-8", Publish5(0x30, "a", 0, Lit("\x26") + Str("k") + Str("\xFF"), ""),
       CloseReason::kBadUtf8, 0x81},
      {"user property without value", Publish5(0x30, "a", 0, Lit("\x26") + Str("k"), ""),
       CloseReason::kMalformed, 0x81},
      {"content type with NUL", Publish5(0x30, "a", 0, Lit("\x03") + Str(Lit("\0")), ""),
       CloseReason::kBadUtf8, 0x81},
      {"response topic with a wildcard", Publish5(0x30, "a", 0, Lit("\x08") + Str("a/#"), ""),
       CloseReason::kBadTopic, 0x82},
      {"payload not utf-8", Publish5(0x30, "a", 0, Lit("\x01\x01"), "\xFF"), CloseReason::kBadUtf8,
       0x99},

      {"no topic and no alias", Publish5(0x30, "", 0, "", ""), CloseReason::kBadTopic, 0x82},
      {"alias 0", Publish5(0x30, "a", 0, Lit("\x23\x00\x00"), ""), CloseReason::kBadTopicAlias,
       0x94},
      {"alias over the maximum", Publish5(0x30, "a", 0, Lit("\x23\x00\x11"), ""),
       CloseReason::kBadTopicAlias, 0x94},
      {"alias not set", Publish5(0x32, "", 1, Lit("\x23\x00\x05"), ""), CloseReason::kBadTopicAlias,
       0x94},
      {"topic with a wildcard", Publish5(0x30, "a/+", 0, "", ""), CloseReason::kBadTopic, 0x90},
      {"topic not utf-8", Publish5(0x30, "\xC0\xAF", 0, "", ""), CloseReason::kBadUtf8, 0x81},
      {"identifier 0", Publish5(0x32, "a", 0, "", ""), CloseReason::kBadPacketId, 0x82},

      {"subscribe without filter", Packet(0x82, sub + Props()), CloseReason::kMalformed, 0x82},
      {"subscribe without properties", Packet(0x82, sub), CloseReason::kMalformed, 0x81},
      {"subscription identifier 0", Subscribe5(1, "a", 1, Lit("\x0B\x00")),
       CloseReason::kBadProperty, 0x82},
      {"subscription identifier twice", Subscribe5(1, "a", 1, Lit("\x0B\x01\x0B\x02")),
       CloseReason::kBadProperty, 0x82},
      {"subscription identifier of five bytes", Subscribe5(1, "a", 1, "\x0B\xFF\xFF\xFF\xFF\x7F"),
       CloseReason::kMalformed, 0x81},
      {"filter with a wildcard out of place", Subscribe5(1, "a#"), CloseReason::kBadTopic, 0x8F},
      {"filter not utf-8", Subscribe5(1, "\xFF"), CloseReason::kBadUtf8, 0x81},
      {"requested qos 3", Subscribe5(1, "a", 3), CloseReason::kProtocolError, 0x82},
      {"retain handling 3", Subscribe5(1, "a", 0x30), CloseReason::kProtocolError, 0x82},
      {"reserved options", Subscribe5(1, "a", 0x40), CloseReason::kMalformed, 0x81},
      {"no local on a shared subscription", Subscribe5(1, "$share/g/a", 0x04),
       CloseReason::kProtocolError, 0x82},
      {"too many filters",
       Packet(
           0x82, sub + Props() +
                     [] {
                       Bytes filters;
                       for (int i = 0; i < 257; ++i) filters += Str("a") + '\0';
                       return filters;
                     }()),
       CloseReason::kTooLarge, 0x97},
      {"unsubscribe with a subscription identifier",
       Packet(0xA2, sub + Props(Lit("\x0B\x01")) + Str("a")), CloseReason::kBadProperty, 0x81},

      {"puback of an unknown code", Packet(0x40, U16(1) + '\x01'), CloseReason::kProtocolError,
       0x82},
      {"puback with a surplus", Packet(0x40, U16(1) + Lit("\x00\x00x")), CloseReason::kMalformed,
       0x81},
      {"puback identifier 0", Packet(0x40, U16(0)), CloseReason::kBadPacketId, 0x82},
      {"puback reason not utf-8", Packet(0x40, U16(1) + '\0' + Props(Lit("\x1F") + Str("\xFF"))),
       CloseReason::kBadUtf8, 0x81},
      {"pubrel of an unknown code", Packet(0x62, U16(1) + '\x10'), CloseReason::kProtocolError,
       0x82},
      {"disconnect as only a server may", Packet(0xE0, "\x8B"), CloseReason::kProtocolError, 0x82},
      {"disconnect with a surplus", Packet(0xE0, Lit("\x00\x00x")), CloseReason::kMalformed, 0x81},
      {"disconnect that keeps a session after all",
       Packet(0xE0, Lit("\x00\x05\x11\x00\x00\x00\x01")), CloseReason::kProtocolError, 0x82},
  };
  for (const Bad5& bad : all) ExpectDisconnect(bad);
}

TEST(MqttV5Refusal, ABadConnectGetsAConnackWithItsReason) {
  const Bytes id = Str("d");
  const Bytes will = Props() + Str("w") + Str("m");
  const std::vector<Bad5> all = {
      {"no properties", Packet(0x10, Str("MQTT") + Lit("\x05\x02\x00\x3C")),
       CloseReason::kMalformed, 0x81},
      {"length longer than needed", Lit("\x10\x8E\x00") + Connect5({}, 2, id).substr(2),
       CloseReason::kMalformed, 0x81},
      {"reserved flag", Connect5({}, 0x03, id), CloseReason::kBadFlags, 0x81},
      {"will qos without will", Connect5({}, 0x0A, id), CloseReason::kBadFlags, 0x81},
      {"will qos 3", Connect5({}, 0x1E, id + will), CloseReason::kBadFlags, 0x81},
      {"identifier not utf-8", Connect5({}, 2, Str("\xFF")), CloseReason::kBadUtf8, 0x81},
      {"receive maximum 0", Connect5(Lit("\x21\x00\x00"), 2, id), CloseReason::kBadProperty, 0x82},
      {"maximum packet size 0", Connect5(Lit("\x27\x00\x00\x00\x00"), 2, id),
       CloseReason::kBadProperty, 0x82},
      {"session expiry twice", Connect5(Lit("\x11\x00\x00\x00\x01\x11\x00\x00\x00\x01"), 2, id),
       CloseReason::kBadProperty, 0x82},
      {"problem information 2", Connect5(Lit("\x17\x02"), 2, id), CloseReason::kBadProperty, 0x82},
      {"response information 2", Connect5(Lit("\x19\x02"), 2, id), CloseReason::kBadProperty, 0x82},
      {"property of a publish", Connect5(Lit("\x23\x00\x01"), 2, id), CloseReason::kBadProperty,
       0x81},
      {"a will's property", Connect5(Lit("\x18\x00\x00\x00\x01"), 2, id), CloseReason::kBadProperty,
       0x81},
      {"authentication data alone", Connect5(Lit("\x16\x00\x01x"), 2, id),
       CloseReason::kBadProperty, 0x82},
      {"enhanced authentication", Connect5(Lit("\x15\x00\x05SCRAM"), 2, id),
       CloseReason::kAuthMethod, 0x8C},
      {"will without properties", Connect5({}, 0x06, id + Str("w") + Str("m")),
       CloseReason::kMalformed, 0x81},
      {"will topic a filter", Connect5({}, 0x06, id + Props() + Str("#") + Str("m")),
       CloseReason::kBadTopic, 0x90},
      {"will not the utf-8 that it claims",
       Connect5({}, 0x06, id + Props(Lit("\x01\x01")) + Str("w") + Str("\xFF")),
       CloseReason::kBadUtf8, 0x99},
      {"will with a topic alias",
       Connect5({}, 0x06, id + Props(Lit("\x23\x00\x01")) + Str("w") + Str("m")),
       CloseReason::kBadProperty, 0x81},
      {"surplus", Connect5({}, 2, id + "x"), CloseReason::kMalformed, 0x81},
  };
  for (const Bad5& bad : all) {
    SCOPED_TRACE(bad.what);
    const Bytes connack = Lit("\x20\x03\x00") + static_cast<char>(bad.code) + '\0';
    Recorder device;
    EXPECT_EQ(device.Feed(bad.packet), bad.reason) << Name(device.session.close_reason());
    EXPECT_EQ(device.TakeOutput(), connack);
    EXPECT_EQ(device.log, "");
    const ConnectPeek peek = PeekConnect(Span(bad.packet), 4096);
    EXPECT_EQ(peek.reason, bad.reason) << "the acceptor gives the same reason";
    EXPECT_EQ(RefusalFor(peek), connack);
  }
}

TEST(MqttV5Refusal, AllowsEverythingThatA311DeviceMaySend) {
  Recorder device;
  ASSERT_EQ(device.Feed(mqtt_test::ConnectPacket() + Lit("\xC0\x80\x00")), CloseReason::kNone)
      << "a length may be longer than needed";
  EXPECT_EQ(device.Feed(Lit("\xF0\x00")), CloseReason::kMalformed);
}

}  // namespace
}  // namespace seganet::mqtt

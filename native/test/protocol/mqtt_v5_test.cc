#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/protocol/mqtt/server_session.h"
#include "test/support/mqtt_bytes.h"
#include "test/support/mqtt_recorder.h"

// MQTT 5.0 between a device and the session; errors are in mqtt_v5_refusal_test.cc.
namespace seganet::mqtt {
namespace {

using mqtt_test::Bytes;
using mqtt_test::Connect5;
using mqtt_test::Lit;
using mqtt_test::MixedStream5;
using mqtt_test::Packet;
using mqtt_test::Props;
using mqtt_test::Publish5;
using mqtt_test::Recorder;
using mqtt_test::Span;
using mqtt_test::Str;
using mqtt_test::U16;

// The default content of every CONNACK: receive maximum 1024, packets of 262,144 bytes, 16 aliases,
// no shared subscriptions.
const Bytes kAlways = Lit("\x21\x04\x00\x27\x00\x04\x00\x00\x22\x00\x10\x2A\x00");

Bytes Connack5(const Bytes& before, const Bytes& after = {}, char present = 0) {
  return Packet(0x20, Bytes(1, present) + '\0' + Props(before + kAlways + after));
}

TEST(MqttV5, TheConnackListsTheLimits) {
  Recorder device;
  ASSERT_EQ(device.Feed(Connect5()), CloseReason::kNone);
  EXPECT_EQ(device.TakeOutput(), Connack5({}));
  EXPECT_EQ(device.session.keep_alive_s(), 60);
}

TEST(MqttV5, TheConnackSaysWhereTheServerKnowsBetter) {
  Limits limits;
  limits.server_keep_alive_s = 30;
  limits.session_expiry_max_s = 10;
  Recorder device(Recorder::Ack::kAtOnce, limits);
  device.session.SetAssignedId("auto-1");
  ASSERT_EQ(device.Feed(Connect5(Lit("\x11\xFF\xFF\xFF\xFF"), 0x02, Str(""))), CloseReason::kNone);
  EXPECT_EQ(device.TakeOutput(), Connack5(Lit("\x11\x00\x00\x00\x0A"),
                                          Lit("\x12") + Str("auto-1") + Lit("\x13\x00\x1E")));
  EXPECT_EQ(device.session.keep_alive_s(), 30);
}

TEST(MqttV5, TheServersKeepAliveIsTheLongest) {
  Limits limits;
  limits.server_keep_alive_s = 30;
  const auto keep_alive = [&](uint16_t asked, uint8_t level) {
    Recorder device(Recorder::Ack::kAtOnce, limits);
    mqtt_test::ConnectFields fields;
    fields.keep_alive = asked;
    EXPECT_EQ(device.Feed(level == 5 ? Connect5({}, 2, Str("d"), asked)
                                     : mqtt_test::ConnectPacket(fields)),
              CloseReason::kNone);
    return device.session.keep_alive_s();
  };
  EXPECT_EQ(keep_alive(0, 5), 30);
  EXPECT_EQ(keep_alive(31, 5), 30);
  EXPECT_EQ(keep_alive(29, 5), 29);
  EXPECT_EQ(keep_alive(31, 4), 31) << "a client without the property keeps its own";
  EXPECT_EQ(keep_alive(0, 4), 0);
}

TEST(MqttV5, RefusesAMissingIdentifierWhenNoneWasMadeUp) {
  Recorder device;
  EXPECT_EQ(device.Feed(Connect5({}, 0x02, Str(""))), CloseReason::kRefused);
  EXPECT_EQ(device.TakeOutput(), Lit("\x20\x03\x00\x85\x00"));
}

TEST(MqttV5, SendsTheOwnersRefusalAsAReasonCode) {
  Recorder device;
  device.connect_code = ConnectCode::kServerUnavailable;
  EXPECT_EQ(device.Feed(Connect5()), CloseReason::kRefused);
  EXPECT_EQ(device.TakeOutput(), Lit("\x20\x03\x00\x88\x00"));
}

TEST(MqttV5, TakesAPasswordWithoutAUserName) {
  Recorder device;
  EXPECT_EQ(device.Feed(Connect5({}, 0x42, Str("d") + Str("token"))), CloseReason::kNone);
  EXPECT_NE(device.log.find("password [token]"), Bytes::npos);
}

// Reads the properties of each PUBLISH where the owner would.
class Reader5 : public Recorder {
 public:
  void OnPublish(const Publish& publish) override {
    Recorder::OnPublish(publish);
    user = Bytes(publish.UserProperty("class").value_or("-"));
    content_type = Bytes(publish.content_type().value_or("-"));
    expiry = publish.message_expiry_s();
    utf8 = publish.payload_utf8();
  }
  Bytes user;
  Bytes content_type;
  std::optional<uint32_t> expiry;
  bool utf8 = false;
};

TEST(MqttV5, APublishShowsItsProperties) {
  Reader5 device;
  ASSERT_EQ(device.Feed(Connect5()), CloseReason::kNone);
  const Bytes properties = Lit("\x26") + Str("other") + Str("1") + Lit("\x01\x01\x26") +
                           Str("class") + Str("critical") + Lit("\x02\x00\x00\x0E\x10\x26") +
                           Str("class") + Str("bulk") + Lit("\x03") + Str("text/plain") +
                           Lit("\x08") + Str("answer/here") + Lit("\x09") + Str(Lit("\0\xFF"));
  ASSERT_EQ(device.Feed(Publish5(0x30, "a", 0, properties, "gr\xC3\xBC\xC3\x9F")),
            CloseReason::kNone);
  EXPECT_EQ(device.user, "critical") << "the first of its name";
  EXPECT_EQ(device.content_type, "text/plain");
  EXPECT_EQ(device.expiry, 3600u);
  EXPECT_TRUE(device.utf8);
  ASSERT_EQ(device.Feed(Publish5(0x30, "a", 0, "", "x")), CloseReason::kNone);
  EXPECT_EQ(device.user, "-");
  EXPECT_EQ(device.content_type, "-");
  EXPECT_FALSE(device.expiry);
  EXPECT_FALSE(device.utf8);
}

TEST(MqttV5, ATopicAliasStandsForItsTopic) {
  Recorder device;
  ASSERT_EQ(device.Feed(Connect5()), CloseReason::kNone);
  device.log.clear();
  ASSERT_EQ(device.Feed(Publish5(0x30, "one", 0, Lit("\x23\x00\x01"), "") +
                        Publish5(0x30, "two", 0, Lit("\x23\x00\x10"), "") +
                        Publish5(0x30, "", 0, Lit("\x23\x00\x01"), "") +
                        Publish5(0x30, "", 0, Lit("\x23\x00\x10"), "") +
                        Publish5(0x30, "new", 0, Lit("\x23\x00\x01"), "") +
                        Publish5(0x30, "", 0, Lit("\x23\x00\x01"), "")),
            CloseReason::kNone);
  Bytes expected;
  for (const char* topic : {"one", "two", "one", "two", "new", "new"}) {
    expected += "\npublish [" + Bytes(topic) + "] = [] id 0 qos 0";
  }
  EXPECT_EQ(device.log, expected);
}

TEST(MqttV5, AliasesAreBoundedInBytes) {
  Limits limits;
  limits.max_alias_bytes = 10;
  Recorder device(Recorder::Ack::kAtOnce, limits);
  ASSERT_EQ(device.Feed(Connect5() + Publish5(0x30, "123456", 0, Lit("\x23\x00\x01"), "") +
                        Publish5(0x30, "1234567890", 0, Lit("\x23\x00\x01"), "")),
            CloseReason::kNone)
      << "a topic takes the place of the earlier one";
  device.TakeOutput();
  EXPECT_EQ(device.Feed(Publish5(0x30, "1", 0, Lit("\x23\x00\x02"), "")), CloseReason::kTooLarge);
  EXPECT_EQ(device.TakeOutput(), Lit("\xE0\x01\x97"));
}

TEST(MqttV5, APayloadThatIsNotTheUtf8ThatItClaimsIsRefused) {
  Recorder device;
  ASSERT_EQ(device.Feed(Connect5()), CloseReason::kNone);
  device.TakeOutput();
  device.log.clear();
  ASSERT_EQ(device.Feed(Publish5(0x32, "a", 1, Lit("\x01\x01"), "\xFF") +
                        Publish5(0x34, "a", 2, Lit("\x01\x01"), "\xC3")),
            CloseReason::kNone);
  EXPECT_EQ(device.TakeOutput(), Lit("\x40\x03\x00\x01\x99\x50\x03\x00\x02\x99"));
  EXPECT_EQ(device.log, "\nrefused 153\nrefused 153");
  ASSERT_EQ(device.Feed(Publish5(0x32, "a", 3, Lit("\x01\x01"), Lit("\0")) +
                        Publish5(0x32, "a", 4, Lit("\x01\x00"), "\xFF")),
            CloseReason::kNone)
      << "U+0000 is UTF-8, and bytes may be anything";
  EXPECT_EQ(device.publishes, 2u);
}

TEST(MqttV5, TheReceiveMaximumIsEnforced) {
  Limits limits;
  limits.receive_maximum = 3;
  Recorder device(Recorder::Ack::kNever, limits);
  ASSERT_EQ(device.Feed(Connect5() + Publish5(0x32, "a", 1, "", "") +
                        Publish5(0x34, "a", 2, "", "") + Publish5(0x34, "a", 3, "", "")),
            CloseReason::kNone);
  EXPECT_TRUE(device.Acknowledge(device.handles[0]));
  EXPECT_TRUE(device.Acknowledge(device.handles[1]));
  ASSERT_EQ(device.Feed(Publish5(0x32, "a", 4, "", "") + Publish5(0x30, "a", 0, "", "")),
            CloseReason::kNone)
      << "the PUBACK made room";
  // A PUBREC does not, a PUBCOMP does.
  ASSERT_EQ(device.Feed(mqtt_test::Pubrel(2) + Publish5(0x32, "a", 5, "", "")), CloseReason::kNone);
  device.TakeOutput();
  EXPECT_EQ(device.Feed(Publish5(0x32, "a", 6, "", "")), CloseReason::kReceiveMaximum);
  EXPECT_EQ(device.TakeOutput(), Lit("\xE0\x01\x93"));
  EXPECT_EQ(device.publishes, 6u);
}

TEST(MqttV5, UnsubackReportsExistingSubscriptions) {
  Recorder device;
  ASSERT_EQ(device.Feed(Connect5() + mqtt_test::Subscribe5(1, "a")), CloseReason::kNone);
  device.TakeOutput();
  ASSERT_EQ(device.Feed(Packet(0xA2, U16(2) + Props() + Str("a") + Str("b"))), CloseReason::kNone);
  EXPECT_EQ(device.TakeOutput(), Lit("\xB0\x05\x00\x02\x00\x00\x11"));
}

Bytes ConnectWithWill(const Bytes& connect_properties, const Bytes& will_properties) {
  return Connect5(connect_properties, 0x06,
                  Str("d") + Props(will_properties) + Str("w") + Str("gone"));
}

TEST(MqttV5, TheWillWaitsForItsDelayOrTheSessionsEnd) {
  const Bytes delay = Lit("\x18\x00\x00\x00\x14");
  const auto after = [&](const Bytes& connect_properties, const Bytes& will_properties) {
    Recorder device;
    EXPECT_EQ(device.Feed(ConnectWithWill(connect_properties, will_properties)),
              CloseReason::kNone);
    EXPECT_NE(device.session.will(), nullptr);
    return device.session.will_delay_s();
  };
  EXPECT_EQ(after(Lit("\x11\x00\x00\x00\x3C"), delay), 20u);
  EXPECT_EQ(after(Lit("\x11\x00\x00\x00\x0A"), delay), 10u);
  EXPECT_EQ(after({}, delay), 0u) << "the session ends at once";
  EXPECT_EQ(after(Lit("\x11\x00\x00\x00\x3C"), {}), 0u);
}

TEST(MqttV5, TheWillKeepsItsProperties) {
  Recorder device;
  {
    Bytes connect = ConnectWithWill({}, Lit("\x26") + Str("class") + Str("critical"));
    ASSERT_EQ(device.Feed(connect), CloseReason::kNone);
    connect.assign(connect.size(), 'x');
  }
  const Will* will = device.session.will();
  ASSERT_NE(will, nullptr);
  EXPECT_EQ(will->topic, "w");
  EXPECT_EQ(Bytes(will->payload.begin(), will->payload.end()), "gone");
  EXPECT_EQ(will->properties.UserProperty("class"), "critical");
}

TEST(MqttV5, ADisconnectDropsTheWillUnlessItAsksForIt) {
  for (const auto& [packet, stays] :
       std::vector<std::pair<Bytes, bool>>{{Packet(0xE0, ""), false},
                                           {Packet(0xE0, Lit("\x00")), false},
                                           {Packet(0xE0, Lit("\x00\x00")), false},
                                           {Packet(0xE0, Lit("\x04")), true},
                                           {Packet(0xE0, Lit("\x98\x00")), true}}) {
    Recorder device;
    ASSERT_EQ(device.Feed(ConnectWithWill({}, {})), CloseReason::kNone);
    device.TakeOutput();
    EXPECT_EQ(device.Feed(packet), CloseReason::kDisconnected);
    EXPECT_EQ(device.session.will() != nullptr, stays);
    EXPECT_EQ(device.TakeOutput(), "");
  }
}

TEST(MqttV5, TheServersDisconnectGivesItsReason) {
  for (const char code : Lit("\x8B\x8D\x8E\x96\x97\x98")) {
    Recorder device;
    ASSERT_EQ(device.Feed(ConnectWithWill({}, {})), CloseReason::kNone);
    device.TakeOutput();
    device.session.Disconnect(static_cast<uint8_t>(code));
    EXPECT_EQ(device.TakeOutput(), Lit("\xE0\x01") + code);
    EXPECT_EQ(device.Feed(Publish5(0x30, "a", 0, "", "")), CloseReason::kDisconnected);
    EXPECT_EQ(device.publishes, 0u);
    EXPECT_NE(device.session.will(), nullptr);
    device.session.Disconnect(0x98);
    EXPECT_EQ(device.TakeOutput(), "") << "once";
  }
  Recorder three;
  ASSERT_EQ(three.Feed(mqtt_test::ConnectPacket()), CloseReason::kNone);
  three.TakeOutput();
  three.session.Disconnect(0x8B);
  EXPECT_EQ(three.TakeOutput(), "");
  EXPECT_EQ(three.session.close_reason(), CloseReason::kDisconnected);
  Recorder none;
  none.session.Disconnect(0x8B);
  EXPECT_EQ(none.TakeOutput(), "") << "not before the CONNACK";
}

// Ends the connection as soon as input arrives.
class Impatient : public Recorder {
 public:
  void OnPublish(const Publish& publish) override {
    Recorder::OnPublish(publish);
    session.Disconnect(0x96);
  }
  Grant OnSubscribe(const Filter&) override {
    session.Disconnect(0x97);
    return Grant::kCommands;
  }
};

TEST(MqttV5, TheOwnerMayDisconnectInsideOfACall) {
  Impatient device;
  ASSERT_EQ(device.Feed(Connect5()), CloseReason::kNone);
  device.TakeOutput();
  EXPECT_EQ(device.Feed(Publish5(0x30, "a", 0, "", "") + Publish5(0x30, "a", 0, "", "")),
            CloseReason::kDisconnected);
  EXPECT_EQ(device.publishes, 1u);
  EXPECT_EQ(device.TakeOutput(), Lit("\xE0\x01\x96"));

  Impatient other;
  ASSERT_EQ(other.Feed(Connect5()), CloseReason::kNone);
  other.TakeOutput();
  EXPECT_EQ(other.Feed(mqtt_test::Subscribe5(1, "#")), CloseReason::kDisconnected);
  EXPECT_EQ(other.TakeOutput(), Lit("\xE0\x01\x97")) << "nothing follows it";
  EXPECT_EQ(other.subscribed, 0u);
}

TEST(MqttV5, TakesTheMixedStreamAndAnswersEachPacket) {
  Recorder device;
  EXPECT_EQ(device.Feed(MixedStream5()), CloseReason::kDisconnected);
  Bytes expected = Connack5({}) + mqtt_test::Puback(1) + mqtt_test::Puback(2) +
                   Lit("\x40\x03\x00\x03\x99") + mqtt_test::Pubrec(4) + mqtt_test::Pubrec(4) +
                   Lit("\x90\x06\x00\x05\x00\x01\x9E\x87\xB0\x05\x00\x06\x00\x00\x11\xD0\x00");
  for (unsigned id = 10; id < 20; ++id) expected += mqtt_test::Puback(id);
  EXPECT_EQ(device.output, expected);
  EXPECT_EQ(device.publishes, 14u);
  ASSERT_NE(device.session.will(), nullptr);
  EXPECT_EQ(device.session.will_delay_s(), 5u);
}

TEST(MqttV5, SplitAtEveryByteIsTheSameAsWhole) {
  const Bytes stream = MixedStream5();
  Recorder whole;
  const CloseReason reason = whole.Feed(stream);
  for (size_t cut = 0; cut <= stream.size(); ++cut) {
    Recorder split;
    CloseReason split_reason = split.Feed(std::string_view(stream).substr(0, cut));
    split_reason = split.Feed(std::string_view(stream).substr(cut));
    ASSERT_EQ(split_reason, reason) << cut;
    ASSERT_EQ(split.log, whole.log) << cut;
    ASSERT_EQ(split.output, whole.output) << cut;
  }
  Recorder bytes;
  CloseReason last = CloseReason::kNone;
  for (const char byte : stream) last = bytes.Feed(std::string_view(&byte, 1));
  EXPECT_EQ(last, reason);
  EXPECT_EQ(bytes.log, whole.log);
  EXPECT_EQ(bytes.output, whole.output);
}

TEST(MqttV5, NoPacketIsLargerThanTheDeviceTakes) {
  for (unsigned maximum = 1; maximum < 40; ++maximum) {
    SCOPED_TRACE(maximum);
    Recorder device;
    const CloseReason reason =
        device.Feed(Connect5(Lit("\x27\x00\x00\x00") + static_cast<char>(maximum)));
    const Bytes output = device.TakeOutput();
    EXPECT_LE(output.size(), maximum);
    EXPECT_EQ(reason, output.empty() ? CloseReason::kTooLarge : CloseReason::kNone);
    EXPECT_EQ(device.log.empty(), output.empty()) << "its earlier connection is not ended";
  }
  Recorder device;
  ASSERT_EQ(device.Feed(Connect5(Lit("\x27\x00\x00\x00\x20"))), CloseReason::kNone);
  device.TakeOutput();
  Bytes filters;
  for (int i = 0; i < 30; ++i) filters += Str("a") + '\0';
  EXPECT_EQ(device.Feed(Packet(0x82, U16(1) + Lit("\0") + filters)), CloseReason::kTooLarge);
  EXPECT_EQ(device.TakeOutput(), Lit("\xE0\x01\x95"));
}

TEST(MqttV5, AnOddTopicIsRefusedAndTheConnectionGoesOn) {
  Recorder device;
  ASSERT_EQ(device.Feed(Connect5()), CloseReason::kNone);
  device.TakeOutput();
  device.log.clear();
  ASSERT_EQ(device.Feed(Publish5(0x30, "$SYS/a", 0, {}, "") + Publish5(0x32, "a\x01", 1, {}, "") +
                        Publish5(0x34, "$share/a", 2, {}, "")),
            CloseReason::kNone);
  EXPECT_EQ(device.log, "\nrefused 144\nrefused 144\nrefused 144");
  EXPECT_EQ(device.TakeOutput(), Lit("\x40\x03\x00\x01\x90\x50\x03\x00\x02\x90"));
  EXPECT_EQ(device.publishes, 0u);
  // By an alias, too.
  ASSERT_EQ(device.Feed(Publish5(0x32, "$a", 3, Lit("\x23\x00\x01"), "") +
                        Publish5(0x32, "", 4, Lit("\x23\x00\x01"), "")),
            CloseReason::kNone);
  EXPECT_EQ(device.TakeOutput(), Lit("\x40\x03\x00\x03\x90\x40\x03\x00\x04\x90"));
}

TEST(MqttV5, ATopicOfTooManyLevelsIsRefusedAndTheConnectionGoesOn) {
  Recorder device;
  ASSERT_EQ(device.Feed(Connect5()), CloseReason::kNone);
  device.TakeOutput();
  device.log.clear();
  const Bytes most(127, '/'), deep(128, '/'), deepest(65535, '/');
  ASSERT_EQ(device.Feed(Publish5(0x30, deep, 0, {}, "") + Publish5(0x32, deep, 1, {}, "") +
                        Publish5(0x34, deepest, 2, {}, "")),
            CloseReason::kNone);
  EXPECT_EQ(device.log, "\nrefused 144\nrefused 144\nrefused 144");
  EXPECT_EQ(device.TakeOutput(), Lit("\x40\x03\x00\x01\x90\x50\x03\x00\x02\x90"));
  EXPECT_EQ(device.publishes, 0u);
  // By an alias, too.
  ASSERT_EQ(device.Feed(Publish5(0x32, deep, 3, Lit("\x23\x00\x01"), "") +
                        Publish5(0x32, "", 4, Lit("\x23\x00\x01"), "")),
            CloseReason::kNone);
  EXPECT_EQ(device.TakeOutput(), Lit("\x40\x03\x00\x03\x90\x40\x03\x00\x04\x90"));
  ASSERT_EQ(device.Feed(Publish5(0x32, most, 5, {}, "")), CloseReason::kNone);
  EXPECT_EQ(device.publishes, 1u);
}

}  // namespace
}  // namespace seganet::mqtt

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
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
using mqtt_test::MixedStream;
using mqtt_test::Packet;
using mqtt_test::Puback;
using mqtt_test::Publish0;
using mqtt_test::Publish1;
using mqtt_test::Recorder;
using mqtt_test::Str;
using mqtt_test::U16;

TEST(MqttSession, TakesTheMixedStreamAndAnswersEachPacket) {
  Recorder device;
  EXPECT_EQ(device.Feed(MixedStream()), CloseReason::kDisconnected);
  Bytes expected = kConnackOk + Puback(1) + Lit("\x90\x05\x00\x02\x01\x01\x80") + Puback(3) +
                   Lit("\xD0\x00") + Puback(4) + Lit("\xB0\x02\x00\x05");
  for (unsigned id = 10; id < 30; ++id) expected += Puback(id);
  EXPECT_EQ(device.output, expected);
  EXPECT_EQ(device.log.substr(0, 146),
            "\nconnect [dev-1] clean level 4 keep-alive 60"
            "\n will [will/dev-1] = [gone]\n user [user]\n password [secret]"
            "\npublish [a] = [] id 0 qos 0"
            "\npublish [plan");
  EXPECT_EQ(device.publishes, 25u);
  EXPECT_EQ(device.session.buffered_bytes(), 0u);
}

// One stream, fed whole and in pieces: the events, the output and the end are the same.
void ExpectSame(const Bytes& stream, const std::vector<size_t>& cuts, Recorder::Ack ack) {
  Recorder whole(ack);
  const CloseReason reason = whole.Feed(stream);
  Recorder split(ack);
  CloseReason split_reason = CloseReason::kNone;
  size_t at = 0;
  for (size_t cut : cuts) {
    split_reason = split.Feed(std::string_view(stream).substr(at, cut - at));
    at = cut;
  }
  split_reason = split.Feed(std::string_view(stream).substr(at));
  ASSERT_EQ(split_reason, reason);
  ASSERT_EQ(split.log, whole.log);
  ASSERT_EQ(split.output, whole.output);
}

TEST(MqttSession, SplitAtEveryByteIsTheSameAsWhole) {
  const Bytes stream = MixedStream();
  for (size_t cut = 0; cut <= stream.size(); cut += cut > 700 && cut < 20300 ? 97 : 1) {
    ExpectSame(stream, {cut}, Recorder::Ack::kAtOnce);
  }
}

TEST(MqttSession, OneByteAtATimeIsTheSameAsWhole) {
  const Bytes stream = MixedStream();
  std::vector<size_t> cuts;
  for (size_t cut = 1; cut < stream.size(); ++cut) cuts.push_back(cut);
  for (auto ack : {Recorder::Ack::kAtOnce, Recorder::Ack::kLate, Recorder::Ack::kNever}) {
    ExpectSame(stream, cuts, ack);
  }
}

TEST(MqttSession, RandomPiecesOfDamagedStreamsAreTheSameAsWhole) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const Bytes good = MixedStream();
  for (int round = 0; round < 600; ++round) {
    Bytes stream = good;
    for (unsigned i = random() % 3; i > 0; --i) {
      // Mostly among the small packets at the beginning, where a change matters.
      stream[random() % (random() % 4 == 0 ? stream.size() : 400)] = static_cast<char>(random());
    }
    std::vector<size_t> cuts;
    for (unsigned i = random() % 40; i > 0; --i) {
      cuts.push_back(random() % (random() % 2 == 0 ? stream.size() : 700));
    }
    std::sort(cuts.begin(), cuts.end());
    ExpectSame(stream, cuts, random() % 2 == 0 ? Recorder::Ack::kAtOnce : Recorder::Ack::kLate);
    if (HasFatalFailure()) return;
  }
}

TEST(MqttSession, TakesEmptyReads) {
  Recorder device;
  EXPECT_EQ(device.Feed(""), CloseReason::kNone);
  EXPECT_EQ(device.session.Feed({}), CloseReason::kNone);
  EXPECT_EQ(device.Feed(ConnectPacket()), CloseReason::kNone);
  EXPECT_EQ(device.Feed("\x30"), CloseReason::kNone);
  EXPECT_EQ(device.session.Feed({}), CloseReason::kNone);
  EXPECT_EQ(device.output, kConnackOk);
}

TEST(MqttSession, KeepsTheWillUntilDisconnect) {
  ConnectFields fields;
  fields.flags = 0x36;
  fields.payload = Str("d") + Str("will/d") + Str("gone");
  Recorder device;
  {
    const Bytes connect = ConnectPacket(fields);
    ASSERT_EQ(device.Feed(connect), CloseReason::kNone);
  }
  ASSERT_NE(device.session.will(), nullptr);
  EXPECT_EQ(device.session.will()->topic, "will/d");
  EXPECT_EQ(device.session.will()->payload.size(), 4u);
  EXPECT_EQ(device.session.will()->qos, 2);
  EXPECT_TRUE(device.session.will()->retain);
  EXPECT_EQ(device.session.keep_alive_s(), 60);
  EXPECT_EQ(device.Feed(Packet(0xE0, "")), CloseReason::kDisconnected);
  EXPECT_EQ(device.session.will(), nullptr);

  Recorder broken;
  ASSERT_EQ(broken.Feed(ConnectPacket(fields)), CloseReason::kNone);
  EXPECT_EQ(broken.Feed(Publish0("#", "")), CloseReason::kBadTopic);
  EXPECT_NE(broken.session.will(), nullptr) << "closed by us: the will is due";
}

TEST(MqttSession, LimitsThePacketByItsHeader) {
  Limits limits;
  limits.max_packet_bytes = 100;
  Recorder device(Recorder::Ack::kAtOnce, limits);
  ASSERT_EQ(device.Feed(ConnectPacket()), CloseReason::kNone);
  EXPECT_EQ(device.Feed(Publish0("a", Bytes(95, 'x'))), CloseReason::kNone);  // 2 + 3 + 95
  EXPECT_EQ(device.Feed(Lit("\x30\x63")), CloseReason::kTooLarge);
}

TEST(MqttSession, LimitsTheFiltersOfAPacket) {
  Limits limits;
  limits.max_filters_per_packet = 2;
  const Bytes filter = Str("a") + '\0';
  Recorder device(Recorder::Ack::kAtOnce, limits);
  ASSERT_EQ(device.Feed(ConnectPacket() + Packet(0x82, U16(1) + filter + filter)),
            CloseReason::kNone);
  EXPECT_EQ(device.Feed(Packet(0x82, U16(1) + filter + filter + filter)), CloseReason::kTooLarge);
}

TEST(MqttSession, AHugeLengthHoldsOnlyTheArrivedBytes) {
  Limits limits;
  limits.max_packet_bytes = 300 * 1024 * 1024;
  Recorder device(Recorder::Ack::kAtOnce, limits);
  ASSERT_EQ(device.Feed(ConnectPacket() + Lit("\x30\xFF\xFF\xFF\x7F\x00\x01t")),
            CloseReason::kNone);
  size_t arrived = 8;
  for (int i = 0; i < 200000; ++i) {
    ASSERT_EQ(device.Feed("x"), CloseReason::kNone);
    ++arrived;
    ASSERT_LE(device.session.buffered_bytes(), 2 * arrived);
  }
  EXPECT_EQ(device.publishes, 0u);
}

TEST(MqttSession, ASplitPacketBuffersNoMoreThanItself) {
  Recorder device;
  ASSERT_EQ(device.Feed(ConnectPacket()), CloseReason::kNone);
  const Bytes packet = Publish0("t", Bytes(200000, 'x'));
  for (size_t at = 0; at < packet.size(); at += 1448) {
    ASSERT_EQ(device.Feed(std::string_view(packet).substr(at, 1448)), CloseReason::kNone);
    ASSERT_LE(device.session.buffered_bytes(), packet.size());
  }
  EXPECT_EQ(device.publishes, 1u);
  EXPECT_LE(device.session.buffered_bytes(), 1024u) << "a large buffer is given back";
}

TEST(MqttSession, AWholePublishIsSeenWhereItWasReceived) {
  Recorder device;
  const Bytes bytes = ConnectPacket() + Publish0("where", "x");
  ASSERT_EQ(device.Feed(bytes), CloseReason::kNone);
  EXPECT_EQ(device.last_topic, bytes.data() + bytes.find("where"));
  EXPECT_EQ(device.session.buffered_bytes(), 0u);
}

TEST(MqttSession, BitsThatMqtt31DoesNotUseMayBeSet) {
  Bytes connect = ConnectPacket({"MQIsdp", 3, 0x02 | 0x01, 60, Str("dev-1")});
  for (const uint8_t flags : {0x00, 0x02, 0x0F}) {
    connect[0] = static_cast<char>(0x10 | flags);
    Recorder device;
    EXPECT_EQ(device.Feed(connect), CloseReason::kNone) << +flags;
    EXPECT_EQ(device.Feed(Lit("\xC2\x00")), CloseReason::kNone) << "PINGREQ";
  }
  connect = ConnectPacket();
  connect[0] = 0x12;
  Recorder later;
  EXPECT_EQ(later.Feed(connect), CloseReason::kBadFlags);
  EXPECT_EQ(later.TakeOutput(), "");
}

TEST(MqttSession, AnOddTopicEndsTheConnectionUnlessItIsAllowed) {
  for (const char* topic : {"$SYS/a", "$share/a/b", "$", "a\x01", "a\x7F", "\xC2\x80",
                            "\xEF\xBF\xBF", "\xEF\xB7\x90", "\xF0\x9F\xBF\xBE"}) {
    SCOPED_TRACE(topic);
    for (const Bytes& publish : {Publish0(topic, "x"), Publish1(topic, 1, "x")}) {
      Recorder device;
      EXPECT_EQ(device.Feed(ConnectPacket() + publish), CloseReason::kBadTopic);
      EXPECT_EQ(device.publishes, 0u);
    }
    Recorder will;
    EXPECT_EQ(will.Feed(ConnectPacket({"MQTT", 4, 0x06, 60, Str("d") + Str(topic) + Str("gone")})),
              CloseReason::kBadTopic);
    EXPECT_EQ(will.log, "");
    mqtt::Limits limits;
    limits.odd_topics = true;
    Recorder allowed(Recorder::Ack::kAtOnce, limits);
    EXPECT_EQ(allowed.Feed(ConnectPacket() + Publish1(topic, 1, "x")), CloseReason::kNone);
    EXPECT_EQ(allowed.publishes, 1u);
  }
}

}  // namespace
}  // namespace seganet::mqtt

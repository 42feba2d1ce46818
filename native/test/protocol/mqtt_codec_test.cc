#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "core/protocol/mqtt/codec.h"
#include "core/protocol/mqtt/encode.h"
#include "test/support/mqtt_bytes.h"

namespace seganet::mqtt {
namespace {

using mqtt_test::Bytes;
using mqtt_test::Lit;
using mqtt_test::Span;
using mqtt_test::Str;
using mqtt_test::U16;

constexpr size_t kLevels = 128;
constexpr size_t kAnyLevels = 65'536;

bool ValidTopicName(std::string_view topic) {
  return CheckTopicName(topic, kAnyLevels) == CloseReason::kNone;
}
bool ValidTopicFilter(std::string_view filter) {
  return CheckTopicFilter(filter, kAnyLevels) == CloseReason::kNone;
}

TEST(MqttCodec, DecodesTheRemainingLengthVectorsOfTable24) {
  struct Vector {
    Bytes bytes;
    uint32_t remaining;
    uint8_t size;
  };
  const std::vector<Vector> vectors = {
      {Lit("\x30\x00"), 0, 2},
      {Lit("\x30\x7F"), 127, 2},
      {Lit("\x30\x80\x01"), 128, 3},
      {Lit("\x30\xFF\x7F"), 16383, 3},
      {Lit("\x30\x80\x80\x01"), 16384, 4},
      {Lit("\x30\xFF\xFF\x7F"), 2097151, 4},
      {Lit("\x30\x80\x80\x80\x01"), 2097152, 5},
      {Lit("\x30\xFF\xFF\xFF\x7F"), 268435455, 5},
      {Lit("\x30\x80\x00"), 0, 3},  // longer than needed
  };
  for (const Vector& vector : vectors) {
    FixedHeader header;
    ASSERT_EQ(DecodeFixedHeader(Span(vector.bytes), &header), HeaderStatus::kOk);
    EXPECT_EQ(header.type, PacketType::kPublish);
    EXPECT_EQ(header.remaining, vector.remaining);
    EXPECT_EQ(header.size, vector.size);
    EXPECT_EQ(header.total(), size_t{vector.size} + vector.remaining);
    for (size_t n = 0; n < vector.bytes.size(); ++n) {
      EXPECT_EQ(DecodeFixedHeader(Span(vector.bytes).first(n), &header), HeaderStatus::kNeedMore);
    }
  }
}

TEST(MqttCodec, RefusesAFifthRemainingLengthByte) {
  FixedHeader header;
  EXPECT_EQ(DecodeFixedHeader(Span(Lit("\x30\xFF\xFF\xFF\xFF")), &header),
            HeaderStatus::kMalformed);
  EXPECT_EQ(DecodeFixedHeader(Span(Lit("\x30\x80\x80\x80\x80\x00")), &header),
            HeaderStatus::kMalformed);
}

// The encoding of every code point by its definition (RFC 3629), surrogates included.
Bytes Encode(uint32_t c) {
  const auto byte = [](uint32_t value) { return static_cast<char>(value); };
  if (c < 0x80) return {byte(c)};
  if (c < 0x800) return {byte(0xC0 | c >> 6), byte(0x80 | (c & 0x3F))};
  if (c < 0x10000) {
    return {byte(0xE0 | c >> 12), byte(0x80 | (c >> 6 & 0x3F)), byte(0x80 | (c & 0x3F))};
  }
  return {byte(0xF0 | c >> 18), byte(0x80 | (c >> 12 & 0x3F)), byte(0x80 | (c >> 6 & 0x3F)),
          byte(0x80 | (c & 0x3F))};
}

TEST(MqttCodec, Utf8TakesEveryCharacterButNulAndSurrogates) {
  for (uint32_t c = 0; c < 0x120000; ++c) {
    const bool valid = c != 0 && (c < 0xD800 || c > 0xDFFF) && c <= 0x10FFFF;
    ASSERT_EQ(ValidUtf8(Encode(c)), valid) << std::hex << c;
  }
}

TEST(MqttCodec, Utf8TakesExactlyTheEncodingsOfCharactersOfUpToThreeBytes) {
  std::set<Bytes> valid;
  for (uint32_t c = 0x800; c < 0x10000; ++c) {
    if (c < 0xD800 || c > 0xDFFF) valid.insert(Encode(c));
  }
  for (unsigned lead = 0x80; lead < 0x100; ++lead) {
    EXPECT_FALSE(ValidUtf8(Bytes(1, static_cast<char>(lead))));
    for (unsigned second = 0; second < 0x100; ++second) {
      const Bytes two = {static_cast<char>(lead), static_cast<char>(second)};
      const bool good = lead >= 0xC2 && lead <= 0xDF && second >= 0x80 && second <= 0xBF;
      ASSERT_EQ(ValidUtf8(two), good) << lead << " " << second;
      if (lead < 0xE0) continue;
      for (unsigned third = 0; third < 0x100; ++third) {
        const Bytes three = two + static_cast<char>(third);
        ASSERT_EQ(ValidUtf8(three), valid.contains(three)) << lead << " " << second << " " << third;
      }
    }
  }
}

TEST(MqttCodec, Utf8RefusesOverlongAndCutSequencesAtEveryAlignment) {
  const std::vector<Bytes> bad = {
      Lit("\x00"),
      Lit("\xC0\x80"),
      Lit("\xC1\xBF"),
      Lit("\xE0\x9F\xBF"),
      Lit("\xED\xA0\x80"),
      Lit("\xED\xBF\xBF"),
      Lit("\xF0\x8F\xBF\xBF"),
      Lit("\xF4\x90\x80\x80"),
      Lit("\xF5\x80\x80\x80"),
      Lit("\x80"),
      Lit("\xC3"),
      Lit("\xE2\x82"),
      Lit("\xF0\x9F\x8C"),
      Lit("\xFF"),
      Lit("\xFE"),
      Lit("\xC3\x28"),
  };
  for (const Bytes& sequence : bad) {
    for (size_t before = 0; before < 20; ++before) {
      for (size_t after = 0; after < 20; ++after) {
        const Bytes text = Bytes(before, 'a') + sequence + Bytes(after, 'b');
        ASSERT_FALSE(ValidUtf8(text)) << before << " " << after;
        ASSERT_EQ(CheckTopicName(text, kLevels), CloseReason::kBadUtf8);
        ASSERT_EQ(CheckTopicFilter(text, kLevels), CloseReason::kBadUtf8);
      }
    }
  }
  EXPECT_TRUE(ValidUtf8(""));
  EXPECT_TRUE(ValidUtf8("\xEF\xBB\xBFx"));  // [MQTT-1.5.3-3]
}

TEST(MqttCodec, TopicNamesHaveNoWildcardAndAreNotEmpty) {
  for (const char* good : {"a", "/", "//", "a/b", "/a", "a/", "a b", "$SYS/x",
                           "\xC3\xBC/\xE2\x82\xAC", "0123456789/0123456789"}) {
    EXPECT_TRUE(ValidTopicName(good)) << good;
  }
  EXPECT_FALSE(ValidTopicName(""));
  EXPECT_FALSE(ValidTopicName(Bytes(65536, 'a')));
  EXPECT_TRUE(ValidTopicName(Bytes(65535, 'a')));
  EXPECT_TRUE(ValidTopicName(Bytes(65535, '/')));
  for (char wildcard : {'+', '#'}) {
    for (size_t size = 1; size < 40; ++size) {
      for (size_t at = 0; at < size; ++at) {
        Bytes topic(size, 'a');
        topic[at] = wildcard;
        ASSERT_EQ(CheckTopicName(topic, kLevels), CloseReason::kBadTopic) << topic;
      }
    }
  }
}

TEST(MqttCodec, TopicFiltersHaveWildcardsOnlyAsWholeLevels) {
  for (const char* good : {"#", "+", "a/#", "+/a", "a/+", "+/+/#", "/+", "/#", "+/", "//", "a/+/b",
                           "sport/tennis/player1/#", "a b"}) {
    EXPECT_TRUE(ValidTopicFilter(good)) << good;
  }
  for (const char* bad : {"", "a#", "#/a", "a/#/b", "##", "a+", "+a", "a/+b", "a/b+/c", "++", "#+",
                          "+#", "a/b#", "/#/"}) {
    EXPECT_FALSE(ValidTopicFilter(bad)) << bad;
  }
  EXPECT_FALSE(ValidTopicFilter(Bytes(65536, 'a')));
}

TEST(MqttCodec, CountsTopicLevelsExactly) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 2000; ++round) {
    Bytes topic(1 + random() % 60, ' ');
    size_t levels = 1;
    for (char& c : topic) {
      c = "//.0aZ~\x7F"[random() % 8];
      levels += c == '/';
    }
    ASSERT_EQ(CheckTopicName(topic, levels), CloseReason::kNone) << topic;
    ASSERT_EQ(CheckTopicName(topic, levels - 1), CloseReason::kBadTopic) << topic;
    ASSERT_EQ(CheckTopicFilter(topic, levels - 1), CloseReason::kBadTopic) << topic;
  }
}

TEST(MqttCodec, ParsesPublishWhereItLies) {
  const Bytes body = Str("a/b") + U16(0x1234) + "payload";
  Publish publish;
  ASSERT_EQ(ParsePublish(0x0B, Span(body), kLevel311, kLevels, &publish), CloseReason::kNone);
  EXPECT_EQ(publish.topic, "a/b");
  EXPECT_EQ(publish.topic.data(), body.data() + 2);
  EXPECT_EQ(publish.payload.data(), Span(body).data() + 7);
  EXPECT_EQ(publish.payload.size(), 7u);
  EXPECT_EQ(publish.packet_id, 0x1234);
  EXPECT_EQ(publish.qos, 1);
  EXPECT_TRUE(publish.retain);
  EXPECT_TRUE(publish.dup);
}

TEST(MqttCodec, EncodesTheServersPackets) {
  std::string out;
  AppendConnack(&out, false, ConnectCode::kNotAuthorized);
  AppendPuback(&out, 0xFF01);
  AppendSuback(&out, kLevel311, 0x0102, Lit("\x00\x01\x80"));
  AppendUnsuback(&out, kLevel311, 0x0203, Lit("\x11"));
  AppendPingresp(&out);
  EXPECT_EQ(out, Lit("\x20\x02\x00\x05"
                     "\x40\x02\xFF\x01"
                     "\x90\x05\x01\x02\x00\x01\x80"
                     "\xB0\x02\x02\x03"
                     "\xD0\x00"));
  out.clear();
  AppendSuback(&out, kLevel311, 1, Bytes(126, '\0'));
  EXPECT_EQ(out, Lit("\x90\x80\x01\x00\x01") + Bytes(126, '\0'));
}

TEST(MqttCodec, EncodesTheServersPacketsOfMqtt5) {
  std::string out;
  AppendConnack5(&out, true, 0, Lit("\x2A\x00"));
  AppendAnswer(&out, PacketType::kPuback, 0xFF01, 0x87);
  AppendAnswer(&out, PacketType::kPubrec, 2, 0);
  AppendAnswer(&out, PacketType::kPubcomp, 2, 0x92);
  AppendSuback(&out, kLevel5, 0x0102, Lit("\x01\x97"));
  AppendUnsuback(&out, kLevel5, 0x0203, Lit("\x00\x11"));
  AppendDisconnect5(&out, 0x8B);
  EXPECT_EQ(out, Lit("\x20\x05\x01\x00\x02\x2A\x00"
                     "\x40\x03\xFF\x01\x87"
                     "\x50\x02\x00\x02"
                     "\x70\x03\x00\x02\x92"
                     "\x90\x05\x01\x02\x00\x01\x97"
                     "\xB0\x05\x02\x03\x00\x00\x11"
                     "\xE0\x01\x8B"));
}

TEST(MqttCodec, EncodesAPublishToADeviceAndKnowsItsSize) {
  const std::vector<uint32_t> numbers = {1, 300};
  OutgoingPublish publish;
  publish.topic = "cmd/d";
  publish.payload = "on";
  publish.subscription_identifiers = numbers;
  publish.packet_id = 7;
  publish.dup = true;
  std::string out;
  AppendPublish(&out, kLevel5, publish);
  EXPECT_EQ(out, Lit("\x3A\x11\x00\x05"
                     "cmd/d"
                     "\x00\x07"
                     "\x05\x0B\x01\x0B\xAC\x02"
                     "on"));
  EXPECT_EQ(PublishBytes(kLevel5, publish), out.size());
  out.clear();
  AppendPublish(&out, kLevel311, publish);
  EXPECT_EQ(out, Lit("\x3A\x0B\x00\x05"
                     "cmd/d"
                     "\x00\x07on"));
  EXPECT_EQ(PublishBytes(kLevel311, publish), out.size());
  out.clear();
  const Bytes large(200, 'x');
  publish = {};
  publish.topic = "t";
  publish.payload = large;
  AppendPublish(&out, kLevel311, publish);
  EXPECT_EQ(out, Lit("\x30\xCB\x01\x00\x01t") + large);
  EXPECT_EQ(PublishBytes(kLevel311, publish), out.size());
}

TEST(MqttCodec, EachReasonToCloseHasItsOwnName) {
  std::set<std::string> names;
  for (size_t i = 0; i < kCloseReasonCount; ++i) names.insert(Name(static_cast<CloseReason>(i)));
  EXPECT_EQ(names.size(), kCloseReasonCount);
  EXPECT_FALSE(names.contains("unknown"));
  EXPECT_STREQ(Name(static_cast<CloseReason>(kCloseReasonCount)), "unknown");
}

}  // namespace
}  // namespace seganet::mqtt

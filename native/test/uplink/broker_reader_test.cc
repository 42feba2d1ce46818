#include "core/uplink/broker_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "test/support/mqtt_bytes.h"
#include "test/support/slow_broker_reader.h"
#include "test/support/support.h"

namespace seganet {
namespace {

using mqtt_test::Bytes, mqtt_test::Lit, mqtt_test::Packet, mqtt_test::Span, mqtt_test::Str,
    mqtt_test::U16;

struct Recorder : BrokerReader::Sink {
  void OnPuback(uint16_t id, uint8_t reason_code) override {
    acks.emplace_back(id, reason_code);
    if (on_puback) on_puback();
  }
  void OnOther(std::span<const uint8_t> bytes) override {
    EXPECT_FALSE(bytes.empty());
    others.append(bytes.begin(), bytes.end());
    if (on_other) on_other();
  }

  std::vector<std::pair<int, int>> acks;
  Bytes others;
  std::function<void()> on_puback, on_other;
};

Bytes Join(const std::vector<Bytes>& packets) {
  Bytes all;
  for (const Bytes& packet : packets) all += packet;
  return all;
}

Bytes Puback(unsigned id) { return Lit("\x40\x02") + U16(id); }

// A broker's packets of MQTT 5 in a session, with one PUBACK in the form of MQTT 3.1.1.
const std::vector<Bytes>& Session() {
  static const std::vector<Bytes> packets = {
      Lit("\x20\x06\0\0\x03\x21\0\x14"),  // CONNACK, Receive Maximum 20
      Lit("\x40\x03\0\x01\0"),
      Puback(258),
      Packet(0x40, U16(65535) + '\x87' + mqtt_test::Props('\x1F' + Str(Bytes(200, 'r')))),
      Lit("\xD0\0"),
      Packet(0x30, Str("t") + mqtt_test::Props() + Bytes(300, '@')),
      Lit("\x40\x03\0\x03\x10"),
      Lit("\xE0\x01\x8B"),
  };
  return packets;
}
Bytes OthersOfSession() {
  const auto& s = Session();
  return s[0] + s[4] + s[5] + s[7];
}
const std::vector<std::pair<int, int>> kAcksOfSession = {
    {1, 0}, {258, 0}, {65535, 0x87}, {3, 0x10}};

TEST(BrokerReader, ReadsPubacksAndLeavesEverythingElseAsItWas) {
  BrokerReader reader;
  Recorder recorder;
  reader.Read(Span(Join(Session())), &recorder);
  EXPECT_EQ(recorder.acks, kAcksOfSession);
  EXPECT_EQ(recorder.others, OthersOfSession());
}

TEST(BrokerReader, ReadsTheSameSplitAtEveryByte) {
  const Bytes whole = Join(Session());
  for (size_t at = 0; at <= whole.size(); ++at) {
    BrokerReader reader;
    Recorder recorder;
    reader.Read(Span(whole).first(at), &recorder);
    reader.Read(Span(whole).subspan(at), &recorder);
    ASSERT_EQ(recorder.acks, kAcksOfSession) << at;
    ASSERT_EQ(recorder.others, OthersOfSession()) << at;
  }
}

TEST(BrokerReader, ReadsTheSameByteByByte) {
  BrokerReader reader;
  Recorder recorder;
  for (const char byte : Join(Session())) reader.Read(Span({&byte, 1}), &recorder);
  EXPECT_EQ(recorder.acks, kAcksOfSession);
  EXPECT_EQ(recorder.others, OthersOfSession());
}

TEST(BrokerReader, PacketsOfOthersInARowGoOnTogether) {
  BrokerReader reader;
  Recorder recorder;
  int calls = 0;
  recorder.on_other = [&] { ++calls; };
  reader.Read(Span(Lit("\xD0\0\xD0\0\xD0\0") + Puback(1) + Lit("\xD0\0")), &recorder);
  EXPECT_EQ(calls, 2);
}

TEST(BrokerReader, LeavesAPubackWithoutAnIdentifierToTheOther) {
  // A length in more bytes than needed does not make it longer.
  for (const Bytes& bytes : {Lit("\x40\0"), Lit("\x40\x01\x05"), Lit("\x40\x81\0\x05"),
                             Lit("\x40\x80\x80\0"), Lit("\x40\x81\x80\x80\0\x05")}) {
    BrokerReader reader;
    Recorder recorder;
    reader.Read(Span(bytes + Puback(7)), &recorder);
    EXPECT_EQ(recorder.acks, (std::vector<std::pair<int, int>>{{7, 0}}));
    EXPECT_EQ(recorder.others, bytes);
  }
}

TEST(BrokerReader, LeavesEverythingFromWhatIsNoLengthOnToTheOther) {
  const Bytes bad = Lit("\x40\xFF\xFF\xFF\xFF\x01\0") + Puback(9);
  const Bytes all = Puback(1) + bad;
  for (size_t at = 0; at <= all.size(); ++at) {
    BrokerReader reader;
    Recorder recorder;
    reader.Read(Span(all).first(at), &recorder);
    reader.Read(Span(all).subspan(at), &recorder);
    reader.Read(Span(Puback(2)), &recorder);
    ASSERT_EQ(recorder.acks, (std::vector<std::pair<int, int>>{{1, 0}})) << at;
    ASSERT_EQ(recorder.others, bad + Puback(2)) << at;
  }
}

TEST(BrokerReader, ReadsAPubackUpToItsLimitAndLeavesALargerOne) {
  const auto of = [](size_t bytes) {  // a PUBACK of this many, of which 4 are its header
    return Packet(0x40, U16(5) + '\x97' + Bytes(bytes - 7, 'x'));
  };
  const Bytes largest = of(BrokerReader::kMaxPubackBytes);
  const Bytes larger = of(BrokerReader::kMaxPubackBytes + 1);
  ASSERT_EQ(largest.size(), BrokerReader::kMaxPubackBytes);
  for (const size_t split : {1, 3, 4, 30'000}) {
    BrokerReader reader;
    Recorder recorder;
    for (const Bytes& packet : {largest, larger, Puback(6)}) {
      reader.Read(Span(packet).first(std::min(split, packet.size())), &recorder);
      reader.Read(Span(packet).subspan(std::min(split, packet.size())), &recorder);
    }
    EXPECT_EQ(recorder.acks, (std::vector<std::pair<int, int>>{{5, 0x97}, {6, 0}}));
    EXPECT_EQ(recorder.others, larger);
  }
}

TEST(BrokerReader, AHugePacketOfOthersPassesWithoutBeingHeld) {
  Bytes huge(1'000'000, '\0');
  huge.replace(0, 4, "\x30\xBB\x84\x3D");  // 4 + 999,995 bytes
  BrokerReader reader;
  Recorder recorder;
  reader.Read(Span(huge).first(10), &recorder);
  reader.Read(Span(huge).subspan(10, 499'990), &recorder);
  EXPECT_EQ(recorder.others.size(), 500'000u);
  reader.Read(Span(huge.substr(500'000, 499'999) + Puback(1)), &recorder);
  EXPECT_EQ(recorder.acks, (std::vector<std::pair<int, int>>{{1, 0}}));
}

TEST(BrokerReader, ToldInAPubackThePubacksAfterItPass) {
  const Bytes all = Lit("\xD0\0") + Puback(1) + Puback(2) + Lit("\xD0\0") + Puback(3);
  for (size_t at = 0; at <= all.size(); ++at) {
    BrokerReader reader;
    Recorder recorder;
    recorder.on_puback = [&] { reader.PassAll(); };
    reader.Read(Span(all).first(at), &recorder);
    reader.Read(Span(all).subspan(at), &recorder);
    ASSERT_EQ(recorder.acks, (std::vector<std::pair<int, int>>{{1, 0}})) << at;
    ASSERT_EQ(recorder.others, Lit("\xD0\0") + all.substr(6)) << at;
  }
}

TEST(BrokerReader, ToldInBytesOfOthersThePubacksAfterThemPass) {
  const Bytes all = Puback(1) + Lit("\xD0\0") + Puback(2) + Puback(3);
  for (size_t at = 0; at <= all.size(); ++at) {
    BrokerReader reader;
    Recorder recorder;
    recorder.on_other = [&] { reader.PassAll(); };
    reader.Read(Span(all).first(at), &recorder);
    reader.Read(Span(all).subspan(at), &recorder);
    reader.Read({}, &recorder);
    ASSERT_EQ(recorder.acks, (std::vector<std::pair<int, int>>{{1, 0}})) << at;
    ASSERT_EQ(recorder.others, all.substr(4)) << at;
  }
}

TEST(BrokerReader, WhatIsHeldOfAPubackPassesWithTheNextRead) {
  const Bytes all = Lit("\x40\x03\0\x01\0") + Puback(2);
  for (size_t at = 1; at < 5; ++at) {
    BrokerReader reader;
    Recorder recorder;
    reader.Read(Span(all).first(at), &recorder);
    reader.PassAll();
    EXPECT_EQ(recorder.others, "");
    reader.Read({}, &recorder);
    EXPECT_EQ(recorder.others, all.substr(0, at));
    reader.Read(Span(all).subspan(at), &recorder);
    EXPECT_EQ(recorder.others, all);
    EXPECT_TRUE(recorder.acks.empty());
  }
}

TEST(BrokerReader, ReadsWhatASlowReaderReads) {
  test::Random random;
  for (int round = 0; round < 500; ++round) {
    Bytes all;
    for (int i = random.In(0, 12); i > 0; --i) {
      const size_t size = random.OneIn(8) ? random.In<size_t>(0, 70'000) : random.In<size_t>(0, 9);
      switch (random.In(0, 6)) {
        case 0:
          all += random.Bytes(random.In<size_t>(0, 6));
          break;
        case 1:
          all += Packet(random.In<uint8_t>(0, 255), Bytes(size, '@'));
          break;
        default:
          all += Packet(random.In<uint8_t>(0x40, 0x4F), random.Bytes(3) + Bytes(size, '@'));
      }
    }
    const test::BrokerReading wanted = test::ReadSlowly(Span(all));
    BrokerReader reader;
    Recorder recorder;
    for (size_t at = 0; at < all.size();) {
      const size_t most = random.OneIn(2) ? 5 : 50'000;
      const size_t size = std::min(random.In<size_t>(0, most), all.size() - at);
      reader.Read(Span(all).subspan(at, size), &recorder);
      at += size;
    }
    ASSERT_EQ(recorder.acks, wanted.acks);
    ASSERT_TRUE(recorder.others == wanted.others);
    reader.PassAll();
    reader.Read({}, &recorder);
    ASSERT_TRUE(recorder.others == wanted.others + wanted.held);
  }
}

}  // namespace
}  // namespace seganet

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
using mqtt_test::ConnectPacket;
using mqtt_test::kConnackOk;
using mqtt_test::Lit;
using mqtt_test::Packet;
using mqtt_test::Puback;
using mqtt_test::Publish1;
using mqtt_test::Recorder;
using mqtt_test::Span;

TEST(MqttAck, PubacksLeaveInTheOrderOfArrival) {
  Recorder device(Recorder::Ack::kNever);
  ASSERT_EQ(device.Feed(ConnectPacket()), CloseReason::kNone);
  for (unsigned id : {30, 10, 20}) {
    ASSERT_EQ(device.Feed(Publish1("a", id, "x")), CloseReason::kNone);
  }
  device.output.clear();
  EXPECT_TRUE(device.Acknowledge(device.handles[2]));
  EXPECT_TRUE(device.Acknowledge(device.handles[1]));
  EXPECT_EQ(device.output, "");
  EXPECT_EQ(device.session.unacknowledged(), 3u);
  EXPECT_TRUE(device.Acknowledge(device.handles[0]));
  EXPECT_EQ(device.output, Puback(30) + Puback(10) + Puback(20));
  EXPECT_EQ(device.session.unacknowledged(), 0u);
}

TEST(MqttAck, RandomOrdersOfAcknowledgementKeepTheOrderOfArrival) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  Recorder device(Recorder::Ack::kNever);
  ASSERT_EQ(device.Feed(ConnectPacket()), CloseReason::kNone);
  Bytes expected = kConnackOk;
  std::vector<uint64_t> waiting;
  unsigned id = 0;
  for (int round = 0; round < 300; ++round) {
    for (unsigned i = random() % 60; i > 0; --i) {
      id = id % 65535 + 1;
      ASSERT_EQ(device.Feed(Publish1("a", id, "x")), CloseReason::kNone);
      waiting.push_back(device.handles.back());
      expected += Puback(id);
    }
    std::shuffle(waiting.begin(), waiting.end(), random);
    const size_t kept = round == 299 ? 0 : random() % (waiting.size() + 1);
    while (waiting.size() > kept) {
      ASSERT_TRUE(device.Acknowledge(waiting.back()));
      ASSERT_FALSE(device.Acknowledge(waiting.back())) << "only once";
      waiting.pop_back();
    }
  }
  EXPECT_EQ(device.output, expected);
}

TEST(MqttAck, AnIdentifierThatIsStillWaitingIsAnotherPublish) {
  Recorder device(Recorder::Ack::kNever);
  ASSERT_EQ(device.Feed(ConnectPacket() + Publish1("a", 5, "x") + Publish1("a", 5, "x", 0x3A)),
            CloseReason::kNone);
  ASSERT_EQ(device.handles.size(), 2u);
  EXPECT_NE(device.handles[0], device.handles[1]);
  EXPECT_TRUE(device.Acknowledge(device.handles[1]));
  EXPECT_TRUE(device.Acknowledge(device.handles[0]));
  EXPECT_EQ(device.output, kConnackOk + Puback(5) + Puback(5));
}

TEST(MqttAck, IgnoresSlotsThatAreNotWaiting) {
  Recorder device;
  EXPECT_FALSE(device.Acknowledge(0));
  EXPECT_FALSE(device.Acknowledge(1));
  ASSERT_EQ(device.Feed(ConnectPacket() + Publish1("a", 5, "x")), CloseReason::kNone);
  EXPECT_FALSE(device.Acknowledge(device.handles[0]));
  EXPECT_FALSE(device.Acknowledge(device.handles[0] + 1));
  EXPECT_FALSE(device.Acknowledge(~uint64_t{0}));
  EXPECT_EQ(device.output, kConnackOk + Puback(5));
}

TEST(MqttAck, SendsNoPubackOnAClosedSession) {
  Recorder device(Recorder::Ack::kNever);
  ASSERT_EQ(device.Feed(ConnectPacket() + Publish1("a", 5, "x")), CloseReason::kNone);
  ASSERT_EQ(device.Feed(Packet(0xE0, "")), CloseReason::kDisconnected);
  EXPECT_FALSE(device.Acknowledge(device.handles[0]));
  EXPECT_EQ(device.output, kConnackOk);
}

TEST(MqttAck, PausesAtTheLimitOfUnacknowledgedPublishes) {
  Limits limits;
  limits.max_unacknowledged = 3;
  Recorder device(Recorder::Ack::kNever, limits);
  ASSERT_EQ(device.Feed(ConnectPacket() + Publish1("a", 1, "") + Publish1("a", 2, "")),
            CloseReason::kNone);
  EXPECT_FALSE(device.session.WantsPause());
  // Input that was already read is still taken.
  ASSERT_EQ(device.Feed(Publish1("a", 3, "") + Publish1("a", 4, "")), CloseReason::kNone);
  EXPECT_TRUE(device.session.WantsPause());
  EXPECT_EQ(device.publishes, 4u);
  EXPECT_TRUE(device.Acknowledge(device.handles[1]));
  EXPECT_TRUE(device.session.WantsPause()) << "it cannot leave before the first";
  EXPECT_TRUE(device.Acknowledge(device.handles[0]));
  EXPECT_FALSE(device.session.WantsPause());
}

TEST(MqttAck, PausesWhileTheDeviceDoesNotReadItsOutput) {
  Limits limits;
  limits.max_output_bytes = 10;
  Recorder owner;
  ServerSession session(&owner, limits);
  const Bytes bytes = ConnectPacket() + Packet(0xC0, "") + Packet(0xC0, "");
  ASSERT_EQ(session.Feed(Span(bytes)), CloseReason::kNone);
  EXPECT_FALSE(session.WantsPause());
  ASSERT_EQ(session.Feed(Span(Packet(0xC0, ""))), CloseReason::kNone);
  EXPECT_TRUE(session.WantsPause());
  session.ConsumeOutput(1);
  EXPECT_FALSE(session.WantsPause());
  EXPECT_EQ(session.output(), Lit("\x02\x00\x00\xD0\x00\xD0\x00\xD0\x00"));
  session.ConsumeOutput(6);
  EXPECT_EQ(session.output(), Lit("\x00\xD0\x00"));
  ASSERT_EQ(session.Feed(Span(Packet(0xC0, ""))), CloseReason::kNone);
  EXPECT_EQ(session.output(), Lit("\x00\xD0\x00\xD0\x00"));
  session.ConsumeOutput(5);
  EXPECT_EQ(session.output(), "");
}

TEST(MqttAck, ClosesADeviceThatUsesMoreIdentifiersThanThereAre) {
  Recorder device(Recorder::Ack::kNever);
  ASSERT_EQ(device.Feed(ConnectPacket()), CloseReason::kNone);
  for (unsigned id = 1; id <= 65536; ++id) {
    ASSERT_EQ(device.Feed(Publish1("a", id % 65536 + (id == 65536), "")), CloseReason::kNone);
  }
  EXPECT_LE(device.session.memory_bytes(), 65536 * 6 + 16384u);
  EXPECT_EQ(device.Feed(Publish1("a", 1, "")), CloseReason::kTooManyUnacknowledged);
  EXPECT_EQ(device.publishes, 65536u);
}

TEST(MqttAck, GivesMemoryBackAfterABurst) {
  Recorder device(Recorder::Ack::kNever);
  ASSERT_EQ(device.Feed(ConnectPacket()), CloseReason::kNone);
  for (unsigned id = 1; id <= 20000; ++id) {
    ASSERT_EQ(device.Feed(Publish1("a", id, "")), CloseReason::kNone);
  }
  EXPECT_GE(device.session.memory_bytes(), 20000 * 4u);
  for (size_t i = device.handles.size(); i-- > 0;)
    ASSERT_TRUE(device.Acknowledge(device.handles[i]));
  EXPECT_LE(device.session.memory_bytes(), 2048u);
  ASSERT_EQ(device.Feed(Publish1("a", 1, "")), CloseReason::kNone);
  EXPECT_TRUE(device.Acknowledge(device.handles.back())) << "and it goes on";
}

}  // namespace
}  // namespace seganet::mqtt

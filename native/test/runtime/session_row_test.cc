#include "core/runtime/session_row.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "core/log/crc32c.h"

namespace seganet {
namespace {

mqtt::KeptSession Sample() {
  mqtt::KeptSession session;
  session.expiry_s = 3600;
  session.subscriptions.Add("cmd/d/#", 1, 0, 10, 1000);
  session.subscriptions.Add("a/+/b", 0, 268'435'455, 10, 1000);
  for (const uint16_t id : {9, 7}) {
    session.incoming.Add(id);
    session.incoming.Set(id, mqtt::Incoming::State::kReceived);
  }
  session.incoming.Add(8);  // waits for its record
  const std::vector<uint8_t> payload{1, 2, 3};
  session.outgoing.Add(1, "cmd/d/x", payload);
  return session;
}

TEST(SessionRow, IsReadAsItWasWritten) {
  const mqtt::KeptSession session = Sample();
  const std::string bytes = WriteSessionRow("d", "node", 1'700'000'000'000, session, true);
  SessionRow row;
  ASSERT_TRUE(ReadSessionRow(bytes, true, &row));
  EXPECT_EQ(row.device, "d");
  EXPECT_EQ(row.source, "node");
  EXPECT_EQ(row.end_ms, 1'700'000'000'000);
  EXPECT_EQ(row.session->expiry_s, 3600u);
  ASSERT_EQ(row.session->subscriptions.size(), 2u);
  EXPECT_EQ(row.session->subscriptions.Find("a/x/b")->numbers, std::vector<uint32_t>{268'435'455});
  EXPECT_EQ(row.session->incoming.received(), (std::vector<uint16_t>{7, 9}));
  EXPECT_EQ(row.session->incoming.Find(8), mqtt::Incoming::State::kUnknown);
  EXPECT_EQ(WriteSessionRow("d", "node", row.end_ms, *row.session, true), bytes);
}

TEST(SessionRow, AnUnansweredPacketKeepsItsIdentifier) {
  const std::string bytes = WriteSessionRow("d", "node", 0, Sample(), true);
  SessionRow row;
  ASSERT_TRUE(ReadSessionRow(bytes, true, &row));
  mqtt::Outgoing& outgoing = row.session->outgoing;
  const std::vector<uint8_t> payload{1, 2, 3}, other{4};
  EXPECT_EQ(outgoing.Add(5, "cmd/d/x", other).packet_id, 2) << "1 is in use";
  const mqtt::Outgoing::Item& again = outgoing.Add(6, "cmd/d/x", payload);
  EXPECT_EQ(again.packet_id, 1);
  EXPECT_TRUE(again.repeated);
  EXPECT_FALSE(outgoing.Add(7, "cmd/d/x", payload).repeated) << "once";
}

// A new packet with such an identifier would count as a repetition, and its record would be lost.
TEST(SessionRow, HasNoIdentifiersAfterACrash) {
  SessionRow row;
  ASSERT_TRUE(ReadSessionRow(WriteSessionRow("d", "node", 0, Sample(), true), false, &row));
  EXPECT_TRUE(row.session->incoming.empty());
  EXPECT_TRUE(row.session->outgoing.Unfinished().empty());
  EXPECT_EQ(row.session->subscriptions.size(), 2u);
  ASSERT_TRUE(ReadSessionRow(WriteSessionRow("d", "node", 0, Sample(), false), true, &row));
  EXPECT_TRUE(row.session->incoming.empty());
}

TEST(SessionRow, IsRefusedWithAnyDamage) {
  const std::string bytes = WriteSessionRow("d", "node", 5, Sample(), true);
  SessionRow row;
  for (size_t n = 0; n < bytes.size(); ++n) {
    EXPECT_FALSE(ReadSessionRow(bytes.substr(0, n), true, &row)) << n;
    std::string damaged = bytes;
    damaged[n] = static_cast<char>(damaged[n] ^ 0x10);
    EXPECT_FALSE(ReadSessionRow(damaged, true, &row)) << n;
  }
  EXPECT_FALSE(ReadSessionRow(bytes + '\0', true, &row));
  EXPECT_FALSE(ReadSessionRow(std::string(kMaxSessionRow + 1, '\0'), true, &row));
}

TEST(SessionRow, IsRefusedIfItBreaksARuleOfMqtt) {
  SessionRow row;
  mqtt::KeptSession session = Sample();
  session.subscriptions.Add("a/#/b", 1, 0, 10, 1000);
  EXPECT_FALSE(ReadSessionRow(WriteSessionRow("d", "node", 0, session, true), true, &row));
  session = Sample();
  session.expiry_s = 0;
  EXPECT_FALSE(ReadSessionRow(WriteSessionRow("d", "node", 0, session, true), true, &row));
  session = Sample();
  EXPECT_FALSE(ReadSessionRow(WriteSessionRow("", "node", 0, session, true), true, &row));
  EXPECT_FALSE(ReadSessionRow(WriteSessionRow("d", "", 0, session, true), true, &row));
  EXPECT_FALSE(ReadSessionRow(WriteSessionRow("d", "node", -1, session, true), true, &row));
  EXPECT_FALSE(
      ReadSessionRow(WriteSessionRow(std::string(257, 'd'), "n", 0, session, true), true, &row));
}

// Damage that the checksum does not show.
TEST(SessionRow, WithRandomContentDoesNoHarm) {
  const std::string bytes = WriteSessionRow("d", "node", 5, Sample(), true);
  std::mt19937 random(7);
  for (int i = 0; i < 20'000; ++i) {
    std::string changed = bytes.substr(0, bytes.size() - 4);
    for (int n = 0; n < 3; ++n) changed[random() % changed.size()] = static_cast<char>(random());
    if (i % 3 == 0) changed.resize(random() % changed.size());
    const uint32_t crc = Crc32c(changed);
    for (int n = 0; n < 4; ++n) changed.push_back(static_cast<char>(crc >> (8 * n)));
    SessionRow row;
    if (!ReadSessionRow(changed, true, &row)) continue;
    EXPECT_EQ(WriteSessionRow(row.device, row.source, row.end_ms, *row.session, true), changed);
  }
}

}  // namespace
}  // namespace seganet

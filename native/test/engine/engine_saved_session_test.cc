// MQTT sessions on disk: what waits for the disk, and what a restored session may do.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/runtime/session_row.h"
#include "test/support/device_packets.h"
#include "test/support/engine_support.h"

namespace seganet {
namespace {

using test::Accepted;
using test::DeviceClient;
using test::Lit;
using test::LogIn;
using test::Login;
using test::SessionExpiry;
using test::SessionPresent;
using test::Until;

class EngineSavedSession : public test::EngineTest {
 protected:
  void StartSaved(SourceSettings source = {}) {
    std::vector<StageSpec> plan = UsualPlan();
    source.name = "devices";
    plan[0].source = source;
    Start({}, std::move(plan));
    ASSERT_TRUE(engine_.sessions().Attach(&disk_));
  }
  static bool SendSubscribe(DeviceClient* device, std::string_view filter) {
    return device->Send(test::Packet(0x82, test::U16(77) + test::Str(filter) + '\x01'));
  }
  // Waits for sessions to write.
  std::vector<SessionWrite> Writes(size_t count = 1) {
    EXPECT_TRUE(Until([&] { return engine_.sessions().Take().size() >= count; }));
    return engine_.sessions().Take();
  }
  static std::string Row(const std::string& source, const std::string& filter,
                         int64_t end_ms = SessionRow::kNeverEnds) {
    mqtt::KeptSession session;
    session.expiry_s = 1000;
    session.subscriptions.Add(filter, 1, 0, 10, 1000);
    return WriteSessionRow("d", source, end_ms, session, true);
  }
  RestoreResult Restore(const std::string& row, bool exact = true) {
    const RestoreResult result = engine_.RestoreSessions({row}, exact)[0];
    engine_.sessions().Restored();
    return result;
  }
  bool Listening() { return engine_.Agents("", 1)[0].listening; }

  test::CountingBell disk_;
};

TEST_F(EngineSavedSession, ASubackWaitsForTheDisk) {
  StartSaved();
  DeviceClient device(Listen());
  ASSERT_TRUE(Accepted(LogIn(&device, {.clean = false})));
  ASSERT_TRUE(SendSubscribe(&device, "cmd/d/#"));
  const std::vector<SessionWrite> writes = Writes();
  EXPECT_EQ(writes[0].device, "d");
  SessionRow row;
  ASSERT_TRUE(ReadSessionRow(writes[0].row, true, &row));
  EXPECT_TRUE(row.session->Listens("cmd/d/x"));
  EXPECT_TRUE(Listening()) << "3.8.4 the subscription is in force before its SUBACK";
  ASSERT_TRUE(device.Publish("t", "1")) << "records do not wait for it";
  engine_.sessions().Committed();
  EXPECT_EQ(device.ReceivePacket(), Lit("\x90\x03\0\x4D\x01"));
}

TEST_F(EngineSavedSession, AnUnsubackWaitsAndOnlyAChangeIsWritten) {
  StartSaved();
  DeviceClient device(Listen());
  ASSERT_TRUE(Accepted(LogIn(&device, {.clean = false})));
  ASSERT_TRUE(SendSubscribe(&device, "a"));
  Writes();
  engine_.sessions().Committed();
  EXPECT_EQ(device.ReceivePacket(), Lit("\x90\x03\0\x4D\x01"));
  EXPECT_EQ(test::Subscribe(&device, "a"), 1) << "it is on disk already";
  EXPECT_TRUE(engine_.sessions().Take().empty());
  ASSERT_TRUE(device.Send(test::Packet(0xA2, test::U16(5) + test::Str("a"))));
  const std::vector<SessionWrite> writes = Writes();
  SessionRow row;
  ASSERT_TRUE(ReadSessionRow(writes[0].row, true, &row));
  EXPECT_TRUE(row.session->subscriptions.empty());
  engine_.sessions().Committed();
  EXPECT_EQ(device.ReceivePacket(), Lit("\xB0\x02\0\x05"));
}

TEST_F(EngineSavedSession, ADeviceThatReturnsBeforeTheWriteWaitsForItToo) {
  StartSaved();
  const uint16_t port = Listen();
  DeviceClient first(port), second(port);
  ASSERT_TRUE(Accepted(LogIn(&first, {.clean = false})));
  ASSERT_TRUE(SendSubscribe(&first, "a"));
  Writes();
  first.Close();
  ASSERT_TRUE(Until([this] { return engine_.devices() == 0; }));
  ASSERT_TRUE(SessionPresent(LogIn(&second, {.clean = false})));
  ASSERT_TRUE(SendSubscribe(&second, "a"));
  ASSERT_TRUE(second.Send(Lit("\xC0\0")));
  EXPECT_EQ(second.ReceivePacket(), Lit("\xD0\0")) << "the SUBACK is not before it";
  engine_.sessions().Committed();
  EXPECT_EQ(second.ReceivePacket(), Lit("\x90\x03\0\x4D\x01"));
}

TEST_F(EngineSavedSession, ACleanSessionIsNotWritten) {
  StartSaved();
  DeviceClient device(Listen());
  ASSERT_TRUE(Accepted(LogIn(&device, {.clean = true})));
  EXPECT_EQ(test::Subscribe(&device, "a"), 1);
  EXPECT_TRUE(engine_.sessions().Take().empty());
}

TEST_F(EngineSavedSession, NoAnswerWaitsWhenSessionsCannotBeSaved) {
  StartSaved();
  DeviceClient device(Listen());
  ASSERT_TRUE(Accepted(LogIn(&device, {.clean = false})));
  ASSERT_TRUE(SendSubscribe(&device, "a"));
  Writes();
  engine_.sessions().Disable();
  EXPECT_EQ(device.ReceivePacket(), Lit("\x90\x03\0\x4D\x01"));
}

TEST_F(EngineSavedSession, ADeviceThatAsksForACleanSessionDeletesTheSavedOne) {
  StartSaved();
  ASSERT_EQ(Restore(Row("devices", "cmd/d/#")), RestoreResult::kRestored);
  DeviceClient device(Listen());
  ASSERT_TRUE(Accepted(LogIn(&device, {.clean = true})));
  const std::vector<SessionWrite> writes = Writes();
  EXPECT_EQ(writes[0].device, "d");
  EXPECT_TRUE(writes[0].row.empty());
}

TEST_F(EngineSavedSession, ARestoredSessionContinuesWithItsSubscriptions) {
  StartSaved();
  ASSERT_EQ(Restore(Row("devices", "cmd/d/#")), RestoreResult::kRestored);
  DeviceClient device(Listen());
  EXPECT_TRUE(SessionPresent(LogIn(&device, {.clean = false})));
  EXPECT_TRUE(Listening());
}

TEST_F(EngineSavedSession, ARestoredSessionOfAnotherSourceEnds) {
  StartSaved();
  ASSERT_EQ(Restore(Row("deleted", "cmd/d/#")), RestoreResult::kRestored);
  DeviceClient device(Listen());
  EXPECT_FALSE(SessionPresent(LogIn(&device, {.clean = false})));
  EXPECT_FALSE(Listening());
  const std::vector<SessionWrite> writes = Writes();
  SessionRow row;
  ASSERT_TRUE(ReadSessionRow(writes[0].row, true, &row));
  EXPECT_EQ(row.source, "devices") << "the new session takes the place of the old one";
  EXPECT_TRUE(row.session->subscriptions.empty());
}

TEST_F(EngineSavedSession, ARestoredSessionHasNoMoreRightsThanItsDevice) {
  SourceSettings source;
  source.permissions = {{"*", {"#"}, {"cmd/{device}/#"}}};
  StartSaved(source);
  mqtt::KeptSession session;
  session.expiry_s = 1000;
  session.subscriptions.Add("cmd/d/#", 1, 0, 10, 1000);
  session.subscriptions.Add("secret/#", 1, 0, 10, 1000);
  const std::string bytes = WriteSessionRow("d", "devices", SessionRow::kNeverEnds, session, true);
  ASSERT_EQ(Restore(bytes), RestoreResult::kRestored);
  DeviceClient device(Listen());
  EXPECT_TRUE(SessionPresent(LogIn(&device, {.clean = false})));
  const std::vector<SessionWrite> writes = Writes();
  SessionRow row;
  ASSERT_TRUE(ReadSessionRow(writes[0].row, true, &row));
  EXPECT_TRUE(row.session->Listens("cmd/d/x"));
  EXPECT_FALSE(row.session->Listens("secret/x"));
}

TEST_F(EngineSavedSession, RowsAreRestoredOnlyBeforeDevicesConnect) {
  StartSaved();
  const int64_t now_ms = Now::Read().wall_ms;
  const auto one = [this](const std::string& row, bool exact) {
    return engine_.RestoreSessions({row}, exact)[0];
  };
  EXPECT_EQ(one("nonsense", true), RestoreResult::kDamaged);
  EXPECT_EQ(one(Row("devices", "a", now_ms - 1000), true), RestoreResult::kExpired);
  EXPECT_EQ(one(Row("devices", "a", now_ms - 1000), false), RestoreResult::kRestored)
      << "after a crash, the end on disk may be too early";
  EXPECT_EQ(one(Row("devices", "a", now_ms - 400'000), false), RestoreResult::kExpired);
  engine_.sessions().GiveUp();
  EXPECT_EQ(one(Row("devices", "a"), true), RestoreResult::kTooLate);
}

TEST_F(EngineSavedSession, AllSessionsAreSavedAtTheEnd) {
  StartSaved();
  const uint16_t port = Listen();
  DeviceClient gone(port), here(port);
  ASSERT_TRUE(Accepted(LogIn(&gone, {.id = "gone", .clean = false})));
  gone.Close();
  ASSERT_TRUE(Until([this] { return engine_.devices() == 0; }));
  ASSERT_TRUE(Accepted(LogIn(&here, {.id = "here", .clean = false})));
  ASSERT_TRUE(here.Send(mqtt_test::Publish1("t", 9, "1", 0x34)));
  EXPECT_EQ(here.ReceivePacket(), Lit("\x50\x02\0\x09"));
  engine_.StopReading();
  engine_.SaveSessions();
  EXPECT_EQ(engine_.sessions().waiting(), 2u);
  const std::vector<SessionWrite> writes = Writes(2);
  const int64_t now_ms = Now::Read().wall_ms;
  for (const SessionWrite& write : writes) {
    SessionRow row;
    ASSERT_TRUE(ReadSessionRow(write.row, true, &row));
    EXPECT_GT(row.end_ms, now_ms + 3'500'000);
    EXPECT_LE(row.end_ms, now_ms + 3'600'000);
    const std::vector<uint16_t> ids = row.session->incoming.received();
    EXPECT_EQ(ids, row.device == "here" ? std::vector<uint16_t>{9} : std::vector<uint16_t>{});
  }
  engine_.sessions().Committed();
  EXPECT_EQ(engine_.sessions().waiting(), 0u);
}

TEST_F(EngineSavedSession, ACommandThatIsOverIsNotSavedAtTheEnd) {
  StartSaved();
  DeviceClient device(Listen());
  ASSERT_TRUE(Accepted(LogIn(&device, {.clean = false})));
  ASSERT_TRUE(SendSubscribe(&device, "cmd/d/#"));
  Writes();
  engine_.sessions().Committed();
  ASSERT_NE(device.ReceivePacket(), "");
  ASSERT_EQ(engine_.Command({1, "d", "cmd/d/x", "late", 1, 0}, 1000), PushResult::kOk);
  ASSERT_NE(device.ReceivePacket(), "");
  ASSERT_TRUE(Until([this] { return engine_.TakeCommandResults().size() == 1; }));
  ASSERT_EQ(engine_.Command({2, "d", "cmd/d/x", "in time", 1, 0}, 10'000'000), PushResult::kOk);
  const std::string in_time = device.ReceivePacket();
  engine_.StopReading();
  engine_.SaveSessions();
  const std::vector<SessionWrite> writes = Writes();
  ASSERT_EQ(writes.size(), 1u);
  SessionRow row;
  ASSERT_TRUE(ReadSessionRow(writes[0].row, true, &row));
  const std::vector<mqtt::Outgoing::Earlier> unanswered = row.session->outgoing.Unfinished();
  ASSERT_EQ(unanswered.size(), 1u);
  EXPECT_EQ(unanswered[0].packet_id, test::PacketId(in_time));
}

TEST_F(EngineSavedSession, AFullDeskHoldsTheOthersBack) {
  StartSaved();
  const uint16_t port = Listen();
  std::vector<DeviceClient> devices;
  const size_t count = SessionOutbox::kMostSessions + 50;
  for (size_t i = 0; i < count; ++i) {
    devices.emplace_back(port);
    ASSERT_TRUE(Accepted(LogIn(&devices.back(), {.id = "d" + std::to_string(i), .clean = false})));
    ASSERT_TRUE(SendSubscribe(&devices.back(), "a"));
  }
  for (size_t saved = 0; saved < count;) {
    saved += Writes().size();
    engine_.sessions().Committed();
  }
  for (DeviceClient& device : devices) {
    EXPECT_EQ(device.ReceivePacket(), Lit("\x90\x03\0\x4D\x01"));
  }
}

}  // namespace
}  // namespace seganet

// QoS 2 over connections: a record whose connection ends before its PUBREC.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/runtime/session_row.h"
#include "test/support/device_packets.h"
#include "test/support/engine_support.h"

namespace seganet {
namespace {

using mqtt_test::Pubcomp;
using mqtt_test::Publish2;
using mqtt_test::Pubrec;
using mqtt_test::Pubrel;
using test::Accepted;
using test::DeviceClient;
using test::Login;
using test::LogIn;
using test::SessionExpiry;
using test::SessionPresent;
using test::Spec;
using test::Until;

constexpr uint8_t kDup = 0x3C;

class EngineQos2 : public test::EngineTest {
 protected:
  void StartSafe(uint32_t workers = 1, bool with_sessions = false) {
    EngineOptions options;
    options.workers = workers;
    options.acknowledge = Acknowledge::kSafe;
    StageSpec source = Spec(kSource, StageKind::kSource, {kUplink});
    source.source.name = "devices";
    Start(options, {source, test::UplinkStage(kUplink)});
    if (with_sessions) ASSERT_TRUE(engine_.sessions().Attach(&disk_));
    port_ = Listen();
  }

  // A connection of the device that resumes its session, if there is one.
  std::unique_ptr<DeviceClient> Connect(const Login& login = {.clean = false}) {
    auto device = std::make_unique<DeviceClient>(port_);
    EXPECT_TRUE(Accepted(LogIn(device.get(), login)));
    return device;
  }

  // Publishes on a connection that ends right behind the packet.
  void SendAndLeave(const std::string& bytes, size_t records,
                    const Login& login = {.clean = false}) {
    const auto device = Connect(login);
    ASSERT_TRUE(device->Send(bytes));
    device->Close();
    ASSERT_TRUE(Until(
        [&] { return engine_.devices() == 0 && Count(Counter::kRecordsReceived) == records; }));
  }

  // Nothing comes before the answer to a ping.
  static void ExpectNothing(DeviceClient* device) {
    ASSERT_TRUE(device->Send(test::Lit("\xC0\0")));
    EXPECT_EQ(device->ReceivePacket(), test::Lit("\xD0\0"));
  }

  uint16_t port_ = 0;
  test::CountingBell disk_;
};

TEST_F(EngineQos2, ARecordWhoseConnectionEndedBeforeItsPubrecComesOnce) {
  StartSafe();
  SendAndLeave(Publish2("t", 9, "1"), 1);
  const auto device = Connect();
  ASSERT_TRUE(device->Send(Publish2("t", 9, "1", kDup)));
  ExpectNothing(device.get());
  EXPECT_EQ(TakeRecords(), std::vector<std::string>{"d t 1"});
  EXPECT_EQ(device->ReceivePacket(), Pubrec(9));
  ASSERT_TRUE(device->Send(Pubrel(9)));
  EXPECT_EQ(device->ReceivePacket(), Pubcomp(9));
  ASSERT_TRUE(device->Send(Publish2("t", 9, "1")));
  ASSERT_TRUE(Until([this] { return Count(Counter::kRecordsReceived) == 2; }));
}

TEST_F(EngineQos2, ItsReceiptMayComeWhileTheDeviceIsAway) {
  StartSafe();
  SendAndLeave(Publish2("t", 9, "1") + Publish2("t", 10, "2"), 2);
  EXPECT_EQ(TakeRecords().size(), 2u);
  const auto device = Connect();
  ASSERT_TRUE(device->Send(Publish2("t", 9, "1", kDup) + Publish2("t", 10, "2", kDup)));
  EXPECT_EQ(device->Receive(8), Pubrec(9) + Pubrec(10));
  EXPECT_EQ(Count(Counter::kRecordsReceived), 2u);
}

TEST_F(EngineQos2, ATakeOverHoldsTheIdentifierToo) {
  StartSafe();
  const auto first = Connect();
  ASSERT_TRUE(first->Send(Publish2("t", 9, "1")));
  ASSERT_TRUE(Until([this] { return Count(Counter::kRecordsReceived) == 1; }));
  const auto second = Connect();
  ASSERT_TRUE(second->Send(Publish2("t", 9, "1", kDup)));
  const auto third = Connect();
  EXPECT_TRUE(second->ClosedByPeer());
  ASSERT_TRUE(third->Send(Publish2("t", 9, "1", kDup) + Publish2("t", 10, "2")));
  ASSERT_TRUE(Until([this] { return Count(Counter::kRecordsReceived) == 2; }));
  EXPECT_EQ(TakeRecords().size(), 2u);
  EXPECT_EQ(third->Receive(8), Pubrec(9) + Pubrec(10));
  EXPECT_EQ(Count(Counter::kRecordsReceived), 2u);
}

TEST_F(EngineQos2, ACleanSessionAndAnExpiredOneForgetIt) {
  StartSafe();
  SendAndLeave(Publish2("t", 9, "1"), 1);
  SendAndLeave(Publish2("t", 9, "1", kDup), 2, {.clean = true});
  const Login five{.level = 5, .clean = false, .properties = SessionExpiry(1)};
  const std::string publish = mqtt_test::Publish5(0x34, "t", 9, "", "1");
  SendAndLeave(publish, 3, five);
  // The shortest expiry; a connection within it would begin it again.
  const int64_t expired_us = MonotonicUs() + 1'300'000;
  ASSERT_TRUE(Until([&] { return MonotonicUs() > expired_us; }));
  const auto device = std::make_unique<DeviceClient>(port_);
  EXPECT_FALSE(SessionPresent(LogIn(device.get(), five)));
  ASSERT_TRUE(device->Send(mqtt_test::Publish5(0x3C, "t", 9, "", "1")));
  ASSERT_TRUE(Until([this] { return Count(Counter::kRecordsReceived) == 4; }));
  EXPECT_EQ(TakeRecords().size(), 4u);
  EXPECT_EQ(device->ReceivePacket(), Pubrec(9));
}

TEST_F(EngineQos2, ARecordThatWasDroppedBeforeItWasSafeIsTakenAgain) {
  StartSafe();
  SendAndLeave(Publish2("t", 9, "1"), 1);
  // The plan without its uplink drops the record; one device is there, the other comes later.
  const auto device = Connect();
  ASSERT_TRUE(device->Send(Publish2("t", 9, "1", kDup)));
  ExpectNothing(device.get());
  StageSpec source = Spec(kSource, StageKind::kSource);
  source.source.name = "devices";
  Apply({source});
  EXPECT_TRUE(device->ClosedByPeer()) << "it must send the record again";
  source.next = {kUplink};
  Apply({source, test::UplinkStage(kUplink)});
  const auto again = Connect();
  ASSERT_TRUE(again->Send(Publish2("t", 9, "1", kDup)));
  ASSERT_TRUE(Until([this] { return Count(Counter::kRecordsReceived) == 2; }));
  EXPECT_EQ(TakeRecords(), std::vector<std::string>{"d t 1"});
  EXPECT_EQ(again->ReceivePacket(), Pubrec(9));
}

TEST_F(EngineQos2, ADeviceWithSuchARecordStaysOnItsWorker) {
  StartSafe(2);
  SendAndLeave(Publish2("t", 9, "1"), 1);
  // Many connections at once, each with another packet whose record waits.
  std::vector<std::unique_ptr<DeviceClient>> devices;
  for (int i = 0; i < 20; ++i) {
    devices.push_back(Connect({.id = "d" + std::to_string(i), .clean = false}));
    ASSERT_TRUE(devices.back()->Send(Publish2("t", 9, std::to_string(i))));
  }
  ASSERT_TRUE(Until([this] { return Count(Counter::kRecordsReceived) == 21; }));
  for (int i = 0; i < 20; ++i) {
    devices[static_cast<size_t>(i)] = Connect({.id = "d" + std::to_string(i), .clean = false});
    ASSERT_TRUE(devices[static_cast<size_t>(i)]->Send(Publish2("t", 9, std::to_string(i), kDup)));
  }
  EXPECT_EQ(TakeRecords().size(), 21u);
  for (const auto& device : devices) EXPECT_EQ(device->ReceivePacket(), Pubrec(9));
  EXPECT_EQ(Count(Counter::kRecordsReceived), 21u);
}

TEST_F(EngineQos2, TheLastWriteOfARunHasWhatIsSafeByThen) {
  StartSafe(1, true);
  SendAndLeave(Publish2("t", 9, "1"), 1);
  EXPECT_EQ(TakeRecords().size(), 1u);
  const auto other = Connect({.id = "other", .clean = false});
  ASSERT_TRUE(other->Send(Publish2("t", 5, "2")));
  ASSERT_TRUE(Until([this] { return Count(Counter::kRecordsReceived) == 2; }));
  // "d" returns and knows its record to be safe, so the write below is behind its receipt.
  const auto device = Connect();
  ASSERT_TRUE(device->Send(Publish2("t", 9, "1", kDup)));
  EXPECT_EQ(device->ReceivePacket(), Pubrec(9));
  engine_.StopReading();
  engine_.SaveSessions();
  EXPECT_TRUE(Until([&] { return engine_.sessions().Take().size() >= 2; }));
  for (const SessionWrite& write : engine_.sessions().Take()) {
    SessionRow row;
    ASSERT_TRUE(ReadSessionRow(write.row, true, &row));
    const std::vector<uint16_t> expected =
        row.device == "d" ? std::vector<uint16_t>{9} : std::vector<uint16_t>{};
    EXPECT_EQ(row.session->incoming.received(), expected) << row.device << ": not safe, not held";
  }
  engine_.sessions().Committed();
}

// A seeded schedule of cuts, repetitions and deliveries: no record is lost, and none comes twice.
TEST_F(EngineQos2, EachRecordComesOnceOverManyCuts) {
  StartSafe();
  uint32_t random = 7;
  const auto below = [&random](uint32_t n) {
    random = random * 1664525 + 1013904223;
    return (random >> 16) % n;
  };
  std::vector<std::string> got;
  const auto take = [&] {
    for (std::string& record : TakeRecords()) got.push_back(std::move(record));
  };
  std::vector<std::string> sent;
  for (unsigned id = 1; id <= 60; ++id) {
    const std::string payload = std::to_string(id);
    sent.push_back("d t " + payload);
    bool is_first = true;
    for (uint32_t cuts = below(4); cuts > 0; --cuts) {
      auto device = std::make_unique<DeviceClient>(port_);
      ASSERT_TRUE(Accepted(LogIn(device.get(), {.clean = false})));
      ASSERT_TRUE(device->Send(Publish2("t", id, payload, is_first ? 0x34 : kDup)));
      is_first = false;
      if (below(3) == 0) take();
    }
    const auto device = Connect();
    ASSERT_TRUE(device->Send(Publish2("t", id, payload, is_first ? 0x34 : kDup)));
    // The record may still be in the socket of a connection that has just been closed.
    ASSERT_TRUE(Until([&] { return take(), got.size() == sent.size(); }));
    EXPECT_EQ(device->ReceivePacket(), Pubrec(id));
    ASSERT_TRUE(device->Send(Pubrel(id)));
    EXPECT_EQ(device->ReceivePacket(), Pubcomp(id));
  }
  EXPECT_EQ(got, sent);
  EXPECT_EQ(Count(Counter::kRecordsReceived), 60u);
}

}  // namespace
}  // namespace seganet

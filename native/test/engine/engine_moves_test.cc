// An uplink node's waiting records when a plan gives it other lanes, or none: no record is
// acknowledged unless it is safe, and no acknowledged record is lost.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "test/support/device_packets.h"
#include "test/support/engine_support.h"

namespace seganet {
namespace {

using mqtt_test::Puback;
using mqtt_test::Publish1;
using test::DeviceClient;
using test::MakeRecord;
using test::Spec;
using test::Until;

class EngineMoves : public test::EngineTest {
 protected:
  static constexpr uint32_t kOther = 9;

  static StageSpec Uplink(uint32_t uplink, uint32_t id = kUplink) {
    StageSpec stage = test::UplinkStage(id, uplink);
    stage.name = "node-" + std::to_string(id);
    return stage;
  }
  static std::vector<StageSpec> To(uint32_t uplink) {
    return {Spec(kSource, StageKind::kSource, {kUplink}), Uplink(uplink)};
  }
  static std::vector<StageSpec> Deleted() { return {Spec(kSource, StageKind::kSource)}; }

  void StartWith(bool log) {
    EngineOptions options;
    options.workers = 1;
    options.acknowledge = Acknowledge::kSafe;
    options.log = log;
    Start(options, To(0));
    if (!log) return;
    ASSERT_TRUE(engine_.store().Attach(&store_bell_));
    engine_.store().Opened(0, {});
  }

  // Three records with QoS 1 that wait at the uplink.
  std::unique_ptr<DeviceClient> SendThree() {
    auto device = std::make_unique<DeviceClient>(Listen());
    EXPECT_TRUE(device->Connect("d"));
    EXPECT_TRUE(
        device->Send(Publish1("t", 1, "1") + Publish1("t", 2, "2") + Publish1("t", 3, "3")));
    EXPECT_TRUE(Until([this] { return Count(Counter::kRecordsQueued) == 3; }));
    return device;
  }

  Outlet* At(uint32_t uplink) { return sessions_.At(engine_.LanesOf(uplink).get()); }

  // Returns the payload of the next batch of lanes `uplink`, which is in flight then; "" = there is
  // none.
  std::string Take(uint32_t uplink, uint64_t* id = nullptr) {
    std::string payload;
    engine_.LanesOf(uplink)->Take(At(uplink), MonotonicUs(), [&](const Batch& batch) {
      payload = batch.bytes.substr(batch.device_bytes + batch.topic_bytes);
      if (id != nullptr) *id = batch.id;
      return true;
    });
    return payload;
  }
  // The same, acknowledged at once, until there is none.
  std::string Deliver(uint32_t uplink) {
    std::string all;
    uint64_t id = 0;
    for (std::string next = Take(uplink, &id); !next.empty(); next = Take(uplink, &id)) {
      all += next;
      EXPECT_TRUE(engine_.LanesOf(uplink)->Release(At(uplink), id, MonotonicUs()));
    }
    return all;
  }

  // Commits everything due; returns the records.
  uint32_t SaveAll() {
    uint32_t records = 0;
    StoreQueue& store = engine_.store();
    while (const StoreTask* task = store.Next(MonotonicUs())) {
      const SealedChunk chunk = task->chunk;
      store.Taken();
      nodes_.push_back(chunk.node);
      records += chunk.records;
      store.Committed(chunk.ticket, ++row_);
    }
    return records;
  }

  test::CountingBell store_bell_;
  std::vector<std::string> nodes_;  // of the chunks that were saved
  int64_t row_ = 0;
};

TEST_F(EngineMoves, AnUplinkNodeThatGetsOtherLanesKeepsWaitingRecords) {
  StartWith(false);
  const auto device = SendThree();
  Apply(To(1));
  EXPECT_EQ(Deliver(0), "");
  EXPECT_EQ(AllDropped(), 0u);
  EXPECT_EQ(HeldRecords(), 3);
  EXPECT_EQ(Deliver(1), "123");
  EXPECT_EQ(device->Receive(12), Puback(1) + Puback(2) + Puback(3));
}

TEST_F(EngineMoves, RecordsInFlightFollowWhenTheirSessionEnds) {
  StartWith(false);
  const auto device = SendThree();
  EXPECT_EQ(Take(0), "1");
  EXPECT_EQ(Take(0), "2");
  Apply(To(1));
  EXPECT_EQ(HeldRecords(), 3);
  sessions_.Leave(engine_.LanesOf(0).get());
  EXPECT_EQ(Deliver(1), "123");
  EXPECT_EQ(device->Receive(12), Puback(1) + Puback(2) + Puback(3));
  EXPECT_EQ(Count(Counter::kBatchesRedelivered), 2u);
  EXPECT_EQ(AllDropped(), 0u);
}

TEST_F(EngineMoves, RecordsInFlightMayStillBeDelivered) {
  StartWith(false);
  const auto device = SendThree();
  uint64_t id = 0;
  EXPECT_EQ(Take(0, &id), "1");
  Apply(To(1));
  EXPECT_TRUE(engine_.LanesOf(0)->Release(At(0), id, MonotonicUs()));
  EXPECT_EQ(device->Receive(4), Puback(1));
  EXPECT_EQ(Deliver(1), "23");
}

TEST_F(EngineMoves, MovedRecordsAreSortedAmongTheOthersByAge) {
  Start({}, {Uplink(0), Uplink(1, kOther)});
  const auto push = [this](uint32_t stage, const char* payload) {
    ASSERT_EQ(engine_.Push(stage, MakeRecord("d", "t", payload), true), PushResult::kOk);
  };
  push(kUplink, "a");
  push(kOther, "b");
  push(kUplink, "c");
  push(kOther, "d");
  ASSERT_TRUE(Until([this] { return Count(Counter::kRecordsQueued) == 4; }));
  Apply({Uplink(1), Uplink(1, kOther)});
  EXPECT_EQ(Deliver(1), "abcd");
}

TEST_F(EngineMoves, NewRecordsDoNotOvertakeThoseThatMoveToAConnectedBroker) {
  constexpr uint64_t kWaiting = 20'000;
  StartWith(false);
  const std::shared_ptr<Lanes> to = engine_.LanesOf(1);
  Outlet* const outlet = At(1);
  DeviceClient client(Listen());
  ASSERT_TRUE(client.Connect("d"));
  std::atomic<bool> ends{false};
  std::thread device([&] {
    for (int n = 1'000'000; !ends; ++n) {
      ASSERT_TRUE(client.Send(mqtt_test::Publish0("t", std::to_string(n))));
    }
  });
  std::vector<std::string> arrived;
  std::thread session([&] {
    while (!ends) {
      uint64_t id = 0;
      to->Take(outlet, MonotonicUs(), [&](const Batch& batch) {
        arrived.push_back(batch.bytes.substr(batch.device_bytes + batch.topic_bytes));
        id = batch.id;
        return true;
      });
      if (id != 0) to->Release(outlet, id, MonotonicUs());
    }
  });
  EXPECT_TRUE(Until([&] { return Count(Counter::kRecordsQueued) > kWaiting; }));
  Apply(To(1));
  EXPECT_TRUE(Until([&] { return Count(Counter::kRecordsDelivered) > kWaiting; }));
  ends = true;
  device.join();
  session.join();
  ASSERT_GT(arrived.size(), kWaiting);
  EXPECT_TRUE(std::is_sorted(arrived.begin(), arrived.end()));
}

TEST_F(EngineMoves, AChunkThatIsBeingWrittenIsWrittenAgainForTheNewLanes) {
  StartWith(true);
  const auto device = SendThree();
  engine_.SaveAll();
  StoreQueue& store = engine_.store();
  const StoreTask* task = store.Next(MonotonicUs());
  ASSERT_NE(task, nullptr);
  const uint64_t ticket = task->chunk.ticket;
  store.Taken();
  Apply(To(1));
  store.Committed(ticket, ++row_);
  EXPECT_EQ(store.TakeFrees(10), std::vector<int64_t>{1}) << "the first chunk is not needed";
  store.Freed();
  engine_.SaveAll();
  EXPECT_EQ(SaveAll(), 3u);
  EXPECT_EQ(device->Receive(12), Puback(1) + Puback(2) + Puback(3));
  EXPECT_EQ(Deliver(1), "123");
  EXPECT_EQ(store.TakeFrees(10), std::vector<int64_t>{2});
}

TEST_F(EngineMoves, ADeletedUplinkNodeWithoutALogAcknowledgesNothing) {
  StartWith(false);
  const auto device = SendThree();
  Apply(Deleted());
  EXPECT_EQ(device->Receive(64), "");
  EXPECT_EQ(Dropped(Drop::kUplinkRemoved), 3u);
  EXPECT_EQ(Closed(CloseReason::kNotTaken), 1u);
  EXPECT_EQ(HeldRecords(), 0);
}

TEST_F(EngineMoves, RecordsInFlightOfADeletedUplinkNodeAreNotAcknowledgedEither) {
  StartWith(false);
  const auto device = SendThree();
  EXPECT_EQ(Take(0), "1");
  Apply(Deleted());
  EXPECT_EQ(Dropped(Drop::kUplinkRemoved), 2u);
  sessions_.Leave(engine_.LanesOf(0).get());
  EXPECT_EQ(Dropped(Drop::kUplinkRemoved), 3u);
  EXPECT_EQ(device->Receive(64), "");
}

TEST_F(EngineMoves, RecordsOfADeletedUplinkNodeAreSavedUnderItsName) {
  StartWith(true);
  const auto device = SendThree();
  Apply(Deleted());
  EXPECT_EQ(HeldRecords(), 3);
  EXPECT_EQ(SaveAll(), 3u) << "at once";
  EXPECT_EQ(nodes_, std::vector<std::string>{"node-4"});
  EXPECT_EQ(device->Receive(12), Puback(1) + Puback(2) + Puback(3));
  EXPECT_EQ(HeldRecords(), 0);
  EXPECT_EQ(engine_.store().ledger()->sums().backlog[kNormal], 3);
  EXPECT_EQ(AllDropped(), 0u);
  // Its node comes back, with another broker.
  Apply(To(1));
  engine_.LanesOf(1)->SetConnected(At(1), true, MonotonicUs());
  WantedRow wanted;
  bool found = false;
  while (!found && engine_.store().Wanted(&wanted)) {
    found = wanted.record_class == kNormal;
    if (!found) engine_.store().Missing();
  }
  EXPECT_TRUE(found);
  EXPECT_EQ(wanted.node, "node-4");
}

TEST_F(EngineMoves, AnUplinkNodeThatReturnsSoonFindsItsRecords) {
  StartWith(true);
  const auto device = SendThree();
  Apply(Deleted());
  Apply(To(1));
  EXPECT_EQ(Deliver(1), "123");
  EXPECT_EQ(device->Receive(12), Puback(1) + Puback(2) + Puback(3));
  EXPECT_EQ(SaveAll(), 0u);
}

TEST_F(EngineMoves, TheTicketOfARecordWithoutAnUplinkNodeIsWithheld) {
  EngineOptions options;
  options.acknowledge = Acknowledge::kSafe;
  Start(options, {Spec(kIngest, StageKind::kIngest, {kUplink}), Uplink(0)});
  Record record = MakeRecord("d", "t", "1");
  record.ticket = 7;
  ASSERT_EQ(engine_.Push(kIngest, record, true), PushResult::kOk);
  ASSERT_TRUE(Until([this] { return Count(Counter::kRecordsQueued) == 1; }));
  Apply({Spec(kIngest, StageKind::kIngest)});
  std::vector<Completion> taken;
  ASSERT_TRUE(Until([&] { return !(taken = engine_.TakeCompletions()).empty(); }));
  EXPECT_EQ(taken[0].ticket, 7u);
  EXPECT_FALSE(taken[0].ok);
  EXPECT_TRUE(taken[0].withheld);
}

TEST_F(EngineMoves, ADeviceWhoseRecordNothingTakesIsNotAcknowledged) {
  StartWith(false);
  DeviceClient device(Listen());
  ASSERT_TRUE(device.Connect("d"));
  ASSERT_TRUE(device.Send(Publish1("t", 1, "1")));
  ASSERT_TRUE(Until([this] { return HeldRecords() == 1; }));
  Apply(
      {Spec(kSource, StageKind::kSource, {kOther}), Spec(kOther, StageKind::kPriority), Uplink(0)});
  ASSERT_TRUE(device.Send(Publish1("t", 2, "2") + Publish1("t", 3, "3")));
  EXPECT_EQ(device.Receive(64), "") << "the connection ends";
  EXPECT_EQ(Dropped(Drop::kNoRoute), 1u) << "what came behind it was not read";
  EXPECT_EQ(Closed(CloseReason::kNotTaken), 1u);
}

TEST_F(EngineMoves, AnMqtt5DeviceGetsTheReasonWhenNothingTakesItsRecord) {
  StartWith(false);
  DeviceClient device(Listen());
  test::LogIn(&device, {.id = "d", .level = 5});
  Apply(Deleted());
  ASSERT_TRUE(device.Send(test::Publish5("t", 1, "1")));
  const std::string packet = device.ReceivePacket();
  ASSERT_GE(packet.size(), 3u);
  EXPECT_EQ(packet[0], '\xE0') << "DISCONNECT";
  EXPECT_EQ(packet[2], '\x98') << "administrative action";
  EXPECT_TRUE(device.ClosedByPeer());
}

}  // namespace
}  // namespace seganet

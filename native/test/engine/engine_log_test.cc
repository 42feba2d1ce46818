// The engine with real devices and the store's end of it: when PUBACKs leave, and the records that
// a second run finds.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "test/support/engine_support.h"

namespace seganet {
namespace {

using mqtt_test::Puback;
using mqtt_test::Publish1;
using test::DeviceClient;
using test::Spec;
using test::Until;

constexpr std::string_view kPingreq{"\xC0\0", 2};
constexpr std::string_view kPingresp{"\xD0\0", 2};

// A disk in memory.
struct Row {
  int64_t id;
  SealedChunk chunk;
};

class EngineLog : public test::EngineTest {
 protected:
  void StartLog(Acknowledge acknowledge = Acknowledge::kSafe, EngineOptions options = {}) {
    options.acknowledge = acknowledge;
    options.log = true;
    Start(options, Direct());
    ASSERT_TRUE(engine_.store().Attach(&store_bell_));
    engine_.store().Opened(0, {});
  }

  // Without a batch stage: each record separately.
  static std::vector<StageSpec> Direct() {
    StageSpec uplink = test::UplinkStage(kUplink);
    uplink.name = "uplink";
    return {Spec(kSource, StageKind::kSource, {kUplink}), uplink};
  }

  // Seals and keeps everything due by then; false = nothing.
  bool Save(bool commit = true, int64_t later_us = 100'000) {
    StoreQueue& store = engine_.store();
    const StoreTask* task = store.Next(MonotonicUs() + later_us);
    if (task == nullptr) return false;
    const SealedChunk chunk = task->chunk;
    store.Taken();
    if (commit) {
      rows_.push_back({static_cast<int64_t>(rows_.size()) + 1, chunk});
      store.Committed(chunk.ticket, rows_.back().id);
    } else {
      store.Failed(chunk.ticket);
    }
    return true;
  }
  bool SaveSoon() {
    return Until([this] { return Save(); });
  }

  // Reports the next row that the engine requests as missing, if it is not of the class that the
  // tests use.
  static bool WantedOfNormal(StoreQueue* store, WantedRow* wanted) {
    while (store->Wanted(wanted)) {
      if (wanted->record_class == kNormal) return true;
      store->Missing();
    }
    return false;
  }

  std::shared_ptr<Lanes> lanes() { return engine_.LanesOf(0); }
  Outlet* session() { return sessions_.At(lanes().get()); }

  uint64_t Take(bool backlog = false) {
    uint64_t id = 0;
    lanes()->Take(
        session(), MonotonicUs(), [&](const Batch& batch) { return (id = batch.id) != 0; },
        backlog);
    return id;
  }
  uint64_t TakeSoon() {
    uint64_t id = 0;
    EXPECT_TRUE(Until([&] { return (id = Take()) != 0; }));
    return id;
  }

  test::CountingBell store_bell_;
  std::vector<Row> rows_;
};

TEST_F(EngineLog, APubackLeavesWhenTheCloudHasAcknowledged) {
  StartLog();
  DeviceClient device(Listen());
  ASSERT_TRUE(device.Connect("d"));
  ASSERT_TRUE(device.Send(Publish1("t", 7, "1")));
  const uint64_t id = TakeSoon();
  EXPECT_EQ(device.SendSome(kPingreq), 2u);
  EXPECT_EQ(device.Receive(2), kPingresp) << "the answer to the ping, and no PUBACK";
  lanes()->Release(session(), id, MonotonicUs());
  EXPECT_EQ(device.Receive(4), Puback(7));
}

TEST_F(EngineLog, RecordsThatTheCloudAcknowledgesRingTheStoreOnce) {
  StartLog();
  StoreQueue& store = engine_.store();
  lanes()->SetConnected(session(), true, MonotonicUs());
  DeviceClient device(Listen());
  ASSERT_TRUE(device.Connect("d"));
  const auto deliver = [&](uint16_t id) {
    ASSERT_TRUE(device.Send(Publish1("t", id, "1")));
    lanes()->Release(session(), TakeSoon(), MonotonicUs());
    EXPECT_EQ(device.Receive(4), Puback(id));
  };
  ASSERT_TRUE(device.Send(Publish1("t", 1, "1")));
  const uint64_t first = TakeSoon();
  store_bell_.Answer();
  const int64_t due = store.Due(MonotonicUs());
  ASSERT_NE(due, kNever);
  lanes()->Release(session(), first, MonotonicUs());
  EXPECT_EQ(device.Receive(4), Puback(1));
  ASSERT_TRUE(Until([&] { return MonotonicUs() >= due; }));

  const int64_t look = store.Due(MonotonicUs());
  EXPECT_NE(look, kNever) << "records came since";
  const int rings = store_bell_.rings();
  deliver(2);
  deliver(3);
  EXPECT_EQ(store_bell_.rings(), rings);
  EXPECT_GT(store.Due(look), look);
  EXPECT_EQ(store.Due(look + 2'000'000), kNever) << "none came since";
}

TEST_F(EngineLog, APubackLeavesWhenTheRecordIsOnDisk) {
  StartLog();
  DeviceClient device(Listen());
  ASSERT_TRUE(device.Connect("d"));
  ASSERT_TRUE(device.Send(Publish1("t", 7, "1")));
  ASSERT_TRUE(Until([this] { return Save(false); })) << "a commit that fails";
  ASSERT_TRUE(device.Send(kPingreq));
  EXPECT_EQ(device.Receive(2), kPingresp);
  ASSERT_TRUE(SaveSoon());
  EXPECT_EQ(device.Receive(4), Puback(7));
  EXPECT_EQ(Count(Counter::kStoreFailures), 1u);
  EXPECT_EQ(Count(Counter::kRecordsStored), 1u);
}

// [MQTT-4.6.0-2]
TEST_F(EngineLog, PubacksLeaveInOrderWhicheverIsSafeFirst) {
  StartLog();
  DeviceClient device(Listen());
  ASSERT_TRUE(device.Connect("d"));
  ASSERT_TRUE(device.Send(Publish1("t", 1, "1") + Publish1("t", 2, "2") + Publish1("t", 3, "3")));
  const uint64_t first = TakeSoon();
  const uint64_t second = TakeSoon();
  const uint64_t third = TakeSoon();
  lanes()->Release(session(), third, MonotonicUs());
  lanes()->Release(session(), second, MonotonicUs());
  ASSERT_TRUE(device.Send(kPingreq));
  EXPECT_EQ(device.Receive(2), kPingresp);
  lanes()->Release(session(), first, MonotonicUs());
  EXPECT_EQ(device.Receive(12), Puback(1) + Puback(2) + Puback(3));
}

TEST_F(EngineLog, ARecordForTwoUplinksWaitsForBoth) {
  EngineOptions options;
  options.acknowledge = Acknowledge::kSafe;
  Start(options, {Spec(kSource, StageKind::kSource, {kUplink, 6}), test::UplinkStage(kUplink, 0),
                  test::UplinkStage(6, 1)});
  DeviceClient device(Listen());
  ASSERT_TRUE(device.Connect("d"));
  ASSERT_TRUE(device.Send(Publish1("t", 9, "1")));
  lanes()->Release(session(), TakeSoon(), MonotonicUs());
  ASSERT_TRUE(device.Send(kPingreq));
  EXPECT_EQ(device.Receive(2), kPingresp);
  uint64_t id = 0;
  const auto other = engine_.LanesOf(1);
  ASSERT_TRUE(Until([&] {
    return other->Take(sessions_.At(other.get()), MonotonicUs(),
                       [&](const Batch& batch) { return (id = batch.id) != 0; });
  }));
  other->Release(sessions_.At(other.get()), id, MonotonicUs());
  EXPECT_EQ(device.Receive(4), Puback(9));
}

TEST_F(EngineLog, ADeviceIsNotReadBeyondAThousandUnacknowledged) {
  StartLog();
  DeviceClient device(Listen());
  ASSERT_TRUE(device.Connect("d"));
  constexpr unsigned kPackets = 30'000;
  std::string packets;
  for (unsigned i = 1; i <= kPackets; ++i) packets += Publish1("t", i, std::string(40, 'x'));
  const size_t sent = device.SendSome(packets);
  ASSERT_TRUE(Until([this] { return Count(Counter::kRecordsReceived) >= 1024; }));
  const uint64_t read = Count(Counter::kRecordsReceived);
  EXPECT_LE(read, 1024u + 65'536 / 40) << "one read may go beyond";
  EXPECT_LT(read * 47, sent);
  // Records become safe one by one, and the device is read to the end.
  std::thread rest([&] { device.Send(std::string_view(packets).substr(sent)); });
  EXPECT_TRUE(Until([this] {
    while (Save()) {
    }
    return Count(Counter::kRecordsReceived) == kPackets && !Save();
  }));
  rest.join();
  EXPECT_TRUE(device.Receive(kPackets * 4).ends_with(Puback(kPackets)));
}

TEST_F(EngineLog, DevicesThatLeftAreNotMistakenForNewOnes) {
  StartLog();
  const uint16_t port = Listen();
  uint64_t id = 0;
  {
    DeviceClient device(port);
    ASSERT_TRUE(device.Connect("old"));
    ASSERT_TRUE(device.Send(Publish1("t", 1, "1")));
    id = TakeSoon();
  }
  ASSERT_TRUE(Until([this] { return engine_.devices() == 0; }));
  std::vector<DeviceClient> devices;
  for (int i = 0; i < 8; ++i) {
    devices.emplace_back(port);
    ASSERT_TRUE(devices.back().Connect("new-" + std::to_string(i)));
    ASSERT_TRUE(devices.back().Send(Publish1("t", 1, "2")));
  }
  ASSERT_TRUE(Until([this] { return Count(Counter::kRecordsReceived) == 9; }));
  lanes()->Release(session(), id, MonotonicUs());
  for (DeviceClient& device : devices) {
    ASSERT_TRUE(device.Send(kPingreq));
    EXPECT_EQ(device.Receive(2), kPingresp);
  }
}

TEST_F(EngineLog, SaveAllMakesEverythingDueAndAcknowledgesDevicesBeforeTheEnd) {
  StartLog();
  lanes()->SetConnected(session(), true, MonotonicUs());
  DeviceClient device(Listen());
  ASSERT_TRUE(device.Connect("d"));
  ASSERT_TRUE(device.Send(Publish1("t", 1, "1")));
  ASSERT_TRUE(Until([this] { return engine_.Unsaved()[kNormal] == 1; }));
  EXPECT_FALSE(Save(true, 0));
  engine_.SaveAll();
  ASSERT_TRUE(Save(true, 0));
  EXPECT_EQ(engine_.Unsaved()[kNormal], 0);
  engine_.Close();
  EXPECT_EQ(device.Receive(4), Puback(1));
  EXPECT_EQ(Dropped(Drop::kClosed), 0u);
}

TEST_F(EngineLog, ASecondRunDeliversTheRecordsKeptByTheFirst) {
  StartLog();
  {
    DeviceClient device(Listen());
    ASSERT_TRUE(device.Connect("d"));
    ASSERT_TRUE(device.Send(Publish1("t", 1, "one") + Publish1("t", 2, "two")));
    while (Count(Counter::kRecordsStored) < 2) ASSERT_TRUE(SaveSoon());
  }
  engine_.Close();

  Engine second(&bell_);
  EngineOptions options;
  options.acknowledge = Acknowledge::kSafe;
  options.log = true;
  options.epoch = 2;
  ASSERT_TRUE(second.Start(options).ok());
  ASSERT_TRUE(second.ApplyPlan(Direct()).ok());
  StoreQueue& store = second.store();
  test::CountingBell bell;
  ASSERT_TRUE(store.Attach(&bell));
  store.Opened(rows_.back().id, {0, 0, 0, 2, 0});
  WantedRow wanted;
  EXPECT_FALSE(store.Wanted(&wanted)) << "there is no hurry before the cloud is there";
  const auto lanes = second.LanesOf(0);
  test::CountingBell uplink_bell;
  Outlet* outlet = lanes->Attach(&uplink_bell);
  lanes->SetConnected(outlet, true, MonotonicUs());
  std::vector<std::string> payloads;
  for (const Row& row : rows_) {
    ASSERT_TRUE(WantedOfNormal(&store, &wanted));
    EXPECT_EQ(wanted.node, "uplink");
    const Now now = Now::Read();
    EXPECT_EQ(store.Loaded(row.id, row.chunk.records, row.chunk.bytes, now.mono_us, now.wall_ms),
              LoadResult::kOk);
  }
  uint64_t id = 0;
  while (lanes->Take(
      outlet, MonotonicUs(),
      [&](const Batch& batch) {
        EXPECT_EQ(batch.epoch, 1u);
        payloads.push_back(batch.bytes.substr(2));
        id = batch.id;
        return true;
      },
      true)) {
    EXPECT_TRUE(lanes->Release(outlet, id, MonotonicUs()));
  }
  EXPECT_EQ(payloads, (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(store.TakeFrees(9).size(), rows_.size());
  EXPECT_EQ(store.ledger()->sums().stored[kNormal], 0);
}

TEST_F(EngineLog, OldRecordsOfTheLogExpireAndDamagedOnesAreCounted) {
  EngineOptions options;
  options.ttl_s[kNormal] = 60;
  StartLog(Acknowledge::kSafe, options);
  {
    DeviceClient device(Listen());
    ASSERT_TRUE(device.Connect("d"));
    ASSERT_TRUE(device.Send(Publish1("t", 1, "1")));
    ASSERT_TRUE(SaveSoon());
  }
  const SealedChunk& chunk = rows_[0].chunk;
  engine_.Close();

  Engine second(&bell_);
  options.acknowledge = Acknowledge::kSafe;
  options.log = true;
  options.epoch = 2;
  ASSERT_TRUE(second.Start(options).ok());
  ASSERT_TRUE(second.ApplyPlan(Direct()).ok());
  StoreQueue& store = second.store();
  test::CountingBell bell;
  ASSERT_TRUE(store.Attach(&bell));
  store.Opened(2, {0, 0, 0, 2, 0});
  const auto lanes = second.LanesOf(0);
  lanes->SetConnected(sessions_.At(lanes.get()), true, MonotonicUs());
  WantedRow wanted;
  ASSERT_TRUE(WantedOfNormal(&store, &wanted));
  std::string damaged = chunk.bytes;
  damaged[40] = static_cast<char>(damaged[40] ^ 1);
  Now now = Now::Read();
  EXPECT_EQ(store.Loaded(1, 1, damaged, now.mono_us, now.wall_ms), LoadResult::kCorrupt);
  ASSERT_TRUE(WantedOfNormal(&store, &wanted));
  EXPECT_EQ(wanted.after, 1);
  EXPECT_EQ(store.Loaded(2, 1, chunk.bytes, now.mono_us, now.wall_ms + 61'000), LoadResult::kOk);
  EXPECT_EQ(lanes->BestBacklog(sessions_.At(lanes.get()), now.mono_us), 0);
  EXPECT_EQ(store.TakeFrees(9), std::vector<int64_t>{2});
  const auto dropped = [&](Drop reason) {
    return store.counters().drops[static_cast<size_t>(reason)][kNormal].Get();
  };
  EXPECT_EQ(dropped(Drop::kCorrupt), 1u);
  EXPECT_EQ(dropped(Drop::kExpired), 1u);
}

TEST_F(EngineLog, AStoreThreadThatDiesLosesNothing) {
  StartLog();
  DeviceClient device(Listen());
  ASSERT_TRUE(device.Connect("d"));
  ASSERT_TRUE(device.Send(Publish1("t", 1, "1")));
  ASSERT_TRUE(Until([this] { return engine_.store().Next(MonotonicUs() + 100'000) != nullptr; }));
  engine_.store().Detach();
  EXPECT_EQ(engine_.Unsaved()[kNormal], 1);
  test::CountingBell bell;
  ASSERT_TRUE(engine_.store().Attach(&bell));
  ASSERT_TRUE(SaveSoon());
  EXPECT_EQ(device.Receive(4), Puback(1));
}

TEST_F(EngineLog, ADeadLetterIsWrittenBeforeItsAcknowledgement) {
  StartLog();
  DeviceClient device(Listen());
  ASSERT_TRUE(device.Connect("d"));
  ASSERT_TRUE(device.Send(Publish1("t", 1, "1")));
  lanes()->Release(session(), TakeSoon(), MonotonicUs(), {{0}, 149, "too large"});
  const StoreTask* task = engine_.store().Next(MonotonicUs());
  ASSERT_NE(task, nullptr);
  EXPECT_TRUE(task->dead);
  EXPECT_EQ(task->code, 149u);
  EXPECT_EQ(task->chunk.node, "uplink");
  ASSERT_TRUE(device.Send(kPingreq));
  EXPECT_EQ(device.Receive(2), kPingresp);
  const uint64_t ticket = task->chunk.ticket;
  engine_.store().Taken();
  engine_.store().Committed(ticket, 1);
  EXPECT_EQ(device.Receive(4), Puback(1));
  EXPECT_EQ(engine_.budget().held(), 0);
}

}  // namespace
}  // namespace seganet

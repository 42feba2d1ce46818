// Devices that change their worker while they publish, on loopback.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/record/frame.h"
#include "test/support/device_packets.h"
#include "test/support/engine_support.h"

namespace seganet {
namespace {

using test::DeviceClient;
using test::LogIn;
using test::SessionPresent;
using test::Until;

std::string Field(std::string_view line, std::string_view name) {
  const size_t at = line.find("\"" + std::string(name) + "\":");
  if (at == std::string_view::npos) return "";
  const std::string_view value = line.substr(at + name.size() + 3);
  return std::string(value[0] == '"' ? value.substr(1, value.find('"', 1) - 1)
                                     : value.substr(0, value.find_first_of(",}\n")));
}

// Sequences that arrive once and in order: 0, 1, 2 … of each device and class.
class History {
 public:
  void See(const std::string& device, int record_class, const std::string& payload,
           const std::string& seq) {
    const auto n = static_cast<uint64_t>(std::stoull(payload));
    uint64_t& next = next_[std::pair(device, record_class)];
    EXPECT_EQ(n, next++) << device << ", class " << record_class;
    EXPECT_TRUE(seqs_[device].insert(std::stoull(seq)).second) << device << ", s " << seq;
    ++records_;
  }
  uint64_t records() const { return records_; }
  // Sequence numbers of a device have no gap.
  void ExpectNoGaps() const {
    for (const auto& [device, seqs] : seqs_) {
      EXPECT_EQ(*seqs.rbegin() + 1, seqs.size()) << device;
    }
  }

 private:
  uint64_t records_ = 0;
  std::map<std::pair<std::string, int>, uint64_t> next_;
  std::map<std::string, std::set<uint64_t>> seqs_;
};

class EnginePlacement : public test::EngineTest {
 protected:
  static constexpr uint32_t kPriority = 6;
  static constexpr uint32_t kForecast = 7;

  static EngineOptions Quick() {
    EngineOptions options;
    options.workers = 2;
    options.rebalance = true;
    options.acknowledge = Acknowledge::kSafe;
    options.rebalancing.period_us = 1000;  // once a sweep
    options.rebalancing.limits.lasting_periods = 1;
    options.rebalancing.record_cost_us = 1000;
    return options;
  }

  // Topics with "alarm" have class 1; devices' records are sent as messages too.
  static std::vector<StageSpec> Plan() {
    StageSpec source = Spec(kSource, StageKind::kSource, {kForecast}, true);
    StageSpec ingest = Spec(kIngest, StageKind::kIngest, {kForecast});
    StageSpec forecast = Spec(kForecast, StageKind::kForecast, {kPriority});
    forecast.forecast.record_class = 0;
    StageSpec priority = Spec(kPriority, StageKind::kPriority, {kBatch});
    priority.rules = {{"alarm", "", 1}};
    return {source,
            ingest,
            forecast,
            priority,
            test::BatchStage(kBatch, {kUplink}),
            test::UplinkStage(kUplink)};
  }
  static StageSpec Spec(uint32_t id, StageKind kind, std::vector<uint32_t> next,
                        bool messages = false) {
    return test::Spec(id, kind, std::move(next), messages);
  }

  // Ids of devices of worker `worker`, each in a separate slot.
  std::vector<std::string> IdsOf(uint32_t worker, size_t count) {
    std::vector<std::string> ids;
    std::set<uint32_t> slots;
    for (int i = 0; ids.size() < count; ++i) {
      const std::string id = "device-" + std::to_string(i);
      if (engine_.WorkerOf(id) == worker && slots.insert(Placement::SlotOf(id)).second) {
        ids.push_back(id);
      }
    }
    return ids;
  }

  // Takes and acknowledges everything that is ready for the uplink.
  void TakeBatches(History* history) {
    const auto lanes = engine_.LanesOf(0);
    Outlet* outlet = sessions_.At(lanes.get());
    std::string bytes;
    uint64_t id = 0;
    Batch head;
    while (lanes->Take(outlet, MonotonicUs(), [&](const Batch& batch) {
      id = batch.id;
      bytes = batch.bytes;
      head.kind = batch.kind;
      head.record_class = batch.record_class;
      head.device_bytes = batch.device_bytes;
      head.topic_bytes = batch.topic_bytes;
      return true;
    })) {
      ASSERT_EQ(head.kind, BatchKind::kEnvelope);
      for (size_t at = 0; at < bytes.size();) {
        const size_t end = bytes.find('\n', at);
        const std::string_view line(bytes.data() + at, end - at);
        history->See(Field(line, "d"), head.record_class, Field(line, "p"), Field(line, "s"));
        at = end + 1;
      }
      EXPECT_TRUE(lanes->Release(outlet, id, MonotonicUs()));
    }
  }

  void TakeMessages(History* history) {
    buffer_.resize(1 << 16);
    while (const size_t bytes = engine_.TakeMessages(buffer_.data(), buffer_.size())) {
      for (size_t at = 0; at < bytes;) {
        FrameHeader head;
        std::memcpy(&head, buffer_.data() + at, sizeof head);
        const Record record = ReadRecordFrame(buffer_.data() + at);
        history->See(std::string(record.device), record.topic == "alarm" ? 1 : 3,
                     std::string(record.payload), std::to_string(record.seq));
        at += head.total_bytes;
      }
    }
  }

  std::array<int, 2> Spread(const std::vector<std::string>& ids) {
    std::array<int, 2> counts{};
    for (const std::string& id : ids) ++counts[engine_.WorkerOf(id)];
    return counts;
  }

  std::vector<char> buffer_;
};

// One device that never stops: two records of class 3 and one of class 1, then their PUBACKs.
uint64_t PublishUntil(const std::atomic<bool>& stop, std::vector<DeviceClient>* devices) {
  uint64_t rounds = 0;
  for (; !stop.load(); ++rounds) {
    for (DeviceClient& device : *devices) {
      const auto id = static_cast<unsigned>(rounds % 20'000 * 3 + 1);
      const std::string n = std::to_string(rounds);
      EXPECT_TRUE(device.Send(mqtt_test::Publish1("t", id, std::to_string(rounds * 2)) +
                              mqtt_test::Publish1("alarm", id + 1, n) +
                              mqtt_test::Publish1("t", id + 2, std::to_string(rounds * 2 + 1))));
    }
    for (DeviceClient& device : *devices) {
      for (unsigned i = 1; i <= 3; ++i) {
        const auto id = static_cast<unsigned>(rounds % 20'000 * 3 + i);
        EXPECT_EQ(device.Receive(4), mqtt_test::Puback(id));
      }
      if (testing::Test::HasFailure()) return rounds;
    }
  }
  return rounds;
}

TEST_F(EnginePlacement, ASkewedLoadIsBalancedWhileDevicesPublish) {
  constexpr size_t kDevices = 24, kThreads = 2, kPushed = 6;
  EngineOptions options = Quick();
  // A balanced load is unbalanced again at once, so that devices move back and forth.
  options.rebalancing.limits.least_gap = 0;
  options.rebalancing.limits.least_ratio = 1;
  options.rebalancing.limits.rest_us = 0;
  Start(options, Plan());
  const uint16_t port = Listen();
  std::vector<std::string> ids = IdsOf(0, kDevices + kPushed);
  const std::vector<std::string> pushed(ids.end() - kPushed, ids.end());
  ids.resize(kDevices);
  std::array<std::vector<DeviceClient>, kThreads> devices;
  for (size_t i = 0; i < kDevices; ++i) {
    auto& mine = devices[i % kThreads];
    mine.emplace_back(port);
    ASSERT_TRUE(mine.back().Connect(ids[i]));
  }
  std::atomic<bool> stop{false};
  std::array<uint64_t, kThreads> rounds{};
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] { rounds[t] = PublishUntil(stop, &devices[t]); });
  }

  History batches, messages;
  uint64_t pushes = 0;
  const auto turn = [&] {
    TakeBatches(&batches);
    TakeMessages(&messages);
  };
  const auto push = [&] {
    const std::string payload = std::to_string(pushes);
    for (const std::string& id : pushed) {
      Record record;
      record.device = id;
      record.topic = "t";
      record.payload = payload;
      record.record_class = kNormal;
      while (engine_.Push(kIngest, record, true) != PushResult::kOk) turn();
    }
    ++pushes;
  };
  const int64_t enough_us = MonotonicUs() + 2'000'000;
  const bool is_even = Until([&] {
    turn();
    if (pushes < 20'000) push();
    const auto spread = Spread(ids);
    // It may be so balanced that nothing is left to move.
    const bool is_enough = engine_.rebalanced().moved >= 30 || MonotonicUs() > enough_us;
    return HasFailure() || (is_enough && spread[0] >= 8 && spread[1] >= 8);
  });
  // Beyond the moves.
  for (int i = 0; i < 50; ++i) {
    push();
    turn();
  }
  stop = true;
  std::atomic<size_t> ended{0};
  std::thread joiner([&] {
    for (std::thread& thread : threads) thread.join();
    ended = 1;
  });
  EXPECT_TRUE(Until([&] { return turn(), engine_.Flush(0), ended == 1; }));
  joiner.join();
  const uint64_t published = (rounds[0] * devices[0].size() + rounds[1] * devices[1].size()) * 3;
  EXPECT_TRUE(Until([&] {
    engine_.Flush(0);
    turn();
    return batches.records() == published + pushes * kPushed && messages.records() == published;
  })) << batches.records()
      << " of " << published << " and " << pushes * kPushed;

  EXPECT_TRUE(is_even) << Spread(ids)[0] << " to " << Spread(ids)[1];
  batches.ExpectNoGaps();
  EXPECT_EQ(engine_.devices(), static_cast<int64_t>(kDevices + kPushed));
  EXPECT_EQ(Count(Counter::kConnectionsClosed), 0u);
  EXPECT_EQ(Count(Counter::kDevicesConnected), uint64_t{kDevices});
  EXPECT_EQ(AllDropped(), 0u);
  EXPECT_EQ(engine_.budget().held(), 0);
  // Each series moved with its device: none was lost or begun again.
  const ForecastFigures figures = engine_.ForecastsOf(kForecast)->figures();
  EXPECT_EQ(figures.points, batches.records());
  EXPECT_EQ(figures.series, static_cast<int64_t>(kDevices * 2 + kPushed));
  const std::vector<AgentInfo> agents = engine_.Agents("", 100);
  ASSERT_EQ(agents.size(), kDevices + kPushed);
  for (const AgentInfo& agent : agents) EXPECT_EQ(agent.worker, engine_.WorkerOf(agent.device));
}

// A load that has to be shared: pushed records of devices of one worker.
class PushedLoad {
 public:
  PushedLoad(Engine* engine, uint32_t stage, std::vector<std::string> ids)
      : engine_(engine), stage_(stage), ids_(std::move(ids)) {}

  void Push() {
    for (const std::string& id : ids_) {
      Record record;
      record.device = id;
      record.topic = "t";
      record.payload = "1";
      (void)engine_->Push(stage_, record, true);
    }
  }

 private:
  Engine* const engine_;
  const uint32_t stage_;
  const std::vector<std::string> ids_;
};

// Ids of the same slot as `id`.
std::string Neighbour(const std::string& id) {
  for (int i = 0;; ++i) {
    std::string other = "neighbour-" + std::to_string(i);
    if (Placement::SlotOf(other) == Placement::SlotOf(id)) return other;
  }
}

TEST_F(EnginePlacement, ADevicesLeftBehindStateMovesWithIt) {
  EngineOptions options = Quick();
  options.rebalancing.record_cost_us = 10;
  options.rebalancing.limits.lasting_periods = 2;  // the second one has only this load
  Start(options);
  const uint16_t port = Listen();
  const std::vector<std::string> ids = IdsOf(0, 4);
  {
    DeviceClient device(port);
    ASSERT_FALSE(SessionPresent(LogIn(&device, {.id = ids[0], .clean = false})));
    ASSERT_EQ(test::Subscribe(&device, "cmd/#"), 1);
    ASSERT_TRUE(device.Send(mqtt_test::Publish0("t", "0")));
    ASSERT_TRUE(Until([this] { return Count(Counter::kRecordsReceived) == 1; }));
  }
  ASSERT_TRUE(Until([this] { return engine_.devices() == 0; }));
  // Two fifths fit best.
  const std::string neighbour = Neighbour(ids[0]);
  PushedLoad load(&engine_, kIngest, {neighbour, neighbour, ids[1], ids[2], ids[3]});
  ASSERT_TRUE(Until([&] {
    for (int i = 0; i < 20; ++i) load.Push();
    DrainUplink();
    return engine_.rebalanced().moved == 1;
  }));
  ASSERT_EQ(engine_.WorkerOf(ids[0]), 1u);
  DeviceClient again(port);
  EXPECT_TRUE(SessionPresent(LogIn(&again, {.id = ids[0], .clean = false})));
  ASSERT_EQ(engine_.Command({7, ids[0], "cmd/lamp", "on", 1, 0}, 10'000'000), PushResult::kOk);
  const std::string publish = again.ReceivePacket();
  EXPECT_EQ(publish, mqtt_test::Publish1("cmd/lamp", test::PacketId(publish), "on"));
}

TEST_F(EnginePlacement, ADeviceThatWaitsForTooLongStays) {
  Start(Quick());
  const uint16_t port = Listen();
  const std::vector<std::string> ids = IdsOf(0, 2);
  std::vector<DeviceClient> devices;
  for (const std::string& id : ids) {
    devices.emplace_back(port);
    ASSERT_TRUE(devices.back().Connect(id));
  }
  // Nothing is acknowledged: the uplink takes nothing.
  unsigned sent = 0;
  ASSERT_TRUE(Until([&] {
    for (int i = 0; i < 20; ++i) {
      ++sent;
      for (DeviceClient& device : devices) {
        EXPECT_TRUE(device.Send(mqtt_test::Publish1("t", sent, "1")));
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return engine_.rebalanced().undone > 0;
  }));
  EXPECT_EQ(engine_.rebalanced().moved, 0u);
  EXPECT_EQ(engine_.WorkerOf(ids[0]), 0u);
  EXPECT_EQ(engine_.WorkerOf(ids[1]), 0u);
  std::atomic<bool> stop{false};
  std::thread uplink([&] {
    while (!stop.load()) {
      engine_.Flush(0);
      DrainUplink();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  for (DeviceClient& device : devices) {
    for (unsigned id = 1; id <= sent; ++id) EXPECT_EQ(device.Receive(4), mqtt_test::Puback(id));
  }
  stop = true;
  uplink.join();
  EXPECT_EQ(Count(Counter::kConnectionsClosed), 0u);
  EXPECT_EQ(Count(Counter::kRecordsReceived), uint64_t{sent} * 2);
}

TEST_F(EnginePlacement, WhenItIsOffNothingMoves) {
  EngineOptions options = Quick();
  options.rebalance = false;
  Start(options);
  PushedLoad load(&engine_, kIngest, IdsOf(0, 4));
  const int64_t until_us = MonotonicUs() + 800'000;
  while (MonotonicUs() < until_us) {
    load.Push();
    DrainUplink();
  }
  EXPECT_EQ(engine_.rebalanced().moved, 0u);
  EXPECT_EQ(engine_.rebalanced().undone, 0u);
}

TEST_F(EnginePlacement, WorkersReportTheirDevices) {
  EngineOptions options;
  options.workers = 2;
  Start(options);
  const std::vector<WorkerInfo> workers = engine_.Workers();
  ASSERT_EQ(workers.size(), 2u);
  EXPECT_EQ(workers[0].slots + workers[1].slots, Placement::kSlots);
  for (const WorkerInfo& worker : workers) {
    EXPECT_GT(worker.capacity, 0u);
    EXPECT_GE(worker.busy, 0);
  }
}

// A full table drops rows without a connection, but never those that move with their connection.
TEST_F(EnginePlacement, ConnectionsThatMoveToAFullTableStay) {
  EngineOptions options = Quick();
  options.max_devices = 16;  // 64 rows a worker: the search for the oldest visits all
  Start(options);
  const uint16_t port = Listen();
  const std::vector<std::string> ids = IdsOf(0, 10);
  std::vector<DeviceClient> devices;
  std::vector<std::string> neighbours;
  for (const std::string& id : ids) {
    devices.emplace_back(port);
    ASSERT_TRUE(devices.back().Connect(id));
    neighbours.push_back(Neighbour(id));
  }
  std::vector<std::string> others;
  for (int i = 0; others.size() < 200; ++i) {
    std::string other = "other-" + std::to_string(i);
    if (engine_.WorkerOf(other) == 1) others.push_back(std::move(other));
  }
  PushedLoad churn(&engine_, kIngest, others);
  churn.Push();
  ASSERT_TRUE(Until([this] {
    engine_.Flush(0);
    DrainUplink();
    return Count(Counter::kRecordsReceived) >= 200;
  }));
  PushedLoad load(&engine_, kIngest, neighbours);
  ASSERT_TRUE(Until([&] {
    for (int i = 0; i < 40; ++i) load.Push();
    DrainUplink();
    return engine_.rebalanced().moved > 0;
  }));
  for (size_t i = 0; i < devices.size(); ++i) {
    ASSERT_TRUE(devices[i].Send(mqtt_test::Publish0("t", "1"))) << ids[i];
    ASSERT_TRUE(devices[i].Send("\xC0" + std::string(1, '\0')));
    EXPECT_EQ(devices[i].Receive(2), std::string("\xD0\0", 2)) << ids[i];
  }
}

}  // namespace
}  // namespace seganet

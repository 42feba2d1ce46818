// Windows of a filter in a running engine: when a device gets its acknowledgement, and what ends a
// window.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "test/support/engine_support.h"

namespace seganet {
namespace {

using mqtt_test::Puback;
using mqtt_test::Publish1;
using test::DeviceClient;
using test::MakeRecord;
using test::Spec;
using test::Until;
using test::UplinkStage;

class EngineWindows : public test::EngineTest {
 protected:
  static constexpr uint32_t kFilter = 7;

  static std::vector<StageSpec> Plan(const WindowOptions& window) {
    StageSpec filter = Spec(kFilter, StageKind::kFilter, {kUplink});
    filter.filter.mode = FilterMode::kWindow;
    filter.filter.window = window;
    return {Spec(kSource, StageKind::kSource, {kFilter}),
            Spec(kIngest, StageKind::kIngest, {kFilter}), filter, UplinkStage(kUplink)};
  }

  void StartWith(const WindowOptions& window) {
    EngineOptions options;
    options.acknowledge = Acknowledge::kSafe;
    Start(options, Plan(window));
  }

  // Returns the records of the uplink as soon as there are `count`.
  std::vector<std::string> Wait(size_t count) {
    std::vector<std::string> all;
    EXPECT_TRUE(Until([&] {
      for (std::string& record : TakeRecords()) all.push_back(std::move(record));
      return all.size() >= count;
    }));
    return all;
  }

  bool HasArrived(uint64_t records) {
    return Until([&] { return Count(Counter::kRecordsFiltered) == records; });
  }
};

TEST_F(EngineWindows, ADeviceGetsItsAcknowledgementsWhenItsWindowIsSafe) {
  StartWith({.values = {"$"}, .length_s = 1, .hold = true});
  DeviceClient device(Listen());
  ASSERT_TRUE(device.Connect("d"));
  ASSERT_TRUE(device.Send(Publish1("t", 1, "1") + Publish1("t", 2, "2")));
  ASSERT_TRUE(HasArrived(2));
  EXPECT_EQ(engine_.windows(), 1);
  // By its own timer, without a further record.
  const std::vector<std::string> records = Wait(1);
  EXPECT_EQ(records[0].substr(0, 12), R"(d t {"from":)");
  EXPECT_NE(records[0].find(R"("sum":3,"count":2)"), std::string::npos) << records[0];
  EXPECT_EQ(device.Receive(8), Puback(1) + Puback(2));
  EXPECT_EQ(engine_.windows(), 0);
  EXPECT_TRUE(Until([&] { return engine_.budget().held() == 0; }));
}

TEST_F(EngineWindows, ADeviceGetsItsAcknowledgementsAtOnceIfChosen) {
  StartWith({.values = {"$"}, .length_s = 3600});
  DeviceClient device(Listen());
  ASSERT_TRUE(device.Connect("d"));
  EXPECT_TRUE(device.Publish("t", "1"));
  EXPECT_TRUE(device.Publish("t", "2"));
  EXPECT_EQ(engine_.windows(), 1);
}

TEST_F(EngineWindows, AWindowThatIsNeverSafeIsNeverAcknowledged) {
  StartWith({.values = {"$"}, .length_s = 3600, .records = 2, .hold = true});
  DeviceClient device(Listen());
  ASSERT_TRUE(device.Connect("d"));
  ASSERT_TRUE(device.Send(Publish1("t", 1, "1") + Publish1("t", 2, "2")));
  ASSERT_TRUE(HasArrived(2));
  ASSERT_TRUE(Until([&] { return Count(Counter::kRecordsQueued) == 1; }));
  // The uplink leaves the plan, and the engine has no log: the record is dropped.
  Apply({Spec(kSource, StageKind::kSource), Spec(kIngest, StageKind::kIngest)});
  EXPECT_EQ(device.Receive(1), "") << "no PUBACK";
  EXPECT_TRUE(device.ClosedByPeer());
  EXPECT_EQ(Dropped(Drop::kUplinkRemoved), 1u);
}

TEST_F(EngineWindows, ATicketIsCompletedWithItsWindow) {
  StartWith({.values = {"$"}, .length_s = 3600, .records = 2, .hold = true});
  for (uint32_t ticket : {5u, 6u}) {
    Record record = MakeRecord("d", "t", "1");
    record.ticket = ticket;
    ASSERT_EQ(engine_.Push(kIngest, record, true), PushResult::kOk);
  }
  Wait(1);
  std::vector<Completion> completions;
  ASSERT_TRUE(Until([&] {
    for (const Completion& each : engine_.TakeCompletions()) completions.push_back(each);
    return completions.size() == 2;
  }));
  EXPECT_TRUE(completions[0].ok && completions[1].ok);
  EXPECT_EQ(completions[0].ticket + completions[1].ticket, 11u);
}

TEST_F(EngineWindows, AFlushEndsTheWindowsOfItsStage) {
  StartWith({.values = {"$"}, .length_s = 3600, .hold = true});
  DeviceClient device(Listen());
  ASSERT_TRUE(device.Connect("d"));
  ASSERT_TRUE(device.Send(Publish1("t", 1, "1")));
  ASSERT_TRUE(HasArrived(1));
  engine_.Flush(kSource);
  engine_.Flush(kFilter);
  EXPECT_NE(Wait(1)[0].find(R"("partial":true)"), std::string::npos);
  EXPECT_EQ(device.Receive(4), Puback(1));
  EXPECT_EQ(Count(Counter::kWindowsEndedEarly), 1u);
}

TEST_F(EngineWindows, DeploysUnderLoadKeepEachRecordInOneWindow) {
  WindowOptions window{.values = {"$"}, .length_s = 1, .hold = true};
  StartWith(window);
  DeviceClient device(Listen());
  ASSERT_TRUE(device.Connect("d"));
  double sum = 0;
  const auto add = [&] {
    for (const std::string& record : TakeRecords()) {
      const size_t at = record.find("\"sum\":");
      ASSERT_NE(at, std::string::npos);
      sum += std::strtod(record.c_str() + at + 6, nullptr);
    }
  };
  constexpr unsigned kRecords = 400;
  for (unsigned i = 1; i <= kRecords; ++i) {
    ASSERT_TRUE(device.Send(Publish1("t", i, "1")));
    if (i % 20 != 0) continue;
    window.length_s = 1 + i % 3;
    Apply(Plan(window));
    add();
  }
  EXPECT_TRUE(Until([&] {
    add();
    return sum >= kRecords;
  }));
  EXPECT_EQ(sum, kRecords);
  for (unsigned i = 1; i <= kRecords; ++i) ASSERT_EQ(device.Receive(4), Puback(i));
  EXPECT_EQ(engine_.windows(), 0);
}

// With one window an hour, only a move ends a window.
TEST_F(EngineWindows, AWindowEndsWhenItsDeviceMovesToAnotherWorker) {
  EngineOptions options;
  options.workers = 2;
  options.rebalance = true;
  options.acknowledge = Acknowledge::kSafe;
  options.rebalancing.period_us = 1000;
  options.rebalancing.limits.lasting_periods = 1;
  options.rebalancing.record_cost_us = 1000;
  Start(options, Plan({.values = {"$"}, .length_s = 3600, .hold = true}));
  const uint16_t port = Listen();
  std::vector<DeviceClient> devices;
  for (int i = 0; devices.size() < 8; ++i) {
    const std::string id = "device-" + std::to_string(i);
    if (engine_.WorkerOf(id) != 0) continue;
    devices.emplace_back(port);
    ASSERT_TRUE(devices.back().Connect(id));
  }
  double records = 0;
  unsigned sent = 0;
  const auto take = [&] {
    for (const std::string& record : TakeRecords()) {
      EXPECT_NE(record.find(R"("partial":true)"), std::string::npos) << record;
      records += std::strtod(record.c_str() + record.find("\"count\":") + 8, nullptr);
    }
  };
  EXPECT_TRUE(Until([&] {
    if (sent < 20'000) {
      ++sent;
      for (DeviceClient& device : devices) EXPECT_TRUE(device.Send(Publish1("t", sent, "1")));
    }
    take();
    return engine_.rebalanced().moved > 0;
  }));
  engine_.Flush(0);
  const auto all = static_cast<double>(sent * devices.size());
  EXPECT_TRUE(Until([&] {
    engine_.Flush(0);
    take();
    return records >= all;
  }));
  EXPECT_EQ(records, all);
  for (DeviceClient& device : devices) {
    for (unsigned i = 1; i <= sent; ++i) ASSERT_EQ(device.Receive(4), Puback(i));
  }
  EXPECT_EQ(engine_.windows(), 0);
}

}  // namespace
}  // namespace seganet

// The last values of an engine's devices, from all kinds of sources, on loopback.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "test/support/device_packets.h"
#include "test/support/engine_support.h"

namespace seganet {
namespace {

using test::DeviceClient;
using test::LogIn;
using test::MakeRecord;
using test::Until;

class EngineValues : public test::EngineTest {
 protected:
  static EngineOptions WithValues() {
    EngineOptions options;
    options.values.memory_mib = 1;
    return options;
  }

  std::vector<ValueRow> All(ValueQuery query = {.limit = 1000}) {
    std::vector<ValueRow> rows;
    for (bool is_complete = false; !is_complete;) {
      const ValuePage page = engine_.Values(query);
      rows.insert(rows.end(), page.rows.begin(), page.rows.end());
      query.after = page.reached;
      is_complete = page.is_complete;
    }
    return rows;
  }
  std::string Shown(const ValueQuery& query = {.limit = 1000}) {
    std::string shown;
    for (const ValueRow& row : All(query)) {
      shown += row.device + " " + row.topic + "=" + row.payload + " " +
               std::to_string(row.record_class) + "\n";
    }
    return shown;
  }
};

TEST_F(EngineValues, AreThoseOfAllSourcesWithTheirFinalClass) {
  std::vector<StageSpec> plan = UsualPlan();
  plan.push_back(test::Spec(6, StageKind::kPriority, {kBatch}));
  plan.back().rules = {{"alarm", "", 1}};
  plan[0].next = plan[1].next = {6};
  plan[0].source.presence_topic = "presence/{device}";
  Start(WithValues(), plan);
  DeviceClient device(Listen());
  LogIn(&device, {.id = "m", .will_topic = "will", .will_payload = "gone"});
  ASSERT_TRUE(device.Publish("alarm", "1"));
  EXPECT_EQ(engine_.Push(kIngest, MakeRecord("p", "alarm", "2"), true), PushResult::kOk);
  // Returns from a message wire: it has entered before.
  EXPECT_EQ(engine_.Push(kIngest, MakeRecord("p", "again", "3"), false), PushResult::kOk);
  device.Close();
  ASSERT_TRUE(Until([this] { return engine_.kept_values() == 4; }));
  ASSERT_TRUE(Until([this] { return Shown().find("disconnected") != std::string::npos; }));
  EXPECT_EQ(Shown({.filter = "alarm"}), "m alarm=1 1\np alarm=2 1\n");
  EXPECT_EQ(Shown({.filter = "will"}), "m will=gone 3\n");
  EXPECT_EQ(Shown({.device = "p"}), "p alarm=2 1\n");
}

TEST_F(EngineValues, AreNotKeptUnlessTheyAreOn) {
  Start();
  EXPECT_EQ(engine_.Push(kIngest, MakeRecord("p", "t", "1"), true), PushResult::kOk);
  ASSERT_TRUE(Until([this] { return Count(Counter::kRecordsQueued) == 1; }));
  EXPECT_TRUE(All().empty());
  EXPECT_EQ(engine_.value_bytes(), 0);
}

TEST_F(EngineValues, PagesOverWorkersInTheOrderOfDevices) {
  Start(WithValues());
  std::vector<std::string> ids;
  for (int i = 0; i < 50; ++i) {
    ids.push_back("d" + std::to_string(i));
    EXPECT_EQ(engine_.Push(kIngest, MakeRecord(ids.back(), "t", "1"), true), PushResult::kOk);
  }
  ASSERT_TRUE(Until([this] { return engine_.kept_values() == 50; }));
  std::sort(ids.begin(), ids.end());
  std::vector<std::string> paged;
  for (const ValueRow& row : All({.limit = 7})) paged.push_back(row.device);
  EXPECT_EQ(paged, ids);
  EXPECT_EQ(engine_.ChangedValues({.limit = 100}, -1).rows.size(), 50u);
  EXPECT_FALSE(engine_.ChangedValues({.limit = 7}, -1).is_complete);
}

TEST_F(EngineValues, OfAnEarlierRunDoNotMakeTheirDevicesKnown) {
  Start(WithValues());
  EXPECT_EQ(engine_.Push(kIngest, MakeRecord("a", "t", "1"), true), PushResult::kOk);
  EXPECT_EQ(engine_.Push(kIngest, MakeRecord("b", "t", "2"), true), PushResult::kOk);
  ASSERT_TRUE(Until([this] { return engine_.kept_values() == 2; }));
  std::string rows;
  for (size_t worker = 0; worker < 2; ++worker) {
    ValueKey after;
    while (!engine_.SaveValues(worker, &after, &rows)) {
    }
  }
  test::CountingBell bell;
  Engine next(&bell);
  EngineOptions options = WithValues();
  options.workers = 1;
  ASSERT_TRUE(next.Start(options).ok());
  ASSERT_TRUE(next.ApplyPlan(UsualPlan()).ok());
  size_t restored = 0;
  EXPECT_TRUE(next.RestoreValues(rows, &restored));
  EXPECT_EQ(restored, 2u);
  EXPECT_TRUE(next.Values({}).rows[0].restored);
  EXPECT_TRUE(next.Agents("", 10).empty());
  EXPECT_EQ(next.Push(kIngest, MakeRecord("b", "t", "3"), true), PushResult::kOk);
  ASSERT_TRUE(Until([&next] { return !next.Values({.device = "b"}).rows[0].restored; }));
  EXPECT_EQ(next.Agents("", 10).size(), 1u);
  EXPECT_FALSE(next.RestoreValues(rows.substr(1), &restored));
  EXPECT_EQ(restored, 0u);
  next.Close();
}

TEST_F(EngineValues, AreReadWhileDevicesPublishLeaveAndMove) {
  EngineOptions options = WithValues();
  options.rebalance = true;
  options.rebalancing.period_us = 1000;
  options.rebalancing.limits.lasting_periods = 1;
  options.rebalancing.limits.least_gap = 0;
  options.rebalancing.limits.least_ratio = 1;
  options.rebalancing.limits.rest_us = 0;
  options.rebalancing.record_cost_us = 1000;
  options.values.topics = 3;
  Start(options, {test::Spec(kSource, StageKind::kSource, {kUplink}), test::UplinkStage(kUplink)});
  const uint16_t port = Listen();
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; !stop.load(); ++round) {
        DeviceClient device(port);
        ASSERT_TRUE(device.Connect("d" + std::to_string(t * 20 + round % 20)));
        for (int i = 0; i < 20; ++i) {
          ASSERT_TRUE(device.Publish("t" + std::to_string(i % 5), std::string(400, '7')));
        }
      }
    });
  }
  int64_t since_us = 0;
  const auto read = [&] {
    DrainUplink();
    const ValuePage page = engine_.ChangedValues({.limit = 100}, since_us);
    since_us = page.at_us;
    All({.search = "777", .limit = 10});
    for (size_t worker = 0; worker < 2; ++worker) engine_.ValueLevels(worker, "", {});
    return engine_.rebalanced().moved >= 10;
  };
  EXPECT_TRUE(Until(read));
  stop = true;
  for (std::thread& thread : threads) thread.join();
  const auto rows = All();
  EXPECT_EQ(static_cast<int64_t>(rows.size()), engine_.kept_values());
  EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end(), [](const ValueRow& a, const ValueRow& b) {
    return a.key() < b.key();
  }));
  EXPECT_LE(engine_.value_bytes(), kMiB);
}

}  // namespace
}  // namespace seganet

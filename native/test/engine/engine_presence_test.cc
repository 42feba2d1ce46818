// Devices that come and go: events, presence records and the register of agents.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "test/support/engine_support.h"

namespace seganet {
namespace {

using test::DeviceClient;
using test::Until;

class EnginePresence : public test::EngineTest {
 protected:
  void StartWith(const SourceSettings& source) {
    std::vector<StageSpec> plan = UsualPlan();
    plan[0].source = source;
    // Record by record, so that each is seen.
    plan[2].batcher.mode = BatchMode::kOff;
    Start({}, std::move(plan));
  }

  // Waits for `n` events; further ones stay.
  std::vector<DeviceEvent> Events(size_t n) {
    std::vector<DeviceEvent> all;
    Until([&] {
      for (DeviceEvent& event : engine_.TakeEvents()) all.push_back(std::move(event));
      return all.size() >= n;
    });
    return all;
  }
};

TEST_F(EnginePresence, EventsReportDevicesAndTheReasonsForLeaving) {
  Start();
  const uint16_t port = Listen();
  DeviceClient old(port);
  ASSERT_TRUE(old.Connect("a"));
  std::vector<DeviceEvent> events = Events(1);
  DeviceClient young(port);
  ASSERT_TRUE(young.Connect("a"));
  for (DeviceEvent& event : Events(2)) events.push_back(std::move(event));
  ASSERT_TRUE(young.Send("\xF0"));  // 3.1.1 has no AUTH
  ASSERT_TRUE(young.Send(std::string_view("\0", 1)));
  for (DeviceEvent& event : Events(1)) events.push_back(std::move(event));
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[0].kind, DeviceEventKind::kConnected);
  EXPECT_EQ(events[0].device, "a");
  EXPECT_EQ(events[0].stage, kSource);
  EXPECT_EQ(events[0].worker, engine_.WorkerOf("a"));
  EXPECT_EQ(events[1].kind, DeviceEventKind::kDisconnected);
  EXPECT_EQ(events[1].end, DeviceEnd::kTakenOver);
  EXPECT_EQ(events[2].kind, DeviceEventKind::kConnected);
  EXPECT_EQ(events[3].end, DeviceEnd::kProtocol);
}

TEST_F(EnginePresence, AListenersEndIsReported) {
  Start();
  DeviceClient device(Listen());
  ASSERT_TRUE(device.Connect("a"));
  engine_.Unlisten(kSource);
  const std::vector<DeviceEvent> events = Events(2);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[1].end, DeviceEnd::kStopped);
}

TEST_F(EnginePresence, RecordsReportItOnTheTopicOfTheSource) {
  SourceSettings source;
  source.presence_topic = "presence/{device}";
  StartWith(source);
  DeviceClient device(Listen());
  ASSERT_TRUE(device.Connect("a"));
  device.Close();
  std::vector<std::string> seen;
  ASSERT_TRUE(Until([&] {
    for (const std::string& record : TakeRecords()) seen.push_back(record);
    return seen.size() == 2;
  }));
  EXPECT_EQ(seen[0], R"(a presence/a {"state":"connected","protocol":"mqtt"})");
  EXPECT_EQ(seen[1],
            R"(a presence/a {"state":"disconnected","protocol":"mqtt","reason":"closed"})");
  EXPECT_EQ(Count(Counter::kRecordsReceived), 2u);
}

TEST_F(EnginePresence, AWildcardInAnIdMakesNoneInTheTopic) {
  EXPECT_EQ(PresenceTopic("p/{device}/{device}", "a+#b"), "p/a__b/a__b");
  EXPECT_EQ(PresenceTopic("p", "a"), "p");
  EXPECT_EQ(PresenceTopic("{device}", "{device}"), "{device}");
}

TEST_F(EnginePresence, APlanWithAWildcardInThePresenceTopicIsRefused) {
  Start();
  std::vector<StageSpec> plan = UsualPlan();
  plan[0].source.presence_topic = "p/+/x";
  EXPECT_FALSE(engine_.ApplyPlan(plan).ok());
}

TEST_F(EnginePresence, UnreadEventsAreBoundedAndCounted) {
  test::CountingBell bell;
  DeviceEvents events(&bell);
  const auto add = [&events] {
    DeviceEventNumbers none{};
    return events.Add({}, &none);
  };
  for (size_t i = 0; i < DeviceEvents::kMost; ++i) ASSERT_TRUE(add());
  EXPECT_FALSE(add());
  EXPECT_EQ(events.Take(10).size(), 10u);
  EXPECT_EQ(events.Take().size(), DeviceEvents::kMost - 10);
  EXPECT_TRUE(add());
}

TEST_F(EnginePresence, OneEventOfAKindWaitsForADeviceAndTheLatestIsTheLast) {
  test::CountingBell bell;
  DeviceEvents events(&bell);
  DeviceEventNumbers mine{}, other{};
  const auto add = [&](DeviceEventKind kind, const char* address, DeviceEventNumbers* numbers) {
    DeviceEvent event;
    event.kind = kind;
    event.address = address;
    EXPECT_TRUE(events.Add(std::move(event), numbers));
  };
  const auto taken = [&](size_t most) {
    std::string text;
    for (const DeviceEvent& event : events.Take(most)) {
      text += std::string(1, Name(event.kind)[0]) + event.address + " ";
    }
    return text;
  };
  for (int round = 0; round < 3; ++round) {
    add(DeviceEventKind::kConnected, "1", &mine);
    add(DeviceEventKind::kConnected, "x", &other);
    for (int i = 0; i < 1000; ++i) add(DeviceEventKind::kListening, "1", &mine);
    EXPECT_EQ(taken(1), "c1 ");
    for (int i = 0; i < 1000; ++i) {
      add(DeviceEventKind::kDisconnected, "2", &mine);
      add(DeviceEventKind::kConnected, "3", &mine);
    }
    add(DeviceEventKind::kDisconnected, "4", &mine);
    EXPECT_EQ(taken(100), "cx l1 c3 d4 ");
    other = {};
  }
}

TEST_F(EnginePresence, ASubscribeThatChangesNothingMakesNoEvent) {
  Start();
  DeviceClient device(Listen());
  ASSERT_TRUE(device.Connect("a"));
  const std::string subscribe("\x82\x06\0\1\0\1a\0", 8);
  std::vector<DeviceEvent> events;
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(device.Send(subscribe));
    ASSERT_EQ(device.Receive(5).size(), 5u);
    for (DeviceEvent& event : engine_.TakeEvents()) events.push_back(std::move(event));
  }
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].kind, DeviceEventKind::kConnected);
  EXPECT_EQ(events[1].kind, DeviceEventKind::kListening);
}

TEST_F(EnginePresence, TheRegisterPagesThroughTheDevicesOfAllWorkers) {
  Start();
  const uint16_t port = Listen();
  std::vector<DeviceClient> devices;
  for (int i = 0; i < 25; ++i) {
    devices.emplace_back(port);
    ASSERT_TRUE(devices.back().Connect("d" + std::to_string(100 + i)));
  }
  ASSERT_TRUE(devices[3].Publish("t", "12345"));
  devices[4].Close();
  ASSERT_TRUE(Until([this] { return engine_.devices() == 24; }));
  std::vector<AgentInfo> all;
  std::string after;
  for (auto page = engine_.Agents("", 10); !page.empty(); page = engine_.Agents(after, 10)) {
    EXPECT_LE(page.size(), 10u);
    all.insert(all.end(), page.begin(), page.end());
    after = all.back().device;
  }
  ASSERT_EQ(all.size(), 25u);
  for (int i = 0; i < 25; ++i) {
    EXPECT_EQ(all[i].device, "d" + std::to_string(100 + i));
    EXPECT_EQ(all[i].connected, i != 4);
    EXPECT_EQ(all[i].stage, kSource);
    EXPECT_EQ(all[i].worker, engine_.WorkerOf(all[i].device));
    EXPECT_FALSE(all[i].listening);
    EXPECT_LT(all[i].silent_us, 60'000'000);
  }
  EXPECT_EQ(all[3].records, 1u);
  EXPECT_EQ(all[3].bytes, 5u);
  EXPECT_EQ(all[3].record_class, kNormal);
  EXPECT_GT(all[3].rate_per_s, 0);
  EXPECT_EQ(all[2].record_class, 0);
}

}  // namespace
}  // namespace seganet

// Urgent devices end the naps of a busy worker.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "core/devices/urgent/urgent_agents.h"
#include "test/support/engine_support.h"

namespace seganet {
namespace {

using mqtt_test::Publish1;
using test::DeviceClient;
using test::Until;

constexpr int kOthers = 40;  // a worker naps with 32 devices and more

class EngineUrgent : public test::EngineTest {
 protected:
  // Topics that end with "alarm" are of class 1. Naps last up to 20 ms.
  void SetUp() override {
    EngineOptions options;
    options.workers = 1;
    options.wake_interval_us = 20'000;
    Start(options, PlanWith({}));
    port_ = Listen();
  }

  static std::vector<StageSpec> PlanWith(std::vector<DeviceClass> registered) {
    constexpr uint32_t kPriority = 6;
    std::vector<StageSpec> plan = UsualPlan();
    plan[0].next = {kPriority};
    plan[0].devices = std::move(registered);
    plan.push_back(test::Spec(kPriority, StageKind::kPriority, {kBatch}));
    plan.back().rules = {{"+/alarm", "", kCritical}};
    return plan;
  }

  void ConnectOthers() {
    for (int i = 0; i < kOthers; ++i) {
      others_.emplace_back(port_);
      ASSERT_TRUE(others_.back().Connect("other" + std::to_string(i)));
    }
  }

  // Keeps the worker busy with records of `topic` from the other devices, until `done`.
  bool BusyUntil(const std::string& topic, const std::function<bool()>& done) {
    return Until([&] {
      for (DeviceClient& other : others_) {
        EXPECT_TRUE(other.Send(Publish1(topic, 1, "1")));
        other.Receive(4);
      }
      DrainUplink();
      return done();
    });
  }

  uint16_t port_ = 0;
  std::vector<DeviceClient> others_;
};

TEST_F(EngineUrgent, ADeviceThatSendsAlarmsEndsNaps) {
  ConnectOthers();
  DeviceClient alarm(port_);
  ASSERT_TRUE(alarm.Connect("a"));
  std::atomic<bool> done{false};
  std::thread sender([&] {
    while (!done) {
      alarm.Send(Publish1("a/alarm", 1, "1"));
      alarm.Receive(4);
    }
  });
  EXPECT_TRUE(BusyUntil("o/value", [this] { return Count(Counter::kNapsEnded) >= 20; }));
  done = true;
  sender.join();
}

TEST_F(EngineUrgent, ADeviceThatIsRegisteredWithClass1EndsNapsAtItsFirstRecord) {
  Apply(PlanWith({{"a", kCritical}}));
  ConnectOthers();
  DeviceClient alarm(port_);
  ASSERT_TRUE(alarm.Connect("a"));
  // Ping requests are no records, so the device keeps its registered class.
  std::atomic<bool> done{false};
  std::thread sender([&] {
    while (!done) {
      alarm.Send(std::string("\xC0\0", 2));
      alarm.Receive(2);
    }
  });
  EXPECT_TRUE(BusyUntil("o/value", [this] { return Count(Counter::kNapsEnded) >= 20; }));
  done = true;
  sender.join();
}

TEST_F(EngineUrgent, DevicesOfOtherClassesEndNone) {
  ConnectOthers();
  int rounds = 0;
  EXPECT_TRUE(BusyUntil("o/value", [&] { return ++rounds == 100; }));
  EXPECT_EQ(Count(Counter::kNapsEnded), 0u);
}

// Each of them ends many naps, and their records arrive all the same. One after the other, they
// leave: by other records, by closing, and when their socket is not read.
TEST_F(EngineUrgent, AnyNumberOfThemMayComeAndGo) {
  ConnectOthers();
  std::vector<DeviceClient> alarms;
  constexpr size_t kAlarms = UrgentAgents::kMost + 20;
  for (size_t i = 0; i < kAlarms; ++i) {
    alarms.emplace_back(port_);
    ASSERT_TRUE(alarms.back().Connect("a" + std::to_string(i)));
  }
  const auto send_all = [&](const std::string& topic) {
    for (DeviceClient& alarm : alarms) ASSERT_TRUE(alarm.Send(Publish1(topic, 1, "1")));
    for (DeviceClient& alarm : alarms) ASSERT_EQ(alarm.Receive(4).size(), 4u);
    DrainUplink();
  };
  for (int i = 0; i < 5; ++i) send_all("a/alarm");
  for (size_t i = 0; i < kAlarms; i += 2) alarms[i].Close();
  std::vector<DeviceClient> left;
  for (size_t i = 1; i < kAlarms; i += 2) left.push_back(std::move(alarms[i]));
  alarms = std::move(left);
  ASSERT_TRUE(Until([&] { return engine_.devices() == int64_t{kOthers} + kAlarms / 2; }));
  for (int i = 0; i < 3; ++i) send_all("a/alarm");
  engine_.HoldReading(true);
  for (DeviceClient& alarm : alarms) ASSERT_TRUE(alarm.Send(Publish1("a/alarm", 1, "1")));
  engine_.HoldReading(false);
  for (DeviceClient& alarm : alarms) ASSERT_EQ(alarm.Receive(4).size(), 4u);
  for (int i = 0; i < 10; ++i) send_all("a/value");
  const uint64_t ended = Count(Counter::kNapsEnded);
  int rounds = 0;
  EXPECT_TRUE(BusyUntil("o/value", [&] { return ++rounds == 20; }));
  EXPECT_EQ(Count(Counter::kNapsEnded), ended) << "none is urgent anymore";
  EXPECT_EQ(AllDropped(), 0u);
}

}  // namespace
}  // namespace seganet

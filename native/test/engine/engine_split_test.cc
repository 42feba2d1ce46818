// An engine with a split stage: answers to devices, limits across workers, parts that leave.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "test/support/coap_client.h"
#include "test/support/device_packets.h"
#include "test/support/engine_support.h"

namespace seganet {
namespace {

using test::Accepted;
using test::CoapClient;
using test::DeviceClient;
using test::kChanged;
using test::kForbidden;
using test::kMaxAge;
using test::kTooMany;
using test::LogIn;
using test::Publish5;
using test::Spec;
using test::UplinkStage;

constexpr uint32_t kSplitter = 9;

class EngineSplit : public test::EngineTest {
 protected:
  // Part n ("p<n>") has uplink stage 20 + n and lanes n.
  static std::vector<StageSpec> PlanOf(const std::vector<uint32_t>& parts, uint32_t rate = 0,
                                       uint64_t budget = 0, Protocol protocol = Protocol::kMqtt) {
    std::vector<StageSpec> plan{Spec(kSource, StageKind::kSource, {kSplitter}),
                                Spec(kIngest, StageKind::kIngest, {kSplitter}),
                                Spec(kSplitter, StageKind::kSplit)};
    plan[0].source.protocol = protocol;
    for (const uint32_t n : parts) {
      plan[2].parts.push_back({"p" + std::to_string(n), rate, budget});
      plan[2].next.push_back(20 + n);
      plan.push_back(UplinkStage(20 + n, n));
      plan.back().name = "part/" + std::to_string(n);
    }
    return plan;
  }

  static EngineOptions Received() {
    EngineOptions options;
    options.acknowledge = Acknowledge::kReceived;
    return options;
  }

  // The records of lanes `uplink` as "device payload".
  std::vector<std::string> Take(uint32_t uplink) {
    std::vector<std::string> records;
    const auto lanes = engine_.LanesOf(uplink);
    Outlet* outlet = sessions_.At(lanes.get());
    uint64_t id = 0;
    while (lanes->Take(outlet, MonotonicUs(), [&](const Batch& batch) {
      id = batch.id;
      records.push_back(batch.bytes.substr(0, batch.device_bytes) + " " +
                        batch.bytes.substr(batch.device_bytes + batch.topic_bytes));
      return true;
    })) {
      EXPECT_TRUE(lanes->Release(outlet, id, MonotonicUs()));
    }
    return records;
  }
};

TEST_F(EngineSplit, EqualNamesInTwoPartsAreTwoDevices) {
  Start(Received(), PlanOf({0, 1}));
  const uint16_t port = Listen();
  DeviceClient first(port), second(port);
  ASSERT_TRUE(first.Connect("p0:pump"));
  ASSERT_TRUE(second.Connect("p1:pump"));
  EXPECT_TRUE(first.Publish("t", "1"));
  EXPECT_TRUE(second.Publish("t", "2"));
  EXPECT_TRUE(first.Publish("t", "3"));
  EXPECT_EQ(Take(0), (std::vector<std::string>{"pump 1", "pump 3"}));
  EXPECT_EQ(Take(1), (std::vector<std::string>{"pump 2"}));
  EXPECT_EQ(Count(Counter::kTakeOvers), 0u);
  EXPECT_EQ(engine_.devices(), 2);
}

TEST_F(EngineSplit, MqttDevicesGetAReasonCodeOrTheirConnectionEnds) {
  Start(Received(), PlanOf({0}, 1));
  const uint16_t port = Listen();
  DeviceClient five(port), stranger(port), old(port);
  ASSERT_TRUE(Accepted(LogIn(&five, {.id = "p0:a", .level = 5})));
  ASSERT_TRUE(five.Send(Publish5("t", 1, "1") + Publish5("t", 2, "2")));
  EXPECT_EQ(five.ReceivePacket(), mqtt_test::Puback(1));
  EXPECT_EQ(five.ReceivePacket(), test::Lit("\x40\x03\0\x02\x97")) << "quota exceeded";
  ASSERT_TRUE(Accepted(LogIn(&stranger, {.id = "p9:a", .level = 5})));
  ASSERT_TRUE(stranger.Send(Publish5("t", 1, "1")));
  EXPECT_EQ(stranger.ReceivePacket(), test::Lit("\x40\x03\0\x01\x87")) << "not authorized";
  ASSERT_TRUE(old.Connect("plain"));
  ASSERT_TRUE(old.Send(mqtt_test::Publish1("t", 1, "1")));
  EXPECT_TRUE(old.ClosedByPeer()) << "3.1.1 has no refusal";
  EXPECT_EQ(Closed(CloseReason::kNotTaken), 1u);
  EXPECT_EQ(Dropped(Drop::kPartFull), 1u);
  EXPECT_EQ(Dropped(Drop::kNoPart), 2u);
  EXPECT_EQ(AllDropped(), 3u);
}

TEST_F(EngineSplit, CoapDevicesGet429WithMaxAgeOr403) {
  Start(Received(), PlanOf({0}, 1, 0, Protocol::kCoap));
  uint16_t port = 0;
  ASSERT_TRUE(
      engine_.Listen(kSource, {.host = "127.0.0.1", .transport = Transport::kUdp}, &port).ok());
  CoapClient device(port);
  EXPECT_EQ(device.Post("/r/p0:a", "1"), kChanged);
  EXPECT_EQ(device.Post("/r/p0:a", "2"), kTooMany);
  EXPECT_EQ(device.last().Number(kMaxAge), 5);
  EXPECT_EQ(device.Post("/r/a", "1"), kForbidden);
}

TEST_F(EngineSplit, ATicketHasTheReasonWhyItsRecordWasNotTaken) {
  Start(Received(), PlanOf({0}, 1));
  const auto push = [this](std::string_view device, uint32_t ticket) {
    Record record = test::MakeRecord(device, "t", "1");
    record.ticket = ticket;
    ASSERT_EQ(engine_.Push(kIngest, record, true), PushResult::kOk);
  };
  push("p0:a", 1);
  push("p0:a", 2);
  push("a", 3);
  std::map<uint32_t, Completion> done;
  ASSERT_TRUE(test::Until([&] {
    for (const Completion& each : engine_.TakeCompletions()) done[each.ticket] = each;
    return done.size() == 3;
  }));
  EXPECT_TRUE(done[1].ok);
  EXPECT_TRUE(done[2].withheld);
  EXPECT_EQ(done[2].why, Untaken::kPartFull);
  EXPECT_TRUE(done[3].withheld);
  EXPECT_EQ(done[3].why, Untaken::kNoPart);
}

TEST_F(EngineSplit, ABudgetHoldsOnePartOnly) {
  Start(Received(), PlanOf({0, 1}, 0, 4096));
  const uint16_t port = Listen();
  DeviceClient full(port), other(port);
  ASSERT_TRUE(Accepted(LogIn(&full, {.id = "p0:a", .level = 5})));
  ASSERT_TRUE(other.Connect("p1:a"));
  unsigned taken = 0;
  for (unsigned id = 1; id <= 10; ++id) {
    ASSERT_TRUE(full.Send(Publish5("t", id, std::string(1000, 'x'))));
    taken += full.ReceivePacket() == mqtt_test::Puback(id) ? 1 : 0;
  }
  EXPECT_GE(taken, 2u);
  EXPECT_LE(taken, 4u);
  EXPECT_TRUE(other.Publish("t", "1"));
  EXPECT_EQ(Take(0).size(), taken);
  ASSERT_TRUE(full.Send(Publish5("t", 11, "1")));
  EXPECT_EQ(full.ReceivePacket(), mqtt_test::Puback(11)) << "there is room again";
}

// Both workers pay from one rate.
TEST_F(EngineSplit, WorkersShareARate) {
  constexpr uint32_t kRate = 200;
  Start(Received(), PlanOf({0}, kRate));
  const uint16_t port = Listen();
  // Before the first device may send.
  const int64_t from_us = MonotonicUs();
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([port, i] {
      DeviceClient device(port);
      ASSERT_TRUE(Accepted(LogIn(&device, {.id = "p0:" + std::to_string(i), .level = 5})));
      for (unsigned id = 1; id <= 100; ++id) {
        ASSERT_TRUE(device.Send(Publish5("t", id, "1")));
        ASSERT_NE(device.ReceivePacket(), "");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const int64_t took_us = MonotonicUs() - from_us;
  const size_t taken = Take(0).size();
  EXPECT_GE(taken, size_t{kRate});
  EXPECT_LE(taken, kRate + static_cast<size_t>(took_us) * kRate / 1'000'000 + 1);
  EXPECT_EQ(taken + Dropped(Drop::kPartFull), 800u);
}

TEST_F(EngineSplit, APartThatLeavesAndReturnsHasItsRecords) {
  EngineOptions options;
  options.log = true;
  options.acknowledge = Acknowledge::kReceived;
  Start(options, PlanOf({0, 1}));
  const uint16_t port = Listen();
  DeviceClient first(port), second(port);
  ASSERT_TRUE(first.Connect("p0:a"));
  ASSERT_TRUE(second.Connect("p1:a"));
  ASSERT_TRUE(first.Publish("t", "1"));
  ASSERT_TRUE(second.Publish("t", "2"));
  Apply(PlanOf({1}));
  EXPECT_EQ(HeldRecords(), 2) << "one waits with the leftovers";
  EXPECT_EQ(Take(1), std::vector<std::string>{"a 2"});
  Apply(PlanOf({2, 0, 1}));
  EXPECT_EQ(Take(0), std::vector<std::string>{"a 1"});
  EXPECT_EQ(AllDropped(), 0u);
  for (const uint32_t n : {0u, 1u, 2u}) EXPECT_EQ(engine_.LanesOf(n)->held_bytes(), 0) << n;
}

}  // namespace
}  // namespace seganet

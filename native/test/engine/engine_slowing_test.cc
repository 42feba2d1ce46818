// An engine whose memory is full for some classes and not for others, and devices that are
// registered with a class.
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "test/support/engine_support.h"

namespace seganet {
namespace {

using mqtt_test::Publish0;
using test::DeviceClient;
using test::MakeRecord;
using test::Spec;
using test::Until;
using test::UplinkStage;

// Memory takes about 1,700 of them.
const std::string kPayload = "\"" + std::string(510, 'x') + "\"";

// Sends without end; bytes that the gateway does not read stay with the device.
class Flood {
 public:
  Flood(uint16_t port, std::string_view id) : device_(port) { fine_ = device_.Connect(id); }

  bool fine() const { return fine_; }
  void Send() {
    if (rest_.empty()) rest_ = packets_;
    rest_.remove_prefix(device_.SendSome(rest_));
  }

 private:
  static std::string Packets() {
    std::string packets;
    for (int i = 0; i < 32; ++i) packets += Publish0("t", kPayload);
    return packets;
  }

  DeviceClient device_;
  const std::string packets_ = Packets();
  std::string_view rest_;
  bool fine_ = false;
};

class EngineSlowing : public test::EngineTest {
 protected:
  // 1 MiB; devices named alarm… have class 1, bulk… class 4, others no class.
  void StartTiny(int workers = 1) {
    EngineOptions options;
    options.memory_mib = 1;
    options.workers = workers;
    StageSpec source = Spec(kSource, StageKind::kSource, {kUplink});
    source.devices = {{"alarm*", kCritical}, {"bulk*", kBulk}};
    Start(options, {source, Spec(kIngest, StageKind::kIngest, {kUplink}), UplinkStage(kUplink)});
  }

  // Takes and acknowledges everything ready, and notes the devices.
  void DrainDevices(std::set<std::string>* seen) {
    uint64_t id = 0;
    const auto lanes = engine_.LanesOf(0);
    Outlet* outlet = sessions_.At(lanes.get());
    while (lanes->Take(outlet, MonotonicUs(), [&](const Batch& batch) {
      seen->insert(batch.bytes.substr(0, batch.device_bytes));
      id = batch.id;
      return true;
    })) {
      lanes->Release(outlet, id, MonotonicUs());
    }
  }

  void FillWith(Flood* flood, uint8_t slowed_from) {
    ASSERT_TRUE(Until([&] { return flood->Send(), engine_.slowed_from() == slowed_from; }));
  }
};

TEST_F(EngineSlowing, BulkWaitsWhileAlarmsAreRead) {
  StartTiny();
  const uint16_t port = Listen();
  Flood bulk(port, "bulk-1");
  DeviceClient alarm(port);
  ASSERT_TRUE(bulk.fine() && alarm.Connect("alarm-1"));
  FillWith(&bulk, kBulk);
  bulk.Send();  // which stays with the device for now
  EXPECT_GT(engine_.budget().held(), engine_.budget().limit() / 100 * 75);
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(alarm.Publish("t", "1"));
  EXPECT_EQ(engine_.budget().records(kCritical), 50);
  // A device that has sent nothing yet may have an alarm.
  DeviceClient unknown(port);
  ASSERT_TRUE(unknown.Connect("somebody"));
  EXPECT_TRUE(unknown.Publish("t", "1"));
  // A device that is registered as bulk is not read for the first time.
  DeviceClient more(port);
  ASSERT_TRUE(more.Connect("bulk-2"));
  ASSERT_TRUE(more.Send(mqtt_test::Publish1("t", 1, "1")));
  const uint64_t before = Count(Counter::kRecordsReceived);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(alarm.Publish("t", "1"));
  EXPECT_EQ(Count(Counter::kRecordsReceived), before + 20);
  EXPECT_EQ(engine_.slowed_from(), kBulk);
  EXPECT_EQ(Count(Counter::kSlowed), 1u);
  ASSERT_TRUE(Until([&] { return DrainUplink(), engine_.slowed_from() == 0; }));
  EXPECT_EQ(more.Receive(4), mqtt_test::Puback(1));
  const uint64_t with_bulk =
      before + 20 + 1 + 10;  // those of `alarm`, of `more`, and some of bulk's
  EXPECT_TRUE(Until([&] { return DrainUplink(), Count(Counter::kRecordsReceived) > with_bulk; }))
      << "what the bulk device still had";
}

TEST_F(EngineSlowing, AtTheEndAlarmsWaitTooAndAllContinue) {
  StartTiny(2);
  const uint16_t port = Listen();
  Flood bulk(port, "bulk-1"), alarm(port, "alarm-1");
  ASSERT_TRUE(bulk.fine() && alarm.fine());
  FillWith(&bulk, kBulk);
  FillWith(&alarm, kCritical);
  EXPECT_EQ(Count(Counter::kSlowed), 2u);
  EXPECT_LT(engine_.budget().held(), engine_.budget().limit() * 11 / 10);
  const auto read_on = [&](Flood* flood) {
    const uint64_t before = Count(Counter::kRecordsReceived);
    return Until([&] {
      flood->Send();
      DrainUplink();
      return Count(Counter::kRecordsReceived) > before + 100;
    });
  };
  EXPECT_TRUE(read_on(&alarm));
  EXPECT_TRUE(read_on(&bulk));
  EXPECT_EQ(AllDropped(), 0u);
}

// Full and empty many times over while three classes flood: every paused device is read again.
TEST_F(EngineSlowing, NoWakeUpIsLost) {
  StartTiny(2);
  const uint16_t port = Listen();
  std::vector<Flood> floods;
  floods.reserve(6);
  for (const char* id : {"bulk-1", "bulk-2", "alarm-1", "alarm-2", "x-1", "x-2"}) {
    floods.emplace_back(port, id);
    ASSERT_TRUE(floods.back().fine());
  }
  const auto send = [&floods] {
    for (Flood& flood : floods) flood.Send();
  };
  for (int round = 0; round < 100; ++round) {
    ASSERT_TRUE(Until([&] { return send(), engine_.slowed(); })) << round;
    DrainUplink();
    std::set<std::string> seen;
    ASSERT_TRUE(Until([&] {
      send();
      DrainDevices(&seen);
      return seen.size() == floods.size();
    })) << round
        << ": " << seen.size() << " devices are read";
  }
  EXPECT_GE(Count(Counter::kSlowed), 100u);
  EXPECT_EQ(AllDropped(), 0u);
}

TEST_F(EngineSlowing, PushAnswersFullByClass) {
  StartTiny();
  uint64_t pushed = 0;
  // The worker has the record before the next one: a full ring between the threads is full for all.
  const auto push = [this, &pushed](uint8_t record_class) {
    const PushResult result =
        engine_.Push(kIngest, MakeRecord("js", "t", kPayload, record_class), true);
    if (result == PushResult::kOk) ++pushed;
    EXPECT_TRUE(Until([&] { return Count(Counter::kRecordsPushed) == pushed; }));
    return result;
  };
  const auto fill = [&](uint8_t record_class) {
    return Until([&] { return push(record_class) == PushResult::kFull; });
  };
  ASSERT_TRUE(fill(kBulk));
  for (uint8_t c : {kNormal, kHigh, kCritical}) {
    EXPECT_EQ(push(static_cast<uint8_t>(c + 1)), PushResult::kFull) << int{c};
    EXPECT_EQ(push(c), PushResult::kOk) << int{c};
    ASSERT_TRUE(fill(c));
  }
  ASSERT_TRUE(Until([&] { return DrainUplink(), push(kBulk) == PushResult::kOk; }));
}

class EngineRegister : public EngineSlowing {
 protected:
  // The class that the next record of `device` gets.
  uint8_t ClassOf(DeviceClient* device) {
    uint8_t c = 0;
    uint64_t id = 0;
    EXPECT_TRUE(device->Publish("t", "1"));
    const auto lanes = engine_.LanesOf(0);
    Outlet* outlet = sessions_.At(lanes.get());
    EXPECT_TRUE(lanes->Take(outlet, MonotonicUs(), [&](const Batch& batch) {
      c = batch.record_class;
      id = batch.id;
      return true;
    }));
    EXPECT_TRUE(lanes->Release(outlet, id, MonotonicUs()));
    return c;
  }
  static std::vector<StageSpec> PlanWith(std::vector<DeviceClass> devices, uint8_t default_class) {
    StageSpec source = Spec(kSource, StageKind::kSource, {9});
    source.devices = std::move(devices);
    StageSpec priority = Spec(9, StageKind::kPriority, {kUplink});
    priority.default_class = default_class;
    return {source, priority, UplinkStage(kUplink)};
  }
};

TEST_F(EngineRegister, ADevicesClassIsThatOfItsRowAndFollowsThePlan) {
  Start({}, PlanWith({{"pump-?", kHigh}}, 0));
  const uint16_t port = Listen();
  DeviceClient pump(port), other(port);
  ASSERT_TRUE(pump.Connect("pump-1") && other.Connect("other"));
  EXPECT_EQ(ClassOf(&pump), kHigh);
  EXPECT_EQ(ClassOf(&other), kNormal);
  Apply(PlanWith({{"other", kBulk}, {"pump-1", kCritical}}, 0));
  EXPECT_EQ(ClassOf(&pump), kCritical);
  EXPECT_EQ(ClassOf(&other), kBulk);
  Apply(PlanWith({}, 0));
  EXPECT_EQ(ClassOf(&pump), kNormal);
  Apply(PlanWith({{"pump-1", kCritical}}, kHigh));
  EXPECT_EQ(ClassOf(&pump), kHigh) << "a priority stage has the last word";
}

}  // namespace
}  // namespace seganet

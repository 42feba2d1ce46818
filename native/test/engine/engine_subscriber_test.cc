// Local subscribers: clients that read the records of other devices.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/devices/subscribers/subscribers.h"
#include "core/devices/value_rows.h"
#include "test/support/device_packets.h"
#include "test/support/engine_support.h"

namespace seganet {
namespace {

using mqtt_test::Packet;
using mqtt_test::Publish0;
using mqtt_test::Str;
using mqtt_test::U16;
using test::Accepted;
using test::DeviceClient;
using test::LogIn;
using test::SessionPresent;
using test::Subscribe;
using test::Until;

constexpr std::string_view kPing("\xC0\0", 2);

// The topic and payload of a PUBLISH with QoS 0 of 3.1.1.
std::pair<std::string, std::string> Parsed(const std::string& packet) {
  size_t at = 1;
  while (static_cast<uint8_t>(packet.at(at++)) >= 0x80) {
  }
  const size_t topic =
      (size_t{static_cast<uint8_t>(packet.at(at))} << 8) + static_cast<uint8_t>(packet.at(at + 1));
  return {packet.substr(at + 2, topic), packet.substr(at + 2 + topic)};
}

class EngineSubscriber : public test::EngineTest {
 protected:
  static std::vector<StageSpec> Plan(std::vector<SubscriberRow> rows,
                                     std::vector<Permission> permissions = {}) {
    std::vector<StageSpec> plan = UsualPlan();
    plan[0].source.subscribers = std::move(rows);
    plan[0].source.permissions = std::move(permissions);
    return plan;
  }

  // Slots move between the workers all the time.
  static EngineOptions Moving() {
    EngineOptions options;
    options.workers = 2;
    options.rebalance = true;
    options.acknowledge = Acknowledge::kSafe;
    options.rebalancing.period_us = 1000;
    options.rebalancing.limits.lasting_periods = 1;
    options.rebalancing.limits.least_gap = 0;
    options.rebalancing.limits.least_ratio = 1;
    options.rebalancing.limits.rest_us = 0;
    options.rebalancing.record_cost_us = 1000;
    return options;
  }
  static constexpr int kDevices = 12;
  static constexpr int kRounds = 800;
  static constexpr int kEnd = 1'000'000;
  // Twelve devices publish 0, 1 … on topics of their own, and kEnd at last. Three at a time send,
  // so that the load of the workers changes, until slots have moved. `*round` goes to kRounds or
  // more.
  void SendInTurns(std::atomic<int>* round) {
    std::vector<DeviceClient> devices;
    for (int i = 0; i < kDevices; ++i) devices.push_back(Client("device-" + std::to_string(i)));
    std::map<int, int> sent;
    const auto send = [&](unsigned id, bool all) {
      const auto sends = [&](int i) { return all || i / 3 == round->load() / 20 % 4; };
      for (int i = 0; i < kDevices; ++i) {
        if (!sends(i)) continue;
        const std::string payload = std::to_string(all ? kEnd : sent[i]++);
        ASSERT_TRUE(devices[static_cast<size_t>(i)].Send(
            mqtt_test::Publish1("d/" + std::to_string(i), id, payload)));
      }
      for (int i = 0; i < kDevices; ++i) {
        if (!sends(i)) continue;
        ASSERT_EQ(devices[static_cast<size_t>(i)].Receive(4), mqtt_test::Puback(id));
      }
    };
    const auto goes_on = [&](int n) {
      return n < kRounds || (engine_.rebalanced().moved == 0 && n < 20 * kRounds);
    };
    for (int n = 0; goes_on(n); round->store(++n)) send(static_cast<unsigned>(n + 1), false);
    send(static_cast<unsigned>(round->load() + 1), true);
    EXPECT_GT(engine_.rebalanced().moved, 0u);
  }

  void StartWith(std::vector<SubscriberRow> rows, std::vector<Permission> permissions = {}) {
    Start({}, Plan(std::move(rows), std::move(permissions)));
    port_ = Listen();
  }

  DeviceClient Client(const std::string& id) {
    DeviceClient client(port_);
    EXPECT_TRUE(client.Connect(id));
    return client;
  }

  void Push(std::string_view device, std::string_view topic, std::string_view payload,
            uint32_t stage = kIngest) {
    Record record;
    record.device = device;
    record.topic = topic;
    record.payload = payload;
    EXPECT_EQ(engine_.Push(stage, record, true), PushResult::kOk);
  }

  AgentInfo Info(const std::string& id) {
    for (AgentInfo& info : engine_.Agents("", 1000)) {
      if (info.device == id) return info;
    }
    return {};
  }

  uint16_t port_ = 0;
};

TEST_F(EngineSubscriber, ReadsTheRecordsOfAllSourcesAsTheyWereSent) {
  StartWith({{"dash*", {"#"}}});
  DeviceClient dashboard = Client("dashboard"), device = Client("d");
  EXPECT_EQ(Subscribe(&dashboard, "a/#"), 0) << "QoS 1 was requested, QoS 0 is granted";
  ASSERT_TRUE(device.Publish("a/1", "one"));
  EXPECT_EQ(dashboard.ReceivePacket(), Publish0("a/1", "one"));
  Push("pushed", "b/1", "not read");
  Push("pushed", "a/2", std::string(70'000, 'x'));
  EXPECT_EQ(dashboard.ReceivePacket(), Publish0("a/2", std::string(70'000, 'x')));
  ASSERT_TRUE(dashboard.Publish("a/own", "1")) << "its own records are records of a device";
  EXPECT_EQ(dashboard.ReceivePacket(), Publish0("a/own", "1"));
  ASSERT_TRUE(dashboard.Send(Packet(0xA2, U16(9) + Str("a/#"))));
  EXPECT_EQ(dashboard.ReceivePacket(), test::Lit("\xB0\x02\0\x09"));
  ASSERT_TRUE(device.Publish("a/3", "3"));
  EXPECT_EQ(Subscribe(&dashboard, "a/4"), 0);
  ASSERT_TRUE(device.Publish("a/4", "4"));
  EXPECT_EQ(dashboard.ReceivePacket(), Publish0("a/4", "4")) << "nothing between";
  EXPECT_EQ(Count(Counter::kSubscriberRecords), 4u);
  EXPECT_EQ(Count(Counter::kSubscriberDrops), 0u);
  const AgentInfo info = Info("dashboard");
  EXPECT_EQ(info.reads, 1u);
  EXPECT_TRUE(info.connected);
  EXPECT_EQ(Info("d").reads, 0u);
}

TEST_F(EngineSubscriber, OnlyFiltersOfTheRowAreGranted) {
  StartWith({{"ha", {"z/#", "cmd/+"}}},
            {{"permitted", {}, {"#"}}, {"ha", {}, {"own/#"}}, {"*", {"#"}, {}}});
  DeviceClient ha = Client("ha"), other = Client("permitted"), device = Client("d");
  EXPECT_EQ(Subscribe(&ha, "#"), 0x80);
  EXPECT_EQ(Subscribe(&ha, "$share/g/z/#"), 0x80);
  EXPECT_EQ(Subscribe(&ha, "own/x"), 1) << "its permissions allow this for commands";
  EXPECT_EQ(Subscribe(&ha, "z/+"), 0);
  EXPECT_EQ(Subscribe(&other, "#"), 1) << "no subscriber: only commands for it";
  ASSERT_TRUE(device.Publish("own/x", "1"));
  ASSERT_TRUE(device.Publish("z/1", "2"));
  EXPECT_EQ(ha.ReceivePacket(), Publish0("z/1", "2"));
  ASSERT_EQ(engine_.Command({7, "permitted", "c", "on", 0, 0}, 10'000'000), PushResult::kOk);
  EXPECT_EQ(other.ReceivePacket(), Publish0("c", "on")) << "no record before it";
  DeviceClient five(port_);
  ASSERT_TRUE(Accepted(LogIn(&five, {.id = "ha", .level = 5})));
  EXPECT_EQ(Subscribe(&five, "#", 5), 0x87);
  EXPECT_EQ(Subscribe(&five, "$share/g/z/#", 5), 0x9E);
}

TEST_F(EngineSubscriber, OneThatMayNotPublishIsNoDeviceToWaitFor) {
  StartWith({{"dash", {"#"}}}, {{"dash", {}, {}}, {"*", {"#"}, {}}});
  DeviceClient dashboard = Client("dash"), device = Client("d");
  EXPECT_EQ(Subscribe(&dashboard, "#"), 0);
  EXPECT_EQ(engine_.devices(), 1);
  EXPECT_TRUE(dashboard.Publish("t", "1")) << "3.1.1 has no other answer";
  EXPECT_EQ(Count(Counter::kNotAllowed), 1u);
  EXPECT_EQ(Count(Counter::kRecordsReceived), 0u);
  Apply(Plan({{"dash", {"#"}}}));
  EXPECT_EQ(engine_.devices(), 2) << "now it may";
}

TEST_F(EngineSubscriber, OptionsOfMqtt5) {
  StartWith({{"dash", {"#"}}});
  DeviceClient dashboard(port_), device = Client("d");
  const mqtt_test::Bytes login =
      test::ConnectBytes({.id = "dash", .level = 5, .properties = test::Lit("\x27\0\0\0\x40")});
  ASSERT_TRUE(dashboard.Send(login));
  ASSERT_TRUE(Accepted(dashboard.ReceivePacket()));
  const auto subscribe = [&](std::string_view filter, uint8_t options, std::string_view number) {
    ASSERT_TRUE(dashboard.Send(
        Packet(0x82, U16(1) + test::Counted(number) + Str(filter) + static_cast<char>(options))));
    ASSERT_EQ(static_cast<uint8_t>(dashboard.ReceivePacket().back()), 0);
  };
  const auto publish = [](uint8_t first, std::string_view topic, std::string_view properties,
                          std::string_view payload) {
    return Packet(first, Str(topic) + test::Counted(properties) + std::string(payload));
  };
  subscribe("a/#", 0x08, "\x0B\x05");  // retain as published, identifier 5
  subscribe("a/+", 0x00, "\x0B\x06");
  subscribe("b", 0x04, "");  // no local
  ASSERT_TRUE(device.Send(Publish0("a/1", "one copy", 0x31)));
  const auto both = publish(0x31, "a/1", "\x0B\x05\x0B\x06", "one copy");
  const auto swapped = publish(0x31, "a/1", "\x0B\x06\x0B\x05", "one copy");
  const std::string got = dashboard.ReceivePacket();
  EXPECT_TRUE(got == both || got == swapped) << got;
  ASSERT_TRUE(dashboard.Send(test::Publish5("b", 1, "own")));
  EXPECT_EQ(dashboard.ReceivePacket(), mqtt_test::Puback(1));
  ASSERT_TRUE(device.Send(Publish0("b", std::string(64, 'x')) + Publish0("b", "r", 0x31)));
  EXPECT_EQ(dashboard.ReceivePacket(), publish(0x30, "b", "", "r"))
      << "neither its own, nor one above its Maximum Packet Size; RETAIN is not kept";
  EXPECT_EQ(Info("dash").drops, 1u);
}

TEST_F(EngineSubscriber, ReadsOnlyRecordsOfItsPart) {
  constexpr uint32_t kTenants = 7;
  std::vector<StageSpec> plan = Plan({{"acme:dash", {"#"}}});
  plan[0].source.parted = true;
  plan[0].source.part = "acme";
  StageSpec pushed = test::Spec(kTenants, StageKind::kSource, {kBatch});
  pushed.source.protocol = Protocol::kPushed;
  pushed.source.parted = true;
  plan.push_back(pushed);
  Start({}, plan);
  port_ = Listen();
  DeviceClient dashboard = Client("dash");
  EXPECT_EQ(Subscribe(&dashboard, "#"), 0);
  const std::string id = "pump";
  Push("bolt:" + id, "t", "another part", kTenants);
  Push("acme:" + id, "t", "a source without parts", kIngest);
  Push(id, "t", "no part", kTenants);
  Push("acme:" + id, "t", "own", kTenants);
  EXPECT_EQ(dashboard.ReceivePacket(), Publish0("t", "own"));
}

TEST_F(EngineSubscriber, AKeptSessionReadsOnAndMissesWhatWasSentMeanwhile) {
  StartWith({{"dash", {"#"}}});
  DeviceClient device = Client("d");
  {
    DeviceClient dashboard(port_);
    ASSERT_TRUE(Accepted(LogIn(&dashboard, {.id = "dash", .clean = false})));
    EXPECT_EQ(Subscribe(&dashboard, "t"), 0);
  }
  ASSERT_TRUE(Until([&] { return Info("dash").reads == 0; }));
  ASSERT_TRUE(device.Publish("t", "missed"));
  DeviceClient dashboard(port_);
  ASSERT_TRUE(SessionPresent(LogIn(&dashboard, {.id = "dash", .clean = false})));
  ASSERT_TRUE(device.Publish("t", "read"));
  EXPECT_EQ(dashboard.ReceivePacket(), Publish0("t", "read"));
}

TEST_F(EngineSubscriber, ANewPlanHoldsForThoseThatAreConnected) {
  StartWith({{"dash", {"#"}}});
  DeviceClient dashboard = Client("dash"), device = Client("d");
  EXPECT_EQ(Subscribe(&dashboard, "a"), 0);
  EXPECT_EQ(Subscribe(&dashboard, "b"), 0);
  Apply(Plan({{"dash", {"b"}}}));
  ASSERT_TRUE(device.Publish("a", "1"));
  ASSERT_TRUE(device.Publish("b", "2"));
  EXPECT_EQ(dashboard.ReceivePacket(), Publish0("b", "2"));
  Apply(Plan({}));
  ASSERT_TRUE(device.Publish("b", "3"));
  EXPECT_EQ(Info("dash").reads, 0u);
  Apply(Plan({{"dash", {"+"}}}));
  ASSERT_TRUE(device.Publish("a", "4"));
  EXPECT_EQ(dashboard.ReceivePacket(), Publish0("a", "4"));
}

TEST_F(EngineSubscriber, OneMoreThanTheMostIsRefused) {
  StartWith({{"s*", {"#"}}});
  std::vector<DeviceClient> clients;
  for (size_t i = 0; i < SubscriberLimits{}.most; ++i) {
    clients.push_back(Client("s" + std::to_string(i)));
    ASSERT_EQ(Subscribe(&clients.back(), "#"), 0);
  }
  DeviceClient old = Client("s-old"), five(port_);
  EXPECT_EQ(Subscribe(&old, "#"), 0x80);
  ASSERT_TRUE(Accepted(LogIn(&five, {.id = "s-five", .level = 5})));
  EXPECT_EQ(Subscribe(&five, "#", 5), 0x97);
  clients.pop_back();
  ASSERT_TRUE(Until([&] { return Subscribe(&old, "#") == 0; }));
  Push("d", "t", "1");
  for (DeviceClient& client : clients) ASSERT_EQ(client.ReceivePacket(), Publish0("t", "1"));
}

// With last values.
class EngineSubscriberValues : public EngineSubscriber {
 protected:
  void StartWith(std::vector<SubscriberRow> rows, uint32_t memory_mib = 1) {
    EngineOptions options;
    options.values.memory_mib = memory_mib;
    Start(options, Plan(std::move(rows)));
    port_ = Listen();
  }

  // Adds values of an earlier run: topics t/0, t/1 … of devices d0, d1 …
  void Fill(int devices, int topics, const std::string& payload) {
    std::string rows;
    ValueRow row;
    row.payload = payload;
    row.size = static_cast<uint32_t>(payload.size());
    for (int device = 0; device < devices; ++device) {
      row.device = "d" + std::to_string(device);
      for (int topic = 0; topic < topics; ++topic) {
        row.topic = "t/" + std::to_string(topic);
        AppendValueRow(row, Now::Read(), &rows);
      }
    }
    size_t restored = 0;
    ASSERT_TRUE(engine_.RestoreValues(rows, &restored));
    ASSERT_EQ(restored, static_cast<size_t>(devices * topics));
  }
};

TEST_F(EngineSubscriberValues, ANewSubscriptionGetsThemAsRetainedMessages) {
  StartWith({{"dash", {"#"}}});
  DeviceClient device = Client("d"), dashboard = Client("dash");
  ASSERT_TRUE(device.Publish("a/1", "old"));
  ASSERT_TRUE(device.Publish("a/1", "new"));
  ASSERT_TRUE(device.Publish("a/2", std::string(1025, 'x'))) << "too long to be kept";
  ASSERT_TRUE(device.Publish("a/3", "")) << "as a retained message it would be removed";
  ASSERT_TRUE(device.Publish("a/4", std::string(1024, 'x')));
  ASSERT_TRUE(device.Publish("b", "1"));
  Push("pushed", "a/1", "7");
  ASSERT_TRUE(Until([this] { return engine_.kept_values() == 6; }));
  ASSERT_EQ(Subscribe(&dashboard, "a/#"), 0) << "the SUBACK comes first";
  std::vector<std::string> got(3);
  for (std::string& packet : got) packet = dashboard.ReceivePacket();
  std::vector<std::string> expected{Publish0("a/1", "new", 0x31), Publish0("a/1", "7", 0x31),
                                    Publish0("a/4", std::string(1024, 'x'), 0x31)};
  std::sort(got.begin(), got.end());
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(got, expected);
  ASSERT_TRUE(device.Publish("a/1", "live"));
  EXPECT_EQ(dashboard.ReceivePacket(), Publish0("a/1", "live"));
  EXPECT_EQ(Count(Counter::kSubscriberRecords), 1u);
}

TEST_F(EngineSubscriberValues, OptionsOfMqtt5HoldForThem) {
  StartWith({{"dash", {"#"}}});
  DeviceClient dashboard(port_), device = Client("d");
  const mqtt_test::Bytes login =
      test::ConnectBytes({.id = "dash", .level = 5, .properties = test::Lit("\x27\0\0\0\x40")});
  ASSERT_TRUE(dashboard.Send(login));
  ASSERT_TRUE(Accepted(dashboard.ReceivePacket()));
  ASSERT_TRUE(dashboard.Send(test::Publish5("a/own", 1, "1")));
  EXPECT_EQ(dashboard.ReceivePacket(), mqtt_test::Puback(1));
  ASSERT_TRUE(device.Publish("a/1", "1"));
  ASSERT_TRUE(device.Publish("a/long", std::string(64, 'x'))) << "above its Maximum Packet Size";
  // Identifier 5, no local.
  ASSERT_TRUE(dashboard.Send(mqtt_test::Subscribe5(1, "a/#", 0x04, "\x0B\x05")));
  ASSERT_EQ(static_cast<uint8_t>(dashboard.ReceivePacket().back()), 0);
  const auto publish = [](uint8_t first, std::string_view payload) {
    return Packet(first, Str("a/1") + test::Counted("\x0B\x05") + std::string(payload));
  };
  EXPECT_EQ(dashboard.ReceivePacket(), publish(0x31, "1"));
  ASSERT_TRUE(device.Publish("a/1", "2"));
  EXPECT_EQ(dashboard.ReceivePacket(), publish(0x30, "2"));
}

TEST_F(EngineSubscriberValues, RetainHandlingDecides) {
  StartWith({{"dash", {"#"}}});
  DeviceClient device = Client("d"), dashboard(port_);
  ASSERT_TRUE(device.Publish("t", "1"));
  ASSERT_TRUE(Accepted(LogIn(&dashboard, {.id = "dash", .level = 5})));
  const auto publish = [](uint8_t first) {
    return Packet(first, Str("t") + test::Lit("\0") + "1");
  };
  const auto expect = [&](uint8_t handling, bool gets, const char* why) {
    ASSERT_TRUE(dashboard.Send(mqtt_test::Subscribe5(1, "t", static_cast<char>(handling << 4))));
    ASSERT_EQ(static_cast<uint8_t>(dashboard.ReceivePacket().back()), 0);
    if (gets) {
      ASSERT_EQ(dashboard.ReceivePacket(), publish(0x31)) << why;
    }
    ASSERT_TRUE(device.Publish("t", "1"));
    ASSERT_EQ(dashboard.ReceivePacket(), publish(0x30)) << why;
  };
  expect(2, false, "never");
  expect(1, false, "the subscription exists");
  expect(0, true, "always");
  expect(0, true, "always");
  ASSERT_TRUE(dashboard.Send(Packet(0xA2, U16(9) + test::Lit("\0") + Str("t"))));
  dashboard.ReceivePacket();
  expect(1, true, "a new subscription");
}

TEST_F(EngineSubscriberValues, AReturningSessionGetsThemOnlyByANewSubscribe) {
  StartWith({{"dash", {"#"}}});
  DeviceClient device = Client("d");
  ASSERT_TRUE(device.Publish("t", "1"));
  {
    DeviceClient dashboard(port_);
    ASSERT_TRUE(Accepted(LogIn(&dashboard, {.id = "dash", .clean = false})));
    EXPECT_EQ(Subscribe(&dashboard, "t"), 0);
    EXPECT_EQ(dashboard.ReceivePacket(), Publish0("t", "1", 0x31));
  }
  ASSERT_TRUE(Until([&] { return Info("dash").reads == 0; }));
  ASSERT_TRUE(device.Publish("t", "missed"));
  DeviceClient dashboard(port_);
  ASSERT_TRUE(SessionPresent(LogIn(&dashboard, {.id = "dash", .clean = false})));
  ASSERT_TRUE(device.Publish("t", "2"));
  EXPECT_EQ(dashboard.ReceivePacket(), Publish0("t", "2"));
  EXPECT_EQ(Subscribe(&dashboard, "t"), 0);
  EXPECT_EQ(dashboard.ReceivePacket(), Publish0("t", "2", 0x31));
}

TEST_F(EngineSubscriberValues, FollowASubackThatWaitsForTheDisk) {
  test::CountingBell disk;
  EngineOptions options;
  options.values.memory_mib = 1;
  std::vector<StageSpec> plan = Plan({{"dash", {"#"}}});
  plan[0].source.name = "devices";
  Start(options, plan);
  ASSERT_TRUE(engine_.sessions().Attach(&disk));
  port_ = Listen();
  DeviceClient device = Client("d"), dashboard(port_);
  ASSERT_TRUE(device.Publish("t", "1"));
  ASSERT_TRUE(Accepted(LogIn(&dashboard, {.id = "dash", .clean = false})));
  ASSERT_TRUE(dashboard.Send(mqtt_test::Subscribe(7, "t", 0)));
  ASSERT_TRUE(Until([this] { return !engine_.sessions().Take().empty(); }));
  ASSERT_TRUE(dashboard.Send(kPing));
  EXPECT_EQ(dashboard.ReceivePacket(), test::Lit("\xD0\0"));
  engine_.sessions().Committed();
  EXPECT_EQ(dashboard.ReceivePacket(), test::Lit("\x90\x03\0\x07\0"));
  EXPECT_EQ(dashboard.ReceivePacket(), Publish0("t", "1", 0x31));
}

TEST_F(EngineSubscriberValues, AreThoseOfTheOwnPart) {
  constexpr uint32_t kTenants = 7;
  EngineOptions options;
  options.values.memory_mib = 1;
  std::vector<StageSpec> plan = Plan({{"acme:dash", {"#"}}});
  plan[0].source.parted = true;
  plan[0].source.part = "acme";
  StageSpec pushed = test::Spec(kTenants, StageKind::kSource, {kBatch});
  pushed.source.protocol = Protocol::kPushed;
  pushed.source.parted = true;
  plan.push_back(pushed);
  Start(options, plan);
  port_ = Listen();
  DeviceClient dashboard = Client("dash");
  Push("bolt:pump", "t", "another part", kTenants);
  Push("acme:valve", "t", "a source without parts", kIngest);
  Push("pump", "t", "no part", kTenants);
  Push("acme:pump", "t", "own", kTenants);
  ASSERT_TRUE(Until([this] { return engine_.kept_values() == 4; }));
  EXPECT_EQ(Subscribe(&dashboard, "#"), 0);
  EXPECT_EQ(dashboard.ReceivePacket(), Publish0("t", "own", 0x31));
  Push("acme:pump", "t", "live", kTenants);
  EXPECT_EQ(dashboard.ReceivePacket(), Publish0("t", "live"));
}

TEST_F(EngineSubscriberValues, OfAnEarlierRunAreAmongThem) {
  StartWith({{"dash", {"#"}}});
  Fill(1, 1, "1");
  DeviceClient dashboard = Client("dash");
  ASSERT_EQ(Subscribe(&dashboard, "#"), 0);
  EXPECT_EQ(dashboard.ReceivePacket(), Publish0("t/0", "1", 0x31));
}

TEST_F(EngineSubscriberValues, TheirNumberIsLimited) {
  StartWith({{"dash", {"#"}}}, 16);
  constexpr int kDevices = 55, kTopics = 200;
  static_assert(kDevices * kTopics > LastValueRequest::kMost);
  Fill(kDevices, kTopics, "v");
  DeviceClient dashboard = Client("dash");
  ASSERT_EQ(Subscribe(&dashboard, "t/+"), 0);
  for (int64_t values = 0; values < LastValueRequest::kMost; ++values) {
    ASSERT_EQ(dashboard.ReceivePacket().at(0), '\x31');
  }
  Push("d0", "t/live", "v");
  EXPECT_EQ(dashboard.ReceivePacket(), Publish0("t/live", "v"));
  EXPECT_EQ(Info("dash").drops, 0u);
}

TEST_F(EngineSubscriberValues, WaitForOneThatDoesNotReadAndTakeNoRoomOfRecords) {
  // More than the sockets hold.
  constexpr int kDevices = 60, kTopics = 150;
  const std::string payload(1000, 'x');
  StartWith({{"s*", {"#"}}}, 64);
  Fill(kDevices, kTopics, payload);
  DeviceClient deaf = Client("s-deaf"), gone = Client("s-gone"), reader = Client("s-reader");
  ASSERT_EQ(Subscribe(&deaf, "#"), 0);
  ASSERT_EQ(Subscribe(&gone, "#"), 0);
  ASSERT_EQ(Subscribe(&reader, "#"), 0);
  for (int values = 0; values < kDevices * kTopics; ++values) {
    ASSERT_EQ(Parsed(reader.ReceivePacket()).second, payload);
  }
  gone.Close();
  ASSERT_TRUE(Until([this] { return Info("s-gone").reads == 0; }));
  Push("d0", "live", "1");
  EXPECT_EQ(reader.ReceivePacket(), Publish0("live", "1"));
  EXPECT_EQ(Info("s-deaf").drops, 0u) << "there is room for the record";
  int values = 0, records = 0;
  while (records == 0 || values < kDevices * kTopics) {
    const std::string packet = deaf.ReceivePacket();
    ASSERT_FALSE(packet.empty()) << values << " values, " << records << " records";
    ++(packet[0] == '\x31' ? values : records);
  }
  EXPECT_EQ(records, 1);
  EXPECT_EQ(Info("s-deaf").drops, 0u);
}

TEST_F(EngineSubscriber, OneThatNeverReadsHarmsNobody) {
  constexpr size_t kRecords = 40'000;
  StartWith({{"s*", {"#"}}});
  DeviceClient deaf(port_), reader = Client("s-reader"), device = Client("d");
  ASSERT_TRUE(deaf.Connect("s-deaf", 1));
  ASSERT_EQ(Subscribe(&deaf, "#"), 0);
  ASSERT_EQ(Subscribe(&reader, "#"), 0);
  std::atomic<size_t> read{0};
  std::thread reading([&] {
    const std::string sent(200, 'x');
    while (read.load() < kRecords && reader.ReceivePacket() == Publish0("t", sent)) ++read;
  });
  for (size_t i = 0; i < kRecords / 100; ++i) {
    std::string packets, answers;
    for (unsigned id = 1; id <= 100; ++id) {
      packets += mqtt_test::Publish1("t", id, std::string(200, 'x'));
      answers += mqtt_test::Puback(id);
    }
    ASSERT_TRUE(device.Send(packets) && deaf.Send(kPing));
    ASSERT_EQ(device.Receive(answers.size()), answers);
    DrainUplink();
    // Less than what may wait for one that reads.
    ASSERT_TRUE(Until([&] { return i * 100 < read.load() + 2000; }));
  }
  reading.join();
  const AgentInfo slow = Info("s-deaf");
  EXPECT_EQ(read.load(), kRecords) << Info("s-reader").drops << " dropped";
  EXPECT_GT(slow.drops, 0u);
  EXPECT_EQ(slow.drops + Info("s-reader").drops, Count(Counter::kSubscriberDrops));
  // A client that does not read its records still gets its PINGREQ read; in silence it ends.
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(deaf.Send(kPing));
    std::this_thread::sleep_for(std::chrono::milliseconds(700));
  }
  EXPECT_TRUE(Info("s-deaf").connected);
  EXPECT_TRUE(Until([&] { return Count(Counter::kKeepAliveTimeouts) == 1; }));
}

// Subscribers come, go and change their filters while their devices and they themselves move
// between workers. One that stays reads each device in order, without a gap.
TEST_F(EngineSubscriber, OrderIsKeptInAStormOfSubscriptionsAndMoves) {
  Start(Moving(), Plan({{"s*", {"#"}}}));
  port_ = Listen();
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      for (unsigned n = 0; !stop.load(); ++n) {
        DeviceClient storm(port_);
        if (!storm.Connect("storm-" + std::to_string(n % 7 * 2 + t))) continue;
        for (int i = 0; i < 5; ++i) {
          const std::string filter = i % 2 ? "+" : "t" + std::to_string(i);
          // The answers come among records, which nobody reads here.
          storm.Send(Packet(0x82, U16(1) + Str(filter) + '\0'));
          storm.Send(Packet(0xA2, U16(2) + Str(filter)));
        }
      }
    });
  }
  std::vector<DeviceClient> readers;
  for (int i = 0; i < 4; ++i) {
    readers.push_back(Client("s" + std::to_string(i)));
    ASSERT_EQ(Subscribe(&readers.back(), "d/#"), 0);
  }
  for (DeviceClient& reader : readers) {
    threads.emplace_back([&reader] {
      std::map<std::string, int> next;
      for (int ended = 0; ended < kDevices;) {
        const std::string packet = reader.ReceivePacket();
        ASSERT_FALSE(packet.empty());
        const auto [topic, payload] = Parsed(packet);
        if (payload == std::to_string(kEnd)) {
          ++ended;
        } else {
          ASSERT_EQ(payload, std::to_string(next[topic]++)) << topic;
        }
      }
      EXPECT_EQ(next.size(), static_cast<size_t>(kDevices));
    });
  }
  threads.emplace_back([&] {
    while (!stop.load()) {
      engine_.Flush(0);
      DrainUplink();
      std::this_thread::sleep_for(std::chrono::microseconds(500));
    }
  });
  std::atomic<int> round{0};
  SendInTurns(&round);
  // The readers end when they have all.
  for (size_t i = 2; i < 2 + readers.size(); ++i) threads[i].join();
  stop.store(true);
  for (size_t i : {size_t{0}, size_t{1}, threads.size() - 1}) threads[i].join();
}

// Subscribers come while devices send, and move, as their devices do, between workers. What one
// reads of a topic never goes back, and ends with the last record.
TEST_F(EngineSubscriberValues, NeverFollowNewerRecordsInAStormOfMoves) {
  EngineOptions options = Moving();
  options.values.memory_mib = 1;
  Start(options, Plan({{"s*", {"#"}}}));
  port_ = Listen();
  constexpr int kReaders = 24;
  std::atomic<int> round{0};
  std::atomic<bool> stop{false};
  std::thread drain([&] {
    while (!stop.load()) {
      engine_.Flush(0);
      DrainUplink();
      std::this_thread::sleep_for(std::chrono::microseconds(500));
    }
  });
  std::vector<std::thread> readers;
  std::atomic<int> retained{0};
  for (int r = 0; r < kReaders; ++r) {
    readers.emplace_back([&, r] {
      while (round.load() < (r + 1) * kRounds / (kReaders + 2)) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      DeviceClient reader = Client("s" + std::to_string(r));
      ASSERT_EQ(Subscribe(&reader, "d/#"), 0);
      std::map<std::string, int> latest;
      for (int ended = 0; ended < kDevices;) {
        const std::string packet = reader.ReceivePacket();
        ASSERT_FALSE(packet.empty()) << ended << " ended";
        const auto [topic, payload] = Parsed(packet);
        const int number = std::stoi(payload);
        const auto [at, is_new] = latest.try_emplace(topic, number);
        ASSERT_GE(number, at->second) << topic;
        if (number == kEnd && (is_new || at->second < kEnd)) ++ended;
        at->second = number;
        if (packet[0] == '\x31') ++retained;
      }
    });
  }
  SendInTurns(&round);
  for (std::thread& reader : readers) reader.join();
  stop.store(true);
  drain.join();
  EXPECT_GE(retained.load(), kReaders);
}

}  // namespace
}  // namespace seganet

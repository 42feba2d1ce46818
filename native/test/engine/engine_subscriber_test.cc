// Local subscribers: clients that read the records of other devices.
#include "test/engine/subscriber_support.h"

namespace seganet::subscriber_test {
namespace {

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

TEST_F(EngineSubscriber, OneThatNeverReadsHarmsNobody) {
  constexpr size_t kRecords = 40'000;
  StartWith({{"s*", {"#"}}});
  DeviceClient deaf(port_), reader = Client("s-reader"), device = Client("d");
  ASSERT_TRUE(deaf.Connect("s-deaf", 3));
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
  const uint64_t before = Count(Counter::kBytesReceived);
  ASSERT_TRUE(deaf.Send(kPing));
  ASSERT_TRUE(Until([&] { return Count(Counter::kBytesReceived) > before; }));
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

}  // namespace
}  // namespace seganet::subscriber_test

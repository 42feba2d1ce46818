// Local subscribers: the last values that a new subscription gets.
#include "test/engine/subscriber_support.h"

namespace seganet::subscriber_test {
namespace {

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
}  // namespace seganet::subscriber_test

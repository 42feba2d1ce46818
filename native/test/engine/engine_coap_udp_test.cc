// The engine with devices that speak CoAP over UDP, on loopback.
#include <gtest/gtest.h>

#include <cstdint>
#include <list>
#include <map>
#include <string>
#include <vector>

#include "test/support/coap_client.h"
#include "test/support/engine_coap_support.h"

namespace seganet {
namespace {

using test::CoapClient;
using test::CoapMessage;
using test::kChanged;
using test::kMaxAge;
using test::kTooMany;
using test::kUnavailable;
using test::Seen;
using test::Until;

class EngineCoapUdp : public test::EngineCoapTest {
 protected:
  uint16_t ListenUdp(const std::string& host = "127.0.0.1", uint16_t port = 0) {
    return ListenCoap(Transport::kUdp, host, port);
  }
};

TEST_F(EngineCoapUdp, APostIsARecordAndIsAnswered) {
  Start({}, Plan());
  CoapClient device(ListenUdp());
  EXPECT_EQ(device.Post("/r/pump-7/temp/in", "21.5"), kChanged);
  EXPECT_EQ(device.last().type, test::kCoapAck) << "in the acknowledgement";
  const auto seen = Records(1);
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].device, "pump-7");
  EXPECT_EQ(seen[0].topic, "r/pump-7/temp/in");
  EXPECT_EQ(seen[0].payload, "21.5");
  EXPECT_EQ(seen[0].record_class, kNormal);
  EXPECT_EQ(seen[0].flags, kFlagQos1);
  EXPECT_EQ(engine_.devices(), 1);
  EXPECT_EQ(Count(Counter::kDatagrams), 1u);
}

// One far end stays with one socket, so its worker does not own most devices.
TEST_F(EngineCoapUdp, DevicesOfOtherWorkersAreServedThroughAnySocket) {
  constexpr int kDevices = 40, kEach = 5;
  EngineOptions options;
  options.workers = 4;
  Start(options, Plan());
  const uint16_t port = ListenUdp();
  CoapClient relay(port);
  for (int round = 0; round < kEach; ++round) {
    for (int i = 0; i < kDevices; ++i) {
      ASSERT_EQ(relay.Post("/r/device-" + std::to_string(i), std::to_string(round)), kChanged);
    }
  }
  std::map<std::string, int> next;
  for (const Seen& each : Records(kDevices * kEach)) {
    EXPECT_EQ(each.payload, std::to_string(next[each.device]));
    EXPECT_EQ(each.seq, static_cast<uint32_t>(next[each.device]++)) << "one sequence a device";
  }
  EXPECT_EQ(next.size(), size_t{kDevices});
  EXPECT_EQ(Count(Counter::kDatagrams), uint64_t{kDevices * kEach});
  EXPECT_GT(Count(Counter::kDatagramsCrossed), 0u);
  EXPECT_EQ(Count(Counter::kDatagramsLost), 0u);
  EXPECT_EQ(engine_.devices(), kDevices);
}

TEST_F(EngineCoapUdp, ADeviceMayChangeItsPort) {
  Start({}, Plan());
  const uint16_t port = ListenUdp();
  // All at once: a port that is reused, with its message ids, would be the same far end.
  std::list<CoapClient> ports;
  for (int i = 0; i < 20; ++i) {
    CoapClient& device = ports.emplace_back(port);
    ASSERT_EQ(device.Post("/r/nomad", std::to_string(i)), kChanged);
  }
  const auto seen = Records(20);
  ASSERT_EQ(seen.size(), 20u);
  for (uint32_t i = 0; i < 20; ++i) EXPECT_EQ(seen[i].seq, i);
  EXPECT_EQ(engine_.devices(), 1);
}

TEST_F(EngineCoapUdp, TheAnswerComesWhenTheRecordIsSafe) {
  EngineOptions options;
  options.acknowledge = Acknowledge::kSafe;
  Start(options, Plan({}, false));
  CoapClient device(ListenUdp());
  const CoapMessage request = device.Request(test::kCoapPost, "/r/d", "1");
  ASSERT_TRUE(device.Send(CoapBytes(request)));
  ASSERT_TRUE(Until([this] { return HeldRecords() == 1; }));
  EXPECT_EQ(device.Receive(50), std::nullopt) << "it is in memory alone";
  engine_.Flush(0);
  ASSERT_TRUE(Until([this] { return DrainUplink() == 1; }));
  const auto answer = device.Receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->code, kChanged);
  EXPECT_EQ(answer->token, request.token);
}

TEST_F(EngineCoapUdp, ARepeatedRequestIsOneRecord) {
  EngineOptions options;
  options.workers = 4;
  Start(options, Plan());
  CoapClient device(ListenUdp());
  const CoapMessage request = device.Request(test::kCoapPost, "/r/d/t", "1");
  for (int i = 0; i < 5; ++i) EXPECT_EQ(device.Ask(request), kChanged);
  EXPECT_EQ(device.Post("/r/d/t", "2"), kChanged);
  EXPECT_EQ(Records(2).size(), 2u);
  EXPECT_EQ(Count(Counter::kRecordsReceived), 2u);
  EXPECT_EQ(Count(Counter::kDatagramsDuplicate), 4u);
}

TEST_F(EngineCoapUdp, NonConfirmableRecordsArriveToo) {
  Start({}, Plan());
  CoapClient device(ListenUdp());
  CoapMessage request = device.Request(test::kCoapPost, "/r/d", "1", test::kCoapNon);
  EXPECT_EQ(device.Ask(request), kChanged);
  EXPECT_EQ(device.last().type, test::kCoapNon);
  CoapMessage silent = device.Request(test::kCoapPost, "/r/d", "2", test::kCoapNon);
  silent.options.emplace_back(258, "\x1A");  // No-Response (RFC 7967): of no kind
  ASSERT_TRUE(device.Send(CoapBytes(silent)));
  const auto seen = Records(2);
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[1].payload, "2");
  EXPECT_EQ(seen[1].flags, 0);
  EXPECT_EQ(device.Receive(20), std::nullopt);
}

TEST_F(EngineCoapUdp, TheClassIsTheDevicesChoiceElseThatOfTheRegister) {
  SourceSettings settings;
  settings.class_property = "c";
  auto plan = Plan(settings);
  plan[0].devices = {{"pump-*", kHigh}};
  Start({}, plan);
  CoapClient device(ListenUdp());
  for (const char* path : {"/r/pump-1", "/r/pump-1?c=1", "/r/pump-1?c=bulk", "/r/other"}) {
    ASSERT_EQ(device.Post(path, "1"), kChanged) << path;
  }
  // Each class has a different answer, so they arrived in this order.
  const auto seen = Records(4);
  ASSERT_EQ(seen.size(), 4u);
  std::vector<int> pump;
  for (const Seen& each : seen) {
    if (each.device == "pump-1") {
      pump.push_back(each.record_class);
    } else {
      EXPECT_EQ(each.record_class, kNormal);
    }
  }
  EXPECT_EQ(pump, (std::vector<int>{kHigh, kCritical, kBulk}));
  // The register may change while devices send.
  plan[0].devices = {{"pump-1", kBulk}};
  Apply(plan);
  ASSERT_EQ(device.Post("/r/pump-1", "1"), kChanged);
  const auto later = Records(1);
  ASSERT_EQ(later.size(), 1u);
  EXPECT_EQ(later[0].record_class, kBulk);
}

TEST_F(EngineCoapUdp, OverItsRateADeviceGetsTheTimeToRetry) {
  SourceSettings settings;
  settings.rate = 1;
  settings.burst = 3;
  Start({}, Plan(settings));
  CoapClient device(ListenUdp());
  uint64_t taken = 0;
  // A token comes back each second.
  ASSERT_TRUE(Until([&] {
    const unsigned code = device.Post("/r/fast", "1");
    taken += code == kChanged;
    return code == kTooMany;
  }));
  EXPECT_GE(taken, 3u);
  EXPECT_EQ(device.last().Number(kMaxAge), 1);
  EXPECT_EQ(device.Post("/r/other", "1"), kChanged) << "each device has a rate of its own";
  EXPECT_EQ(Count(Counter::kThrottled), 1u);
  EXPECT_EQ(Count(Counter::kRecordsReceived), taken + 1);
}

TEST_F(EngineCoapUdp, WithoutRoomADeviceGetsTheTimeToRetry) {
  EngineOptions options;
  options.memory_mib = 1;
  Start(options, Plan({}, false));
  CoapClient device(ListenUdp());
  const std::string payload(1000, 'x');
  unsigned code = kChanged;
  int sent = 0;
  for (; code == kChanged && sent < 5000; ++sent) code = device.Post("/r/d", payload);
  ASSERT_EQ(code, kUnavailable) << sent;
  EXPECT_GT(device.last().Number(kMaxAge), 0);
  EXPECT_EQ(Count(Counter::kRecordsReceived), static_cast<uint64_t>(sent - 1));
  ASSERT_TRUE(Until([&] {
    DrainUplink();
    return device.Post("/r/d", payload) == kChanged;
  })) << "it has room again";
}

TEST_F(EngineCoapUdp, TheAnswerLeavesFromTheRequestsDestination) {
  EngineOptions options;
  options.workers = 3;
  Start(options, Plan());
  const uint16_t port = ListenUdp("0.0.0.0");
  for (const char* host : {"127.0.0.1", "127.0.0.9", "127.1.2.3"}) {
    CoapClient device(port, host);
    for (int i = 0; i < 6; ++i) {
      EXPECT_EQ(device.Post("/r/device-" + std::to_string(i), "1"), kChanged) << host;
    }
  }
}

TEST_F(EngineCoapUdp, MoreDevicesThanRowsDoNotFailAndTheOldestAreForgotten) {
  EngineOptions options;
  options.workers = 1;
  options.max_devices = 2;
  Start(options, Plan());
  CoapClient device(ListenUdp());
  for (int i = 0; i < 40; ++i) {
    ASSERT_EQ(device.Post("/r/device-" + std::to_string(i), "1"), kChanged);
  }
  EXPECT_EQ(Records(40).size(), 40u);
  EXPECT_LE(engine_.devices(), 8) << "four rows a connection";
}

TEST_F(EngineCoapUdp, UnlistenFreesThePort) {
  Start({}, Plan());
  uint16_t port = ListenUdp();
  for (int round = 0; round < 10; ++round) {
    CoapClient device(port);
    ASSERT_EQ(device.Post("/r/d", "1"), kChanged);
    engine_.Unlisten(kSource);
    ASSERT_EQ(ListenUdp("127.0.0.1", port), port) << "round " << round;
  }
}

TEST_F(EngineCoapUdp, RecordsSafeBeforeUnlistenGetNoAnswerAfterIt) {
  EngineOptions options;
  options.acknowledge = Acknowledge::kSafe;
  Start(options, Plan({}, false));
  const uint16_t port = ListenUdp();
  CoapClient device(port);
  ASSERT_TRUE(device.Send(CoapBytes(device.Request(test::kCoapPost, "/r/d", "1"))));
  ASSERT_TRUE(Until([this] { return HeldRecords() == 1; }));
  engine_.Unlisten(kSource);
  ASSERT_EQ(ListenUdp("127.0.0.1", port), port);
  engine_.Flush(0);
  ASSERT_TRUE(Until([this] { return DrainUplink() == 1; }));
  // The same request again: a new server does not know it, so it is a record again.
  CoapMessage again = device.Request(test::kCoapPost, "/r/d", "1");
  again.id = 1;
  ASSERT_TRUE(device.Send(CoapBytes(again)));
  EXPECT_TRUE(Until([this] {
    engine_.Flush(0);
    return DrainUplink() == 1;
  }));
}

TEST_F(EngineCoapUdp, StopReadingEndsReadingAndAnswersContinue) {
  EngineOptions options;
  options.acknowledge = Acknowledge::kSafe;
  Start(options, Plan({}, false));
  CoapClient device(ListenUdp());
  ASSERT_TRUE(device.Send(CoapBytes(device.Request(test::kCoapPost, "/r/d", "1"))));
  ASSERT_TRUE(Until([this] { return HeldRecords() == 1; }));
  engine_.StopReading();
  engine_.Flush(0);  // a turn of each worker after it
  ASSERT_TRUE(device.Send(CoapBytes(device.Request(test::kCoapPost, "/r/d", "2"))));
  ASSERT_TRUE(Until([this] { return DrainUplink() == 1; }));
  const auto answer = device.Receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->code, kChanged);
  engine_.Flush(0);
  EXPECT_EQ(Count(Counter::kRecordsReceived), 1u);
}

TEST_F(EngineCoapUdp, ListenReportsTheError) {
  Start({}, Plan());
  const uint16_t port = ListenUdp();
  uint16_t bound = 0;
  EXPECT_EQ(engine_.Listen(kSource, {.transport = Transport::kUdp}, &bound).message(),
            "stage 1 is already listening");
  engine_.Unlisten(kSource);
  EXPECT_EQ(
      engine_.Listen(kSource, {.transport = Transport::kUdp, .ask_login = true}, &bound).message(),
      "devices over UDP have no login: use TCP or streams");
  Apply(UsualPlan());
  EXPECT_EQ(engine_.Listen(kSource, {.transport = Transport::kUdp}, &bound).message(),
            "stage 1 does not speak CoAP, so it cannot listen on UDP");
  Apply(Plan());
  ASSERT_EQ(ListenUdp("127.0.0.1", port), port);
  test::CountingBell bell;
  Engine other(&bell);
  EngineOptions options;
  options.workers = 2;
  ASSERT_TRUE(other.Start(options).ok());
  ASSERT_TRUE(other.ApplyPlan(Plan()).ok());
  EXPECT_EQ(other.Listen(kSource, {.port = port, .transport = Transport::kUdp}, &bound).error(),
            EADDRINUSE);
}

// The result of each: a code, a reset (kReset), or nothing (0).
TEST_F(EngineCoapUdp, BadInputIsAnsweredOrIgnoredWithoutHarm) {
  constexpr unsigned kReset = 0x1000;
  EngineOptions options;
  options.workers = 3;
  Start(options, Plan());
  const uint16_t port = ListenUdp();
  using test::CoapBytes;
  CoapClient maker(port);
  const auto with = [&](CoapMessage m, test::CoapOptions more) {
    m.options.insert(m.options.end(), more.begin(), more.end());
    return CoapBytes(m);
  };
  const auto post = [&](std::string_view path) {
    return maker.Request(test::kCoapPost, path, "1");
  };
  const std::string good = CoapBytes(post("/r/d/t"));
  std::string version = good, token = good, marker = CoapBytes(post("/r/d"));
  version[0] = static_cast<char>(0x80 | (version[0] & 0x3F));
  token[0] = static_cast<char>((token[0] & 0xF0) | 9);
  marker.resize(marker.size() - 1);  // the payload marker is last
  const std::vector<std::tuple<const char*, std::string, unsigned>> inputs = {
      {"empty", "", 0},
      {"one byte", "\x40", 0},
      {"three bytes", "\x40\x02\x01", 0},
      {"version 2", version, 0},
      {"token of 9 bytes", token, kReset},
      {"a marker and no payload", marker, kReset},
      {"an option that is cut off", good.substr(0, 7), kReset},
      {"ping", {"\x40\x00\x12\x34", 4}, kReset},
      {"empty message with a token", {"\x41\x00\x12\x35x", 5}, kReset},
      {"reserved class 1", CoapBytes([&] {
         auto m = post("/r/d");
         m.code = 0x21;
         return m;
       }()),
       kReset},
      {"unknown method", CoapBytes([&] {
         auto m = post("/r/d");
         m.code = 9;
         return m;
       }()),
       0x85},
      {"critical option that is not known", with(post("/r/d"), {{65001, "x"}}), 0x82},
      {"no such resource", CoapBytes(post("/elsewhere")), 0x84},
      {"no device", CoapBytes(post("/r")), 0x80},
      {"a device of 257 bytes",
       CoapBytes(post("/r/" + std::string(129, 'd') + "/x?d=" + std::string(255, 'x'))), 0},
      {"device that is not UTF-8", CoapBytes(post("/r/\xC3\x28")), 0x80},
      {"wildcard in the topic", CoapBytes(post("/r/d/+/t")), 0x80},
      {"GET of a record", CoapBytes(maker.Request(test::kCoapGet, "/r/d")), 0x85},
      {"commands by POST", CoapBytes(post("/cmd/d")), 0x85},
      {"a block in the middle of nothing", with(post("/r/d"), {{27, "\x16"}}), 0x88},
      {"a proxy's request", with(post("/r/d"), {{35, "coap://x/"}}), 0xA5},
      {"an answer to nothing", {"\x60\x44\x00\x07", 4}, 0},
      {"2,000 bytes", good + std::string(1990, 'x'), 0x8D},
      {"5,000 bytes", good + std::string(5000, 'x'), 0x8D}};
  for (const auto& [name, bytes, expected] : inputs) {
    CoapClient bad(port);
    ASSERT_TRUE(bad.Send(bytes)) << name;
    if (expected == 0) continue;
    const auto answer = bad.Receive();
    ASSERT_TRUE(answer) << name;
    EXPECT_EQ(answer->type == test::kCoapRst ? kReset : answer->code, expected) << name;
  }
  EXPECT_EQ(maker.Post("/r/d/t", "1"), kChanged);
  EXPECT_GT(Count(Counter::kDatagramsMalformed), 5u);
  EXPECT_GT(Count(Counter::kCoapRefused), 5u);
}

}  // namespace
}  // namespace seganet

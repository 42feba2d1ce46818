// Sources whose device ids begin with a part: the part comes from a proof or from the source, and a
// device uses its name without it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "test/support/coap_stream_bytes.h"
#include "test/support/device_packets.h"
#include "test/support/engine_coap_support.h"

namespace seganet {
namespace {

using test::Accepted;
using test::CoapClient;
using test::CoapFrame;
using test::CoapMessage;
using test::CoapSignal;
using test::DeviceClient;
using test::kChanged;
using test::kContent;
using test::kForbidden;
using test::kIdentifierRejected;
using test::kObserve;
using test::LogIn;
using test::Publish5;
using test::Seen;
using test::Spec;
using test::Subscribe;
using test::Until;

class EnginePart : public test::EngineCoapTest {
 protected:
  static constexpr uint32_t kOther = 12;

  // Two sources whose records become messages; the part of each, empty = only proven ids.
  void StartWith(Protocol protocol, const std::string& part, const std::string& other = "",
                 SourceSettings settings = {}) {
    settings.protocol = protocol;
    settings.parted = true;
    settings.part = part;
    auto plan = Plan();
    plan[0].source = settings;
    plan.push_back(Spec(kOther, StageKind::kSource, {}, true));
    settings.part = other;
    plan.back().source = settings;
    Start({}, std::move(plan));
  }
  uint16_t ListenAt(uint32_t stage, ListenSpec spec) {
    uint16_t port = 0;
    const Status status = engine_.Listen(stage, spec, &port);
    EXPECT_TRUE(status.ok()) << status.message();
    return port;
  }
  DeviceClient Stream(const std::string& device) {
    int fd = -1;
    EXPECT_TRUE(engine_.OpenStream(kSource, {.address = "tls", .device = device}, &fd).ok());
    return DeviceClient(DeviceClient::FromFd{fd});
  }
  CommandEnd Command(const std::string& device, const std::string& topic) {
    seganet::Command command;
    command.ticket = ++ticket_;
    command.device = device;
    command.topic = topic;
    command.payload = "go";
    command.qos = 0;
    EXPECT_EQ(engine_.Command(std::move(command), 10'000'000), PushResult::kOk);
    return EndOf(ticket_);
  }

  uint32_t ticket_ = 0;
};

TEST_F(EnginePart, AClientIdIsANameInThePartOfItsPort) {
  StartWith(Protocol::kMqtt, "acme", "other");
  const uint16_t port = ListenAt(kSource, {}), foreign = ListenAt(kOther, {});
  DeviceClient first(port), second(foreign), forger(foreign);
  ASSERT_TRUE(first.Connect("pump"));
  ASSERT_TRUE(second.Connect("pump"));
  ASSERT_TRUE(forger.Connect("acme:pump"));
  EXPECT_EQ(Count(Counter::kTakeOvers), 0u);
  EXPECT_EQ(engine_.devices(), 3);
  EXPECT_TRUE(first.Publish("t", "1"));
  EXPECT_TRUE(second.Publish("t", "2"));
  EXPECT_TRUE(forger.Publish("t", "3"));
  std::vector<std::string> devices;
  for (const Seen& each : Records(3)) devices.push_back(each.device + " " + each.payload);
  std::sort(devices.begin(), devices.end());
  EXPECT_EQ(devices,
            (std::vector<std::string>{"acme:pump 1", "other:acme:pump 3", "other:pump 2"}));
}

TEST_F(EnginePart, AnAssignedClientIdHasNoPart) {
  StartWith(Protocol::kMqtt, "acme");
  DeviceClient device(ListenAt(kSource, {}));
  const std::string connack = LogIn(&device, {.id = "", .level = 5});
  ASSERT_TRUE(Accepted(connack));
  EXPECT_NE(connack.find("auto-"), std::string::npos);
  EXPECT_EQ(connack.find("acme"), std::string::npos);
  EXPECT_TRUE(engine_.Agents("", 1)[0].device.starts_with("acme:auto-"));
}

TEST_F(EnginePart, ADeviceWithoutAProofIsRefused) {
  StartWith(Protocol::kMqtt, "");
  DeviceClient device(ListenAt(kSource, {}));
  ASSERT_TRUE(device.Send(test::ConnectBytes({.id = "acme:pump"})));
  EXPECT_EQ(device.Receive(4), kIdentifierRejected);
  EXPECT_EQ(Count(Counter::kNotAllowed), 1u);
  EXPECT_EQ(engine_.devices(), 0);
}

TEST_F(EnginePart, AnIdThatIsTooLongWithItsPartIsRefused) {
  StartWith(Protocol::kMqtt, "acme");
  const uint16_t port = ListenAt(kSource, {});
  DeviceClient fits(port), exceeds(port);
  EXPECT_TRUE(fits.Connect(std::string(251, 'x')));
  ASSERT_TRUE(exceeds.Send(test::ConnectBytes({.id = std::string(252, 'x')})));
  EXPECT_EQ(exceeds.Receive(4), kIdentifierRejected);
}

TEST_F(EnginePart, ALoginGivesTheWholeId) {
  StartWith(Protocol::kMqtt, "");
  DeviceClient device(ListenAt(kSource, {.ask_login = true}));
  ASSERT_TRUE(device.Send(test::ConnectBytes({.id = "other:pump"})));
  std::vector<LoginRequest> logins;
  ASSERT_TRUE(Until([&] { return !(logins = engine_.TakeLogins()).empty(); }));
  EXPECT_EQ(logins[0].client_id, "other:pump");
  EXPECT_TRUE(engine_.AnswerLogin(logins[0].id, "acme:pump"));
  EXPECT_EQ(device.Receive(4), DeviceClient::kAccepted);
  EXPECT_EQ(engine_.Agents("", 1)[0].device, "acme:pump");
}

TEST_F(EnginePart, TopicsOfADeviceHaveItsNameOnly) {
  SourceSettings settings;
  settings.presence_topic = "presence/{device}";
  settings.permissions = {{"acme:*", {"d/{device}/#"}, {"cmd/{device}/#"}}};
  StartWith(Protocol::kMqtt, "acme", "other", settings);
  DeviceClient device(ListenAt(kSource, {})), stranger(ListenAt(kOther, {}));
  ASSERT_TRUE(Accepted(LogIn(&device, {.id = "pump", .level = 5})));
  ASSERT_TRUE(Accepted(LogIn(&stranger, {.id = "pump", .level = 5})));
  ASSERT_TRUE(device.Send(Publish5("d/pump/x", 1, "1") + Publish5("d/acme:pump/x", 2, "1")));
  EXPECT_EQ(device.ReceivePacket(), mqtt_test::Puback(1));
  EXPECT_EQ(device.ReceivePacket(), test::Lit("\x40\x03\0\x02\x87"));
  ASSERT_TRUE(stranger.Send(Publish5("d/pump/x", 1, "1")));
  EXPECT_EQ(stranger.ReceivePacket(), test::Lit("\x40\x03\0\x01\x87")) << "its row is another's";
  EXPECT_EQ(Subscribe(&device, "cmd/pump/#", 5), 1);
  EXPECT_EQ(Subscribe(&device, "cmd/acme:pump/#", 5), 0x87);
  EXPECT_EQ(Command("acme:pump", "cmd/acme:pump/lamp"), CommandEnd::kTaken);
  EXPECT_EQ(device.ReceivePacket(),
            test::Packet(0x30, test::Str("cmd/pump/lamp") + test::Lit("\0") + "go"));
  EXPECT_EQ(Command("other:pump", "cmd/other:pump/lamp"), CommandEnd::kNotListening);
  std::vector<std::string> topics;
  for (const Seen& each : Records(3)) topics.push_back(each.device + " " + each.topic);
  std::sort(topics.begin(), topics.end());
  EXPECT_EQ(topics, (std::vector<std::string>{"acme:pump d/pump/x", "acme:pump presence/pump",
                                              "other:pump presence/pump"}));
}

TEST_F(EnginePart, KeptSessionsOfEqualNamesAreApart) {
  StartWith(Protocol::kMqtt, "acme", "other");
  const uint16_t port = ListenAt(kSource, {}), foreign = ListenAt(kOther, {});
  {
    DeviceClient device(port);
    ASSERT_TRUE(Accepted(LogIn(&device, {.id = "pump", .clean = false})));
    ASSERT_EQ(Subscribe(&device, "cmd/pump/#"), 1);
  }
  ASSERT_TRUE(Until([this] { return engine_.devices() == 0; }));
  DeviceClient stranger(foreign), back(port);
  EXPECT_FALSE(test::SessionPresent(LogIn(&stranger, {.id = "pump", .clean = false})));
  EXPECT_TRUE(test::SessionPresent(LogIn(&back, {.id = "pump", .clean = false})));
}

TEST_F(EnginePart, ACoapPathHasTheNameOnly) {
  StartWith(Protocol::kCoap, "acme", "other");
  CoapClient device(ListenAt(kSource, {.transport = Transport::kUdp}));
  CoapClient stranger(ListenAt(kOther, {.transport = Transport::kUdp}));
  EXPECT_EQ(device.Post("/r/pump/temp", "1"), kChanged);
  EXPECT_EQ(stranger.Post("/r/pump/temp", "2"), kChanged);
  EXPECT_EQ(stranger.Post("/r/acme:pump/temp", "3"), kChanged);
  std::vector<std::string> seen;
  for (const Seen& each : Records(3)) {
    seen.push_back(each.device + " " + each.topic + " " + each.payload);
  }
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(seen, (std::vector<std::string>{"acme:pump r/pump/temp 1",
                                            "other:acme:pump r/acme:pump/temp 3",
                                            "other:pump r/pump/temp 2"}));
  CoapMessage watch = device.Request(test::kCoapGet, "/cmd/pump");
  watch.options.insert(watch.options.begin(), {kObserve, ""});
  EXPECT_EQ(device.Ask(watch), kContent);
  EXPECT_EQ(Command("other:pump", "cmd/other:pump/set"), CommandEnd::kNotListening);
  seganet::Command command;
  command.ticket = 99;
  command.device = "acme:pump";
  command.topic = "cmd/acme:pump/set";
  command.payload = "open";
  ASSERT_EQ(engine_.Command(std::move(command), 10'000'000), PushResult::kOk);
  const auto notification = device.Receive();
  ASSERT_TRUE(notification);
  EXPECT_EQ(notification->payload, "open");
}

TEST_F(EnginePart, ACoapDeviceWithoutAProofIsRefused) {
  StartWith(Protocol::kCoap, "");
  CoapClient device(ListenAt(kSource, {.transport = Transport::kUdp}));
  EXPECT_EQ(device.Post("/r/acme:pump", "1"), kForbidden);
  EXPECT_EQ(engine_.devices(), 0);
}

TEST_F(EnginePart, AProvenCoapConnectionUsesItsName) {
  StartWith(Protocol::kCoap, "");
  ListenAt(kSource, {.transport = Transport::kStreams});
  DeviceClient device = Stream("acme:pump");
  const auto post = [](std::string path, char token) {
    CoapMessage m = CoapSignal(test::kCoapPost, std::string(1, token));
    m.options = {{11, "r"}, {11, std::move(path)}};
    m.payload = "1";
    return CoapFrame(m);
  };
  ASSERT_TRUE(device.Send(CoapFrame(CoapSignal(test::kCoapCsm)) + post("pump", 'a') +
                          post("acme:pump", 'b') + post("other", 'c')));
  std::string bytes, codes;
  ASSERT_TRUE(Until([&] {
    bytes += device.Receive(1);
    while (auto m = test::TakeCoapFrame(&bytes)) {
      if (m->code == kChanged || m->code == kForbidden) codes += m->code == kChanged ? "+" : "-";
    }
    return codes.size() == 3;
  }));
  std::sort(codes.begin(), codes.end());
  EXPECT_EQ(codes, "+--");
  const auto seen = Records(1);
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].device, "acme:pump");
  EXPECT_EQ(seen[0].topic, "r/pump");
}

TEST_F(EnginePart, APlanWithAPartNeedsParts) {
  Start();
  auto plan = UsualPlan();
  plan[0].source.part = "acme";
  EXPECT_FALSE(engine_.ApplyPlan(plan).ok());
  plan[0].source.parted = true;
  EXPECT_TRUE(engine_.ApplyPlan(plan).ok());
  plan[0].source.part = "a:b";
  EXPECT_FALSE(engine_.ApplyPlan(plan).ok());
}

}  // namespace
}  // namespace seganet

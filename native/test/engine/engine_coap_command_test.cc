// Commands, permissions and the register, for devices that speak CoAP.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "test/support/coap_stream_bytes.h"
#include "test/support/engine_coap_support.h"

namespace seganet {
namespace {

using test::CoapClient;
using test::CoapMessage;
using test::kChanged;
using test::kContent;
using test::kForbidden;
using test::kObserve;
using test::Until;

class EngineCoapCommand : public test::EngineCoapTest {
 protected:
  static CoapMessage Observation(CoapClient* device, std::string_view path, bool on = true) {
    CoapMessage m = device->Request(test::kCoapGet, path);
    m.options.insert(m.options.begin(), {kObserve, on ? "" : "\x01"});
    m.token = "watch";
    return m;
  }
  // Sends command `ticket` and returns its end.
  CommandEnd Command(uint32_t ticket, const std::string& device, const std::string& topic,
                     const std::string& payload = "go", int64_t timeout_us = 10'000'000) {
    EXPECT_EQ(Send(ticket, device, topic, payload, timeout_us), PushResult::kOk);
    return End(ticket);
  }
  PushResult Send(uint32_t ticket, const std::string& device, const std::string& topic,
                  const std::string& payload = "go", int64_t timeout_us = 10'000'000) {
    seganet::Command command;
    command.ticket = ticket;
    command.device = device;
    command.topic = topic;
    command.payload = payload;
    command.qos = 1;
    return engine_.Command(std::move(command), timeout_us);
  }
  CommandEnd End(uint32_t ticket) {
    CommandEnd end = CommandEnd::kBusy;
    EXPECT_TRUE(Until([&] {
      for (const CommandResult& result : engine_.TakeCommandResults()) {
        EXPECT_EQ(result.ticket, ticket);
        end = result.end;
        return true;
      }
      return false;
    }));
    return end;
  }
};

TEST_F(EngineCoapCommand, AnObserverGetsItAndItsAcknowledgementTakesIt) {
  EngineOptions options;
  options.workers = 3;
  Start(options, Plan());
  const uint16_t port = ListenCoap(Transport::kUdp);
  // Uses many ports, so that some are received by a worker that does not own the device: its
  // acknowledgement has to find the owner by its message id.
  for (uint32_t i = 1; i <= 12; ++i) {
    CoapClient device(port);
    const std::string id = "valve-" + std::to_string(i);
    ASSERT_EQ(device.Ask(Observation(&device, "/cmd/" + id)), kContent) << i;
    ASSERT_EQ(Send(i, id, "cmd/" + id + "/set", "open"), PushResult::kOk);
    auto notification = device.Receive();
    ASSERT_TRUE(notification);
    EXPECT_EQ(notification->type, test::kCoapCon);
    EXPECT_EQ(notification->token, "watch");
    EXPECT_EQ(notification->payload, "open");
    ASSERT_TRUE(device.Acknowledge(notification->id));
    EXPECT_EQ(End(i), CommandEnd::kTaken);
  }
}

TEST_F(EngineCoapCommand, ItsEndGivesTheReasonWhyItWasNotTaken) {
  Start({}, Plan());
  CoapClient device(ListenCoap(Transport::kUdp));
  EXPECT_EQ(Command(1, "d", "cmd/d/x"), CommandEnd::kOffline);
  ASSERT_EQ(device.Post("/r/d", "1"), kChanged);
  EXPECT_EQ(Command(2, "d", "cmd/d/x"), CommandEnd::kNotListening);
  ASSERT_EQ(device.Ask(Observation(&device, "/cmd/d")), kContent);
  EXPECT_EQ(Command(3, "d", "cmd/d/x", "go", 200'000), CommandEnd::kTimeout);
  const auto notification = device.Receive();
  ASSERT_TRUE(notification);
  CoapMessage reset;
  reset.type = test::kCoapRst;
  reset.id = notification->id;
  ASSERT_TRUE(device.Send(CoapBytes(reset)));
  // A reset ends the observation (RFC 7641 3.6).
  EXPECT_TRUE(Until([&] { return Command(4, "d", "cmd/d/x") == CommandEnd::kNotListening; }));
}

TEST_F(EngineCoapCommand, AResetOfANotificationRefusesTheCommand) {
  Start({}, Plan());
  CoapClient device(ListenCoap(Transport::kUdp));
  ASSERT_EQ(device.Ask(Observation(&device, "/cmd/d")), kContent);
  ASSERT_EQ(Send(1, "d", "cmd/d/x"), PushResult::kOk);
  const auto notification = device.Receive();
  ASSERT_TRUE(notification);
  CoapMessage reset;
  reset.type = test::kCoapRst;
  reset.id = notification->id;
  ASSERT_TRUE(device.Send(CoapBytes(reset)));
  EXPECT_EQ(End(1), CommandEnd::kRefused);
}

TEST_F(EngineCoapCommand, DeregisteringEndsIt) {
  Start({}, Plan());
  CoapClient device(ListenCoap(Transport::kUdp));
  ASSERT_EQ(device.Ask(Observation(&device, "/cmd/d")), kContent);
  EXPECT_EQ(engine_.devices(), 1) << "who observes is there";
  ASSERT_NE(device.Ask(Observation(&device, "/cmd/d", false)), 0u);
  EXPECT_EQ(Command(1, "d", "cmd/d/x"), CommandEnd::kNotListening);
}

TEST_F(EngineCoapCommand, UnlistenLeavesNoCommandWithoutAnEnd) {
  Start({}, Plan());
  const uint16_t port = ListenCoap(Transport::kUdp);
  CoapClient device(port);
  ASSERT_EQ(device.Ask(Observation(&device, "/cmd/d")), kContent);
  ASSERT_EQ(Send(1, "d", "cmd/d/x"), PushResult::kOk);
  ASSERT_TRUE(device.Receive());
  engine_.Unlisten(kSource);
  EXPECT_EQ(End(1), CommandEnd::kGone);
  ASSERT_EQ(ListenCoap(Transport::kUdp, "127.0.0.1", port), port);
  EXPECT_EQ(Command(2, "d", "cmd/d/x"), CommandEnd::kNotListening);
}

TEST_F(EngineCoapCommand, OverTcpThePongTakesIt) {
  Start({}, Plan());
  test::DeviceClient device(ListenCoap(Transport::kTcp));
  std::string input;
  const auto next = [&] {
    std::optional<CoapMessage> m;
    while (!(m = test::TakeCoapFrame(&input))) {
      const std::string more = device.Receive(1);
      if (more.empty()) return CoapMessage{};
      input += more;
    }
    return *m;
  };
  CoapMessage observe = test::CoapSignal(test::kCoapGet, "o");
  observe.options = {{kObserve, ""}, {11, "cmd"}, {11, "d"}};
  ASSERT_TRUE(device.Send(CoapFrame(test::CoapSignal(test::kCoapCsm)) + CoapFrame(observe)));
  ASSERT_EQ(next().code, test::kCoapCsm);
  ASSERT_EQ(next().code, kContent);
  ASSERT_EQ(Send(1, "d", "cmd/d/x", "open"), PushResult::kOk);
  EXPECT_EQ(next().payload, "open");
  const CoapMessage ping = next();
  ASSERT_EQ(ping.code, test::kCoapPing);
  ASSERT_TRUE(device.Send(CoapFrame(test::CoapSignal(test::kCoapPong, ping.token))));
  EXPECT_EQ(End(1), CommandEnd::kTaken);
  device.Close();
  EXPECT_TRUE(Until([&] { return Command(2, "d", "cmd/d/x") == CommandEnd::kOffline; }));
}

TEST_F(EngineCoapCommand, TheCommandPathOfTheSourceIsUsed) {
  SourceSettings settings;
  settings.command_path = "in/box";
  Start({}, Plan(settings));
  CoapClient device(ListenCoap(Transport::kUdp));
  ASSERT_EQ(device.Ask(Observation(&device, "/in/box/d/set")), kContent);
  ASSERT_EQ(Send(1, "d", "cmd/d/set", "open"), PushResult::kOk);
  const auto notification = device.Receive();
  ASSERT_TRUE(notification);
  ASSERT_TRUE(device.Acknowledge(notification->id));
  EXPECT_EQ(End(1), CommandEnd::kTaken);
}

TEST_F(EngineCoapCommand, PermissionsLimitPostsAndObservations) {
  SourceSettings settings;
  settings.permissions = {{"pump-*", {"r/{device}/#"}, {"cmd/{device}/#"}},
                          {"meter-*", {"r/{device}/value"}, {}}};
  Start({}, Plan(settings));
  CoapClient device(ListenCoap(Transport::kUdp));
  EXPECT_EQ(device.Post("/r/pump-1/anything", "1"), kChanged);
  EXPECT_EQ(device.Post("/r/meter-1/value", "1"), kChanged);
  EXPECT_EQ(device.Post("/r/meter-1/other", "1"), kForbidden);
  EXPECT_EQ(device.Post("/r/stranger/value", "1"), kForbidden);
  EXPECT_EQ(device.Ask(Observation(&device, "/cmd/meter-1")), kForbidden);
  EXPECT_EQ(device.Ask(Observation(&device, "/cmd/pump-1")), kContent);
  EXPECT_EQ(Count(Counter::kNotAllowed), 3u);
  EXPECT_EQ(engine_.devices(), 2) << "who may do nothing does not count";
  // Permissions may change while devices send.
  settings.permissions[1].publish = {"#"};
  Apply(Plan(settings));
  EXPECT_EQ(device.Post("/r/meter-1/other", "1"), kChanged);
}

TEST_F(EngineCoapCommand, TheRegisterKnowsDatagramDevices) {
  Start({}, Plan());
  CoapClient device(ListenCoap(Transport::kUdp));
  ASSERT_EQ(device.Post("/r/a", "123"), kChanged);
  ASSERT_EQ(device.Post("/r/a?c=1", "45"), kChanged);
  ASSERT_EQ(device.Ask(Observation(&device, "/cmd/b")), kContent);
  const auto agents = engine_.Agents("", 10);
  ASSERT_EQ(agents.size(), 2u);
  EXPECT_EQ(agents[0].device, "a");
  EXPECT_EQ(agents[0].stage, kSource);
  EXPECT_TRUE(agents[0].connected);
  EXPECT_FALSE(agents[0].listening);
  EXPECT_EQ(agents[0].records, 2u);
  EXPECT_EQ(agents[0].bytes, 5u);
  EXPECT_EQ(agents[0].address.rfind("127.0.0.1:", 0), 0u) << agents[0].address;
  EXPECT_EQ(agents[1].device, "b");
  EXPECT_TRUE(agents[1].listening);
  bool listening = false;
  for (const DeviceEvent& event : engine_.TakeEvents()) {
    listening |= event.kind == DeviceEventKind::kListening && event.device == "b";
  }
  EXPECT_TRUE(listening);
}

TEST_F(EngineCoapCommand, AnIdThatIsProvedElsewhereIsNotServedOverDatagrams) {
  constexpr uint32_t kMqtt = 9;
  auto plan = Plan();
  plan.push_back(test::Spec(kMqtt, StageKind::kSource, {kBatch}));
  Start({}, plan);
  CoapClient before(ListenCoap(Transport::kUdp));
  ASSERT_EQ(before.Ask(Observation(&before, "/cmd/valve-1")), kContent);
  uint16_t port = 0;
  ASSERT_TRUE(engine_.Listen(kMqtt, {.ask_login = true}, &port).ok());
  test::DeviceClient valve(port);
  mqtt_test::ConnectFields fields;
  fields.payload = mqtt_test::Str("valve-1");
  ASSERT_TRUE(valve.Send(mqtt_test::ConnectPacket(fields)));
  std::vector<LoginRequest> logins;
  ASSERT_TRUE(Until([&] { return !(logins = engine_.TakeLogins()).empty(); }));
  ASSERT_TRUE(engine_.AnswerLogin(logins[0].id, "valve-1"));
  ASSERT_EQ(valve.Receive(4), test::DeviceClient::kAccepted);
  EXPECT_EQ(Command(1, "valve-1", "cmd/valve-1/set"), CommandEnd::kNotListening)
      << "not for who observed before";
  EXPECT_EQ(before.Ask(Observation(&before, "/cmd/valve-1")), kForbidden);
  EXPECT_EQ(before.Ask(before.Request(test::kCoapPost, "/r/valve-1/t")), kForbidden);
  EXPECT_EQ(before.Ask(before.Request(test::kCoapPost, "/r/valve-2/t")), kChanged);
}

}  // namespace
}  // namespace seganet

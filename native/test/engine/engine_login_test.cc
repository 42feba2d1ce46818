// Device identity: logins that wait for an answer, connections that prove the device, and silent
// ones.
#include <gtest/gtest.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <vector>

#include "test/support/device_packets.h"
#include "test/support/engine_support.h"

namespace seganet {
namespace {

using mqtt_test::Publish1;
using test::DeviceClient;
using test::kIdentifierRejected;
using test::LogIn;
using test::Until;

constexpr std::string_view kBadCredentials{"\x20\x02\0\x04", 4};

class EngineLogin : public test::EngineTest {
 protected:
  uint16_t ListenWith(ListenSpec spec) {
    uint16_t port = 0;
    const Status status = engine_.Listen(kSource, spec, &port);
    EXPECT_TRUE(status.ok()) << status.message();
    return port;
  }
  uint16_t ListenAsking(int64_t timeout_us = 10'000'000) {
    return ListenWith({.connect_timeout_us = timeout_us, .ask_login = true});
  }

  LoginRequest NextLogin() {
    std::vector<LoginRequest> logins;
    EXPECT_TRUE(Until([&] { return !(logins = engine_.TakeLogins()).empty(); }));
    EXPECT_EQ(logins.size(), 1u);
    return logins.empty() ? LoginRequest{} : logins[0];
  }

  static std::string Connect(const std::string& id) {
    mqtt_test::ConnectFields fields;
    fields.payload = mqtt_test::Str(id);
    return mqtt_test::ConnectPacket(fields);
  }
};

TEST_F(EngineLogin, ADeviceWaitsForItsLoginAndGetsTheAssignedId) {
  Start();
  DeviceClient device(ListenAsking());
  ASSERT_TRUE(device.Send(Connect("claims") + Publish1("t", 1, "1")));
  const LoginRequest login = NextLogin();
  EXPECT_EQ(login.client_id, "claims");
  EXPECT_EQ(login.stage, kSource);
  EXPECT_EQ(login.address.substr(0, 10), "127.0.0.1:");
  EXPECT_EQ(engine_.devices(), 0);
  EXPECT_TRUE(engine_.AnswerLogin(login.id, "proved"));
  EXPECT_EQ(device.Receive(8), std::string(DeviceClient::kAccepted) + mqtt_test::Puback(1));
  EXPECT_FALSE(engine_.AnswerLogin(login.id, "proved")) << "answered already";
}

TEST_F(EngineLogin, ADismissedDeviceIsToldWhereToGoAndNobodyElseIsAccepted) {
  Start();
  const uint16_t port = ListenWith({});
  DeviceClient five(port);
  ASSERT_TRUE(five.Send(mqtt_test::Connect5({}, 0x02, mqtt_test::Str("five"))));
  ASSERT_EQ(five.ReceivePacket()[0], '\x20');
  DeviceClient three(port);
  ASSERT_TRUE(three.Connect("three"));
  engine_.StopAccepting();
  EXPECT_FALSE(DeviceClient(port).open());
  EXPECT_EQ(engine_.devices(), 2);
  EXPECT_TRUE(engine_.DismissDevice("five", "gw-b:1883"));
  EXPECT_EQ(five.ReceivePacket(), (std::string{"\xe0\x0e\x9c\x0c\x1c\0\x09", 7} + "gw-b:1883"));
  EXPECT_TRUE(five.ClosedByPeer());
  EXPECT_TRUE(engine_.DismissDevice("three", ""));
  EXPECT_TRUE(three.ClosedByPeer());
  EXPECT_FALSE(engine_.DismissDevice("three", ""));
  EXPECT_TRUE(Until([this] { return engine_.devices() == 0; }));
  engine_.Unlisten(kSource);
  DeviceClient again(ListenWith({}));
  EXPECT_TRUE(again.Connect("three"));
}

TEST_F(EngineLogin, TheConnectionOfADeviceThatConnectedElsewhereEnds) {
  Start();
  const uint16_t port = ListenWith({});
  DeviceClient five(port);
  ASSERT_TRUE(five.Send(mqtt_test::Connect5({}, 0x02, mqtt_test::Str("five"))));
  ASSERT_EQ(five.ReceivePacket()[0], '\x20');
  EXPECT_FALSE(engine_.TakeOverDevice("other"));
  EXPECT_TRUE(engine_.TakeOverDevice("five"));
  EXPECT_EQ(five.ReceivePacket().substr(0, 3), (std::string{"\xe0\x01\x8e", 3}));
  EXPECT_TRUE(five.ClosedByPeer());
  EXPECT_FALSE(engine_.TakeOverDevice("five"));
  DeviceClient again(port);
  EXPECT_TRUE(again.Connect("five"));
}

TEST_F(EngineLogin, AProxyNamesTheAddressOfItsDevice) {
  Start();
  ListenSpec spec{.ask_login = true};
  ASSERT_TRUE(spec.proxies.Add("127.0.0.0/8").ok());
  DeviceClient device(ListenWith(spec));
  const std::string header = "PROXY TCP4 192.0.2.7 198.51.100.1 40312 1883\r\n";
  for (const char byte : header + Connect("d")) ASSERT_TRUE(device.Send({&byte, 1}));
  const LoginRequest login = NextLogin();
  EXPECT_EQ(login.client_id, "d");
  EXPECT_EQ(login.address, "192.0.2.7:40312");
  EXPECT_TRUE(engine_.AnswerLogin(login.id, "d"));
  EXPECT_EQ(device.Receive(4), DeviceClient::kAccepted);
}

TEST_F(EngineLogin, AConnectionFromAProxyBeginsWithItsHeader) {
  Start();
  ListenSpec spec;
  ASSERT_TRUE(spec.proxies.Add("127.0.0.1").ok());
  const uint16_t port = ListenWith(spec);
  DeviceClient plain(port);
  ASSERT_TRUE(plain.Send(Connect("d")));
  EXPECT_TRUE(plain.ClosedByPeer());
  EXPECT_EQ(Closed(CloseReason::kNoProxyHeader), 1u);
  DeviceClient check(port);  // as a proxy checks the gateway's health
  ASSERT_TRUE(check.Send({"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0", 16}));
  check.Close();
  EXPECT_TRUE(Until([this] { return Count(Counter::kConnectionsClosed) == 1; }));
  EXPECT_EQ(engine_.devices(), 0);
}

TEST_F(EngineLogin, AConnectionFromElsewhereHasNoHeader) {
  Start();
  ListenSpec spec;
  ASSERT_TRUE(spec.proxies.Add("192.0.2.0/24").ok());
  const uint16_t port = ListenWith(spec);
  DeviceClient device(port);
  EXPECT_TRUE(device.Connect("d"));
  DeviceClient forged(port);
  ASSERT_TRUE(forged.Send("PROXY TCP4 192.0.2.7 198.51.100.1 40312 1883\r\n" + Connect("e")));
  EXPECT_TRUE(forged.ClosedByPeer());
  EXPECT_EQ(engine_.devices(), 1);
}

TEST_F(EngineLogin, ARefusedDeviceGetsTheReasonAndIsClosed) {
  Start();
  DeviceClient device(ListenAsking());
  ASSERT_TRUE(device.Send(Connect("d")));
  EXPECT_TRUE(engine_.AnswerLogin(NextLogin().id, std::nullopt));
  EXPECT_EQ(device.Receive(4), kBadCredentials);
  EXPECT_TRUE(device.ClosedByPeer());
  EXPECT_EQ(Count(Counter::kLoginsRefused), 1u);
  EXPECT_EQ(Closed(CloseReason::kNotAllowed), 1u);
}

TEST_F(EngineLogin, ALoginWithoutAnAnswerEndsWithItsTime) {
  Start();
  DeviceClient device(ListenAsking(300'000));
  ASSERT_TRUE(device.Send(Connect("d")));
  const uint64_t id = NextLogin().id;
  EXPECT_TRUE(device.ClosedByPeer());
  EXPECT_EQ(Count(Counter::kConnectTimeouts), 1u);
  EXPECT_FALSE(engine_.AnswerLogin(id, "d"));
}

TEST_F(EngineLogin, AConnectionThatLeavesWhileItWaitsIsForgotten) {
  Start();
  const uint16_t port = ListenAsking();
  uint64_t id = 0;
  {
    DeviceClient device(port);
    ASSERT_TRUE(device.Send(Connect("d")));
    id = NextLogin().id;
  }
  EXPECT_TRUE(Until([this] { return Count(Counter::kConnectionsClosed) == 1; }));
  EXPECT_FALSE(engine_.AnswerLogin(id, "d"));
}

TEST_F(EngineLogin, NoLoginWaitsForAConnectionThatIsGone) {
  Start();
  const uint16_t port = ListenWith({.ask_login = true, .max_half_open = 4});
  std::vector<DeviceClient> open;
  for (int i = 0; i < 100; ++i) {
    DeviceClient device(port);
    ASSERT_TRUE(device.Send(Connect("d" + std::to_string(i))));
    if (i >= 96) open.push_back(std::move(device));
  }
  ASSERT_TRUE(Until([this] { return Count(Counter::kConnectionsAccepted) == 100; }));
  ASSERT_TRUE(Until([this] {
    return Count(Counter::kHalfOpenEvicted) + Count(Counter::kConnectionsClosed) == 96;
  }));
  std::vector<LoginRequest> logins;
  ASSERT_TRUE(Until([&] {
    for (LoginRequest& login : engine_.TakeLogins(3)) logins.push_back(std::move(login));
    return !logins.empty() && logins.back().client_id == "d99";
  }));
  EXPECT_LE(logins.size(), 4u);
}

TEST_F(EngineLogin, HalfOpenConnectionsThatSendMuchMakeRoomForOthersThatDo) {
  Start();
  const uint16_t port = Listen();
  // A CONNECT of 60,000 bytes without its end.
  const std::string much = std::string("\x10\xE0\xD4\x03", 4) +
                           std::string("\0\4MQTT\4\2\0\0", 10) + std::string(59'000, '\0');
  DeviceClient small(port);
  ASSERT_TRUE(small.Send(Connect("small").substr(0, 5)));
  std::vector<DeviceClient> large;
  for (int i = 0; i < 300; ++i) {
    large.emplace_back(port);
    ASSERT_TRUE(large.back().Send(much));
  }
  // 64 KiB each of 16 MiB.
  ASSERT_TRUE(Until([this] { return Count(Counter::kHalfOpenEvicted) >= 300 - 256; }));
  EXPECT_TRUE(large[0].ClosedByPeer());
  ASSERT_TRUE(small.Send(Connect("small").substr(5)));
  EXPECT_EQ(small.Receive(4), DeviceClient::kAccepted);
}

TEST_F(EngineLogin, SilentConnectionsMakeRoomForNewOnes) {
  Start();
  const uint16_t port = ListenWith({.max_half_open = 3});
  std::vector<DeviceClient> silent;
  for (int i = 0; i < 5; ++i) {
    silent.emplace_back(port);
    ASSERT_TRUE(Until(
        [&] { return Count(Counter::kConnectionsAccepted) == static_cast<uint64_t>(i + 1); }));
  }
  EXPECT_EQ(Count(Counter::kHalfOpenEvicted), 2u);
  EXPECT_TRUE(silent[0].ClosedByPeer());
  EXPECT_TRUE(silent[1].ClosedByPeer());
  EXPECT_TRUE(silent[2].Connect("late")) << "a younger one may still become a device";
  EXPECT_TRUE(DeviceClient(port).Connect("new"));
}

TEST_F(EngineLogin, SilentConnectionsDoNotKeepDevicesOutAtTheLimit) {
  EngineOptions options;
  options.max_devices = 3;
  Start(options);
  const uint16_t port = Listen();
  DeviceClient first(port);
  ASSERT_TRUE(first.Connect("a"));
  DeviceClient silent(port), also_silent(port);
  ASSERT_TRUE(Until([&] { return Count(Counter::kConnectionsAccepted) == 3; }));
  DeviceClient second(port);
  EXPECT_TRUE(second.Connect("b"));
  EXPECT_TRUE(silent.ClosedByPeer());
  EXPECT_TRUE(first.Publish("t", "1")) << "a device is never ended for a new one";
}

TEST_F(EngineLogin, AStreamIsADeviceLikeAnyOther) {
  Start();
  ListenWith({.transport = Transport::kStreams});
  int fd = -1;
  ASSERT_TRUE(engine_.OpenStream(kSource, {"192.0.2.1:7", {}, {}}, &fd).ok());
  DeviceClient device{DeviceClient::FromFd{fd}};
  ASSERT_TRUE(device.Connect("d"));
  EXPECT_TRUE(device.Publish("t", "1"));
  EXPECT_EQ(engine_.devices(), 1);
  engine_.Unlisten(kSource);
  EXPECT_TRUE(device.ClosedByPeer());
}

TEST_F(EngineLogin, AProvedDeviceNeedsNoLogin) {
  Start();
  ListenWith({.transport = Transport::kStreams, .ask_login = true});
  int fd = -1;
  ASSERT_TRUE(engine_.OpenStream(kSource, {"192.0.2.1:7", "by-certificate", {}}, &fd).ok());
  DeviceClient device{DeviceClient::FromFd{fd}};
  EXPECT_TRUE(device.Connect("claims-another"));
  EXPECT_TRUE(engine_.TakeLogins().empty());
}

TEST_F(EngineLogin, AStreamNeedsAStageThatListens) {
  Start();
  int fd = -1;
  EXPECT_EQ(engine_.OpenStream(kSource, {}, &fd).error(), ENOTCONN);
  ListenWith({.transport = Transport::kStreams});
  engine_.Close();
  EXPECT_EQ(engine_.OpenStream(kSource, {}, &fd).error(), ENOTCONN);
}

class EngineProof : public EngineLogin {
 protected:
  static constexpr uint32_t kOpen = 9;

  void SetUp() override {
    auto plan = UsualPlan();
    plan.push_back(test::Spec(kOpen, StageKind::kSource, {kBatch}));
    Start({}, plan);
    asking_ = ListenAsking();
    const Status status = engine_.Listen(kOpen, {}, &open_);
    ASSERT_TRUE(status.ok()) << status.message();
  }
  void Prove(DeviceClient* device, const std::string& id) {
    ASSERT_TRUE(device->Send(Connect(id)));
    ASSERT_TRUE(engine_.AnswerLogin(NextLogin().id, id));
    ASSERT_EQ(device->Receive(4), DeviceClient::kAccepted);
  }
  std::string CommandTo(const std::string& id) {
    EXPECT_EQ(engine_.Command({7, id, "cmd/key", "secret", 1, 0}, 10'000'000), PushResult::kOk);
    std::vector<CommandResult> results;
    EXPECT_TRUE(Until([&] { return !(results = engine_.TakeCommandResults()).empty(); }));
    return results[0].end == CommandEnd::kOffline ? "offline" : "other";
  }

  uint16_t asking_ = 0;
  uint16_t open_ = 0;
};

TEST_F(EngineProof, AConnectionThatProvedNothingTakesNoProvedDeviceOver) {
  DeviceClient pump(asking_);
  Prove(&pump, "pump-1");
  ASSERT_EQ(test::Subscribe(&pump, "cmd/#"), 1);
  DeviceClient stranger(open_);
  ASSERT_TRUE(stranger.Send(Connect("pump-1")));
  EXPECT_EQ(stranger.Receive(4), kIdentifierRejected);
  EXPECT_TRUE(stranger.ClosedByPeer());
  DeviceClient fifth(open_);
  EXPECT_EQ(LogIn(&fifth, {.id = "pump-1", .level = 5}), mqtt_test::Lit("\x20\x03\x00\x85\x00"));
  EXPECT_EQ(Count(Counter::kTakeOvers), 0u);
  EXPECT_EQ(Count(Counter::kNotAllowed), 2u);
  ASSERT_EQ(engine_.Command({7, "pump-1", "cmd/key", "secret", 1, 0}, 10'000'000), PushResult::kOk);
  const std::string publish = pump.ReceivePacket();
  EXPECT_EQ(publish, mqtt_test::Publish1("cmd/key", test::PacketId(publish), "secret"));
}

TEST_F(EngineProof, AnIdStaysProvedWhileItsDeviceIsAway) {
  {
    DeviceClient pump(asking_);
    Prove(&pump, "pump-1");
  }
  ASSERT_TRUE(Until([this] { return engine_.devices() == 0; }));
  DeviceClient stranger(open_);
  ASSERT_TRUE(stranger.Send(Connect("pump-1")));
  EXPECT_EQ(stranger.Receive(4), kIdentifierRejected);
  EXPECT_EQ(CommandTo("pump-1"), "offline");
  engine_.Unlisten(kSource);
  DeviceClient later(open_);
  EXPECT_TRUE(later.Connect("pump-1")) << "nothing protects an id whose listener is closed";
}

TEST_F(EngineProof, AProvedConnectionTakesOverOneThatProvedNothingAndAnotherProvedOne) {
  DeviceClient stranger(open_);
  ASSERT_TRUE(stranger.Connect("pump-1"));
  DeviceClient pump(asking_);
  Prove(&pump, "pump-1");
  EXPECT_TRUE(stranger.ClosedByPeer());
  DeviceClient again(asking_);
  Prove(&again, "pump-1");
  EXPECT_TRUE(pump.ClosedByPeer());
  EXPECT_EQ(Count(Counter::kTakeOvers), 2u);
}

}  // namespace
}  // namespace seganet

// The engine with a request desk: devices over TCP that JavaScript identifies, on loopback.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "test/support/engine_desk_support.h"

namespace seganet {
namespace {

using test::CoapMessage;
using test::kChanged;
using test::kCoapGet;
using test::kCoapPost;
using test::kContent;
using test::kTimeout;
using test::kUnauthorized;
using test::kUnavailable;
using test::Until;
using Client = test::DeskClient;

using EngineDesk = test::EngineDeskTest;

TEST_F(EngineDesk, RequestsReachTheDeskAndItsAnswersReachThePeer) {
  Start({}, Plan());
  Client client(ListenDesk());
  const DeskEvent asked = Asked(&client, "tok");
  EXPECT_EQ(asked.device, "");
  EXPECT_EQ(asked.code, 2);
  EXPECT_EQ(asked.path, (std::vector<std::string>{"d", "x"}));
  EXPECT_EQ(asked.payload, "body");
  EXPECT_EQ(asked.token, "tok");
  EXPECT_EQ(asked.address.substr(0, 10), "127.0.0.1:");
  EXPECT_TRUE(engine_.AnswerRequest(asked.connection, "tok", kContent, {{12, "f"}}, "yes"));
  const CoapMessage answer = client.Next();
  EXPECT_EQ(answer.code, kContent);
  EXPECT_EQ(answer.token, "tok");
  EXPECT_EQ(answer.payload, "yes");
  client.Request(test::kCoapPost, {"r", "dev", "t"}, "u", "1");
  EXPECT_EQ(client.Next().code, kUnauthorized);
}

TEST_F(EngineDesk, OneAnswerReachesTheRequestsOfAllWorkers) {
  Start({}, Plan());
  const uint16_t port = ListenDesk();
  std::vector<std::unique_ptr<Client>> clients;
  std::vector<DeskAddressee> to{{999, "unknown"}};
  for (int i = 0; i < 8; ++i) {
    const std::string token = "t" + std::to_string(i);
    clients.push_back(std::make_unique<Client>(port));
    to.push_back({Asked(clients.back().get(), token).connection, token});
  }
  engine_.AnswerRequests(to, {kContent, {{12, "f"}}, "yes"});
  for (size_t i = 0; i < clients.size(); ++i) {
    const CoapMessage answer = clients[i]->Next();
    EXPECT_EQ(answer.code, kContent);
    EXPECT_EQ(answer.token, "t" + std::to_string(i));
    EXPECT_EQ(answer.payload, "yes");
  }
  engine_.AnswerRequests({}, {kContent, {}, ""});
}

// More than the output that a connection holds until the end of a turn.
TEST_F(EngineDesk, ManyAnswersInOneTurnAllArriveInOrder) {
  Start({}, Plan());
  Client client(ListenDesk());
  client.Request(1, {"d", "x"}, "observed", "", true);
  const DeskEvent asked = Event();
  ASSERT_EQ(asked.token, "observed");
  const std::string payload(1000, 'x');
  const auto number = [](int i) {
    return coap::OptionValues{{6, {static_cast<char>(i >> 8), static_cast<char>(i)}}};
  };
  constexpr int kMany = 300;
  for (int i = 1; i <= kMany; ++i) {
    engine_.AnswerRequests({{asked.connection, "observed"}}, {kContent, number(i), payload});
  }
  for (int i = 1; i <= kMany; ++i) {
    const CoapMessage answer = client.Next();
    ASSERT_EQ(answer.code, kContent) << i;
    EXPECT_EQ(answer.payload.size(), payload.size());
    EXPECT_EQ(answer.options.front(), (std::pair{6u, number(i)[0].value}));
  }
}

// Many devices, so that connections stay on their worker and move to the other one.
TEST_F(EngineDesk, AnIdentifiedConnectionServesItsDeviceOnItsWorker) {
  Start({}, Plan());
  const uint16_t port = ListenDesk();
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 16; ++i) {
    const std::string device = "dev" + std::to_string(i);
    clients.push_back(std::make_unique<Client>(port));
    const DeskEvent asked = Asked(clients.back().get());
    ASSERT_TRUE(engine_.IdentifyConnection(asked.connection, {device, "", kNever}));
    // These follow the connection to its worker, in their order; so do bytes that come meanwhile.
    clients.back()->Request(test::kCoapPost, {"r", device, "t"}, "r", "1");
    ASSERT_TRUE(engine_.AnswerRequest(asked.connection, asked.token, kChanged, {}, "in"));
    ASSERT_EQ(engine_.RecordOfConnection(asked.connection, 7, "topic", "of js", 0),
              PushResult::kOk);
    const DeskEvent recorded = Event();
    EXPECT_EQ(recorded.kind, DeskEventKind::kRecorded);
    EXPECT_EQ(recorded.handle, 7u);
    EXPECT_EQ(recorded.recorded, DeskRecorded::kSafe);
    std::vector<std::string> tokens{clients.back()->Next().token, clients.back()->Next().token};
    std::sort(tokens.begin(), tokens.end());
    EXPECT_EQ(tokens, (std::vector<std::string>{"r", "t"}));
  }
  const auto seen = Records(32);
  EXPECT_EQ(seen.size(), 32u);
  EXPECT_EQ(engine_.Agents("", 100).size(), 16u);
  for (const auto& agent : engine_.Agents("", 100)) {
    EXPECT_TRUE(agent.connected);
    EXPECT_EQ(agent.worker, engine_.WorkerOf(agent.device));
  }
}

TEST_F(EngineDesk, ANewConnectionOfADeviceReplacesTheOlderOne) {
  Start({}, Plan());
  const uint16_t port = ListenDesk();
  Client first(port), second(port);
  const uint64_t one = SignIn(&first, "dev");
  const DeskEvent asked = Asked(&second);
  EXPECT_TRUE(engine_.IdentifyConnection(asked.connection, {"dev", "", kNever}));
  ExpectGone(one, "dev", "takenOver");
  EXPECT_EQ(first.Next().code, test::kCoapRelease);
  EXPECT_EQ(first.Next().code, 0u) << "closed";
  EXPECT_FALSE(engine_.AnswerRequest(one, "t", kChanged, {}, ""));
  EXPECT_FALSE(engine_.IdentifyConnection(asked.connection, {"other", "", kNever}))
      << "a connection has one device";
  EXPECT_TRUE(engine_.IdentifyConnection(asked.connection, {"dev", "", kNever}));
  const uint64_t handle = Ask("dev");
  CoapMessage get = second.Next();
  EXPECT_EQ(get.code, 1u);
  second.Respond(get, kContent, "on");
  ExpectAnswer(handle, kContent, "on");
}

TEST_F(EngineDesk, AForgottenConnectionStaysAndMayBecomeAnotherDevice) {
  Start({}, Plan());
  Client client(ListenDesk());
  const uint64_t connection = SignIn(&client, "dev");
  EXPECT_TRUE(engine_.ForgetConnection(connection, "signedOut"));
  ExpectGone(connection, "dev", "signedOut");
  ExpectAnswer(Ask("dev"), kUnavailable, "The device is not connected.");
  EXPECT_EQ(SignIn(&client, "other"), connection);
  EXPECT_TRUE(engine_.CloseConnection(connection, "deleted"));
  ExpectGone(connection, "other", "deleted");
  EXPECT_EQ(client.Next().code, test::kCoapRelease);
  EXPECT_EQ(client.Next().code, 0u);
}

// The worker that it leaves watched the connection, because its first device is urgent.
TEST_F(EngineDesk, AConnectionOfAnUrgentDeviceMayBecomeADeviceOfAnotherWorker) {
  std::vector<StageSpec> plan = Plan();
  plan[0].devices = {{"urgent", kCritical}};
  Start({.workers = 2}, plan);
  Client client(ListenDesk());
  const uint64_t connection = SignIn(&client, "urgent");
  EXPECT_TRUE(engine_.ForgetConnection(connection, "signedOut"));
  ExpectGone(connection, "urgent", "signedOut");
  std::string other = "other";
  while (engine_.WorkerOf(other) == engine_.WorkerOf("urgent")) other += "s";
  EXPECT_EQ(SignIn(&client, other), connection);
  // Each worker sweeps its urgent devices.
  const int64_t moved_us = MonotonicUs();
  EXPECT_TRUE(Until([&] {
    const std::vector<WorkerInfo> workers = engine_.Workers();
    return std::all_of(workers.begin(), workers.end(), [&](const WorkerInfo& worker) {
      return MonotonicUs() - worker.silent_us > moved_us + 300'000;
    });
  }));
  const uint64_t handle = Ask(other);
  const CoapMessage get = client.Next();
  client.Respond(get, kContent, "on");
  ExpectAnswer(handle, kContent, "on");
}

TEST_F(EngineDesk, AnIdentityEndsAtItsTime) {
  Start({}, Plan());
  Client client(ListenDesk());
  const uint64_t connection = SignIn(&client, "dev", MonotonicUs() + 300'000);
  ExpectGone(connection, "dev", "expired");
  EXPECT_EQ(Asked(&client).device, "");
}

TEST_F(EngineDesk, ConnectionsWithoutADeviceAreClosedAfterTheirTime) {
  Start({}, Plan());
  DeskOptions options;
  options.identify_timeout_us = 300'000;
  Client client(ListenDesk(options));
  const DeskEvent asked = Asked(&client);
  ExpectGone(asked.connection, "", "timeout");
  EXPECT_EQ(client.Next().code, test::kCoapRelease);
  EXPECT_EQ(client.Next().code, 0u);
}

TEST_F(EngineDesk, TooManyConnectionsWithoutADeviceCloseTheOldest) {
  Start({.workers = 1}, Plan());
  DeskOptions options;
  options.max_unidentified = 2;
  const uint16_t port = ListenDesk(options);
  Client first(port), second(port), third(port);
  const DeskEvent asked = Asked(&first);
  Asked(&second);
  third.Request(test::kCoapPost, {"d", "x"}, "t");
  ExpectGone(asked.connection, "", "evicted");
  EXPECT_EQ(Event().kind, DeskEventKind::kAsked);
}

TEST_F(EngineDesk, ASilentConnectionGetsAPingAndIsClosed) {
  Start({}, Plan());
  DeskOptions options;
  options.ping_s = 1;
  Client client(ListenDesk(options));
  const uint64_t connection = SignIn(&client, "dev");
  EXPECT_EQ(client.Next().code, test::kCoapPing);
  ExpectGone(connection, "dev", "silent");
}

TEST_F(EngineDesk, APauseOfTheGatewayIsNotASilenceOfThePeer) {
  Start({.workers = 1, .acknowledge = Acknowledge::kSafe}, Plan({}, false));
  DeskOptions options;
  options.ping_s = 1;
  Client client(ListenDesk(options));
  SignIn(&client, "dev");
  const auto most = static_cast<uint32_t>(coap::Limits().max_stream_unacknowledged);
  for (uint32_t i = 0; i < most; ++i) client.Request(kCoapPost, {"r", "dev"}, "r", "1");
  // Nothing has the records, so the gateway does not read what follows.
  Until([&] { return Count(Counter::kRecordsReceived) == most; });
  client.Send(test::CoapFrame(test::CoapSignal(test::kCoapPing)));
  std::this_thread::sleep_for(std::chrono::seconds(3));
  uint32_t delivered = 0;
  Until([&] { return (delivered += DrainUplink()) == most; });
  client.Request(kCoapPost, {"d", "x"}, "alive");
  const DeskEvent event = Event();
  EXPECT_EQ(event.kind, DeskEventKind::kAsked) << event.reason;
  EXPECT_EQ(event.token, "alive");
  // One Ping came during the pause. The next one shows that the connection stayed open.
  int pings = 0;
  for (CoapMessage m = client.Next(); m.code != 0; m = client.Next()) {
    if (m.code == test::kCoapPing && ++pings == 2) break;
  }
  EXPECT_EQ(pings, 2);
}

TEST_F(EngineDesk, TheEndOfAListenerEndsWhatJavaScriptBegan) {
  Start({.workers = 1, .acknowledge = Acknowledge::kSafe}, Plan({}, false));
  Client client(ListenDesk());
  const uint64_t connection = SignIn(&client, "dev");
  ASSERT_EQ(engine_.RecordOfConnection(connection, 7, "t", "1", 0), PushResult::kOk);
  const uint64_t handle = Ask("dev");
  EXPECT_EQ(client.Next().code, kCoapGet);
  engine_.Unlisten(kSource);
  bool gone = false, lost = false, answered = false;
  while (!gone || !lost || !answered) {
    const DeskEvent event = Event();
    ASSERT_NE(event.kind, DeskEventKind::kAsked) << "no event came";
    gone |= event.kind == DeskEventKind::kGone && event.connection == connection;
    lost |= event.kind == DeskEventKind::kRecorded && event.recorded == DeskRecorded::kLost;
    answered |= event.kind == DeskEventKind::kAnswer && event.handle == handle;
  }
}

TEST_F(EngineDesk, RequestsToADeviceEndWithAnAnswerOr503Or504) {
  Start({}, Plan());
  Client client(ListenDesk());
  ExpectAnswer(Ask("dev"), kUnavailable, "");
  SignIn(&client, "dev");
  const uint64_t late = Ask("dev", false, 300'000);
  const CoapMessage get = client.Next();
  EXPECT_EQ(get.token.size(), 1u);
  ExpectAnswer(late, kTimeout, "");
  client.Respond(get, kContent, "late");
  std::vector<uint64_t> handles;
  for (int i = 0; i < 33; ++i) handles.push_back(Ask("dev"));
  ExpectAnswer(handles.back(), kUnavailable, "Too many requests of the device are open.");
  for (int i = 0; i < 32; ++i) {
    const CoapMessage m = client.Next();
    EXPECT_NE(m.token, get.token);
    if (i == 5) client.Respond(m, kContent, "five");
  }
  ExpectAnswer(handles[5], kContent, "five");
  client.Close();
  std::vector<uint64_t> failed;
  for (int i = 0; i < 32; ++i) {
    const DeskEvent event = Event();
    if (event.kind == DeskEventKind::kAnswer) {
      EXPECT_EQ(event.code, kUnavailable);
      failed.push_back(event.handle);
    }
  }
  EXPECT_EQ(failed.size(), 31u);
}

TEST_F(EngineDesk, DistinguishesAFailureOfTheGatewayFromAnErrorOfTheDevice) {
  Start({}, Plan());
  Client client(ListenDesk());
  const auto failed = [this](uint64_t handle) {
    const DeskEvent event = Event();
    EXPECT_EQ(event.handle, handle);
    EXPECT_EQ(event.code, kUnavailable);
    return event.failed;
  };
  EXPECT_TRUE(failed(Ask("dev")));
  SignIn(&client, "dev");
  const uint64_t handle = Ask("dev");
  client.Respond(client.Next(), kUnavailable, "busy");
  EXPECT_FALSE(failed(handle));
}

TEST_F(EngineDesk, ObservationsAreSharedAndSurviveAReconnect) {
  Start({}, Plan());
  const uint16_t port = ListenDesk();
  auto device = std::make_unique<Client>(port);
  const uint64_t connection = SignIn(device.get(), "dev");
  const uint64_t one = Ask("dev", true);
  CoapMessage get = device->Next();
  ASSERT_EQ(get.options.front().first, 6u);
  device->Respond(get, kContent, "1", true);
  ExpectAnswer(one, kContent, "1", false);
  const uint64_t two = Ask("dev", true);
  ExpectAnswer(two, kContent, "1", false);  // the latest one, without a request to the device
  device->Respond(get, kContent, "2", true);
  ExpectAnswer(one, kContent, "2", false);
  ExpectAnswer(two, kContent, "2", false);

  device->Close();
  ExpectGone(connection, "dev", "closed");
  device = std::make_unique<Client>(port);
  SignIn(device.get(), "dev");
  get = device->Next();
  ASSERT_EQ(get.code, 1u);
  ASSERT_EQ(get.options.front().first, 6u) << "it is set up again";
  device->Respond(get, kContent, "3", true);
  ExpectAnswer(one, kContent, "3", false);
  ExpectAnswer(two, kContent, "3", false);

  engine_.CancelAsk(one);
  device->Respond(get, kContent, "4", true);
  ExpectAnswer(two, kContent, "4", false);
  engine_.CancelAsk(two);
  const CoapMessage end = device->Next();
  ASSERT_EQ(end.code, 1u);
  EXPECT_EQ(end.token, get.token);
  EXPECT_EQ(end.options.front(), (std::pair<unsigned, std::string>(6, "\x01")));
}

TEST_F(EngineDesk, AStalledDeskRefusesRequestsAndKeepsTheConnections) {
  Start({}, Plan());
  DeskOptions options;
  options.stream.max_asked_before = 1024;
  options.stream.max_bytes_before = 1 << 20;
  Client client(ListenDesk(options));
  for (int i = 0; i < 1025; ++i) {
    client.Request(1, {"d"}, std::string{static_cast<char>(i >> 8), static_cast<char>(i), 'x'});
  }
  const CoapMessage refused = client.Next();
  EXPECT_EQ(refused.code, kUnavailable);
  EXPECT_EQ(refused.Number(14), 1);
}

TEST_F(EngineDesk, CountsARequestThatTheFullDeskRefuses) {
  Start({}, Plan());
  DeskOptions options;
  // Above the limit of the engine, so that the desk refuses and not the connection.
  options.stream.max_asked_before = 2048;
  options.stream.max_bytes_before = 1 << 20;
  Client client(ListenDesk(options));
  for (int i = 0; i < 1025; ++i) {
    client.Request(1, {"d"}, std::string{static_cast<char>(i >> 8), static_cast<char>(i), 'x'});
  }
  EXPECT_EQ(client.Next().code, kUnavailable);
  const DeskFigures figures = engine_.desk_figures();
  EXPECT_EQ(figures.passed, 1024u);
  EXPECT_EQ(figures.refused, 1u);
  EXPECT_EQ(figures.answered, 0u);
  EXPECT_EQ(figures.events, 1024u);
  EXPECT_GT(figures.bytes, 1024 * sizeof(DeskEvent));
}

TEST_F(EngineDesk, CountsWhatPassesInBothDirections) {
  Start({}, Plan());
  Client device(ListenDesk());
  SignIn(&device, "d1");
  const uint64_t handle = Ask("d1");
  EXPECT_EQ(engine_.desk_figures().open_asks, 1u);
  device.Respond(device.Next(), kContent, "on");
  ExpectAnswer(handle, kContent, "on");
  const DeskFigures figures = engine_.desk_figures();
  EXPECT_EQ(figures.passed, 1u);
  EXPECT_EQ(figures.answered, 1u);
  EXPECT_EQ(figures.refused, 0u);
  EXPECT_EQ(figures.asked, 1u);
  EXPECT_EQ(figures.open_asks, 0u);
  EXPECT_EQ(figures.events, 0u);
  EXPECT_EQ(figures.bytes, 0u);
}

}  // namespace
}  // namespace seganet

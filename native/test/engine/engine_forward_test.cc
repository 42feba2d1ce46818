// Requests that the workers forward from one desk connection to another, on loopback.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "test/support/engine_forward_support.h"

namespace seganet {
namespace {

using test::CoapFrame;
using test::CoapMessage;
using test::CoapSignal;
using test::kCoapGet;
using test::kCoapPost;
using test::kContent;
using test::kCreated;
using test::kUnavailable;
using test::Until;
using Client = test::DeskClient;

using EngineForward = test::EngineForwardTest;

TEST_F(EngineForward, ARequestOfTheOwnerPassesWithoutTheDesk) {
  Start({.workers = 1}, Plan());
  const uint16_t port = ListenForward();
  Client device(port), client(port);
  SignIn(&device, "dev");
  SignIn(&client, "ctl");
  SendTo(&client, "dev", "one", kCoapPost,
         {{4, "e"}, {12, "\x3C"}, {15, "if=a"}, {14, "x"}, {17, "\x3C"}, {2049, "\x08"}}, "on");
  const CoapMessage asked = device.Next();
  EXPECT_EQ(asked.code, kCoapPost);
  EXPECT_NE(asked.token, "one");
  EXPECT_EQ(asked.payload, "on");
  const std::string format("\x27\x10", 2), version("\x08\x00", 2);
  EXPECT_EQ(asked.options, (CoapOptions{{4, "e"},
                                        {11, "light"},
                                        {12, format},
                                        {15, "if=a"},
                                        {17, format},
                                        {2049, version},
                                        {2053, version}}));
  CoapMessage created = CoapSignal(kCreated, asked.token);
  created.options = {{8, "light"}, {8, "7"}, {12, format}, {20, "q"}, {2053, version}};
  created.payload = "done";
  device.Send(CoapFrame(created));
  const CoapMessage answer = client.Next();
  EXPECT_EQ(answer.code, kCreated);
  EXPECT_EQ(answer.token, "one");
  EXPECT_EQ(answer.options,
            (CoapOptions{{8, "d"}, {8, "f"}, {8, "dev"}, {8, "light"}, {8, "7"}, {12, "\x3C"}}));
  EXPECT_EQ(answer.payload, "done");
  EXPECT_EQ(Forwarded(), 1u);
  EXPECT_TRUE(engine_.TakeDesk(kSource, 10).empty());
}

TEST_F(EngineForward, WithoutARightTheDeskDecides) {
  Start({.workers = 1}, Plan());
  const uint16_t port = ListenForward();
  Client device(port), client(port);
  const uint64_t connection = SignIn(&device, "dev", kNever, "alice");
  SignIn(&client, "ctl", kNever, "bob");
  SendTo(&client, "dev", "a");
  ExpectAtDesk(&client, "a");
  ASSERT_TRUE(engine_.GrantConnection(connection, "bob", GrantRights::kRead));
  // The next event of this worker comes after the grant.
  Asked(&device, "sync");
  SendTo(&client, "dev", "b");
  ExpectThrough(&client, &device, "b");
  SendTo(&client, "dev", "c", kCoapPost);
  ExpectAtDesk(&client, "c");
  ASSERT_TRUE(engine_.GrantConnection(connection, "bob", GrantRights::kReadWrite));
  Asked(&device, "sync2");
  SendTo(&client, "dev", "d", kCoapPost);
  ExpectThrough(&client, &device, "d");
  ASSERT_TRUE(engine_.GrantConnection(connection, "bob", GrantRights::kNone));
  Asked(&device, "sync3");
  SendTo(&client, "dev", "e");
  ExpectAtDesk(&client, "e");
  EXPECT_EQ(Forwarded(), 2u);
}

TEST_F(EngineForward, WhatIsNotUnderstoodGoesToTheDesk) {
  Start({.workers = 1}, Plan());
  const uint16_t port = ListenForward();
  Client device(port), client(port), stranger(port);
  const uint64_t connection = SignIn(&device, "dev");
  const uint64_t asker = SignIn(&client, "ctl");
  SendTo(&client, "unknown", "1");
  ExpectAtDesk(&client, "1");
  SendTo(&client, "DEV", "2");
  ExpectAtDesk(&client, "2");
  client.Request(kCoapGet, {"d", "f", "dev"}, "3");
  ExpectAtDesk(&client, "3");
  client.Request(kCoapGet, {"d", "f", "dev", "a\x01"}, "4");
  ExpectAtDesk(&client, "4");
  client.Request(kCoapGet, {"d", "f", "dev", "a/b"}, "5");
  ExpectAtDesk(&client, "5");
  client.Request(kCoapGet, {"d", "f", "dev", "\xC2\x85"}, "6");
  ExpectAtDesk(&client, "6");
  const std::vector<CoapOptions> odd{{{6, ""}},
                                     {{6, "\x01"}},
                                     {{4, ""}},
                                     {{4, "a"}, {4, "b"}, {4, "c"}},
                                     {{12, "\x32"}},
                                     {{17, "\x32"}},
                                     {{17, "\x3C"}, {17, "\x3C"}},
                                     CoapOptions(33, {15, "q"})};
  for (size_t i = 0; i < odd.size(); ++i) {
    const std::string token = "o" + std::to_string(i);
    SendTo(&client, "dev", token, kCoapGet, odd[i]);
    ExpectAtDesk(&client, token);
  }
  SendTo(&stranger, "dev", "7");
  ExpectAtDesk(&stranger, "7");
  // Sessions that are over: of the one that asks, and of the device.
  for (const auto& [who, id] : {std::pair(asker, "ctl"), std::pair(connection, "dev")}) {
    DeskIdentity over{id, "owner", kNever, 1};
    ASSERT_TRUE(engine_.IdentifyConnection(who, over));
    Asked(&stranger, std::string("s") + id);
    SendTo(&client, "dev", "8");
    ExpectAtDesk(&client, "8");
    over.forward_until_us = kNever;
    ASSERT_TRUE(engine_.IdentifyConnection(who, over));
    Asked(&stranger, std::string("r") + id);
  }
  EXPECT_EQ(Forwarded(), 0u);
  SendTo(&client, "dev", "9");
  ExpectThrough(&client, &device, "9");
}

TEST_F(EngineForward, ARequestDoesNotOvertakeAnEarlierOneAtTheDesk) {
  Start({.workers = 1}, Plan());
  const uint16_t port = ListenForward();
  Client device(port), client(port);
  SignIn(&device, "dev");
  SignIn(&client, "ctl");
  SendTo(&client, "dev", "slow", kCoapGet, {{6, ""}});
  SendTo(&client, "dev", "b");
  client.Request(kCoapPost, {"d", "x"}, "other");
  SendTo(&client, "dev", "c");
  const DeskEvent slow = Event();
  EXPECT_EQ(slow.token, "slow");
  Asked(&device, "sync");
  EXPECT_EQ(Forwarded(), 0u) << "held";
  // JavaScript passes it on, then the others follow.
  const uint64_t handle = Ask("dev", true);
  ASSERT_TRUE(engine_.SettleRequest(slow.connection, slow.token));
  const CoapMessage first = device.Next();
  EXPECT_EQ(first.options.front().first, 6u);
  ExpectThrough(&client, &device, "b");
  const DeskEvent other = Event();
  EXPECT_EQ(other.token, "other");
  EXPECT_EQ(Forwarded(), 1u) << "c waits for other";
  EXPECT_TRUE(engine_.AnswerRequest(other.connection, "other", 0x44, {}, ""));
  EXPECT_EQ(client.Next().token, "other");
  ExpectThrough(&client, &device, "c");
  device.Respond(first, kContent, "observed", true);
  ExpectAnswer(handle, kContent, "observed", false);
  EXPECT_TRUE(engine_.AnswerRequest(slow.connection, "slow", kContent, {{6, "\x01"}}, "observed"));
  EXPECT_EQ(client.Next().token, "slow");
}

TEST_F(EngineForward, HeldRequestsGoToTheDeskWhenTheSessionEnds) {
  Start({.workers = 1}, Plan());
  const uint16_t port = ListenForward();
  Client device(port), client(port);
  SignIn(&device, "dev");
  const uint64_t connection = SignIn(&client, "ctl");
  client.Request(kCoapPost, {"d", "out"}, "out");
  SendTo(&client, "dev", "b");
  EXPECT_EQ(Event().token, "out");
  EXPECT_TRUE(engine_.ForgetConnection(connection, "signedOut"));
  EXPECT_TRUE(engine_.AnswerRequest(connection, "out", 0x44, {}, ""));
  EXPECT_EQ(client.Next().token, "out");
  EXPECT_EQ(Event().kind, DeskEventKind::kGone);
  ExpectAtDesk(&client, "b");
}

TEST_F(EngineForward, AConnectionThatBecomesAnotherDeviceGetsItsOpenAnswers) {
  Start({}, Plan());
  const uint16_t port = ListenForward();
  Client device(port);
  SignIn(&device, "dev");
  // Some of them move to the other worker.
  for (int i = 0; i < 8; ++i) {
    Client client(port);
    const uint64_t connection = SignIn(&client, "ctl" + std::to_string(i));
    ASSERT_TRUE(Until([&] { return TryOnce(&client); }));
    const CoapMessage asked = device.Next();
    ASSERT_TRUE(engine_.ForgetConnection(connection, "signedOut"));
    EXPECT_EQ(Event().kind, DeskEventKind::kGone);
    ASSERT_TRUE(engine_.IdentifyConnection(connection, {"new" + std::to_string(i), "owner"}));
    const bool moved =
        engine_.WorkerOf("new" + std::to_string(i)) != engine_.WorkerOf("ctl" + std::to_string(i));
    if (!moved) device.Respond(asked, kContent, "on");
    const CoapMessage answer = client.Next();
    EXPECT_EQ(answer.token, "a");
    EXPECT_EQ(answer.code, moved ? kUnavailable : kContent);
    if (moved) device.Respond(asked, kContent, "too late");
    client.Close();
    EXPECT_EQ(Event().kind, DeskEventKind::kGone);
  }
}

TEST_F(EngineForward, ADeviceMayAskItself) {
  Start({.workers = 1}, Plan());
  Client device(ListenForward());
  SignIn(&device, "dev");
  SendTo(&device, "dev", "a");
  ExpectThrough(&device, &device, "a");
  EXPECT_EQ(Forwarded(), 1u);
}

// Every request gets its own answer, whichever workers the two connections have.
TEST_F(EngineForward, RequestsOfManyPeersKeepTheirOrderAtEachDevice) {
  constexpr int kPeers = 8, kRequests = 40;
  Start({.workers = 4}, Plan());
  const uint16_t port = ListenForward();
  std::vector<std::unique_ptr<Client>> devices, clients;
  for (int i = 0; i < kPeers; ++i) {
    devices.push_back(std::make_unique<Client>(port));
    clients.push_back(std::make_unique<Client>(port));
    SignIn(devices.back().get(), "dev" + std::to_string(i));
    SignIn(clients.back().get(), "ctl" + std::to_string(i));
  }
  // All workers know all devices when each has answered a client about each device.
  for (auto& client : clients) {
    for (int i = 0; i < kPeers; ++i) {
      const std::string name = "dev" + std::to_string(i);
      ASSERT_TRUE(Until([&] { return TryOnce(client.get(), name); }));
      ExpectThrough(client.get(), devices[static_cast<size_t>(i)].get(), "a");
    }
  }
  const uint64_t before = Forwarded();
  std::mt19937 random(7);
  std::vector<size_t> of_device(kPeers);
  for (int n = 0; n < kRequests; ++n) {
    for (size_t c = 0; c < clients.size(); ++c) {
      const size_t d = random() % devices.size();
      if (of_device[d] == 30) continue;  // fewer than the device may have open
      ++of_device[d];
      const std::string token{static_cast<char>('0' + c), static_cast<char>(n)};
      SendTo(clients[c].get(), "dev" + std::to_string(d), token, kCoapPost, {}, token);
    }
  }
  std::map<char, size_t> answers;
  size_t sum = 0;
  for (size_t d = 0; d < devices.size(); ++d) {
    std::map<char, char> latest;  // number of the latest request, by peer
    for (size_t i = 0; i < of_device[d]; ++i) {
      const CoapMessage asked = devices[d]->Next();
      ASSERT_EQ(asked.payload.size(), 2u);
      const auto found = latest.find(asked.payload[0]);
      if (found != latest.end()) EXPECT_LT(found->second, asked.payload[1]) << "overtaken";
      latest[asked.payload[0]] = asked.payload[1];
      ++answers[asked.payload[0]];
      devices[d]->Respond(asked, kContent, asked.payload);
      ++sum;
    }
  }
  for (size_t c = 0; c < clients.size(); ++c) {
    for (size_t i = 0; i < answers[static_cast<char>('0' + c)]; ++i) {
      const CoapMessage answer = clients[c]->Next();
      EXPECT_EQ(answer.code, kContent);
      EXPECT_EQ(answer.payload, answer.token);
    }
  }
  EXPECT_EQ(Forwarded() - before, sum);
}

}  // namespace
}  // namespace seganet

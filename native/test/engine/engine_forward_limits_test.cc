// Limits of forwarded requests: time, number, memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "test/support/engine_forward_support.h"

namespace seganet {
namespace {

using test::CoapMessage;
using test::kCoapGet;
using test::kCoapPost;
using test::kContent;
using test::kTimeout;
using test::kUnavailable;
using test::Until;
using Client = test::DeskClient;
using EngineForwardLimits = test::EngineForwardTest;

TEST_F(EngineForwardLimits, ADeviceThatDoesNotAnswerEndsIn504AndItsLateAnswerIsDropped) {
  Start({}, Plan());
  const uint16_t port = ListenForward(300'000);
  Client device(port), client(port);
  SignIn(&device, "dev");
  SignIn(&client, "ctl");
  ASSERT_TRUE(Until([&] { return TryOnce(&client); }));
  const CoapMessage asked = device.Next();
  EXPECT_EQ(client.Next().code, kTimeout);
  device.Respond(asked, kContent, "late");
  SendTo(&client, "dev", "b");
  const CoapMessage next = device.Next();
  EXPECT_NE(next.token, asked.token);
  device.Respond(next, kContent, "in time");
  const CoapMessage answer = client.Next();
  EXPECT_EQ(answer.token, "b");
  EXPECT_EQ(answer.payload, "in time");
}

TEST_F(EngineForwardLimits, TooManyRequestsAndALostDeviceEndIn503) {
  Start({.workers = 1}, Plan());
  const uint16_t port = ListenForward(10'000'000, 4);
  auto device = std::make_unique<Client>(port);
  Client client(port);
  SignIn(device.get(), "dev");
  SignIn(&client, "ctl");
  for (char c = 'a'; c <= 'e'; ++c) SendTo(&client, "dev", std::string(1, c));
  const CoapMessage busy = client.Next();
  EXPECT_EQ(busy.token, "e");
  EXPECT_EQ(busy.code, kUnavailable);
  EXPECT_EQ(busy.Number(14), 1);
  device->Close();
  std::string ended;
  for (int i = 0; i < 4; ++i) {
    const CoapMessage answer = client.Next();
    EXPECT_EQ(answer.code, kUnavailable);
    EXPECT_EQ(answer.Number(14), -1);
    ended += answer.token;
  }
  std::sort(ended.begin(), ended.end());
  EXPECT_EQ(ended, "abcd");
  EXPECT_EQ(Event().kind, DeskEventKind::kGone);
  SendTo(&client, "dev", "f");
  ExpectAtDesk(&client, "f");
}

TEST_F(EngineForwardLimits, RequestsThatWaitForTheDeskHaveALimit) {
  Start({.workers = 1}, Plan());
  const uint16_t port = ListenForward();
  Client device(port), client(port), other(port);
  SignIn(&device, "dev");
  SignIn(&client, "ctl");
  SignIn(&other, "other");
  SendTo(&client, "dev", "slow", kCoapGet, {{6, ""}});
  const DeskEvent slow = Event();
  // 8 MiB hold 41 of these, of which one connection gets half.
  for (char c = 0; c < 24; ++c) {
    SendTo(&client, "dev", {'h', c}, kCoapPost, {}, std::string(200'000, 'x'));
  }
  for (char c = 21; c < 24; ++c) {
    const CoapMessage refused = client.Next();
    EXPECT_EQ(refused.token, (std::string{'h', c}));
    EXPECT_EQ(refused.code, kUnavailable);
    EXPECT_EQ(refused.Number(14), 1);
  }
  EXPECT_EQ(Forwarded(), 0u);
  // Another connection still has room.
  SendTo(&other, "dev", "late", kCoapGet, {{6, ""}});
  const DeskEvent late = Event();
  SendTo(&other, "dev", "o", kCoapPost, {}, std::string(200'001, 'x'));
  EXPECT_TRUE(engine_.AnswerRequest(late.connection, "late", kContent, {}, ""));
  EXPECT_EQ(other.Next().token, "late");
  const CoapMessage through = device.Next();
  EXPECT_EQ(through.payload.size(), 200'001u);
  device.Respond(through, kContent, "yes");
  EXPECT_EQ(other.Next().payload, "yes");
  EXPECT_TRUE(engine_.AnswerRequest(slow.connection, "slow", kContent, {}, ""));
  EXPECT_EQ(client.Next().token, "slow");
  EXPECT_EQ(device.Next().payload.size(), 200'000u);
  // Its end gives the room back.
  client.Close();
  EXPECT_EQ(Event().kind, DeskEventKind::kGone);
}

TEST_F(EngineForwardLimits, OwnersWithoutRoomForAGrantAskTheDesk) {
  Start({.workers = 1}, Plan());
  const uint16_t port = ListenForward();
  Client device(port), client(port), late(port);
  const uint64_t connection = SignIn(&device, "dev", kNever, "alice");
  SignIn(&client, "ctl", kNever, "255");
  SignIn(&late, "late", kNever, "256");
  for (size_t i = 0; i <= kMostGrants; ++i) {
    ASSERT_TRUE(engine_.GrantConnection(connection, std::to_string(i), GrantRights::kRead));
  }
  Asked(&device, "sync");
  SendTo(&client, "dev", "a");
  ExpectThrough(&client, &device, "a");
  SendTo(&late, "dev", "b");
  ExpectAtDesk(&late, "b");
}

}  // namespace
}  // namespace seganet

// Posts to topics that become records on the workers, on loopback.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "test/support/engine_desk_support.h"

namespace seganet {
namespace {

using test::CoapFrame;
using test::CoapMessage;
using test::CoapSignal;
using test::kCoapGet;
using test::kCoapPost;
using test::kDeskChanged;
using test::kNotFound;
using test::kUnavailable;
using test::Until;
using Client = test::DeskClient;

class EnginePost : public test::EngineDeskTest {
 protected:
  using CoapOptions = decltype(CoapMessage::options);

  // Posts to d/p/… are records.
  uint16_t ListenPosts() {
    auto posts = std::make_shared<PostOptions>();
    posts->prefix = {"d", "p"};
    posts->formats = {60, 10'000};
    posts->ignored_options = {2049, 2053};
    DeskOptions options;
    options.posts = std::move(posts);
    options.stream.known_options = {2049, 2053};
    return ListenDesk(std::move(options));
  }
  uint64_t Open(const std::string& name, const std::string& owner = "owner") {
    return engine_.OpenTopic({0, kSource, owner, name, "ps/" + name, 0});
  }
  // A map with one number.
  static std::string Body(unsigned char value) {
    return std::string("\xA1\x61t\x18", 4) + static_cast<char>(value);
  }
  static void Post(Client* client, std::vector<std::string> path, std::string token,
                   std::string payload, CoapOptions more = {}) {
    CoapMessage m = CoapSignal(kCoapPost, std::move(token));
    path.insert(path.begin(), {"d", "p"});
    for (std::string& segment : path) m.options.emplace_back(11, std::move(segment));
    m.options.insert(m.options.end(), more.begin(), more.end());
    std::stable_sort(m.options.begin(), m.options.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    m.payload = std::move(payload);
    client->Send(CoapFrame(m));
  }
  void ExpectChanged(Client* client, const std::string& token) {
    const CoapMessage answer = client->Next();
    EXPECT_EQ(answer.code, kDeskChanged) << answer.payload;
    EXPECT_EQ(answer.token, token);
    EXPECT_TRUE(answer.options.empty());
    EXPECT_EQ(answer.payload, "");
  }
  // The desk gets the request, and answers it with 4.04.
  void ExpectAtDesk(Client* client, const std::string& token) {
    const DeskEvent event = Event();
    EXPECT_EQ(event.kind, DeskEventKind::kAsked);
    EXPECT_EQ(event.token, token);
    EXPECT_TRUE(engine_.AnswerRequest(event.connection, event.token, kNotFound, {}, ""));
    EXPECT_EQ(client->Next().code, kNotFound);
  }
  std::string Latest(uint64_t topic) {
    engine_.AskLatest(kSource, ++questions_, topic);
    const DeskEvent event = Event();
    EXPECT_EQ(event.kind, DeskEventKind::kLatest);
    EXPECT_EQ(event.handle, questions_);
    return event.number == 0 ? "none" : event.payload;
  }
  uint64_t Recorded() { return Count(Counter::kRequestsRecorded); }

  uint64_t questions_ = 0;
};

TEST_F(EnginePost, APostToAnOpenTopicIsTheRecordThatTheDeskWouldMake) {
  Start({.workers = 1}, Plan());
  const uint16_t port = ListenPosts();
  Client client(port);
  const uint64_t connection = SignIn(&client, "dev");
  ASSERT_NE(Open("a/b"), 0u);
  Post(&client, {"a", "b"}, "one", Body(7),
       {{12, "\x3C"}, {17, "\x27\x10"}, {2049, std::string("\x08\x00", 2)}});
  ExpectChanged(&client, "one");
  ASSERT_EQ(engine_.RecordOfConnection(connection, 1, "ps/a/b", Body(7), 0), PushResult::kOk);
  EXPECT_EQ(Event().recorded, DeskRecorded::kSafe);
  const auto seen = Records(2);
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].topic, "ps/a/b");
  EXPECT_EQ(seen[0].payload, Body(7));
  EXPECT_EQ(seen[0].seq + 1, seen[1].seq);
  EXPECT_EQ(seen[0].device, seen[1].device);
  EXPECT_EQ(seen[0].topic, seen[1].topic);
  EXPECT_EQ(seen[0].payload, seen[1].payload);
  EXPECT_EQ(seen[0].record_class, seen[1].record_class);
  EXPECT_EQ(seen[0].flags, seen[1].flags);
  EXPECT_EQ(Recorded(), 1u);
  EXPECT_TRUE(engine_.TakeDesk(kSource, 10).empty());
}

TEST_F(EnginePost, WhatIsNotUnderstoodGoesToTheDesk) {
  Start({.workers = 1}, Plan());
  const uint16_t port = ListenPosts();
  Client client(port), stranger(port), other(port);
  const uint64_t connection = SignIn(&client, "dev");
  SignIn(&other, "dev2", kNever, "bob");
  ASSERT_NE(Open("t"), 0u);
  Post(&client, {"unknown"}, "1", Body(1));
  ExpectAtDesk(&client, "1");
  Post(&client, {"t", "x"}, "2", Body(1));
  ExpectAtDesk(&client, "2");
  Post(&other, {"t"}, "3", Body(1));
  ExpectAtDesk(&other, "3");
  Post(&stranger, {"t"}, "4", Body(1));
  ExpectAtDesk(&stranger, "4");
  client.Request(kCoapGet, {"d", "p", "t"}, "5", Body(1));
  ExpectAtDesk(&client, "5");
  client.Request(kCoapPost, {"d", "p"}, "6", Body(1));
  ExpectAtDesk(&client, "6");
  const std::vector<CoapOptions> odd{{{6, ""}},      {{12, "\x32"}},
                                     {{17, "\x32"}}, {{12, "\x3C"}, {12, "\x3C"}},
                                     {{14, "\x01"}}, {{15, "q"}},
                                     {{27, "\x06"}}, {{23, "\x02"}},
                                     {{5, ""}},      {{12, std::string(5, '\0')}}};
  for (size_t i = 0; i < odd.size(); ++i) {
    const std::string token = "o" + std::to_string(i);
    Post(&client, {"t"}, token, Body(1), odd[i]);
    ExpectAtDesk(&client, token);
  }
  const std::vector<std::string> bodies{"", "\x01", "\xA1", "\xA1\x01\x01", Body(1) + "x", "text"};
  for (size_t i = 0; i < bodies.size(); ++i) {
    const std::string token = "b" + std::to_string(i);
    Post(&client, {"t"}, token, bodies[i]);
    ExpectAtDesk(&client, token);
  }
  // A session that is over.
  DeskIdentity over{"dev", "owner", kNever, 1};
  ASSERT_TRUE(engine_.IdentifyConnection(connection, over));
  Asked(&stranger, "sync");
  Post(&client, {"t"}, "7", Body(1));
  ExpectAtDesk(&client, "7");
  EXPECT_EQ(Recorded(), 0u);
  over.forward_until_us = kNever;
  ASSERT_TRUE(engine_.IdentifyConnection(connection, over));
  Asked(&stranger, "sync2");
  Post(&client, {"t"}, "8", Body(1));
  ExpectChanged(&client, "8");
  EXPECT_EQ(Recorded(), 1u);
}

TEST_F(EnginePost, AClosedTopicAndAForgottenConnectionGoToTheDesk) {
  Start({.workers = 2}, Plan());
  const uint16_t port = ListenPosts();
  Client client(port);
  const uint64_t connection = SignIn(&client, "dev");
  const uint64_t topic = Open("t");
  Post(&client, {"t"}, "1", Body(1));
  ExpectChanged(&client, "1");
  engine_.CloseTopic(topic);
  EXPECT_EQ(Latest(topic), "none");
  Post(&client, {"t"}, "2", Body(1));
  ExpectAtDesk(&client, "2");
  EXPECT_NE(Open("t"), topic);
  Post(&client, {"t"}, "3", Body(1));
  ExpectChanged(&client, "3");
  ASSERT_TRUE(engine_.ForgetConnection(connection, "out"));
  ExpectGone(connection, "dev", "out");
  Post(&client, {"t"}, "4", Body(1));
  ExpectAtDesk(&client, "4");
  EXPECT_EQ(Recorded(), 2u);
}

TEST_F(EnginePost, APostDoesNotOvertakeAnEarlierRequestAtTheDesk) {
  Start({.workers = 1}, Plan());
  const uint16_t port = ListenPosts();
  Client client(port);
  SignIn(&client, "dev");
  const uint64_t topic = Open("t");
  engine_.FollowTopic(topic, true);
  const DeskEvent first = Asked(&client, "first");
  Post(&client, {"t"}, "a", Body(2));
  Post(&client, {"gone"}, "b", Body(3));
  Post(&client, {"t"}, "c", Body(4));
  EXPECT_EQ(Latest(topic), "none") << "a and what follows wait";
  // A post of the desk, which goes on before it is safe.
  ASSERT_EQ(engine_.RecordOfConnection(first.connection, 9, "ps/t", Body(1), 0, topic),
            PushResult::kOk);
  ASSERT_TRUE(engine_.SettleRequest(first.connection, "first"));
  ExpectChanged(&client, "a");
  std::vector<std::string> posted;
  DeskEvent event;
  while (event.kind != DeskEventKind::kAsked || event.token != "b") {
    event = Event();
    ASSERT_NE(event.kind, DeskEventKind::kGone);
    if (event.kind == DeskEventKind::kPosted) posted.push_back(event.payload);
  }
  EXPECT_TRUE(engine_.AnswerRequest(event.connection, event.token, kNotFound, {}, ""));
  EXPECT_EQ(client.Next().code, kNotFound);
  ExpectChanged(&client, "c");
  Until([&] {
    for (const DeskEvent& more : engine_.TakeDesk(kSource, 10)) posted.push_back(more.payload);
    return posted.size() >= 3;
  });
  EXPECT_EQ(posted, (std::vector<std::string>{Body(1), Body(2), Body(4)}));
  EXPECT_EQ(Latest(topic), Body(4));
  const auto seen = Records(3);
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen[0].payload, Body(1));
  EXPECT_EQ(seen[1].payload, Body(2));
  EXPECT_EQ(seen[2].payload, Body(4));
}

TEST_F(EnginePost, TheLatestPostIsThatOfAnyWorker) {
  Start({.workers = 2}, Plan());
  const uint16_t port = ListenPosts();
  const uint64_t topic = Open("t");
  EXPECT_EQ(Latest(topic), "none");
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 6; ++i) {
    clients.push_back(std::make_unique<Client>(port));
    SignIn(clients.back().get(), "dev" + std::to_string(i));
  }
  for (unsigned char n = 0; n < 60; ++n) {
    Client* const client = clients[n * 5 % clients.size()].get();
    Post(client, {"t"}, "p", Body(n));
    ExpectChanged(client, "p");
    EXPECT_EQ(Latest(topic), Body(n));
  }
}

TEST_F(EnginePost, JavaScriptGetsEachPostOfAFollowedTopicInTheOrderOfTheNumbers) {
  Start({.workers = 2}, Plan());
  const uint16_t port = ListenPosts();
  const uint64_t topic = Open("t");
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(std::make_unique<Client>(port));
    SignIn(clients.back().get(), "dev" + std::to_string(i));
  }
  engine_.FollowTopic(topic, true);
  Latest(topic);  // now each worker follows
  constexpr unsigned char kEach = 50;
  for (unsigned char n = 0; n < kEach; ++n) {
    for (size_t i = 0; i < clients.size(); ++i) {
      Post(clients[i].get(), {"t"}, "p", Body(static_cast<unsigned char>(n + i * kEach)));
    }
  }
  std::vector<unsigned char> posted;
  uint64_t number = 0;
  while (posted.size() < kEach * clients.size()) {
    const DeskEvent event = Event();
    ASSERT_EQ(event.kind, DeskEventKind::kPosted);
    EXPECT_EQ(event.handle, topic);
    EXPECT_GT(event.number, number);
    number = event.number;
    posted.push_back(static_cast<unsigned char>(event.payload.back()));
  }
  std::vector<unsigned char> next{0, kEach, 2 * kEach, 3 * kEach};
  for (const unsigned char value : posted) EXPECT_EQ(value, next[value / kEach]++);
  EXPECT_EQ(Latest(topic).back(), static_cast<char>(posted.back()));
  engine_.FollowTopic(topic, false);
  Latest(topic);
  for (const auto& client : clients) {
    for (unsigned char n = 0; n < kEach; ++n) ExpectChanged(client.get(), "p");
  }
  Post(clients[0].get(), {"t"}, "q", Body(9));
  ExpectChanged(clients[0].get(), "q");
  EXPECT_TRUE(engine_.TakeDesk(kSource, 10).empty());
}

TEST_F(EnginePost, PostsToAFollowedTopicAreTakenWhileJavaScriptIsTooSlow) {
  Start({.workers = 1}, Plan());
  const uint16_t port = ListenPosts();
  Client client(port);
  SignIn(&client, "dev");
  const uint64_t topic = Open("t"), silent = Open("silent");
  engine_.FollowTopic(topic, true);
  Latest(topic);
  for (size_t i = 0; i < 2 * RequestDesk::kMostAsked; ++i) {
    Post(&client, {"t"}, "p", Body(static_cast<unsigned char>(i % 100)));
    ExpectChanged(&client, "p");
  }
  Post(&client, {"t"}, "p", Body(101));
  ExpectChanged(&client, "p");
  // Others are not concerned.
  Post(&client, {"silent"}, "s", Body(2));
  ExpectChanged(&client, "s");
  // The first ones, and the latest one in place of all later ones.
  std::vector<DeskEvent> events = engine_.TakeDesk(kSource, 10'000);
  ASSERT_EQ(events.size(), RequestDesk::kMostPosts);
  for (size_t i = 0; i + 1 < events.size(); ++i) {
    EXPECT_EQ(events[i].payload, Body(static_cast<unsigned char>(i % 100)));
  }
  EXPECT_EQ(events.back().payload, Body(101));
  Post(&client, {"t"}, "p", Body(3));
  ExpectChanged(&client, "p");
  EXPECT_EQ(Event().payload, Body(3));
  EXPECT_EQ(Latest(silent), Body(2));
}

TEST_F(EnginePost, APostIsAnsweredAndReportedWhenItsRecordIsSafe) {
  Start({.workers = 1, .acknowledge = Acknowledge::kSafe}, Plan({}, false));
  const uint16_t port = ListenPosts();
  Client client(port);
  const uint64_t connection = SignIn(&client, "dev");
  const uint64_t topic = Open("t");
  engine_.FollowTopic(topic, true);
  Post(&client, {"t"}, "a", Body(1));
  Until([&] { return Recorded() == 1; });
  ASSERT_EQ(engine_.RecordOfConnection(connection, 1, "ps/t", Body(2), 0, topic), PushResult::kOk);
  EXPECT_EQ(Latest(topic), "none") << "nothing has the records";
  uint32_t delivered = 0;
  Until([&] { return (delivered += DrainUplink()) == 2; });
  ExpectChanged(&client, "a");
  std::vector<DeskEventKind> kinds;
  std::vector<std::string> payloads;
  for (int i = 0; i < 3; ++i) {
    const DeskEvent event = Event();
    kinds.push_back(event.kind);
    payloads.push_back(event.payload);
  }
  EXPECT_EQ(kinds, (std::vector{DeskEventKind::kPosted, DeskEventKind::kPosted,
                                DeskEventKind::kRecorded}));
  EXPECT_EQ(payloads, (std::vector<std::string>{Body(1), Body(2), ""}));
  EXPECT_EQ(Latest(topic), Body(2));
}

TEST_F(EnginePost, AnEarlierPostThatIsSafeLaterDoesNotReplaceALaterOne) {
  Start({.workers = 1, .acknowledge = Acknowledge::kSafe}, Plan({}, false));
  const uint16_t port = ListenPosts();
  Client client(port);
  SignIn(&client, "dev");
  const uint64_t topic = Open("t");
  engine_.FollowTopic(topic, true);
  Latest(topic);
  const auto lanes = engine_.LanesOf(0);
  Outlet* const outlet = sessions_.At(lanes.get());
  const auto take = [&] {
    uint64_t id = 0;
    Until([&] {
      return lanes->Take(outlet, MonotonicUs(), [&](const Batch& batch) {
        id = batch.id;
        return true;
      });
    });
    return id;
  };
  Post(&client, {"t"}, "a", Body(1));
  const uint64_t first = take();
  Post(&client, {"t"}, "b", Body(2));
  const uint64_t second = take();
  EXPECT_TRUE(lanes->Release(outlet, second, MonotonicUs()));
  ExpectChanged(&client, "b");
  EXPECT_EQ(Event().payload, Body(2));
  EXPECT_TRUE(lanes->Release(outlet, first, MonotonicUs()));
  ExpectChanged(&client, "a");
  EXPECT_EQ(Latest(topic), Body(2)) << "and no event before";
  Post(&client, {"t"}, "c", Body(3));
  Until([&] { return DrainUplink() == 1; });
  ExpectChanged(&client, "c");
  EXPECT_EQ(Event().payload, Body(3));
}

TEST_F(EnginePost, WithoutATakerAPostIsRefusedAsARecord) {
  auto plan = Plan();
  plan[0].messages = false;
  Start({.workers = 1}, std::move(plan));
  const uint16_t port = ListenPosts();
  Client client(port);
  SignIn(&client, "dev");
  const uint64_t topic = Open("t");
  Post(&client, {"t"}, "a", Body(1));
  client.Request(kCoapPost, {"r", "dev", "t"}, "b", Body(1));
  const CoapMessage post = client.Next(), record = client.Next();
  EXPECT_EQ(post.code, kUnavailable);
  EXPECT_EQ(post.code, record.code);
  EXPECT_EQ(post.options, record.options);
  EXPECT_EQ(post.payload, record.payload);
  EXPECT_EQ(Latest(topic), "none");
  EXPECT_EQ(Recorded(), 0u);
}

TEST_F(EnginePost, AQuestionIsAnsweredEvenIfTheListenerCloses) {
  Start({.workers = 2}, Plan());
  const uint16_t port = ListenPosts();
  Client client(port);
  SignIn(&client, "dev");
  const uint64_t topic = Open("t");
  Post(&client, {"t"}, "a", Body(1));
  ExpectChanged(&client, "a");
  engine_.AskLatest(kSource, 5, topic);
  engine_.Unlisten(kSource);
  // The end of the connection comes, too.
  std::vector<DeskEvent> both{Event(), Event()};
  if (both[0].kind != DeskEventKind::kLatest) std::swap(both[0], both[1]);
  EXPECT_EQ(both[0].kind, DeskEventKind::kLatest);
  EXPECT_EQ(both[0].handle, 5u);
  EXPECT_EQ(both[0].payload, Body(1));
  EXPECT_EQ(both[1].kind, DeskEventKind::kGone);
  EXPECT_EQ(Latest(topic), Body(1)) << "the topic outlives the listener";
}

TEST_F(EnginePost, TopicsHaveALimitAndNoOddNames) {
  Start({.workers = 1}, Plan());
  EXPECT_EQ(Open(""), 0u);
  EXPECT_EQ(Open("a+"), 0u);
  EXPECT_EQ(Open("a#b"), 0u);
  EXPECT_EQ(Open(std::string("a\0b", 3)), 0u);
  EXPECT_EQ(Open("a", ""), 0u);
  EXPECT_EQ(Open(std::string(70'000, 'a')), 0u);
  std::vector<uint64_t> topics;
  while (const uint64_t topic = Open(std::to_string(topics.size()))) topics.push_back(topic);
  EXPECT_EQ(topics.size(), Engine::kMostTopics);
  engine_.CloseTopic(topics[0]);
  engine_.CloseTopic(topics[0]);
  EXPECT_NE(Open("more"), 0u);
  EXPECT_EQ(Open("one too many"), 0u);
}

}  // namespace
}  // namespace seganet

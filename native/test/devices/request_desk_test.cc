#include "core/devices/desk/request_desk.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace seganet {
namespace {

constexpr uint32_t kStage = 1;

class RequestDeskTest : public testing::Test {
 protected:
  void Ask(uint64_t connection) {
    DeskEvent request;
    request.connection = connection;
    request.token = "t";
    ASSERT_TRUE(desk_.Ask(std::move(request)));
  }
  void Latest(uint64_t handle, const std::string& payload) {
    desk_.AskLatest(kStage, handle, 1);
    desk_.GiveLatest(kStage, handle, 1, payload);
  }
  static coap::AskAnswer Answer(const std::string& payload) {
    coap::AskAnswer answer;
    answer.code = 0x45;
    answer.payload = payload;
    return answer;
  }

  class : public Doorbell {
    void Call() override {}
  } bell_;
  RequestDesk desk_{&bell_};
};

TEST_F(RequestDeskTest, WhatJavaScriptWaitsForOutlivesTheListener) {
  const uint64_t connection = desk_.Open(kStage, 0), other = desk_.Open(kStage, 0);
  Ask(connection);
  Ask(other);
  ASSERT_EQ(desk_.Take(kStage, 1).size(), 1u);
  const uint64_t asked = desk_.OpenAsk(kStage, "d"), observed = desk_.OpenAsk(kStage, "d");
  desk_.Posted(kStage, 3, "post");
  desk_.Recorded(kStage, 4, DeskRecorded::kLost);
  desk_.Give(asked, Answer("answer"), true);
  desk_.Give(observed, Answer("state"), false);
  Latest(5, "latest");
  desk_.Close(connection, "d", "stopped");
  desk_.Clear(kStage);
  // A newer notification still replaces the one that waits.
  desk_.Give(observed, Answer("newer state"), false);
  const std::vector<DeskEvent> events = desk_.Take(kStage, 100);
  ASSERT_EQ(events.size(), 5u);
  EXPECT_EQ(events[0].kind, DeskEventKind::kRecorded);
  EXPECT_EQ(events[0].handle, 4u);
  EXPECT_EQ(events[0].recorded, DeskRecorded::kLost);
  EXPECT_EQ(events[1].kind, DeskEventKind::kAnswer);
  EXPECT_EQ(events[1].handle, asked);
  EXPECT_EQ(events[1].payload, "answer");
  EXPECT_EQ(events[2].kind, DeskEventKind::kAnswer);
  EXPECT_EQ(events[2].handle, observed);
  EXPECT_EQ(events[2].payload, "newer state");
  EXPECT_EQ(events[3].kind, DeskEventKind::kLatest);
  EXPECT_EQ(events[4].kind, DeskEventKind::kGone);
  EXPECT_EQ(events[4].connection, connection);
  EXPECT_EQ(events[4].reason, "stopped");
  EXPECT_EQ(desk_.figures().events, 0u);
  EXPECT_EQ(desk_.figures().bytes, 0u);
  EXPECT_FALSE(desk_.is_crowded());
}

TEST_F(RequestDeskTest, EachPostIsTakenWhileJavaScriptKeepsUp) {
  for (size_t i = 0; i < RequestDesk::kMostPosts; ++i) desk_.Posted(kStage, 7, std::to_string(i));
  const std::vector<DeskEvent> events = desk_.Take(kStage, 10'000);
  ASSERT_EQ(events.size(), RequestDesk::kMostPosts);
  for (size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i].payload, std::to_string(i));
    if (i > 0) EXPECT_GT(events[i].number, events[i - 1].number);
  }
}

TEST_F(RequestDeskTest, BeyondThatANewerPostReplacesTheOneOfItsTopic) {
  constexpr uint64_t kTopics = 1000;
  for (uint64_t topic = 1; topic <= kTopics; ++topic) desk_.Posted(kStage, topic, "first");
  uint64_t last = 0;
  for (int i = 0; i < 20'000; ++i) last = desk_.Posted(kStage, 9, "the newest");
  desk_.Posted(kStage, 600, "newer");
  // Neither their number nor their bytes keep requests out.
  EXPECT_EQ(desk_.figures().events, kTopics);
  Ask(desk_.Open(kStage, 0));
  EXPECT_FALSE(desk_.is_crowded());
  const std::vector<DeskEvent> events = desk_.Take(kStage, 10'000);
  ASSERT_EQ(events.size(), kTopics + 1);
  for (uint64_t i = 0; i < kTopics; ++i) {
    EXPECT_EQ(events[i].handle, i + 1);
    EXPECT_EQ(events[i].payload, i == 8 ? "the newest" : i == 599 ? "newer" : "first");
  }
  EXPECT_EQ(events[8].number, last);
  EXPECT_EQ(desk_.figures().bytes, 0u);
  // What was taken is not replaced.
  desk_.Posted(kStage, 9, "the next");
  EXPECT_EQ(desk_.Take(kStage, 10'000).size(), 1u);
}

TEST_F(RequestDeskTest, ReplacesTheLatestOfSeveralPostsOfATopic) {
  for (size_t i = 0; i < RequestDesk::kMostPosts; ++i) desk_.Posted(kStage, 7, std::to_string(i));
  ASSERT_EQ(desk_.Take(kStage, 1).size(), 1u);
  desk_.Posted(kStage, 7, "one more has room");
  const uint64_t last = desk_.Posted(kStage, 7, "the newest");
  std::vector<DeskEvent> events = desk_.Take(kStage, 10'000);
  ASSERT_EQ(events.size(), RequestDesk::kMostPosts);
  EXPECT_EQ(events.front().payload, "1");
  EXPECT_EQ(events.back().payload, "the newest");
  EXPECT_EQ(events.back().number, last);
}

TEST_F(RequestDeskTest, PostsAreReplacedAfterTheListenerWasAway) {
  for (uint64_t topic = 1; topic <= RequestDesk::kMostPosts; ++topic) {
    desk_.Posted(kStage, topic, "dropped");
  }
  desk_.Clear(kStage);
  for (uint64_t topic = 1; topic <= RequestDesk::kMostPosts; ++topic) {
    desk_.Posted(kStage, topic, "kept");
  }
  desk_.Posted(kStage, 2, "newer");
  const std::vector<DeskEvent> events = desk_.Take(kStage, 10'000);
  ASSERT_EQ(events.size(), RequestDesk::kMostPosts);
  EXPECT_EQ(events[1].payload, "newer");
  EXPECT_EQ(desk_.figures().bytes, 0u);
}

TEST_F(RequestDeskTest, LatestPostsTakeNoRoomOfRequests) {
  const std::string payload(1u << 20, 'x');
  for (uint64_t handle = 1; handle <= 40; ++handle) Latest(handle, payload);
  EXPECT_EQ(desk_.figures().bytes, 0u);
  EXPECT_EQ(desk_.figures().events, 40u);
  Ask(desk_.Open(kStage, 0));
  EXPECT_GT(desk_.figures().bytes, 0u);
  EXPECT_EQ(desk_.Take(kStage, 100).size(), 41u);
  EXPECT_EQ(desk_.figures().bytes, 0u);
}

}  // namespace
}  // namespace seganet

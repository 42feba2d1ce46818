#include "core/devices/coap_agent_session.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/devices/coap_convert.h"
#include "core/reception/coap_listener_settings.h"
#include "core/record/record.h"
#include "test/support/coap_stream_bytes.h"

namespace seganet {
namespace {

using test::CoapFrame;
using test::CoapMessage;
using test::CoapSignal;
using test::kChanged;
using test::kContent;
using test::kForbidden;
using test::kTooMany;
using test::kUnavailable;

class Owner : public AgentSessionOwner {
 public:
  Admission OnConnect() override { return ++connects, admission; }
  RecordAnswer OnRecord(const IncomingRecord& record) override {
    topics.emplace_back(record.topic);
    payloads.emplace_back(record.payload);
    classes.push_back(record.record_class);
    flags.push_back(record.flags);
    handles.push_back(record.handle);
    return answer;
  }
  const std::string& device_id() const override { return device; }
  uint32_t stage() const override { return 1; }
  const SourceSettings& source() const override { return settings; }
  bool MayPublish(std::string_view) override { return true; }
  bool MaySubscribe(std::string_view) override { return true; }
  void OnTopicRefused() override {}
  void OnControl() override {}
  void OnListening() override { ++listening; }
  void OnCommandAnswer(uint64_t id, bool taken) override { commands.emplace_back(id, taken); }

  Admission admission = Admission::kAccepted;
  RecordAnswer answer;
  std::string device = "d";
  SourceSettings settings;
  int connects = 0, listening = 0;
  std::vector<std::string> topics, payloads;
  std::vector<int> classes, flags;
  std::vector<uint64_t> handles;
  std::vector<std::pair<uint64_t, bool>> commands;
};

class CoapAgentSessionTest : public testing::Test {
 protected:
  CoapAgentSessionTest() {
    SourceSettings source;
    source.class_property = "c";
    settings_ = CoapSettings(source, 65'536);
    session_ = std::make_unique<CoapAgentSession>(
        &owner_,
        std::make_shared<const coap::StreamSetup>(settings_, CoapLimits(settings_, 100),
                                                  coap::StreamOptions{}),
        "d", 0);
  }
  CloseReason Feed(const std::string& bytes) {
    const CloseReason reason =
        session_->Feed({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
    output_ += session_->output();
    session_->ConsumeOutput(session_->output().size());
    return reason;
  }
  CloseReason Feed(const CoapMessage& m) { return Feed(CoapFrame(m)); }
  std::optional<CoapMessage> Next() {
    output_ += session_->output();
    session_->ConsumeOutput(session_->output().size());
    return test::TakeCoapFrame(&output_);
  }
  static CoapMessage Post(std::vector<std::string> path, std::string payload = "1",
                          std::string token = "t") {
    CoapMessage m = CoapSignal(test::kCoapPost, std::move(token));
    for (std::string& segment : path) m.options.emplace_back(11, std::move(segment));
    m.payload = std::move(payload);
    return m;
  }
  static CoapMessage Observe(std::vector<std::string> path, std::string token = "o") {
    CoapMessage m = CoapSignal(test::kCoapGet, std::move(token));
    m.options.emplace_back(6, "");
    for (std::string& segment : path) m.options.emplace_back(11, std::move(segment));
    return m;
  }

  Owner owner_;
  coap::Settings settings_;
  std::unique_ptr<CoapAgentSession> session_;
  std::string output_;
};

TEST_F(CoapAgentSessionTest, ThePostIsARecordAndTheFirstBytesAreTheLogin) {
  ASSERT_EQ(Feed(CoapSignal(test::kCoapCsm)), CloseReason::kNone);
  CoapMessage post = Post({"r", "d", "temp"}, "21");
  post.options.emplace_back(15, "c=high");
  ASSERT_EQ(Feed(post), CloseReason::kNone);
  EXPECT_EQ(owner_.connects, 1);
  ASSERT_EQ(owner_.topics, std::vector<std::string>{"r/d/temp"});
  EXPECT_EQ(owner_.payloads[0], "21");
  EXPECT_EQ(owner_.classes[0], kHigh);
  EXPECT_EQ(owner_.flags[0], kFlagQos1);
  const auto answer = Next();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->code, kChanged);
  EXPECT_EQ(answer->token, "t");
}

TEST_F(CoapAgentSessionTest, WithoutRoomForTheDeviceTheConnectionEnds) {
  owner_.admission = Admission::kNoRoom;
  EXPECT_EQ(Feed(CoapSignal(test::kCoapCsm)), CloseReason::kRefused);
  EXPECT_TRUE(owner_.topics.empty());
  const auto release = Next();
  ASSERT_TRUE(release);
  EXPECT_EQ(release->code, test::kCoapRelease);
}

TEST_F(CoapAgentSessionTest, TheAnswerWaitsForEachCopyToBeSafe) {
  owner_.answer.copies = 2;
  ASSERT_EQ(Feed(CoapFrame(CoapSignal(test::kCoapCsm)) + CoapFrame(Post({"r", "d"}))),
            CloseReason::kNone);
  ASSERT_EQ(owner_.handles.size(), 1u);
  EXPECT_FALSE(Next());
  session_->Acknowledge(owner_.handles[0]);
  EXPECT_FALSE(Next());
  session_->Acknowledge(owner_.handles[0]);
  ASSERT_TRUE(Next());
}

TEST_F(CoapAgentSessionTest, RefusalsHaveTheirCodes) {
  ASSERT_EQ(Feed(CoapSignal(test::kCoapCsm)), CloseReason::kNone);
  using Verdict = RecordAnswer::Verdict;
  for (const auto& [verdict, code] :
       {std::pair{Verdict::kFull, kUnavailable}, std::pair{Verdict::kTooFast, kTooMany},
        std::pair{Verdict::kNotAllowed, kForbidden}}) {
    owner_.answer = {.verdict = verdict, .retry_s = 7};
    ASSERT_EQ(Feed(Post({"r", "d"})), CloseReason::kNone);
    const auto answer = Next();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->code, code);
    EXPECT_EQ(answer->Number(14), verdict == Verdict::kNotAllowed ? -1 : 7);
  }
}

TEST_F(CoapAgentSessionTest, AnotherDeviceIsForbidden) {
  ASSERT_EQ(Feed(CoapFrame(CoapSignal(test::kCoapCsm)) + CoapFrame(Post({"r", "other"}))),
            CloseReason::kNone);
  EXPECT_TRUE(owner_.topics.empty());
  const auto answer = Next();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->code, kForbidden);
}

TEST_F(CoapAgentSessionTest, ACommandIsANotificationAndItsPongTakesIt) {
  ASSERT_EQ(Feed(CoapSignal(test::kCoapCsm)), CloseReason::kNone);
  EXPECT_EQ(session_->Command(7, "cmd/d/valve", "open", 1), CommandStart::kNotListening);
  EXPECT_FALSE(session_->listening());
  ASSERT_EQ(Feed(Observe({"cmd", "d"})), CloseReason::kNone);
  EXPECT_EQ(owner_.listening, 1);
  EXPECT_TRUE(session_->listening());
  ASSERT_TRUE(Next()) << "the answer to the registration";
  EXPECT_EQ(session_->Command(7, "cmd/d/valve", "open", 1), CommandStart::kSent);
  const auto notification = Next();
  ASSERT_TRUE(notification);
  EXPECT_EQ(notification->code, kContent);
  EXPECT_EQ(notification->token, "o");
  EXPECT_EQ(notification->payload, "open");
  const auto ping = Next();
  ASSERT_TRUE(ping);
  ASSERT_EQ(ping->code, test::kCoapPing);
  EXPECT_TRUE(owner_.commands.empty());
  ASSERT_EQ(Feed(CoapSignal(test::kCoapPong, ping->token)), CloseReason::kNone);
  EXPECT_EQ(owner_.commands, (std::vector<std::pair<uint64_t, bool>>{{7, true}}));
}

TEST_F(CoapAgentSessionTest, ASilentDeviceIsPingedAndThenOver) {
  ASSERT_EQ(Feed(CoapSignal(test::kCoapCsm)), CloseReason::kNone);
  EXPECT_EQ(session_->silence_limit_us(), 0);
  const int64_t idle_us = int64_t{coap::Limits().idle_ping_s} * 1'000'000;
  session_->OnTime(1);
  session_->OnTime(1 + idle_us);
  const auto ping = Next();
  ASSERT_TRUE(ping);
  EXPECT_EQ(ping->code, test::kCoapPing);
  EXPECT_EQ(session_->silence_limit_us(), 0);
  session_->OnTime(1 + 2 * idle_us);
  EXPECT_GT(session_->silence_limit_us(), 0) << "the agent closes it at its next look";
}

TEST_F(CoapAgentSessionTest, APauseOfTheGatewayIsNotASilenceOfTheDevice) {
  ASSERT_EQ(Feed(CoapSignal(test::kCoapCsm)), CloseReason::kNone);
  const int64_t idle_us = int64_t{coap::Limits().idle_ping_s} * 1'000'000;
  const int64_t resumed_us = 1 + 3 * idle_us;
  session_->OnTime(1);
  session_->OnTime(1 + idle_us);
  session_->OnTime(resumed_us);
  ASSERT_GT(session_->silence_limit_us(), 0);
  ASSERT_TRUE(Next()) << "the Ping";
  session_->OnResumed();
  EXPECT_EQ(session_->silence_limit_us(), 0);
  session_->OnTime(resumed_us);
  session_->OnTime(resumed_us + idle_us - 1);
  EXPECT_EQ(session_->silence_limit_us(), 0);
  EXPECT_FALSE(Next());
  // Silence after the pause counts as before.
  session_->OnTime(resumed_us + idle_us);
  const auto ping = Next();
  ASSERT_TRUE(ping);
  EXPECT_EQ(ping->code, test::kCoapPing);
  session_->OnTime(resumed_us + 2 * idle_us);
  EXPECT_GT(session_->silence_limit_us(), 0);
}

TEST_F(CoapAgentSessionTest, ReleaseEndsItAndAStopSendsRelease) {
  ASSERT_EQ(Feed(CoapSignal(test::kCoapCsm)), CloseReason::kNone);
  session_->SayGoodbye(AgentEnd::kStopped);
  const auto release = Next();
  ASSERT_TRUE(release);
  EXPECT_EQ(release->code, test::kCoapRelease);
  EXPECT_EQ(Feed(CoapSignal(test::kCoapRelease)), CloseReason::kDisconnected);
}

TEST(CoapConvert, CommandsGoToTheCommandPathOfTheSource) {
  EXPECT_EQ(CoapCommandTopic("cmd/d/a/b", "d", "cmd"), "cmd/d/a/b");
  EXPECT_EQ(CoapCommandTopic("cmd/d/a/b", "d", "in/box"), "in/box/d/a/b");
  EXPECT_EQ(CoapCommandTopic("cmd/d", "d", "x"), "x/d");
  EXPECT_EQ(CoapCommandTopic("cmd/dd", "d", "x"), "cmd/dd");
  EXPECT_EQ(CoapCommandTopic("cmd/", "d", "x"), "cmd/");
  EXPECT_EQ(CoapCommandTopic("other/d", "d", "x"), "other/d");
}

TEST(CoapConvert, ABodyIsNoLongerThanARecordMayBe) {
  SourceSettings source;
  source.max_body_bytes = 1 << 20;
  EXPECT_EQ(CoapSettings(source, 65'536).max_body_bytes, 65'536u);
  EXPECT_EQ(CoapSettings(source, 4 << 20).max_body_bytes, size_t{1 << 20});
  const coap::Settings settings = CoapSettings(source, 16 << 20);
  EXPECT_GE(CoapLimits(settings, 50'000).max_upload_bytes, 2 * settings.max_body_bytes);
  EXPECT_GE(CoapLimits(settings, 50'000).max_peers, 50'000u);
}

}  // namespace
}  // namespace seganet

// Workers that send on the connection of a session, in turns with the session's thread.
#include "test/support/direct_line_support.h"

namespace seganet {
namespace {

using test::DirectLineTest;
using test::Until;

INSTANTIATE_TEST_SUITE_P(SessionOrWorkerReads, DirectLineTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "Worker" : "Session"; });

TEST_P(DirectLineTest, AWorkerSendsWithoutAWakeUpOfTheSessionsThread) {
  constexpr int kBatches = 50;
  for (int i = 1; i <= kBatches; ++i) {
    Put(kNormal, std::to_string(i));
    ASSERT_TRUE(Until([&] { return done_ == i; }));
    // The turn that handles an acknowledgment holds the line when the batch is done.
    const std::lock_guard<TurnLock> its_end(session_->line().turn());
  }
  EXPECT_LT(EndSession(), kBatches / 2);
}

TEST_P(DirectLineTest, ManyWorkersAndTheSessionTakeTurnsAndKeepEachOrder) {
  constexpr int kThreads = 4, kBatches = 500;
  PutFromThreads(kThreads, kBatches);
  ASSERT_TRUE(Until([&] { return done_ == kThreads * kBatches; })) << done_;
  EndSession();
  ExpectAll(kThreads, kBatches);
  EXPECT_EQ(arrived_.size(), static_cast<size_t>(kThreads * kBatches)) << "each once";
}

TEST_P(DirectLineTest, WhatTheKernelDoesNotTakeIsSentByTheSession) {
  broker_->reads = false;
  constexpr int kThreads = 2, kBatches = 300;
  PutFromThreads(kThreads, kBatches);
  EXPECT_LT(done_, kThreads * kBatches);
  broker_->reads = true;
  ASSERT_TRUE(Until([&] { return done_ == kThreads * kBatches; })) << done_;
  EndSession();
  ExpectAll(kThreads, kBatches);
  EXPECT_EQ(arrived_.size(), static_cast<size_t>(kThreads * kBatches)) << "each once";
}

TEST_P(DirectLineTest, NothingIsLostWhenSessionsEndWhileWorkersSend) {
  constexpr int kThreads = 3, kBatches = 400, kSessions = 5;
  std::thread workers([this] { PutFromThreads(kThreads, kBatches); });
  for (int i = 1; i < kSessions; ++i) {
    EXPECT_TRUE(Until([&] { return done_ >= i * kThreads * kBatches / kSessions; }));
    EndSession();
    StartSession();
  }
  workers.join();
  ASSERT_TRUE(Until([&] { return done_ == kThreads * kBatches; })) << done_;
  EndSession();
  ExpectAll(kThreads, kBatches);
}

TEST_P(DirectLineTest, AReasonToLeaveReachesTheSessionsThread) {
  Put(kNormal, "1", /*stage=*/7);  // unknown to the express path
  EXPECT_TRUE(Until([this] { return session_->left.load(); }));
}

TEST_P(DirectLineTest, AClosedLineSendsNothing) {
  {
    const std::lock_guard<TurnLock> hold(session_->line().turn());
    EXPECT_TRUE(session_->line().MayTry());
    session_->line().Close();
  }
  EXPECT_FALSE(session_->line().Send());
}

TEST_P(DirectLineTest, WhatAWorkerLeavesUnsentIsSentAfterTheExpressPath) {
  broker_->reads = false;
  const std::string large(16 << 20, 'x');  // more than the kernel's buffers
  session_->LeaveAfter([&] { Put(kNormal, large); });
  broker_->reads = true;
  EXPECT_TRUE(Until([this] { return broker_->received == 1; }));
}

TEST_P(DirectLineTest, ABusyLineIsNotWaitedFor) {
  const std::lock_guard<TurnLock> hold(session_->line().turn());
  bool sent = true;
  std::thread worker([&] { sent = session_->line().Send(); });
  worker.join();
  EXPECT_FALSE(sent);
  EXPECT_FALSE(session_->line().Send()) << "also if this thread uses it";
}

}  // namespace
}  // namespace seganet

// A worker that receives on the connection of a session, in place of the session's thread.
#include "test/support/direct_line_support.h"

namespace seganet {
namespace {

using test::DirectLineTest;
using test::Until;

class AttendedLineTest : public DirectLineTest {
 protected:
  // Pushes batches one after the other, each when the last one is acknowledged.
  void PutEach(int count) {
    for (int i = 0; i < count; ++i) {
      const int before = done_;
      Put(kNormal, std::to_string(++put_));
      ASSERT_TRUE(Until([&] { return done_ > before; }));
    }
  }
  int put_ = 0;
};

INSTANTIATE_TEST_SUITE_P(WorkerReads, AttendedLineTest, testing::Values(true));

TEST_P(AttendedLineTest, TheSessionsThreadSleepsWhileAWorkerHandlesAcknowledgments) {
  constexpr int kBatches = 100;
  PutEach(kBatches);
  EXPECT_EQ(session_->reads, 0);
  // A worker that handles an acknowledgment may hold the line when the next batch comes.
  EXPECT_LT(EndSession(), kBatches / 2);
}

TEST_P(AttendedLineTest, TheSessionsThreadLooksAtTheRateAtTimes) {
  PutEach(600);
  const int wakes = EndSession();
  EXPECT_GE(wakes, 2);
  EXPECT_LT(wakes, 300);
}

TEST_P(AttendedLineTest, OtherPacketsReachTheSessionsThreadInOrder) {
  const std::string pingresp{static_cast<char>(0xd0), 0};
  const std::string publish{0x30, 4, 0, 1, 't', 'x'};
  PutEach(3);
  broker_->Send(pingresp + publish.substr(0, 3));
  ASSERT_TRUE(Until([&] { return session_->others().size() >= pingresp.size(); }));
  EXPECT_TRUE(Until([&] { return session_->is_attended(); })) << "again";
  broker_->Send(publish.substr(3));
  ASSERT_TRUE(Until([&] { return session_->others() == pingresp + publish; }));
  PutEach(3);
}

TEST_P(AttendedLineTest, OtherPacketsReachTheSessionsThreadWhileTheKernelTakesNothing) {
  const std::string pingresp{static_cast<char>(0xd0), 0};
  broker_->reads = false;
  Put(kNormal, std::string(16 << 20, 'x'));  // more than the kernel's buffers
  broker_->Send(pingresp);
  EXPECT_TRUE(Until([&] { return session_->others() == pingresp; }));
  broker_->reads = true;
  EXPECT_TRUE(Until([this] { return done_ == 1; }));
}

TEST_P(AttendedLineTest, NoWorkerAttendsTheSessionWhileBytesAreUnsent) {
  const std::string pingresp{static_cast<char>(0xd0), 0};
  broker_->reads = false;
  Put(kNormal, std::string(16 << 20, 'x'));  // more than the kernel's buffers
  broker_->Send(pingresp);
  ASSERT_TRUE(Until([&] { return session_->others() == pingresp; }));
  EXPECT_FALSE(session_->is_attended());
  broker_->reads = true;
  EXPECT_TRUE(Until([this] { return session_->is_attended(); }));
  EXPECT_TRUE(Until([this] { return done_ == 1; }));
}

TEST_P(AttendedLineTest, OtherPacketsReachTheSessionsThreadAfterTheExpressPath) {
  const std::string pingresp{static_cast<char>(0xd0), 0};
  session_->LeaveAfter([&] {
    broker_->Send(pingresp);
    ASSERT_TRUE(Until([this] { return !session_->is_attended(); }));
  });
  EXPECT_TRUE(Until([&] { return session_->others() == pingresp; }));
  broker_->Send(pingresp);
  EXPECT_TRUE(Until([&] { return session_->others() == pingresp + pingresp; }));
}

TEST_P(AttendedLineTest, ARefusalReachesTheSessionsThread) {
  broker_->reason_code = 0x97;
  Put(kNormal, "1");
  EXPECT_TRUE(Until([this] { return session_->left.load(); }));
  EXPECT_FALSE(session_->is_attended());
}

TEST_P(AttendedLineTest, TheEndOfTheConnectionReachesTheSessionsThread) {
  PutEach(2);
  broker_->Hang();
  EXPECT_TRUE(Until([this] { return session_->ended.load(); }));
  EXPECT_TRUE(Until([this] { return attendant_->sessions() == 0; }));
}

TEST_P(AttendedLineTest, WhatPrecedesTheEndOfTheConnectionReachesTheSessionsThread) {
  const std::string taken_over{static_cast<char>(0xe0), 2, static_cast<char>(0x8e), 0};
  PutEach(2);
  broker_->Send(taken_over);
  broker_->Hang();
  ASSERT_TRUE(Until([this] { return session_->ended.load(); }));
  EXPECT_EQ(session_->others(), taken_over);
}

TEST_P(AttendedLineTest, ARefusalBeforeTheEndOfTheConnectionReachesTheSessionsThread) {
  broker_->reason_code = 0x97;
  broker_->hangs_after_puback = true;
  Put(kNormal, "1");
  ASSERT_TRUE(Until([this] { return session_->ended.load(); }));
  EXPECT_EQ(session_->refusals(), "\x97");
}

TEST_P(AttendedLineTest, WhatPrecedesAFailedWriteReachesTheSessionsThread) {
  const std::string taken_over{static_cast<char>(0xe0), 2, static_cast<char>(0x8e), 0};
  PutEach(2);
  {
    // Neither the worker nor the session's thread reads before the write.
    const std::lock_guard<TurnLock> hold(session_->line().turn());
    broker_->Send(taken_over);
    broker_->Reset();
    Put(kNormal, "3");
  }
  ASSERT_TRUE(Until([this] { return session_->ended.load(); }));
  EXPECT_EQ(session_->others(), taken_over);
}

TEST_P(AttendedLineTest, TheSessionReadsAgainWhenTheRateRisesAndWhenItIsLowAWorkerDoes) {
  for (int i = 0; i < 5; ++i) {
    session_->SetCalm(false);
    ASSERT_TRUE(Until([this] { return !session_->is_attended(); }));
    const int before = session_->reads;
    PutEach(3);
    EXPECT_GT(session_->reads, before);
    session_->SetCalm(true);
    ASSERT_TRUE(Until([this] { return session_->is_attended(); }));
    PutEach(3);
  }
  EXPECT_TRUE(Until([this] { return attendant_->sessions() == 1; })) << "earlier ones are over";
}

TEST_P(AttendedLineTest, TheSessionReadsAgainWhenTheWorkerStops) {
  PutEach(2);
  attendant_->Stop();
  EXPECT_FALSE(session_->is_attended());
  PutEach(5);
  EXPECT_FALSE(session_->is_attended()) << "there is no other worker";
}

TEST_P(AttendedLineTest, AWorkerDoesNotWaitForTheSessionsThread) {
  {
    const std::lock_guard<TurnLock> hold(session_->line().turn());
    broker_->Send(std::string{static_cast<char>(0xd0), 0});
    EXPECT_EQ(attendant_->sessions(), 1U) << "the worker still runs tasks";
  }
  EXPECT_TRUE(Until([this] { return session_->others().size() == 2; }));
}

TEST_P(AttendedLineTest, ACallOfAnEarlierAttendanceHasNoEffect) {
  EXPECT_EQ(session_->line().Receive(17), DirectSession::Received::kOver);
  session_->line().Abandon(17);
  EXPECT_TRUE(session_->is_attended());
}

}  // namespace
}  // namespace seganet

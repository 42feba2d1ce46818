// A worker that receives on the connection of a session, and reads acknowledgments late.
#include "test/support/direct_line_support.h"

namespace seganet {
namespace {

using test::DirectLineTest;
using test::Until;

class LateLineTest : public DirectLineTest {
 protected:
  // Sends batches that nothing waits for until acknowledgments are read late.
  void SendUntilLate() {
    ASSERT_TRUE(Until([this] {
      Put(kNormal, std::to_string(++put_));
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return session_->is_late();
    }));
  }
  int put_ = 0;
};

INSTANTIATE_TEST_SUITE_P(WorkerReads, LateLineTest, testing::Values(true));

TEST_P(LateLineTest, AllAcknowledgmentsAreReadAfterTheLastPacket) {
  for (int i = 0; i < 3; ++i) {
    SendUntilLate();
    ASSERT_TRUE(Until([this] { return done_ == put_; }));
    EXPECT_TRUE(Until([this] { return !session_->is_late(); })) << "nothing is in flight";
  }
}

TEST_P(LateLineTest, AnAwaitedBatchEndsIt) {
  SendUntilLate();
  Put(kNormal, std::to_string(++put_), 1, /*receipt=*/1);
  EXPECT_TRUE(Until([this] { return !session_->is_late(); }));
  EXPECT_TRUE(Until([this] { return done_ == put_; }));
}

TEST_P(LateLineTest, AWindowWithLittleRoomEndsIt) {
  SendUntilLate();
  broker_->reads = false;
  for (int i = 0; i < 12; ++i) Put(kNormal, std::to_string(++put_));
  EXPECT_TRUE(Until([this] { return !session_->is_late(); }));
  broker_->reads = true;
  EXPECT_TRUE(Until([this] { return done_ == put_; }));
}

TEST_P(LateLineTest, TheEndOfTheConnectionReachesTheSessionsThread) {
  SendUntilLate();
  broker_->Hang();
  EXPECT_TRUE(Until([this] { return session_->ended.load(); }));
  EXPECT_TRUE(Until([this] { return attendant_->sessions() == 0; }));
}

TEST_P(LateLineTest, ARefusalReachesTheSessionsThread) {
  SendUntilLate();
  broker_->reason_code = 0x97;
  Put(kNormal, "refused");
  EXPECT_TRUE(Until([this] { return session_->left.load(); }));
  EXPECT_FALSE(session_->is_late());
}

TEST_P(LateLineTest, OtherPacketsReachTheSessionsThread) {
  const std::string pingresp{static_cast<char>(0xd0), 0};
  SendUntilLate();
  broker_->Send(pingresp);
  EXPECT_TRUE(Until([&] { return session_->others() == pingresp; }));
}

TEST_P(LateLineTest, TheSessionReadsAgainWhenTheWorkerStops) {
  SendUntilLate();
  attendant_->Stop();
  EXPECT_FALSE(session_->is_late());
  EXPECT_TRUE(Until([this] { return done_ == put_; }));
}

TEST_P(LateLineTest, BatchesOfSeveralThreadsArriveInOrder) {
  PutFromThreads(3, 300);
  ASSERT_TRUE(Until([this] { return done_ == 900; }));
  EndSession();
  ExpectAll(3, 300);
}

// The test is the worker that attends the session, and reads only when it wants to.
class UnreadLineTest : public DirectLineTest {
 protected:
  bool Attend(std::shared_ptr<DirectSession> /*session*/, uint64_t number, int fd) override {
    close(fd);
    number_ = number;
    return true;
  }
  void Put(uint64_t receipt = 0) {
    DirectLineTest::Put(kNormal, std::to_string(++put_), 1, receipt);
  }
  void SendUntilLate(uint64_t receipt = 0) {
    ASSERT_TRUE(Until([&] {
      Put(receipt);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return Receive() == DirectSession::Received::kLate;
    }));
  }
  // The worker reads. Other threads than the worker send.
  DirectSession::Received Receive() {
    DirectSession::Received received;
    std::thread([&] { received = session_->line().Receive(number_); }).join();
    return received;
  }
  // True if everything is acknowledged although the worker does not read in attendance `late`.
  bool IsAllDone(uint64_t late) {
    return Until([&] {
      if (number_ != late) Receive();
      return done_ == put_;
    });
  }
  std::atomic<uint64_t> number_{0};  // of the attendance
  int put_ = 0;
};

INSTANTIATE_TEST_SUITE_P(WorkerReads, UnreadLineTest, testing::Values(true));

TEST_P(UnreadLineTest, AnAwaitedAcknowledgmentIsReadAlthoughTheWorkerDoesNotRead) {
  SendUntilLate();
  const uint64_t late = number_;
  Put(/*receipt=*/1);
  EXPECT_TRUE(IsAllDone(late));
}

TEST_P(UnreadLineTest, WhoeverSendsReadsWhenTheWindowHasLittleRoom) {
  SendUntilLate();
  for (int i = 0; i < 100; ++i) {
    const int before = broker_->received;
    Put();
    ASSERT_TRUE(Until([&] { return broker_->received > before; }));
  }
  EXPECT_GE(done_, put_ - 16);
  EXPECT_EQ(session_->reads, 0);
}

TEST_P(UnreadLineTest, AFullWindowIsEmptiedAlthoughTheWorkerDoesNotRead) {
  SendUntilLate();
  broker_->reads = false;
  const uint64_t late = number_;
  for (int i = 0; i < 60; ++i) Put();
  broker_->reads = true;
  EXPECT_TRUE(IsAllDone(late));
}

TEST_P(UnreadLineTest, TheSessionsThreadReadsWhenItSendsWhatIsAwaited) {
  SendUntilLate();
  const uint64_t late = number_;
  {
    const std::lock_guard<TurnLock> hold(session_->line().turn());
    Put(/*receipt=*/1);  // is left to the session's thread
  }
  EXPECT_TRUE(IsAllDone(late));
}

class PromptLineTest : public LateLineTest {
 protected:
  PromptLineTest() { may_read_late_ = false; }
};

INSTANTIATE_TEST_SUITE_P(WorkerReads, PromptLineTest, testing::Values(true));

TEST_P(PromptLineTest, ASessionThatSubscribesReadsAtOnce) {
  for (int i = 0; i < 300; ++i) {
    Put(kNormal, std::to_string(++put_));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ASSERT_FALSE(session_->is_late());
  }
  EXPECT_TRUE(Until([this] { return done_ == put_; }));
}

}  // namespace
}  // namespace seganet

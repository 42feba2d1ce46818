// A worker that receives on the connection of a session, and reads awaited acknowledgments with its
// next packet.
#include "test/support/direct_line_support.h"

namespace seganet {
namespace {

using test::DirectLineTest;
using test::Until;

class BriefLineTest : public DirectLineTest {
 protected:
  // The attending worker sends a packet that a device waits for.
  void Put(uint8_t record_class = kNormal) {
    attendant_->InTurn([&] { PutHere(record_class); });
  }
  void PutHere(uint8_t record_class = kNormal) {
    DirectLineTest::Put(record_class, std::to_string(++put_), 1, /*receipt=*/1);
  }
  // Sends packets until acknowledgments are read with the next one.
  void SendUntilPause() {
    ASSERT_TRUE(Until([this] {
      Put();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return session_->is_late();
    }));
  }
  int put_ = 0;
};

INSTANTIATE_TEST_SUITE_P(WorkerReads, BriefLineTest, testing::Values(true));

TEST_P(BriefLineTest, TheLastAcknowledgmentIsReadWhenTimeEndsThePause) {
  for (int i = 0; i < 3; ++i) {
    SendUntilPause();
    EXPECT_TRUE(Until([this] { return done_ == put_; }));
    EXPECT_TRUE(Until([this] { return !session_->is_late(); }));
  }
  EXPECT_EQ(session_->reads, 0) << "the session's thread was not needed";
}

TEST_P(BriefLineTest, AnUrgentBatchOfTheWorkerEndsIt) {
  // The broker may acknowledge it at once.
  EXPECT_TRUE(Until([this] {
    SendUntilPause();
    bool is_late = true;
    attendant_->InTurn([&] {
      PutHere(kCritical);
      is_late = session_->is_late();
    });
    return !is_late;
  }));
  EXPECT_TRUE(Until([this] { return done_ == put_; }));
  EXPECT_EQ(session_->reads, 0);
}

TEST_P(BriefLineTest, TheEndOfTheConnectionReachesTheSessionsThread) {
  SendUntilPause();
  broker_->Hang();
  EXPECT_TRUE(Until([this] { return session_->ended.load(); }));
  EXPECT_TRUE(Until([this] { return attendant_->sessions() == 0; }));
}

TEST_P(BriefLineTest, OtherPacketsReachTheSessionsThread) {
  const std::string pingresp{static_cast<char>(0xd0), 0};
  SendUntilPause();
  broker_->Send(pingresp);
  EXPECT_TRUE(Until([&] { return session_->others() == pingresp; }));
}

TEST_P(BriefLineTest, ARefusalReachesTheSessionsThread) {
  SendUntilPause();
  broker_->reason_code = 0x97;
  Put();
  EXPECT_TRUE(Until([this] { return session_->left.load(); }));
  EXPECT_FALSE(session_->is_late());
}

TEST_P(BriefLineTest, TheSessionsThreadNoticesTheRateDuringPauses) {
  for (int i = 0; i < 600; ++i) {
    Put();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_TRUE(Until([this] { return done_ == put_; }));
  EXPECT_GE(EndSession(), 2);
}

// The test is the worker that attends the session, and reads only when it wants to.
class UnreadBriefLineTest : public DirectLineTest {
 protected:
  bool Attend(std::shared_ptr<DirectSession> /*session*/, uint64_t number, int fd) override {
    close(fd);
    number_ = number;
    return true;
  }
  // The packet is acknowledged at once.
  void Put(uint8_t record_class = kNormal) {
    const int before = broker_->received;
    DirectLineTest::Put(record_class, std::to_string(++put_), 1, /*receipt=*/1);
    ASSERT_TRUE(Until([&] { return broker_->received > before; }));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  DirectSession::Received Receive() { return session_->line().Receive(number_); }
  void SendUntilPause() {
    ASSERT_TRUE(Until([this] {
      Put();
      return Receive() == DirectSession::Received::kLate;
    }));
  }
  std::atomic<uint64_t> number_{0};  // of the attendance
  int put_ = 0;
};

INSTANTIATE_TEST_SUITE_P(WorkerReads, UnreadBriefLineTest, testing::Values(true));

TEST_P(UnreadBriefLineTest, ThePreviousAcknowledgmentIsReadWithThePacket) {
  EXPECT_TRUE(Until([this] {
    SendUntilPause();
    const int before = done_;
    Put();
    Put();
    return done_ > before;
  }));
}

TEST_P(UnreadBriefLineTest, AnUrgentBatchOfAnotherThreadIsReadAlthoughTheWorkerDoesNotRead) {
  SendUntilPause();
  const uint64_t late = number_;
  std::thread([this] { Put(kCritical); }).join();
  EXPECT_TRUE(Until([&] {
    if (number_ != late) Receive();
    return done_ == put_;
  }));
}

class SubscribedLineTest : public BriefLineTest {
 protected:
  SubscribedLineTest() { may_read_late_ = false; }
};

INSTANTIATE_TEST_SUITE_P(WorkerReads, SubscribedLineTest, testing::Values(true));

TEST_P(SubscribedLineTest, ASessionThatSubscribesReadsAtOnce) {
  for (int i = 0; i < 300; ++i) {
    Put();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ASSERT_FALSE(session_->is_late());
  }
  EXPECT_TRUE(Until([this] { return done_ == put_; }));
}

}  // namespace
}  // namespace seganet

// When acknowledgments may be read late.
#include "core/uplink/late_reading.h"

#include "test/support/express_support.h"

namespace seganet {
namespace {

using test::kMs;

class LateReadingTest : public test::ExpressTest {
 protected:
  void SetUp() override {
    ExpressTest::SetUp();
    Enter({.window = 16});
  }
  void PutAwaited(uint32_t agent = 1, uint8_t record_class = kNormal) {
    BatchPtr batch = MakeBatch(record_class, "x");
    batch->receipts.push_back({.agent = agent, .life = 1, .handle = 1});
    Put(std::move(batch));
  }
  void AckAll() {
    for (const InFlightWindow::Entry& entry : express_->window().List()) Ack(entry.id);
  }
  // Sends a packet each millisecond, which is acknowledged at once.
  void SendFor(int64_t ms) {
    for (int64_t i = 0; i < ms; ++i) {
      now_us_ += kMs;
      Put(kNormal);
      Pump();
      AckAll();
    }
  }
  bool MayRest() { return late_.MayRest(*express_, now_us_); }
  bool MayPause() { return late_.MayPause(*express_, now_us_); }
  void UntilRest() {
    MayRest();
    SendFor(20);
    ASSERT_TRUE(MayRest());
  }
  LateReading late_;
};

TEST_F(LateReadingTest, ReadsLateWhenSeveralPacketsAreSentInThatTime) { UntilRest(); }

TEST_F(LateReadingTest, ReadsAtOnceWhenFewPacketsAreSent) {
  UntilRest();
  now_us_ += LateReading::kLateUs;
  SendFor(1);
  EXPECT_FALSE(MayRest());
}

TEST_F(LateReadingTest, ReadsAtOnceWhenNothingIsSent) {
  UntilRest();
  now_us_ += LateReading::kLateUs;
  EXPECT_FALSE(MayRest());
}

TEST_F(LateReadingTest, ReadsAtOnceWhileADeviceWaitsAndForASecondAfterThat) {
  UntilRest();
  PutAwaited();
  Pump();
  EXPECT_FALSE(express_->is_patient());
  EXPECT_FALSE(MayRest());
  AckAll();
  EXPECT_TRUE(express_->is_patient());
  SendFor(900);
  EXPECT_FALSE(MayRest());
  SendFor(101);
  EXPECT_TRUE(MayRest());
}

TEST_F(LateReadingTest, ReadsAtOnceWhileASenderWaitsForItsTicket) {
  UntilRest();
  BatchPtr batch = MakeBatch(kNormal, "x");
  batch->ticket = 7;
  Put(std::move(batch));
  Pump();
  EXPECT_FALSE(MayRest());
}

TEST_F(LateReadingTest, ReadsAtOnceWhileTheWindowHasLittleRoom) {
  UntilRest();
  express_->SetLate(true);
  PutMany(kNormal, 8);
  Pump();
  EXPECT_TRUE(MayRest());
  EXPECT_TRUE(MayPause());
  Put(kNormal);
  Pump();
  EXPECT_FALSE(MayRest());
  EXPECT_FALSE(MayPause());
}

TEST_F(LateReadingTest, MayPauseWhileADeviceWaits) {
  UntilRest();
  express_->SetLate(true);
  PutAwaited();
  Pump();
  EXPECT_TRUE(MayPause());
}

TEST_F(LateReadingTest, DoesNotPauseWhileAnUrgentRecordIsInFlight) {
  UntilRest();
  express_->SetLate(true);
  PutAwaited(1, kCritical);
  Pump();
  EXPECT_FALSE(MayPause());
  AckAll();
  EXPECT_TRUE(MayPause());
}

TEST_F(LateReadingTest, DoesNotPauseWhileASenderWaitsForItsTicket) {
  UntilRest();
  express_->SetLate(true);
  BatchPtr batch = MakeBatch(kNormal, "x");
  batch->ticket = 7;
  Put(std::move(batch));
  Pump();
  EXPECT_FALSE(MayPause());
}

TEST_F(LateReadingTest, CountsDevicesThatSendRightAfterTheirAcknowledgment) {
  const auto send = [this](uint32_t agent) {
    PutAwaited(agent);
    Pump();
    AckAll();
  };
  send(1);
  send(2);
  EXPECT_EQ(numbers().returned, 0);
  now_us_ += BriefReading::kBriefUs - 1;
  send(1);
  EXPECT_EQ(numbers().returned, 1);
  now_us_ += BriefReading::kBriefUs;
  send(1);
  send(2);
  EXPECT_EQ(numbers().returned, 1);
}

TEST_F(LateReadingTest, ReadsAtOnceWhileManyBytesAreInFlight) {
  UntilRest();
  express_->SetLate(true);
  Put(kNormal, std::string(Express::kPatientBytes, 'x'));
  Pump();
  EXPECT_FALSE(MayRest());
  AckAll();
  EXPECT_TRUE(MayRest());
}

TEST_F(LateReadingTest, ReadsAtOnceAgainUntilARoundTripIsMeasured) {
  UntilRest();
  express_->SetLate(true);
  SendFor(100);
  EXPECT_FALSE(MayRest());
  express_->SetLate(false);
  Put(kNormal);
  Pump();
  EXPECT_FALSE(MayRest()) << "it is being measured";
  AckAll();
  EXPECT_TRUE(MayRest());
}

TEST_F(LateReadingTest, TheRoundTripAndTheLatencyDoNotContainTheDelay) {
  for (int i = 0; i < 40; ++i) {
    Put(kNormal);
    Pump();
    now_us_ += kMs;
    AckAll();
  }
  const auto slow = [this] { return latency_[kNormal].Max(); };
  const double rtt_us = numbers().rtt_us;
  const auto before = slow();
  express_->SetLate(true);
  Put(kNormal);
  Pump();
  now_us_ += LateReading::kLateUs;
  AckAll();
  EXPECT_EQ(numbers().rtt_us, rtt_us);
  EXPECT_EQ(slow(), before);
}

}  // namespace
}  // namespace seganet

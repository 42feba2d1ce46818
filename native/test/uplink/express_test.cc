// The express path's sending without failures: in which order, how much, and when it polls again.
#include "test/support/express_support.h"

namespace seganet {
namespace {

using test::kMs;

class ExpressSendTest : public test::ExpressTest {};

TEST_F(ExpressSendTest, SendsWhatWaitsInTheOrderOfClasses) {
  for (const uint8_t c : {kBulk, kNormal, kHigh, kCritical}) Put(c);
  EXPECT_EQ(Pump(), LeaveReason::kNone);
  EXPECT_EQ(Classes(), "1234");
  EXPECT_EQ(numbers().published, 4u);
  EXPECT_EQ(numbers().records, 4u);
  EXPECT_FALSE(express_->is_blocked());
  EXPECT_FALSE(express_->has_more());
  EXPECT_EQ(express_->look_at_us(), kNever);
}

TEST_F(ExpressSendTest, AppendsToWhatIsThere) {
  Put(kNormal);
  std::string out = "before";
  EXPECT_EQ(express_->Pump(0, &out), LeaveReason::kNone);
  EXPECT_EQ(out.substr(0, 6), "before");
  EXPECT_EQ(test::ReadPublishes(out.substr(6)).size(), 1u);
}

TEST_F(ExpressSendTest, AFullWindowEndsThePumpAndAnAcknowledgementOpensIt) {
  Enter({.window = 2});
  PutMany(kNormal, 3);
  EXPECT_EQ(Pump(), LeaveReason::kNone);
  EXPECT_EQ(sent_.size(), 2u);
  EXPECT_TRUE(express_->is_blocked());
  EXPECT_FALSE(express_->is_full());
  const uint16_t first = sent_[0].id;
  EXPECT_EQ(Ack(first), LeaveReason::kNone);
  EXPECT_EQ(Pump(), LeaveReason::kNone);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].payload, "2");
  Ack(sent_[0].id);
  EXPECT_EQ(Pump(), LeaveReason::kNone);
  EXPECT_FALSE(express_->is_blocked());
}

TEST_F(ExpressSendTest, WhatIsReservedIsForClass1Alone) {
  Enter({.window = 4, .reserved = 1});
  PutMany(kNormal, 10);
  Pump();
  EXPECT_EQ(Classes(), "333");
  EXPECT_TRUE(express_->is_blocked());
  PutMany(kCritical, 2);
  Pump();
  EXPECT_EQ(Classes(), "1");
  Ack(sent_[0].id);
  Pump();
  EXPECT_EQ(Classes(), "1") << "its place is not for others";
}

TEST_F(ExpressSendTest, AWindowOfOneServesAllClasses) {
  BoardAsItIs({.window = 1, .reserved = 1});
  Put(kNormal);
  Put(kCritical);
  std::string all;
  for (int i = 0; i < 3; ++i) {
    Pump();
    all += Classes();
    for (const auto& packet : sent_) Ack(packet.id);
  }
  EXPECT_EQ(all, "13");
}

TEST_F(ExpressSendTest, AClassThatGotNothingForLongGoesBeforeClass1Once) {
  Enter({.window = 4, .reserved = 1});
  PutMany(kNormal, 10);
  now_us_ += kDefaultAgingUs;
  PutMany(kCritical, 10);
  Pump();
  EXPECT_EQ(Classes(), "3111");
}

TEST_F(ExpressSendTest, WhileTheOthersFillTheirPlacesClass1GoesOnWhoeverIsOverdue) {
  Enter({.window = 4, .reserved = 1});
  PutMany(kNormal, 10);
  Pump();
  now_us_ += kDefaultAgingUs;
  PutMany(kCritical, 10);
  Pump();
  EXPECT_EQ(Classes(), "1");
}

TEST_F(ExpressSendTest, OthersWaitForTheKernelAndClass1DoesNot) {
  Enter({.max_unsent = 1000});
  PutMany(kNormal, 2);
  now_us_ += kDefaultAgingUs;  // so that they go first
  EXPECT_EQ(Pump(1000), LeaveReason::kNone);
  EXPECT_TRUE(sent_.empty());
  EXPECT_TRUE(express_->is_blocked());
  EXPECT_TRUE(express_->is_full());
  Put(kCritical);
  Pump(1000);
  EXPECT_EQ(Classes(), "1");
  Pump();
  EXPECT_EQ(Classes(), "33");
  EXPECT_FALSE(express_->is_full());
}

TEST_F(ExpressSendTest, WhatItAppendsCountsForTheKernelToo) {
  Enter({.max_unsent = 250});
  for (int i = 0; i < 5; ++i) Put(kNormal, std::string(100, 'x'));
  Pump();
  EXPECT_EQ(sent_.size(), 3u) << "the first two have less than 250 bytes";
  EXPECT_TRUE(express_->is_full());
  Pump();
  EXPECT_EQ(sent_.size(), 2u);
}

TEST_F(ExpressSendTest, ItIsNotFullWhenTheWindowHasNoRoomEither) {
  Enter({.window = 2, .max_unsent = 1});
  PutMany(kNormal, 5);
  Pump();
  EXPECT_TRUE(express_->is_full());
  Pump();
  EXPECT_TRUE(express_->is_blocked());
  Pump();
  EXPECT_FALSE(express_->is_full()) << "or who pumps while it is would do so for ever";
}

TEST_F(ExpressSendTest, ATurnEndsWhenItsTimeIsUp) {
  Enter({.window = 100});
  PutMany(kNormal, 100);
  tick_us_ = Express::kTurnUs * 2 / 3;
  Pump();
  EXPECT_TRUE(express_->has_more());
  const size_t first = sent_.size();
  EXPECT_GT(first, 16u);
  EXPECT_LT(first, 40u);
  tick_us_ = 0;
  Pump();
  EXPECT_FALSE(express_->has_more());
  EXPECT_EQ(first + sent_.size(), 100u);
}

TEST_F(ExpressSendTest, HungerIsToldOnceUntilItIsFed) {
  const auto pump_hungry = [this] {
    shared_->demand()->Wait(kAllClasses);
    Pump();
    return woken_;
  };
  EXPECT_EQ(pump_hungry(), 1);
  EXPECT_EQ(pump_hungry(), 1);
  express_->WithdrawDemand();
  EXPECT_EQ(pump_hungry(), 2);
  Put(kNormal);
  EXPECT_EQ(pump_hungry(), 3) << "what it takes feeds it too";
}

TEST_F(ExpressSendTest, SaysWhenAClassThatWaitsForItsRateIsDue) {
  LanesContext context = PlainContext();
  context.limits.rate_per_s[kNormal] = 100;
  Open(std::move(context));
  Enter({.window = 100});
  PutMany(kNormal, 30);
  EXPECT_EQ(Pump(), LeaveReason::kNone);
  EXPECT_LT(sent_.size(), 10u);
  EXPECT_FALSE(express_->is_blocked());
  for (int i = 0; i < 3; ++i) {
    const int64_t wait_us = express_->look_at_us() - now_us_;
    ASSERT_GE(wait_us, 1 * kMs);
    ASSERT_LE(wait_us, 10 * kMs);
    now_us_ += wait_us;
    EXPECT_EQ(Pump(), LeaveReason::kNone);
    EXPECT_EQ(sent_.size(), 1u);
  }
}

TEST_F(ExpressSendTest, WhatWasSentBeforeIsMarked) {
  Put(kNormal, "first");
  Pump();
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_FALSE(sent_[0].is_dup);
  express_.reset();
  shared_->Detach(outlet_);
  outlet_ = shared_->Attach(&bell_);
  Put(kNormal, "second");
  Enter({});
  Pump();
  ASSERT_EQ(sent_.size(), 2u);
  EXPECT_TRUE(sent_[0].is_dup);
  EXPECT_EQ(sent_[0].payload, "first");
  EXPECT_FALSE(sent_[1].is_dup);
  EXPECT_EQ(numbers().redelivered, 1u);
  EXPECT_EQ(numbers().published, 1u);
}

TEST_F(ExpressSendTest, AnAcknowledgementReleasesItsBatchOnce) {
  Put(kNormal);
  Pump();
  const uint16_t id = sent_.at(0).id;
  for (const uint16_t wrong : {0, id + 1, 65535}) EXPECT_EQ(Ack(wrong), LeaveReason::kNone);
  EXPECT_EQ(done_, 0);
  Ack(id);
  Ack(id);
  EXPECT_EQ(done_, 1);
  EXPECT_EQ(Delivered(), 1u);
  EXPECT_EQ(numbers().acknowledged, 1u);
  EXPECT_EQ(Ack(id, 0x87), LeaveReason::kNone) << "nothing is on its way under it";
}

TEST_F(ExpressSendTest, CountsWhatNoClientHadSubscribedTo) {
  PutMany(kNormal, 2);
  Pump();
  const auto [first, second] = std::pair(sent_.at(0).id, sent_.at(1).id);
  EXPECT_EQ(Ack(first, 0x10), LeaveReason::kNone);
  Ack(second);
  EXPECT_EQ(numbers().acknowledged, 2u);
  EXPECT_EQ(numbers().unmatched, 1u);
}

TEST_F(ExpressSendTest, MeasuresOneRoundTripAtATime) {
  PutMany(kNormal, 2);
  Pump();
  const auto [first, second] = std::pair(sent_.at(0).id, sent_.at(1).id);
  EXPECT_EQ(numbers().moved_us, 0);
  now_us_ += 8 * kMs;
  Ack(second);
  EXPECT_EQ(numbers().rtt_us, 0) << "the first is measured";
  EXPECT_EQ(numbers().moved_us, now_us_);
  now_us_ += 8 * kMs;
  Ack(first);
  EXPECT_EQ(numbers().rtt_us, 16 * kMs);
  EXPECT_EQ(numbers().least_rtt_us, 16 * kMs);
  Put(kNormal, std::string(1000, 'x'));
  Pump();
  now_us_ += 8 * kMs;
  Ack(sent_.at(0).id);
  EXPECT_EQ(numbers().rtt_us, 15 * kMs);
  EXPECT_EQ(numbers().least_rtt_us, 8 * kMs);
  EXPECT_GT(numbers().largest_taken, 1000u);
  EXPECT_EQ(numbers().acknowledged, 3u);
}

}  // namespace
}  // namespace seganet

// What the express path leaves to the feeder: it reports the reason, and leaves the batch
// untouched.
#include <cstdint>
#include <limits>

#include "test/support/express_support.h"

namespace seganet {
namespace {

using test::kMs;

class ExpressRoughTest : public test::ExpressTest {
 protected:
  // The feeder takes the best batch as if it had not been inspected.
  void ExpectUntouched(const std::string& payload) {
    const bool taken = shared_->Take(outlet_, Now(), [&](const Batch& batch) {
      EXPECT_EQ(batch.bytes.substr(batch.device_bytes + batch.topic_bytes), payload);
      EXPECT_FALSE(batch.redelivery);
      return true;
    });
    EXPECT_TRUE(taken);
    EXPECT_EQ(express_->window().open(), 0u);
    EXPECT_EQ(numbers().records, 0u);
  }
};

TEST_F(ExpressRoughTest, AStageThatIsNotKnown) {
  Put(MakeBatch(kNormal, "here", 9));
  EXPECT_EQ(Pump(), LeaveReason::kStage);
  EXPECT_EQ(Pump(), LeaveReason::kStage) << "as often as it is asked";
  EXPECT_TRUE(sent_.empty());
  ExpectUntouched("here");
}

TEST_F(ExpressRoughTest, ABatchOfRecords) {
  BatchPtr batch = MakeBatch(kNormal, "here");
  batch->kind = BatchKind::kRecords;
  Put(std::move(batch));
  EXPECT_EQ(Pump(), LeaveReason::kKind);
  ExpectUntouched("here");
}

TEST_F(ExpressRoughTest, ATopicThatCannotStandInAPublish) {
  UplinkStage stage = test::StageByClass(1);
  stage.topic[kNormal].clear();
  stage.record_topic[kNormal].clear();
  Enter({.stages = {stage}});
  Put(kNormal, "here");
  EXPECT_EQ(Pump(), LeaveReason::kTopic);
  ExpectUntouched("here");
}

TEST_F(ExpressRoughTest, APacketThatIsTooLarge) {
  Put(kNormal, "here");
  std::string out;
  express_->Pump(0, &out);
  const size_t size = out.size();
  shared_->Detach(outlet_);
  outlet_ = shared_->Attach(&bell_);
  Enter({.max_packet = size});
  EXPECT_EQ(Pump(), LeaveReason::kNone) << "just as large as it may be";
  EXPECT_EQ(sent_.size(), 1u);
  Put(kNormal, "here!");
  EXPECT_EQ(Pump(), LeaveReason::kSize);
  EXPECT_TRUE(sent_.empty());
  EXPECT_EQ(express_->window().open(), 1u);
  Enter({.max_packet = size});
  ExpectUntouched("here!");
}

TEST_F(ExpressRoughTest, WhatCameBeforeItIsSent) {
  Put(kHigh);
  Put(MakeBatch(kNormal, "here", 9));
  Put(kBulk);
  EXPECT_EQ(Pump(), LeaveReason::kStage);
  EXPECT_EQ(Classes(), "2");
  EXPECT_EQ(express_->window().open(), 1u);
}

TEST_F(ExpressRoughTest, ForClass1BehindAnOverdueOneToo) {
  Enter({.window = 2, .reserved = 1});
  PutMany(kNormal, 5);
  Pump();
  now_us_ += kDefaultAgingUs;
  Put(MakeBatch(kCritical, "alarm", 9));
  EXPECT_EQ(Pump(), LeaveReason::kStage);
}

TEST_F(ExpressRoughTest, ABatchThatFindsNoRoomIsNotLookedAt) {
  Enter({.window = 2, .reserved = 1});
  Put(kNormal);
  Pump();
  Put(MakeBatch(kNormal, "here", 9));
  EXPECT_EQ(Pump(), LeaveReason::kNone);
  EXPECT_TRUE(express_->is_blocked());
}

TEST_F(ExpressRoughTest, BacklogOnceNothingLiveIsReady) {
  Open(Context());
  std::vector<BatchPtr> old;
  old.push_back(MakeBatch(kNormal, "old"));
  shared_->PushBacklog(std::move(old));
  Put(kNormal, "live");
  EXPECT_EQ(Pump(), LeaveReason::kBacklog);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].payload, "live");
  EXPECT_EQ(shared_->BestBacklog(outlet_, Now()), kNormal);
}

TEST_F(ExpressRoughTest, ARefusalLeavesThePacketInFlight) {
  Put(kNormal, "here");
  Pump();
  const uint16_t id = sent_.at(0).id;
  EXPECT_EQ(Ack(id, 0x87), LeaveReason::kRefusal);
  ASSERT_NE(express_->window().Find(id), nullptr);
  const uint64_t batch = express_->window().Find(id)->batch;
  EXPECT_EQ(done_, 0);
  EXPECT_EQ(numbers().acknowledged, 0u);
  EXPECT_EQ(numbers().moved_us, 0);
  bool shown = false;
  EXPECT_TRUE(shared_->Look(outlet_, batch, [&](const Batch& in_flight) {
    shown = in_flight.id == batch && in_flight.bytes.ends_with("here");
  }));
  EXPECT_TRUE(shown);
}

TEST_F(ExpressRoughTest, EveryCodeFrom128OnRefuses) {
  for (const int code : {0, 0x10, 0x7f, 0x80, 0xff}) {
    Put(kNormal);
    Pump();
    EXPECT_EQ(Ack(sent_.at(0).id, static_cast<uint8_t>(code)),
              code < 0x80 ? LeaveReason::kNone : LeaveReason::kRefusal);
  }
}

TEST_F(ExpressRoughTest, NoRoomForLong) {
  Enter({.window = 2});
  PutMany(kNormal, 5);
  EXPECT_EQ(Pump(), LeaveReason::kNone);
  now_us_ += Express::kSlowUs;
  EXPECT_EQ(Pump(), LeaveReason::kNone);
  now_us_ += 1;
  EXPECT_EQ(Pump(), LeaveReason::kSlow);
  ASSERT_TRUE(sent_.empty());
}

TEST_F(ExpressRoughTest, APauseWithoutAnythingToSendIsNotSlow) {
  Enter({.window = 2});
  PutMany(kNormal, 3);
  Pump();
  for (const auto& entry : express_->window().List()) Ack(entry.id);
  now_us_ += Express::kSlowUs - 1;
  EXPECT_EQ(Pump(), LeaveReason::kNone);
  EXPECT_FALSE(express_->is_blocked());
  PutMany(kNormal, 3);
  now_us_ += Express::kSlowUs;
  EXPECT_EQ(Pump(), LeaveReason::kNone);
  EXPECT_TRUE(express_->is_blocked());
}

TEST_F(ExpressRoughTest, LookShowsWhatIsInFlightAlone) {
  Put(kNormal);
  Pump();
  const uint64_t batch = express_->window().Oldest()->batch;
  const auto look = [&](Outlet* outlet, uint64_t id) {
    return shared_->Look(outlet, id, [](const Batch&) {});
  };
  EXPECT_TRUE(look(outlet_, batch));
  EXPECT_FALSE(look(outlet_, batch + 1));
  EXPECT_FALSE(look(outlet_, 0));
  EXPECT_FALSE(look(outlet_, std::numeric_limits<uint64_t>::max()));
  Ack(sent_.at(0).id);
  EXPECT_FALSE(look(outlet_, batch));
}

}  // namespace
}  // namespace seganet

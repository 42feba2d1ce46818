// Records that wait until a flow has delivered their messages, pushed by JavaScript.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "core/record/frame.h"
#include "test/support/engine_support.h"

namespace seganet {
namespace {

using test::MakeRecord;
using test::Spec;
using test::Until;

class EngineDeferrals : public test::EngineTest {
 protected:
  void StartWith(Acknowledge acknowledge) {
    EngineOptions options;
    options.acknowledge = acknowledge;
    StageSpec source = Spec(kIngest, StageKind::kIngest);
    source.messages = true;
    Start(options, {source});
  }

  PushResult PushWith(uint32_t deferral) {
    Record record = MakeRecord("d", "t", "1");
    record.deferral = deferral;
    return engine_.Push(kIngest, record, true);
  }

  // Returns the deferral of the next message.
  uint32_t NextDeferral() {
    alignas(8) char frames[4096];
    size_t bytes = 0;
    EXPECT_TRUE(Until([&] { return (bytes = engine_.TakeMessages(frames, sizeof frames)) > 0; }));
    FrameHeader header;
    std::memcpy(&header, frames, sizeof header);
    return header.deferral;
  }

  void ExpectToWait() {
    ASSERT_EQ(PushWith(9), PushResult::kOk);
    const uint32_t id = NextDeferral();
    ASSERT_NE(id, 0u);
    EXPECT_EQ(engine_.deferred(), 1);
    EXPECT_TRUE(engine_.TakeCompletions().empty());
    engine_.EndDeferrals({{id, DeferralEnd::kDelivered}});
    const Completion completion = NextCompletion();
    EXPECT_EQ(completion.ticket, 9u);
    EXPECT_TRUE(completion.ok);
    EXPECT_EQ(engine_.deferred(), 0);
  }

  Completion NextCompletion() {
    std::vector<Completion> taken;
    EXPECT_TRUE(Until([&] { return !(taken = engine_.TakeCompletions()).empty(); }));
    return taken.empty() ? Completion{} : taken[0];
  }
};

TEST_F(EngineDeferrals, ATicketWaitsUntilTheMessageIsDelivered) {
  StartWith(Acknowledge::kSafe);
  ExpectToWait();
}

TEST_F(EngineDeferrals, ATicketWaitsEvenWhereRecordsAreAcknowledgedAtOnce) {
  StartWith(Acknowledge::kReceived);
  ExpectToWait();
}

TEST_F(EngineDeferrals, ARefusalAndAReplacedFlowAreTwoResults) {
  StartWith(Acknowledge::kSafe);
  ASSERT_EQ(PushWith(1), PushResult::kOk);
  engine_.EndDeferrals({{NextDeferral(), DeferralEnd::kRefused}});
  const Completion refused = NextCompletion();
  EXPECT_FALSE(refused.ok);
  EXPECT_TRUE(refused.refused);
  EXPECT_FALSE(refused.withheld);
  ASSERT_EQ(PushWith(2), PushResult::kOk);
  engine_.EndDeferrals({{NextDeferral(), DeferralEnd::kWithheld}});
  const Completion withheld = NextCompletion();
  EXPECT_FALSE(withheld.ok);
  EXPECT_FALSE(withheld.refused);
  EXPECT_TRUE(withheld.withheld);
}

TEST_F(EngineDeferrals, AnEndThatComesTwiceOrForAnUnknownMessageHasNoEffect) {
  StartWith(Acknowledge::kSafe);
  ASSERT_EQ(PushWith(1), PushResult::kOk);
  const uint32_t id = NextDeferral();
  engine_.EndDeferrals({{id + DeferredReceipts::kWorkers, DeferralEnd::kDelivered},
                        {63, DeferralEnd::kDelivered},
                        {0, DeferralEnd::kDelivered}});
  engine_.EndDeferrals({{id, DeferralEnd::kDelivered}, {id, DeferralEnd::kWithheld}});
  EXPECT_TRUE(NextCompletion().ok);
  ASSERT_EQ(PushWith(2), PushResult::kOk);
  engine_.EndDeferrals({{NextDeferral(), DeferralEnd::kDelivered}});
  EXPECT_EQ(NextCompletion().ticket, 2u) << "one completion each";
}

}  // namespace
}  // namespace seganet

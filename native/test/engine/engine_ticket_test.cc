// Tickets of records that JavaScript pushes: when they return.
#include <gtest/gtest.h>

#include <vector>

#include "core/base/clock.h"
#include "test/support/engine_support.h"

namespace seganet {
namespace {

using test::MakeRecord;
using test::Spec;
using test::Until;

class EngineTickets : public test::EngineTest {
 protected:
  void StartWith(Acknowledge acknowledge, std::vector<StageSpec> plan) {
    EngineOptions options;
    options.acknowledge = acknowledge;
    Start(options, std::move(plan));
  }
  static std::vector<StageSpec> To(std::vector<uint32_t> next) {
    return {Spec(kIngest, StageKind::kIngest, std::move(next)), test::UplinkStage(kUplink)};
  }

  PushResult PushWith(uint32_t ticket) {
    Record record = MakeRecord("d", "t", "1");
    record.ticket = ticket;
    return engine_.Push(kIngest, record, true);
  }

  std::vector<Completion> NextCompletions() {
    std::vector<Completion> taken;
    EXPECT_TRUE(Until([&] { return !(taken = engine_.TakeCompletions()).empty(); }));
    return taken;
  }
};

TEST_F(EngineTickets, ATicketOfAnIngestStageComesBackWhenItsRecordIsSafe) {
  StartWith(Acknowledge::kSafe, To({kUplink}));
  ASSERT_EQ(PushWith(9), PushResult::kOk);
  const auto lanes = engine_.LanesOf(0);
  Outlet* outlet = sessions_.At(lanes.get());
  uint64_t id = 0;
  ASSERT_TRUE(Until([&] {
    return lanes->Take(outlet, MonotonicUs(), [&](const Batch& batch) {
      id = batch.id;
      return true;
    });
  }));
  EXPECT_TRUE(engine_.TakeCompletions().empty()) << "on its way is not safe";
  lanes->Release(outlet, id, MonotonicUs());
  const std::vector<Completion> completions = NextCompletions();
  ASSERT_EQ(completions.size(), 1u);
  EXPECT_EQ(completions[0].ticket, 9u);
  EXPECT_TRUE(completions[0].ok);
}

TEST_F(EngineTickets, WhereRecordsAreAcknowledgedAtOnceTicketsAreToo) {
  StartWith(Acknowledge::kReceived, To({kUplink}));
  ASSERT_EQ(PushWith(9), PushResult::kOk);
  EXPECT_EQ(NextCompletions()[0].ticket, 9u);
}

TEST_F(EngineTickets, APushToAStageThatLeadsNowhereIsRefused) {
  StartWith(Acknowledge::kSafe, {Spec(kIngest, StageKind::kIngest, {kMessages}),
                                 Spec(kMessages, StageKind::kPriority)});
  EXPECT_EQ(PushWith(9), PushResult::kNoRoute);
  EXPECT_TRUE(engine_.TakeCompletions().empty());
}

TEST_F(EngineTickets, ARecordWithTwoWaysIsSafeWhenBothCopiesAre) {
  StageSpec second = test::UplinkStage(kMessages);
  second.uplink = 1;
  std::vector<StageSpec> plan = To({kUplink, kMessages});
  plan.push_back(second);
  StartWith(Acknowledge::kSafe, plan);
  ASSERT_EQ(PushWith(9), PushResult::kOk);
  ASSERT_TRUE(Until([&] { return DrainUplink() == 1; }));
  EXPECT_EQ(HeldRecords(), 1);
  EXPECT_TRUE(engine_.TakeCompletions().empty());
  const auto lanes = engine_.LanesOf(1);
  Outlet* outlet = sessions_.At(lanes.get());
  uint64_t id = 0;
  ASSERT_TRUE(Until([&] {
    return lanes->Take(outlet, MonotonicUs(), [&](const Batch& batch) {
      id = batch.id;
      return true;
    });
  }));
  lanes->Release(outlet, id, MonotonicUs());
  EXPECT_EQ(NextCompletions()[0].ticket, 9u);
}

}  // namespace
}  // namespace seganet

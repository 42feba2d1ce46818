#include "core/plan/pipeline.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/record/frame.h"
#include "test/support/pipeline_support.h"
#include "test/support/plan_support.h"
#include "test/support/support.h"

namespace seganet {
namespace {

using test::BatchStage;
using test::MakeRecord;
using test::PipelineTest;
using test::Spec;
using test::UplinkStage;

TEST_F(PipelineTest, RecordsForAConsumerThatRestsAreSealedAtTheEndOfTheirTurn) {
  Ledger ledger;
  LanesContext context = test::PlainLanes(&budget_, &latency_, &sequence_);
  context.save.log = true;
  context.save.linger_us.fill(50'000);
  context.ledger = &ledger;
  context.on_due = [](int64_t) {};
  context.wake_log = [] {};
  int64_t now_us = 1'000'000;
  context.clock = [&] { return now_us; };
  const auto lanes = lanes_[0] = std::make_shared<Lanes>(context);
  Outlet* const outlet = lanes->Attach(&bell_, kAllClasses, true);
  Apply({Spec(1, StageKind::kSource, {2}), BatchStage(2, {3}), UplinkStage(3)});
  const auto turn = [&](int records) {
    for (int i = 0; i < records; ++i) Run(1, "1", kNormal, now_us);
    pipeline_.EndTurn(now_us);
  };
  SealedChunk chunk;
  turn(3);
  EXPECT_EQ(pipeline_.NextDeadline(), kNever);
  ASSERT_TRUE(lanes->Seal(now_us, &chunk));
  EXPECT_EQ(chunk.batches, 1);
  EXPECT_EQ(chunk.records, 3u);
  now_us += 1'000;
  turn(1);
  now_us += 1'000;
  turn(2);
  EXPECT_NE(pipeline_.NextDeadline(), kNever) << "the chunk before is not a linger time ago";
  EXPECT_FALSE(lanes->Seal(now_us, &chunk));
  now_us += 48'000;
  pipeline_.EndTurn(now_us);
  ASSERT_TRUE(lanes->Seal(now_us, &chunk));
  EXPECT_EQ(chunk.records, 3u);
  lanes->Clear(Drop::kClosed);
  lanes->Detach(outlet);
}

TEST_F(PipelineTest, ARecordPassesTheWholeChain) {
  StageSpec priority = Spec(2, StageKind::kPriority, {3});
  priority.rules = {{"t", "", kHigh}};
  Apply({Spec(1, StageKind::kSource, {2}), priority, BatchStage(3, {4}), UplinkStage(4)});
  Run(1, "1", kBulk);
  EXPECT_EQ(HeldRecords(), 1);
  EXPECT_EQ(budget_.records(kHigh), 1);
  EXPECT_EQ(pipeline_.NextDeadline(), 1'000'000);
  pipeline_.OnTime(1'000'000);
  EXPECT_EQ(pipeline_.NextDeadline(), kNever);
  const std::vector<Batch> batches = Drain(0);
  ASSERT_EQ(batches.size(), 1u);
  EXPECT_EQ(batches[0].record_class, kHigh);
  EXPECT_EQ(batches[0].stage, 4u);
  EXPECT_EQ(batches[0].kind, BatchKind::kEnvelope);
  EXPECT_EQ(HeldRecords(), 0);
  EXPECT_EQ(budget_.held(), 0);
  for (uint32_t id : {1u, 2u, 3u, 4u}) EXPECT_EQ(StageOf(id).records_in.Get(), 1u) << id;
  EXPECT_EQ(StageOf(3).batches.Get(), 1u);
}

TEST_F(PipelineTest, FansOutToTwoUplinksAndMessages) {
  StageSpec batch = BatchStage(2, {3, 4});
  batch.messages = true;
  Apply({Spec(1, StageKind::kIngest, {2}), batch, UplinkStage(3, 10), UplinkStage(4, 11)});
  Run(1);
  Run(1);
  EXPECT_EQ(HeldRecords(), 4);
  pipeline_.Flush(0, SealReason::kFlush);
  const std::vector<Batch> first = Drain(10), second = Drain(11);
  ASSERT_EQ(first.size(), 1u);
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(first[0].bytes, second[0].bytes);
  EXPECT_EQ(first[0].stage, 3u);
  EXPECT_EQ(second[0].stage, 4u);
  EXPECT_EQ(HeldRecords(), 0);
  EXPECT_EQ(budget_.held(), 0);
  const std::vector<FrameHeader> messages = Messages();
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0].kind, static_cast<uint8_t>(FrameKind::kEnvelope));
  EXPECT_EQ(messages[0].record_count, 2u);
  EXPECT_EQ(messages[0].payload_bytes, first[0].bytes.size());
  EXPECT_EQ(bell_.rings(), 1);
}

TEST_F(PipelineTest, RecordsModeSendsMessagesRecordByRecord) {
  StageSpec batch = BatchStage(1, {}, BatchMode::kRecords);
  batch.messages = true;
  Apply({batch});
  Run(1);
  Run(1);
  EXPECT_EQ(Messages().size(), 2u);
  EXPECT_EQ(HeldRecords(), 0);
  EXPECT_EQ(pipeline_.NextDeadline(), kNever);
}

TEST_F(PipelineTest, ARecordWithoutARouteIsCounted) {
  Run(1);  // before any plan
  EXPECT_EQ(Dropped(Drop::kNoRoute), 1u);
  Apply({Spec(1, StageKind::kSource), BatchStage(2, {}), Spec(3, StageKind::kPriority)});
  for (uint32_t id : {1u, 2u, 3u, 9u}) Run(id, "1", kBulk);
  EXPECT_EQ(Dropped(Drop::kNoRoute), 5u);
  EXPECT_EQ(counters_.drops[static_cast<size_t>(Drop::kNoRoute)][kBulk].Get(), 4u);
  EXPECT_EQ(HeldRecords(), 0);
}

TEST_F(PipelineTest, ARecordIsTakenWhenOneOfItsWaysTakesIt) {
  Apply({Spec(1, StageKind::kSource, {2, 3}), Spec(2, StageKind::kPriority), UplinkStage(3)});
  EXPECT_TRUE(Run(1).taken);
  EXPECT_EQ(Dropped(Drop::kNoRoute), 0u) << "a way that leads nowhere loses nothing then";
  Apply({Spec(1, StageKind::kSource, {2}), Spec(2, StageKind::kPriority)});
  EXPECT_FALSE(Run(1).taken);
  EXPECT_EQ(Dropped(Drop::kNoRoute), 1u);
  Apply({Spec(1, StageKind::kSource, {}, true)});
  EXPECT_TRUE(Run(1).taken) << "a message is handed on";
}

TEST_F(PipelineTest, ATapThatShowsSomeRecordsTakesNone) {
  StageSpec tap = Spec(2, StageKind::kTap, {}, true);
  tap.every_n = 3;
  Apply({Spec(1, StageKind::kSource, {2}), tap});
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(Run(1).taken);
  EXPECT_EQ(Messages().size(), 3u) << "they are shown all the same";
  tap.every_n = 0;
  Apply({Spec(1, StageKind::kSource, {2}), tap});
  EXPECT_TRUE(Run(1).taken) << "it hands on every record";
  tap.messages = false;
  Apply({Spec(1, StageKind::kSource, {2}), tap});
  EXPECT_FALSE(Run(1).taken) << "nothing is behind the tap";
}

TEST_F(PipelineTest, ARecordThatATapKeepsFromAnUplinkIsTaken) {
  StageSpec tap = Spec(2, StageKind::kTap, {3});
  tap.every_n = 100;
  Apply({Spec(1, StageKind::kSource, {2}), tap, UplinkStage(3)});
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(Run(1).taken) << "it is left out on purpose";
}

TEST_F(PipelineTest, AFilteredRecordIsTakenAndHasNoCopy) {
  StageSpec filter = Spec(2, StageKind::kFilter, {3});
  filter.filter.mode = FilterMode::kChange;
  Apply({Spec(1, StageKind::kSource, {2}), filter, UplinkStage(3)});
  EXPECT_EQ(Run(1, "5").copies, 1u);
  const Passage filtered = Run(1, "5", kBulk);
  EXPECT_TRUE(filtered.taken) << "the user chose to leave it out";
  EXPECT_EQ(filtered.copies, 0u);
  EXPECT_EQ(filtered.record_class, kBulk);
  EXPECT_EQ(Run(1, "6").copies, 1u);
  EXPECT_EQ(Drain(0).size(), 2u);
  EXPECT_EQ(StageOf(2).records_in.Get(), 3u);
  EXPECT_EQ(StageOf(2).records_out.Get(), 2u);
  EXPECT_EQ(StageOf(2).filtered.Get(), 1u);
  EXPECT_EQ(counters_.counters[static_cast<size_t>(Counter::kRecordsFiltered)].Get(), 1u);
  EXPECT_EQ(Dropped(Drop::kNoRoute), 0u);
}

TEST_F(PipelineTest, AFilterThatLeadsNowhereTakesNothing) {
  StageSpec filter = Spec(2, StageKind::kFilter);
  filter.filter.mode = FilterMode::kChange;
  Apply({Spec(1, StageKind::kSource, {2}), filter});
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(Run(1, "5").taken);
}

TEST_F(PipelineTest, AFilterBesideAnotherRouteDecidesOnlyForItsOwn) {
  StageSpec filter = Spec(2, StageKind::kFilter, {3});
  filter.filter.when = "$ > 5";
  Apply({Spec(1, StageKind::kSource, {2, 4}), filter, UplinkStage(3, 10), UplinkStage(4, 11)});
  EXPECT_EQ(Run(1, "5").copies, 1u);
  EXPECT_EQ(Run(1, "6").copies, 2u);
  EXPECT_EQ(Drain(10).size(), 1u);
  EXPECT_EQ(Drain(11).size(), 2u);
}

TEST_F(PipelineTest, AChangeForWhichTheMessageRingHasNoRoomPassesWhenItIsSentAgain) {
  StageSpec filter = Spec(2, StageKind::kFilter, {}, true);
  filter.filter.mode = FilterMode::kChange;
  Apply({Spec(1, StageKind::kSource, {2}), filter, Spec(8, StageKind::kSource, {}, true)});
  while (Run(8, std::string(1000, 'x')).taken) {
  }
  EXPECT_FALSE(Run(1, std::string(1000, 'y')).taken);
  Messages();
  EXPECT_TRUE(Run(1, std::string(1000, 'y')).taken);
  EXPECT_EQ(Messages().size(), 1u);
}

TEST_F(PipelineTest, ARecordThatHasNoRoomAsAMessageIsNotTaken) {
  Apply({Spec(1, StageKind::kSource, {}, true)});
  while (Run(1, std::string(1000, 'x')).taken) {
  }
  EXPECT_EQ(Dropped(Drop::kMessageRingFull), 1u);
  EXPECT_EQ(Dropped(Drop::kNoRoute), 0u);
}

TEST_F(PipelineTest, ReportsTheFinalClassOfARecord) {
  StageSpec priority = Spec(2, StageKind::kPriority, {4});
  priority.default_class = kBulk;
  StageSpec urgent = Spec(3, StageKind::kPriority, {5});
  urgent.rules = {{"t", "", kHigh}};
  Apply({Spec(1, StageKind::kSource, {2, 3, 6}), priority, urgent, BatchStage(4, {5}),
         UplinkStage(5), Spec(6, StageKind::kTap, {}, true), Spec(7, StageKind::kSource, {2}, true),
         Spec(8, StageKind::kSource, {6})});
  const auto passage = [this](uint32_t stage) {
    return pipeline_.Run(stage, MakeRecord("d", "t", "1", kNormal));
  };
  EXPECT_EQ(passage(1).record_class, kHigh) << "the most urgent of its copies";
  EXPECT_EQ(passage(1).copies, 2u);
  EXPECT_EQ(passage(7).record_class, kBulk) << "whatever class its message had meanwhile";
  EXPECT_EQ(passage(8).record_class, kNormal) << "a tap only looks";
  EXPECT_EQ(passage(99).record_class, kNormal);
  EXPECT_EQ(passage(99).copies, 0u);
}

TEST_F(PipelineTest, AFullMessageRingCostsCopiesOrRecords) {
  Apply({Spec(1, StageKind::kSource, {2}, true), UplinkStage(2),
         Spec(3, StageKind::kSource, {}, true)});
  const std::string payload(1000, 'x');
  for (int i = 0; i < 10; ++i) Run(1, payload);
  const uint64_t copies = StageOf(1).copies_dropped.Get();
  EXPECT_GT(copies, 0u);
  EXPECT_EQ(Dropped(Drop::kMessageRingFull), 0u) << "the records went to the uplink";
  EXPECT_EQ(Drain(0).size(), 10u);
  for (int i = 0; i < 10; ++i) Run(3, payload);
  EXPECT_EQ(Dropped(Drop::kMessageRingFull), 10u) << "the message was all there was";
  EXPECT_EQ(StageOf(3).copies_dropped.Get(), 10u);
  EXPECT_EQ(Messages().size(), 10 - copies);
}

TEST_F(PipelineTest, MessagesAreHighOnlyWhereTheyAreAll) {
  Apply({Spec(1, StageKind::kSource, {2}, true), UplinkStage(2)});
  for (int i = 0; i < 10; ++i) Run(1, std::string(1000, 'x'));
  EXPECT_FALSE(pipeline_.MessagesHigh());
  Apply({Spec(1, StageKind::kSource, {}, true)});
  EXPECT_TRUE(pipeline_.MessagesHigh());
  Messages();
  EXPECT_FALSE(pipeline_.MessagesHigh());
}

TEST_F(PipelineTest, ATapPassesEveryNth) {
  StageSpec tap = Spec(1, StageKind::kTap, {}, true);
  tap.every_n = 3;
  Apply({tap});
  for (int i = 0; i < 10; ++i) Run(1);
  EXPECT_EQ(Messages().size(), 3u);
  EXPECT_EQ(StageOf(1).records_in.Get(), 10u);
  EXPECT_EQ(StageOf(1).records_out.Get(), 3u);
}

TEST_F(PipelineTest, ATapPassesALimitedRate) {
  StageSpec tap = Spec(1, StageKind::kTap, {2});
  tap.per_second = 2;
  Apply({tap, UplinkStage(2)});
  for (int64_t ms = 0; ms < 3000; ms += 100) Run(1, "1", kNormal, 5'000'000 + ms * 1000);
  EXPECT_EQ(Drain(0).size(), 6u);
}

TEST_F(PipelineTest, AnUnlimitedTapPassesAll) {
  Apply({Spec(1, StageKind::kTap, {2}), UplinkStage(2)});
  for (int i = 0; i < 5; ++i) Run(1);
  EXPECT_EQ(Drain(0).size(), 5u);
}

TEST_F(PipelineTest, AnEnvelopeFromJavaScriptStaysOne) {
  Apply({UplinkStage(1)});
  Record record = MakeRecord("", "", "{}\n{}\n", kHigh);
  record.flags = kFlagEnvelope;
  record.ticket = 8;
  pipeline_.Run(1, record);
  const std::vector<Batch> batches = Drain(0);
  ASSERT_EQ(batches.size(), 1u);
  EXPECT_EQ(batches[0].kind, BatchKind::kEnvelope);
  EXPECT_EQ(batches[0].bytes, "{}\n{}\n");
  EXPECT_EQ(batches[0].ticket, 8u);
  EXPECT_EQ(batches[0].topic_bytes + batches[0].device_bytes, 0u);
}

TEST_F(PipelineTest, AnEnvelopeWithATopicOfItsOwnGoesThere) {
  Apply({UplinkStage(1)});
  Record record = MakeRecord("", "own/topic", "{}\n", kHigh);
  record.flags = kFlagEnvelope;
  pipeline_.Run(1, record);
  const std::vector<Batch> batches = Drain(0);
  ASSERT_EQ(batches.size(), 1u);
  EXPECT_EQ(batches[0].kind, BatchKind::kSingle);
  EXPECT_EQ(batches[0].bytes, "own/topic{}\n");
  EXPECT_EQ(batches[0].topic_bytes, 9u);
}

// Random plans and traffic, uplinks that fail now and then: queued = delivered + held + dropped.
TEST_F(PipelineTest, CountersReconcile) {
  test::Random random;
  int64_t now = 0;
  for (int round = 0; round < 200; ++round) {
    StageSpec batch = BatchStage(2, {4}, static_cast<BatchMode>(random.In(0, 2)));
    batch.batcher.min_devices = random.In<uint32_t>(0, 60);
    batch.batcher.max_bytes = random.In<uint32_t>(50, 500);
    if (random.OneIn(2)) batch.next.push_back(5);
    Apply({Spec(1, StageKind::kSource, {2, 3}), batch, Spec(3, StageKind::kTap, {5}),
           UplinkStage(4, 0), UplinkStage(5, random.In<uint32_t>(0, 1))});
    for (int i = 0; i < 50; ++i) {
      now += 10'000;
      Run(1, random.Text(random.In<size_t>(0, 60), "123"), random.In<uint8_t>(1, 4), now);
      devices_ = random.In<int64_t>(0, 100);
      pipeline_.OnTime(now);
    }
    for (auto& [number, lanes] : lanes_) {
      std::vector<uint64_t> taken;
      Outlet* outlet = sessions_.At(lanes.get());
      const int wanted = random.In(0, 100);
      for (int i = 0; i < wanted; ++i) {
        lanes->Take(outlet, now, [&](const Batch& b) { return taken.push_back(b.id), true; });
      }
      for (uint64_t id : taken) {
        if (!random.OneIn(10)) {
          lanes->Release(outlet, id, now, random.OneIn(10) ? Refusal{{0}, 135, "no"} : Refusal{});
        }
      }
      sessions_.Leave(lanes.get());
      if (random.OneIn(20)) lanes->Clear(Drop::kUplinkRemoved);
    }
  }
  pipeline_.Flush(0, SealReason::kFlush);
  uint64_t queued = 0, gone = 0;
  for (const auto& entry : lanes_) {
    const auto& lanes = entry.second;
    const auto count = [&](Counter c) {
      return lanes->counters().counters[static_cast<size_t>(c)].Get();
    };
    queued += count(Counter::kRecordsQueued);
    gone += count(Counter::kRecordsDelivered);
    for (const auto& row : lanes->counters().drops) {
      for (const SingleWriter& n : row) gone += n.Get();
    }
  }
  EXPECT_EQ(queued, gone + static_cast<uint64_t>(HeldRecords()));
  for (auto& [number, lanes] : lanes_) lanes->Clear(Drop::kClosed);
  EXPECT_EQ(HeldRecords(), 0);
  EXPECT_EQ(budget_.held(), 0);
}

}  // namespace
}  // namespace seganet

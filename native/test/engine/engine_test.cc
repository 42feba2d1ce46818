// The engine without sockets: options, pushes, plans, the end.
#include "core/runtime/engine.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <set>
#include <string>
#include <vector>

#include "core/record/frame.h"
#include "test/support/engine_support.h"

namespace seganet {
namespace {

using test::MakeRecord;
using test::Spec;
using test::UplinkStage;

class EnginePush : public test::EngineTest {
 protected:
  // Pushes `count` records of several devices; every one is accepted.
  void PushMany(int count, uint32_t stage = kIngest) {
    for (int i = 0; i < count; ++i) {
      const std::string device = "d" + std::to_string(i % 50);
      ASSERT_EQ(engine_.Push(stage, MakeRecord(device, "t", "1"), true), PushResult::kOk) << i;
    }
  }

  // A worker that takes long for a record (the worst pattern of rules_test.cc) and seals batches
  // only on request.
  void StartSlow() {
    StageSpec priority = Spec(7, StageKind::kPriority, {kBatch});
    for (int i = 0; i < 127; ++i) hostile_ += "a*";
    priority.rules = {{"", hostile_ + "b", kBulk}};
    StageSpec batch = test::BatchStage(kBatch, {kUplink});
    batch.batcher.max_bytes = kMaxBatchBytes;
    batch.batcher.max_delay_ms = kMaxDelayMs;
    EngineOptions options;
    options.workers = 1;
    Start(options, {Spec(kIngest, StageKind::kIngest, {7}), priority, batch, UplinkStage(kUplink)});
  }

  static constexpr uint32_t kSlow = 3'000;

  void PushSlow() {
    for (uint32_t i = 0; i < kSlow; ++i) {
      ASSERT_EQ(engine_.Push(kIngest, MakeRecord(slow_device_, "t", "1"), true), PushResult::kOk);
    }
  }

  const std::string slow_device_ = std::string(kMaxDeviceBytes, 'a');
  std::string hostile_;
};

TEST_F(EnginePush, RefusesOptionsOutOfRange) {
  const auto message = [](auto&& change) {
    test::CountingBell bell;
    Engine engine(&bell);
    EngineOptions options;
    change(&options);
    return engine.Start(options).message();
  };
  EXPECT_EQ(message([](auto* o) { o->workers = 65; }), "workers must be 0 to 64");
  EXPECT_EQ(message([](auto* o) { o->workers = -1; }), "workers must be 0 to 64");
  EXPECT_EQ(message([](auto* o) { o->memory_mib = 0; }), "memoryMiB must be 1 to 65536");
  EXPECT_EQ(message([](auto* o) { o->max_packet_bytes = 1023; }),
            "maxPacketBytes must be 1024 to 16777216");
  EXPECT_EQ(message([](auto* o) { o->max_devices = 0; }), "maxDevices must be 1 to 1000000");
  EXPECT_EQ(message([](auto* o) { o->message_ring_mib = 0; }), "messageRingMiB must be 4 to 1024");
  EXPECT_EQ(message([](auto* o) { o->cpus = "x"; }), "'x' is not a list of cores such as 1-3,5");
  EXPECT_EQ(message([](auto* o) { o->cpus = "1023"; }),
            "core 1023 is not among those that this process may use");
}

TEST_F(EnginePush, WorkersAreThreadsOfTheirOwn) {
  EngineOptions options;
  options.workers = 5;
  Start(options);
  std::set<int> tids;
  for (const WorkerInfo& worker : engine_.Workers()) {
    tids.insert(worker.tid);
    EXPECT_LT(worker.silent_us, 60'000'000)
        << "a thread that hangs before its first sweep is silent too";
    EXPECT_TRUE(worker.cpu >= 0 || !worker.reason.empty());
  }
  EXPECT_EQ(tids.size(), 5u);
}

TEST_F(EnginePush, CarriesRecordsToTheUplink) {
  Start();
  PushMany(500);
  ASSERT_TRUE(test::Until([this] { return Count(Counter::kRecordsPushed) == 500; }));
  engine_.Flush(0);
  uint32_t taken = 0;
  ASSERT_TRUE(test::Until([&] { return (taken += DrainUplink()) == 500; }));
  EXPECT_EQ(HeldRecords(), 0);
  EXPECT_EQ(engine_.budget().held(), 0);
  EXPECT_EQ(AllDropped(), 0u);
  EXPECT_EQ(engine_.devices(), 50);
}

TEST_F(EnginePush, AnswersWithReasons) {
  EXPECT_EQ(engine_.Push(kIngest, MakeRecord("d", "t", ""), true), PushResult::kClosed);
  EngineOptions options;
  options.max_packet_bytes = 1024;
  Start(options);
  const auto push = [this](uint32_t stage, size_t device, size_t topic, size_t payload) {
    return engine_.Push(
        stage,
        MakeRecord(std::string(device, 'd'), std::string(topic, 't'), std::string(payload, 'p')),
        true);
  };
  EXPECT_EQ(push(kIngest, 256, 65'535, 1024), PushResult::kOk);
  EXPECT_EQ(push(kIngest, 0, 1, 1), PushResult::kTooLong);
  EXPECT_EQ(push(kIngest, 257, 1, 1), PushResult::kTooLong);
  EXPECT_EQ(push(kIngest, 1, 65'536, 1), PushResult::kTooLong);
  EXPECT_EQ(push(kIngest, 1, 1, 1025), PushResult::kTooLong);
  EXPECT_EQ(push(99, 1, 1, 1), PushResult::kNoStage);
}

TEST_F(EnginePush, TheLargestRecordsPass) {
  EngineOptions options;
  options.max_packet_bytes = 16 * 1024 * 1024;
  options.workers = 1;
  options.message_ring_mib = 4;
  Start(options, {Spec(kIngest, StageKind::kIngest, {kUplink}, true), UplinkStage(kUplink)});
  const std::string payload(options.max_packet_bytes, 'x');
  const std::string topic(kMaxTopicBytes, 't');
  std::vector<char> frames(payload.size() + 100'000);
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(engine_.Push(kIngest, MakeRecord("d", topic, payload), true), PushResult::kOk);
    ASSERT_TRUE(test::Until([this] { return DrainUplink() == 1; }));
    size_t bytes = 0;
    ASSERT_TRUE(test::Until(
        [&] { return (bytes = engine_.TakeMessages(frames.data(), frames.size())) > 0; }));
    EXPECT_EQ(ReadRecordFrame(frames.data()).payload.size(), payload.size());
  }
}

TEST_F(EnginePush, NumbersRecordsOfADevice) {
  Start({}, {Spec(kIngest, StageKind::kIngest, {}, true)});
  Record keeps = MakeRecord("a", "t", "");
  keeps.seq = 77;
  engine_.Push(kIngest, MakeRecord("a", "t", ""), true);
  engine_.Push(kIngest, MakeRecord("a", "t", ""), true);
  engine_.Push(kIngest, keeps, false);
  engine_.Push(kIngest, MakeRecord("a", "t", ""), true);
  std::vector<uint32_t> seqs;
  char frame[88];  // one at a time
  ASSERT_TRUE(test::Until([&] {
    if (engine_.TakeMessages(frame, sizeof frame) > 0) seqs.push_back(ReadRecordFrame(frame).seq);
    return seqs.size() == 4;
  }));
  EXPECT_EQ(seqs, (std::vector<uint32_t>{0, 1, 77, 2}));
}

TEST_F(EnginePush, TicketsComeBack) {
  Start({}, {UplinkStage(kUplink)});
  for (uint32_t ticket : {11u, 12u}) {
    Record record = MakeRecord("d", "t", "1");
    record.ticket = ticket;
    ASSERT_EQ(engine_.Push(kUplink, record, true), PushResult::kOk);
  }
  const auto lanes = engine_.LanesOf(0);
  ASSERT_TRUE(test::Until([&] { return Count(Counter::kRecordsQueued) == 2; }));
  uint64_t id = 0;
  Outlet* outlet = sessions_.At(lanes.get());
  lanes->Take(outlet, 0, [&](const Batch& batch) { return id = batch.id, true; });
  const int rings = bell_.rings();
  lanes->Release(outlet, id, 0);
  EXPECT_EQ(bell_.rings(), rings + 1);
  std::vector<Completion> done = engine_.TakeCompletions();
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].ticket, 11u);
  EXPECT_TRUE(done[0].ok);
  engine_.Close();
  done = engine_.TakeCompletions();
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].ticket, 12u);
  EXPECT_FALSE(done[0].ok);
}

// More than a worker takes off its ring in one turn, and more work than it does meanwhile.
TEST_F(EnginePush, FlushCoversEarlierPushes) {
  StartSlow();
  PushSlow();
  engine_.Flush(0);
  uint32_t taken = 0;
  EXPECT_TRUE(test::Until([&] { return (taken += DrainUplink()) == kSlow; })) << taken;
}

TEST_F(EnginePush, CloseCountsHeldRecords) {
  StartSlow();
  PushSlow();
  engine_.Close();
  EXPECT_EQ(Count(Counter::kRecordsPushed), kSlow);
  EXPECT_EQ(Dropped(Drop::kClosed), kSlow);
  EXPECT_EQ(HeldRecords(), 0);
  EXPECT_EQ(engine_.budget().held(), 0);
}

TEST_F(EnginePush, TicketsOfPendingRecordsFailAtClose) {
  StartSlow();
  PushSlow();
  for (uint32_t ticket = 1; ticket <= 100; ++ticket) {
    Record record = MakeRecord(slow_device_, "t", "1");
    record.ticket = ticket;
    ASSERT_EQ(engine_.Push(kUplink, record, true), PushResult::kOk);
  }
  engine_.Close();
  EXPECT_EQ(engine_.TakeCompletions().size(), 100u);
}

TEST_F(EnginePush, RecordsPushedBeforeANewPlanFollowTheOldOne) {
  StartSlow();
  PushSlow();
  Apply({UplinkStage(kUplink)});
  uint32_t taken = 0;
  EXPECT_TRUE(test::Until([&] { return (taken += DrainUplink()) == kSlow; })) << taken;
  EXPECT_EQ(Dropped(Drop::kNoRoute), 0u);
}

TEST_F(EnginePush, IsFullAboveTheBudgetAndRecovers) {
  EngineOptions options;
  options.memory_mib = 1;
  Start(options, {UplinkStage(kUplink)});
  const std::string payload(1000, 'x');
  uint64_t accepted = 0;
  ASSERT_TRUE(test::Until([&] {
    const PushResult result = engine_.Push(kUplink, MakeRecord("d", "t", payload), true);
    accepted += result == PushResult::kOk;
    return result == PushResult::kFull;
  }));
  // The ring between the threads may hold more than the budget's last tenth; nothing is dropped.
  uint64_t taken = 0;
  ASSERT_TRUE(test::Until([&] { return (taken += DrainUplink()) == accepted; }));
  EXPECT_EQ(engine_.Push(kUplink, MakeRecord("d", "t", payload), true), PushResult::kOk);
  EXPECT_EQ(AllDropped(), 0u);
}

TEST_F(EnginePush, ABadPlanChangesNothing) {
  Start();
  EXPECT_EQ(engine_.ApplyPlan({Spec(1, StageKind::kSource, {99})}).code(),
            Status::Code::kInvalidArgument);
  PushMany(1);
}

TEST_F(EnginePush, ClassOfAsksThePrioritiesOfThePlan) {
  StageSpec priority = Spec(7, StageKind::kPriority);
  priority.rules = {{"alarm/#", "", kCritical}};
  Start({}, {priority, Spec(8, StageKind::kTap)});
  EXPECT_EQ(engine_.ClassOf(7, "d", "alarm/x", "", kBulk), kCritical);
  EXPECT_EQ(engine_.ClassOf(7, "d", "x", "", kBulk), kBulk);
  EXPECT_EQ(engine_.ClassOf(8, "d", "alarm/x", "", kBulk), kBulk);
  EXPECT_EQ(engine_.ClassOf(99, "d", "alarm/x", "", kBulk), kBulk);
}

TEST_F(EnginePush, EverythingIsSafeAfterClose) {
  Start();
  engine_.Close();
  engine_.Close();
  uint16_t port = 0;
  char frame[100];
  EXPECT_EQ(engine_.ApplyPlan({}).code(), Status::Code::kClosed);
  EXPECT_EQ(engine_.Listen(kSource, {.host = "127.0.0.1"}, &port).code(), Status::Code::kClosed);
  EXPECT_EQ(engine_.Push(kIngest, MakeRecord("d", "t", ""), true), PushResult::kClosed);
  EXPECT_EQ(engine_.TakeMessages(frame, sizeof frame), 0u);
  EXPECT_TRUE(engine_.TakeCompletions().empty());
  engine_.Flush(0);
  engine_.StopReading();
  engine_.Unlisten(kSource);
  EXPECT_EQ(engine_.Workers().size(), 2u);
  EXPECT_EQ(DrainUplink(), 0u);
}

// No descriptors left for an event loop: the error names it, and no thread is left.
TEST_F(EnginePush, StartFailsCleanlyWithoutDescriptors) {
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 3;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const Status status = engine_.Start({});
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(status.code(), Status::Code::kSystem);
  EXPECT_EQ(status.error(), EMFILE);
  EXPECT_TRUE(engine_.closed());
}

}  // namespace
}  // namespace seganet

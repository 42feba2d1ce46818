#include "core/queue/batcher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/record/encoder.h"
#include "test/support/support.h"

namespace seganet {
namespace {

using test::BatchList;
using test::MakeRecord;

// n = 10, m = 300, t = 100 ms
BatcherOptions Options(BatchMode mode = BatchMode::kEnvelope) {
  BatcherOptions options;
  options.mode = mode;
  options.min_devices = 10;
  options.max_bytes = 300;
  options.max_delay_ms = 100;
  return options;
}

size_t LineBytes(const Record& record) {
  std::string line;
  AppendNdjson(record, &line);
  return line.size();
}

TEST(BatcherOptions, AreChecked) {
  const auto message = [](auto&& change) {
    BatcherOptions options;
    change(&options);
    return Validate(options).message();
  };
  EXPECT_EQ(message([](BatcherOptions*) {}), "");
  const std::string bytes = "batch bytes (m) must be 1 to 1048576";
  const std::string delay = "batch delay (t) must be 1 to 86400000 ms";
  EXPECT_EQ(message([](BatcherOptions* o) { o->max_bytes = 0; }), bytes);
  EXPECT_EQ(message([](BatcherOptions* o) { o->max_bytes = kMaxBatchBytes + 1; }), bytes);
  EXPECT_EQ(message([](BatcherOptions* o) { o->max_bytes = kMaxBatchBytes; }), "");
  EXPECT_EQ(message([](BatcherOptions* o) { o->max_delay_ms = 0; }), delay);
  EXPECT_EQ(message([](BatcherOptions* o) { o->max_delay_ms = kMaxDelayMs + 1; }), delay);
  EXPECT_EQ(message([](BatcherOptions* o) { o->immediate_class = kClasses + 1; }),
            "immediate class must be 0 to " + std::to_string(kClasses));
}

TEST(Batcher, StartsAtNDevicesAndStopsBelowNineTenths) {
  BatchList sealed;
  Batcher batcher(Options(), &sealed);
  const auto waits = [&](uint32_t devices) {
    batcher.Flush(SealReason::kFlush);
    sealed.batches.clear();
    batcher.Add(MakeRecord("d", "t", "1"), devices);
    return sealed.batches.empty();
  };
  EXPECT_FALSE(waits(0));
  EXPECT_FALSE(waits(9));
  EXPECT_TRUE(waits(10));
  EXPECT_TRUE(waits(9));
  EXPECT_FALSE(waits(8));
  EXPECT_FALSE(waits(9));
  EXPECT_TRUE(waits(10));
}

TEST(Batcher, ZeroMinDevicesAlwaysBatches) {
  BatcherOptions options = Options();
  options.min_devices = 0;
  BatchList sealed;
  Batcher batcher(options, &sealed);
  batcher.Add(MakeRecord("d", "t", "1"), 0);
  EXPECT_TRUE(sealed.batches.empty());
}

TEST(Batcher, SealsBeforeABatchWouldExceedM) {
  const Record record = MakeRecord("d", "t", "12345");
  BatcherOptions options = Options();
  options.max_bytes = static_cast<uint32_t>(3 * LineBytes(record) + 1);
  BatchList sealed;
  Batcher batcher(options, &sealed);
  for (int i = 0; i < 3; ++i) batcher.Add(record, 10);
  EXPECT_TRUE(sealed.batches.empty());
  batcher.Add(record, 10);
  ASSERT_EQ(sealed.batches.size(), 1u);
  EXPECT_EQ(sealed.batches[0]->record_count, 3u);
  EXPECT_EQ(sealed.batches[0]->record_bytes, 15u);
  EXPECT_EQ(sealed.batches[0]->reason, SealReason::kBytes);
  EXPECT_EQ(sealed.batches[0]->bytes.size(), 3 * LineBytes(record));
}

TEST(Batcher, SealsAFullBatchAtOnce) {
  const Record record = MakeRecord("d", "t", "12345");
  BatcherOptions options = Options();
  options.max_bytes = static_cast<uint32_t>(2 * LineBytes(record));
  BatchList sealed;
  Batcher batcher(options, &sealed);
  batcher.Add(record, 10);
  batcher.Add(record, 10);
  ASSERT_EQ(sealed.batches.size(), 1u);
  EXPECT_EQ(batcher.NextDeadline(), kNever);
}

TEST(Batcher, ALargerRecordIsABatchOfItsOwnBehindTheOlderOnes) {
  BatchList sealed;
  Batcher batcher(Options(), &sealed);
  batcher.Add(MakeRecord("d", "t", "1"), 10);
  batcher.Add(MakeRecord("d", "t", "\"" + std::string(400, 'x') + "\""), 10);
  batcher.Add(MakeRecord("d", "t", "2"), 10);
  ASSERT_EQ(sealed.batches.size(), 2u);
  EXPECT_EQ(sealed.batches[0]->record_count, 1u);
  EXPECT_LT(sealed.batches[0]->bytes.size(), 300u);
  EXPECT_EQ(sealed.batches[1]->record_count, 1u);
  EXPECT_GT(sealed.batches[1]->bytes.size(), 400u);
}

TEST(Batcher, SealsWhenTheOldestRecordIsTOld) {
  BatchList sealed;
  Batcher batcher(Options(), &sealed);
  EXPECT_EQ(batcher.NextDeadline(), kNever);
  batcher.Add(MakeRecord("a", "t", "1", kNormal, 5'000), 10);
  batcher.Add(MakeRecord("b", "t", "2", kNormal, 60'000), 10);
  batcher.Add(MakeRecord("c", "t", "3", kBulk, 70'000), 10);
  EXPECT_EQ(batcher.NextDeadline(), 105'000);
  batcher.OnTime(104'999);
  EXPECT_TRUE(sealed.batches.empty());
  batcher.OnTime(105'000);
  ASSERT_EQ(sealed.batches.size(), 1u);
  EXPECT_EQ(sealed.batches[0]->record_count, 2u);
  EXPECT_EQ(sealed.batches[0]->reason, SealReason::kDelay);
  EXPECT_EQ(sealed.batches[0]->oldest_us, 5'000);
  EXPECT_EQ(batcher.NextDeadline(), 170'000);
}

TEST(Batcher, CriticalRecordsLeaveAtOnceAndAlone) {
  BatchList sealed;
  Batcher batcher(Options(), &sealed);
  batcher.Add(MakeRecord("d", "t", "1", kNormal), 10);
  for (int i = 0; i < 3; ++i) batcher.Add(MakeRecord("d", "t", "2", kCritical), 10);
  ASSERT_EQ(sealed.batches.size(), 3u);
  for (const BatchPtr& batch : sealed.batches) {
    EXPECT_EQ(batch->record_class, kCritical);
    EXPECT_EQ(batch->record_count, 1u);
    EXPECT_EQ(batch->reason, SealReason::kSingle);
  }
}

TEST(Batcher, ImmediateClassMovesTheBorder) {
  for (uint8_t border = 0; border <= kClasses; ++border) {
    BatcherOptions options = Options();
    options.immediate_class = border;
    BatchList sealed;
    Batcher batcher(options, &sealed);
    for (uint8_t c = 1; c <= kClasses; ++c) batcher.Add(MakeRecord("d", "t", "1", c), 10);
    EXPECT_EQ(sealed.batches.size(), border);
  }
}

TEST(Batcher, AnOpenBatchLeavesBeforeTheFirstRecordThatDoesNotWait) {
  BatchList sealed;
  Batcher batcher(Options(), &sealed);
  batcher.Add(MakeRecord("d", "t", "1"), 10);
  batcher.Add(MakeRecord("d", "t", "2", kBulk), 10);
  batcher.Add(MakeRecord("d", "t", "3"), 2);  // batching is off now
  ASSERT_EQ(sealed.batches.size(), 2u);
  EXPECT_NE(sealed.batches[0]->bytes.find("\"p\":1}"), std::string::npos);
  EXPECT_EQ(sealed.batches[0]->reason, SealReason::kFlush);
  EXPECT_NE(sealed.batches[1]->bytes.find("\"p\":3}"), std::string::npos);
  EXPECT_EQ(sealed.batches[1]->reason, SealReason::kSingle);
  batcher.OnTime(1'000'000);
  EXPECT_EQ(sealed.batches.size(), 3u);
}

TEST(Batcher, FlushOfSomeClassesLeavesTheOthersOpen) {
  BatchList sealed;
  Batcher batcher(Options(), &sealed);
  for (const uint8_t c : {kHigh, kNormal, kBulk}) batcher.Add(MakeRecord("d", "t", "1", c), 10);
  batcher.Flush(SealReason::kDelay, MaskOf(kNormal));
  ASSERT_EQ(sealed.batches.size(), 1u);
  EXPECT_EQ(sealed.batches[0]->record_class, kNormal);
  EXPECT_EQ(sealed.batches[0]->reason, SealReason::kDelay);
  batcher.Flush(SealReason::kFlush);
  EXPECT_EQ(sealed.batches.size(), 3u);
}

TEST(Batcher, FlushSealsTheMostUrgentFirst) {
  BatchList sealed;
  Batcher batcher(Options(), &sealed);
  for (uint8_t c : {kBulk, kHigh, kNormal}) batcher.Add(MakeRecord("d", "t", "1", c), 10);
  batcher.Flush(SealReason::kPlan);
  ASSERT_EQ(sealed.batches.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(sealed.batches[i]->record_class, kHigh + i);
    EXPECT_EQ(sealed.batches[i]->reason, SealReason::kPlan);
  }
  batcher.Flush(SealReason::kPlan);
  EXPECT_EQ(sealed.batches.size(), 3u);
}

TEST(Batcher, RecordsModeCountsPublishBytesAndKeepsEntries) {
  const Record record = MakeRecord("device-with-a-long-name", "topic", "12345");
  BatcherOptions options = Options(BatchMode::kRecords);
  options.max_bytes = static_cast<uint32_t>(2 * PublishBytes(record));
  BatchList sealed;
  Batcher batcher(options, &sealed);
  batcher.Add(record, 10);
  batcher.Add(record, 10);
  ASSERT_EQ(sealed.batches.size(), 1u);
  std::string entry;
  AppendEntry(record, &entry);
  EXPECT_EQ(sealed.batches[0]->kind, BatchKind::kRecords);
  EXPECT_EQ(sealed.batches[0]->bytes, entry + entry);
}

TEST(Batcher, KeepsTheTimeAndTheNumberOfEachRecordIfAnUplinkWantsThem) {
  for (const BatchMode mode : {BatchMode::kRecords, BatchMode::kOff}) {
    BatchList sealed;
    Batcher batcher(Options(mode), &sealed);
    batcher.SetStamped(true);
    Record record = MakeRecord("dev", "topic", "12345");
    record.ts_ms = 1'763'712'000'123;
    record.seq = 4'000'000'000;
    batcher.Add(record, 10);
    batcher.SetStamped(false);
    batcher.Add(record, 10);
    batcher.Flush(SealReason::kFlush);
    std::string all;
    for (const BatchPtr& batch : sealed.batches) {
      all += batch->bytes;
      EXPECT_EQ(batch->record_bytes, 5 * batch->record_count);
    }
    std::string stamped, plain;
    if (mode == BatchMode::kRecords) {
      AppendEntry(record, &stamped, true);
      AppendEntry(record, &plain);
    } else {
      stamped = SingleBatch(record, true)->bytes;
      plain = SingleBatch(record)->bytes;
    }
    EXPECT_EQ(all, stamped + plain);
    EXPECT_EQ(stamped.size(), plain.size() + 12);
  }
}

TEST(Batcher, OffModePassesRecordsAsTheyAre) {
  BatchList sealed;
  Batcher batcher(Options(BatchMode::kOff), &sealed);
  Record record = MakeRecord("dev", "a/b", "on", kBulk, 7);
  record.flags = kFlagRetain;
  record.ticket = 9;
  batcher.Add(record, 1000);
  ASSERT_EQ(sealed.batches.size(), 1u);
  const Batch& batch = *sealed.batches[0];
  EXPECT_EQ(batch.kind, BatchKind::kSingle);
  EXPECT_EQ(batch.bytes, "deva/bon");
  EXPECT_EQ(batch.device_bytes, 3u);
  EXPECT_EQ(batch.topic_bytes, 3u);
  EXPECT_EQ(batch.flags, kFlagRetain);
  EXPECT_EQ(batch.ticket, 9u);
  EXPECT_EQ(batch.record_class, kBulk);
}

// Invariants: nothing is lost or doubled, a class keeps its order, a batch has one class and is
// within m unless it is one record, nothing is older than t after OnTime.
TEST(Batcher, KeepsItsPromisesOnRandomTraffic) {
  test::Random random;
  for (int round = 0; round < 30; ++round) {
    BatcherOptions options = Options();
    options.max_bytes = random.In<uint32_t>(1, 2000);
    options.immediate_class = random.In<uint8_t>(0, 2);
    BatchList sealed;
    Batcher batcher(options, &sealed);
    std::map<uint8_t, std::string> expected, got;
    int64_t now = 0;
    for (int i = 0; i < 1'000; ++i) {
      now += random.In<int64_t>(0, 20'000);
      batcher.OnTime(now);
      ASSERT_GT(batcher.NextDeadline(), now);
      const std::string payload = random.Text(random.In<size_t>(1, 80), "1234");
      const Record record = MakeRecord("d", "t", payload, random.In<uint8_t>(1, 4), now);
      AppendNdjson(record, &expected[record.record_class]);
      batcher.Add(record, random.In<uint32_t>(7, 12));
      if (random.OneIn(50)) batcher.Flush(SealReason::kFlush);
    }
    batcher.Flush(SealReason::kFlush);
    for (const BatchPtr& batch : sealed.batches) {
      const auto lines = std::count(batch->bytes.begin(), batch->bytes.end(), '\n');
      ASSERT_EQ(batch->record_count, static_cast<uint32_t>(lines));
      ASSERT_TRUE(batch->record_count == 1 || batch->bytes.size() <= options.max_bytes);
      ASSERT_TRUE(batch->record_count == 1 || batch->record_class > options.immediate_class);
      got[batch->record_class] += batch->bytes;
    }
    ASSERT_EQ(got, expected);
  }
}

}  // namespace
}  // namespace seganet

#include "core/record/stored_payload.h"

#include <gtest/gtest.h>

#include <string>

#include "core/queue/batch.h"
#include "core/record/encoder.h"
#include "core/record/trace_context.h"
#include "test/support/support.h"

namespace seganet {
namespace {

using test::kParent;

Record StampedRecord(std::string_view payload, std::string_view trace) {
  Record record = test::MakeRecord("dev", "topic", payload);
  record.trace = trace;
  record.ts_ms = 1'763'712'000'123;
  record.seq = 4'294'967'295;
  return record;
}

TEST(StoredPayload, GivesBackPayloadTraceAndStamp) {
  for (const std::string_view payload : {std::string_view(""), std::string_view("payload")}) {
    for (const std::string_view trace : {std::string_view(""), kParent}) {
      for (const bool is_stamped : {false, true}) {
        const Record record = StampedRecord(payload, trace);
        std::string bytes;
        AppendStored(record, is_stamped, &bytes);
        EXPECT_EQ(bytes.size(), StoredBytes(record, is_stamped));
        std::string_view stored = bytes;
        const StoredTail tail = TakeTail(StoredFlags(record, is_stamped), &stored);
        EXPECT_EQ(stored, payload);
        EXPECT_EQ(tail.trace, trace);
        EXPECT_EQ(tail.is_stamped, is_stamped);
        EXPECT_EQ(tail.ts_ms, is_stamped ? record.ts_ms : 0);
        EXPECT_EQ(tail.seq, is_stamped ? record.seq : 0);
      }
    }
  }
}

TEST(StoredPayload, HasTheBytesThatTheLogFormatDescribes) {
  std::string bytes;
  AppendStored(StampedRecord("p", ""), true, &bytes);
  // 1763712000123 = 0x19aa56d607b
  EXPECT_EQ(bytes, std::string("p\x7b\x60\x6d\xa5\x9a\x01\0\0\xff\xff\xff\xff", 13));
}

TEST(StoredPayload, OfAnEnvelopeHasNoStamp) {
  Record record = StampedRecord("{}\n", "");
  record.flags = kFlagEnvelope;
  EXPECT_EQ(StoredFlags(record, true), 0);
  const BatchPtr batch = SingleBatch(record, true);
  EXPECT_EQ(batch->bytes, "devtopic{}\n");
  EXPECT_EQ(batch->flags, kFlagEnvelope);
}

TEST(StoredPayload, KeepsBytesThatAreTooShortForAStamp) {
  test::Random random;
  for (int i = 0; i < 2'000; ++i) {
    const std::string bytes = random.Bytes(random.In<size_t>(0, 40));
    std::string_view stored = bytes;
    const StoredTail tail = TakeTail(random.In<uint8_t>(0, 31), &stored);
    EXPECT_TRUE(std::string_view(bytes).starts_with(stored));
    EXPECT_EQ(tail.is_stamped ? bytes.size() - kStampBytes : bytes.size(),
              stored.size() + StoredTraceBytes(tail.trace));
  }
}

TEST(StoredPayload, IsReadFromAnEntryWithoutItsTail) {
  std::string bytes;
  AppendEntry(StampedRecord("payload", kParent), &bytes, true);
  Entry entry;
  ASSERT_TRUE(ReadEntry(bytes, &entry));
  EXPECT_EQ(entry.payload, "payload");
  EXPECT_EQ(entry.trace, kParent);
  EXPECT_EQ(entry.flags, kFlagTrace | kFlagStamp);
}

}  // namespace
}  // namespace seganet

#include "core/record/trace_context.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "core/queue/batch.h"
#include "core/record/encoder.h"
#include "test/support/support.h"

namespace seganet {
namespace {

using test::kParent;

constexpr std::string_view kState = "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE";

std::string Changed(size_t at, char c) {
  std::string parent(kParent);
  parent[at] = c;
  return parent;
}

TEST(TraceContext, TakesATraceparentAsTheSpecificationWritesIt) {
  EXPECT_TRUE(ValidTraceparent(kParent));
  EXPECT_TRUE(ValidTraceparent(Changed(0, '1'))) << "a later version of the same length";
  EXPECT_FALSE(ValidTraceparent(""));
  EXPECT_FALSE(ValidTraceparent(kParent.substr(1)));
  EXPECT_FALSE(ValidTraceparent(std::string(kParent) + "-"));
  EXPECT_FALSE(ValidTraceparent("ff" + std::string(kParent.substr(2))));
  EXPECT_FALSE(ValidTraceparent("00-00000000000000000000000000000000-00f067aa0ba902b7-01"));
  EXPECT_FALSE(ValidTraceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01"));
  for (size_t i = 0; i < kParent.size(); ++i) {
    EXPECT_FALSE(ValidTraceparent(Changed(i, 'A'))) << "upper case at " << i;
    EXPECT_FALSE(ValidTraceparent(Changed(i, '"'))) << i;
  }
}

TEST(TraceContext, LeavesOutATracestateThatIsNotValid) {
  std::string buffer;
  EXPECT_EQ(MakeTrace(kParent, kState, &buffer), std::string(kParent) + std::string(kState));
  EXPECT_EQ(MakeTrace(kParent, "", &buffer), kParent);
  EXPECT_EQ(MakeTrace(kParent, std::string(512, 'a'), &buffer).size(), kMaxTraceBytes);
  EXPECT_EQ(MakeTrace(kParent, std::string(513, 'a'), &buffer), kParent);
  for (const std::string_view bad : {"a=\"", "a=\\", "a=\n", "a=\xC3\xA9", "a=\x7F"}) {
    EXPECT_EQ(MakeTrace(kParent, bad, &buffer), kParent);
  }
  EXPECT_EQ(MakeTrace("nonsense", kState, &buffer), "");
}

TEST(TraceContext, IsStoredBehindThePayload) {
  std::string buffer;
  const std::string_view trace = MakeTrace(kParent, kState, &buffer);
  for (const std::string_view payload : {"", "payload"}) {
    std::string bytes(payload);
    AppendStoredTrace(trace, &bytes);
    EXPECT_EQ(bytes.size(), payload.size() + StoredTraceBytes(trace));
    std::string_view stored = bytes;
    EXPECT_EQ(TakeStoredTrace(&stored), trace);
    EXPECT_EQ(stored, payload);
  }
  std::string bytes = "payload";
  AppendStoredTrace("", &bytes);
  EXPECT_EQ(bytes, "payload");
}

TEST(TraceContext, BytesThatAreNoTraceStayInThePayload) {
  test::Random random;
  for (int i = 0; i < 2'000; ++i) {
    std::string bytes = random.Bytes(random.In<size_t>(0, 100));
    if (random.OneIn(2) && bytes.size() >= 2) {
      bytes[bytes.size() - 2] = static_cast<char>(random.In<int>(0, 100));
      bytes.back() = '\0';
    }
    std::string_view stored = bytes;
    EXPECT_EQ(TakeStoredTrace(&stored), "");
    EXPECT_EQ(stored, bytes);
  }
}

TEST(TraceContext, IsInTheLineOfAnEnvelope) {
  std::string buffer;
  Record record = test::MakeRecord("dev", "t", "1", kHigh);
  record.trace = MakeTrace(kParent, kState, &buffer);
  std::string line;
  AppendNdjson(record, &line);
  EXPECT_EQ(line, "{\"d\":\"dev\",\"t\":\"t\",\"ts\":" + std::to_string(record.ts_ms) +
                      ",\"s\":" + std::to_string(record.seq) + ",\"c\":2,\"traceparent\":\"" +
                      std::string(kParent) + "\",\"tracestate\":\"" + std::string(kState) +
                      "\",\"p\":1}\n");
  record.trace = kParent;
  line.clear();
  AppendNdjson(record, &line);
  EXPECT_NE(line.find("\"traceparent\""), std::string::npos);
  EXPECT_EQ(line.find("\"tracestate\""), std::string::npos);
}

TEST(TraceContext, IsInTheEntryOfABatch) {
  std::string buffer;
  Record record = test::MakeRecord("dev", "topic", "payload", kHigh);
  record.flags = kFlagQos1;
  record.trace = MakeTrace(kParent, kState, &buffer);
  std::string entries;
  AppendEntry(record, &entries);
  record.trace = {};
  AppendEntry(record, &entries);
  const size_t end = EntryEnd(entries, 0);
  Entry entry;
  ASSERT_TRUE(ReadEntry(std::string_view(entries).substr(0, end), &entry));
  EXPECT_EQ(entry.payload, "payload");
  EXPECT_EQ(entry.trace, buffer);
  EXPECT_EQ(entry.flags, kFlagQos1 | kFlagTrace);
  ASSERT_TRUE(ReadEntry(std::string_view(entries).substr(end), &entry));
  EXPECT_EQ(entry.payload, "payload");
  EXPECT_EQ(entry.trace, "");
  EXPECT_EQ(entry.flags, kFlagQos1);
}

TEST(TraceContext, IsKeptByABatchOfOneRecord) {
  std::string buffer;
  Record record = test::MakeRecord("dev", "topic", "payload", kHigh);
  record.trace = MakeTrace(kParent, kState, &buffer);
  const BatchPtr batch = SingleBatch(record);
  EXPECT_EQ(batch->record_bytes, 7u);
  const BatchPtr again = BatchOf(EntryOf(*batch), kHigh, 1);
  EXPECT_EQ(again->flags, kFlagTrace);
  std::string_view stored = std::string_view(again->bytes).substr(8);
  EXPECT_EQ(TakeStoredTrace(&stored), buffer);
  EXPECT_EQ(stored, "payload");
}

}  // namespace
}  // namespace seganet

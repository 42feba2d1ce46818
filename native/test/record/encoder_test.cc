#include "core/record/encoder.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/record/frame.h"
#include "core/record/json.h"
#include "core/record/trace_context.h"
#include "test/support/support.h"

namespace seganet {
namespace {

std::string Line(std::string_view payload, std::string_view device = "dev",
                 std::string_view topic = "t") {
  Record record = test::MakeRecord(device, topic, payload, kHigh);
  record.ts_ms = 1'700'000'000'123;
  record.seq = 4'294'967'295;
  std::string out;
  AppendNdjson(record, &out);
  return out;
}

TEST(Ndjson, EmbedsJsonUnchanged) {
  EXPECT_EQ(Line("{\"v\": 21.50}"),
            "{\"d\":\"dev\",\"t\":\"t\",\"ts\":1700000000123,\"s\":4294967295,\"c\":2,"
            "\"p\":{\"v\": 21.50}}\n");
}

TEST(Ndjson, CarriesOtherBytesAsBase64) {
  EXPECT_EQ(Line("on"),
            "{\"d\":\"dev\",\"t\":\"t\",\"ts\":1700000000123,\"s\":4294967295,\"c\":2,"
            "\"b\":\"b24=\"}\n");
  EXPECT_NE(Line("").find("\"b\":\"\"}"), std::string::npos);
  EXPECT_NE(Line("\"\xFF\"").find("\"b\":\"Iv8i\"}"), std::string::npos);
}

TEST(Ndjson, EscapesNames) {
  EXPECT_EQ(Line("1", "d\"\n", "a\\b/\xFF").substr(0, 38),
            "{\"d\":\"d\\\"\\u000a\",\"t\":\"a\\\\b/\xEF\xBF\xBD\",\"ts\":1");
}

TEST(Ndjson, TurnsLineBreaksBetweenTokensIntoSpaces) {
  EXPECT_NE(Line("{\r\n \"a\\n\":\n1\r}").find("\"p\":{   \"a\\n\": 1 }}\n"), std::string::npos);
}

TEST(Ndjson, AppendsToExistingOutput) {
  std::string out = "before\n";
  AppendNdjson(test::MakeRecord("d", "t", "1\n"), &out);
  EXPECT_EQ(out.substr(0, 8), "before\n{");
}

TEST(Ndjson, EveryRecordIsOneLineOfJson) {
  test::Random random;
  for (int i = 0; i < 20'000; ++i) {
    const std::string device = random.Bytes(random.In<size_t>(1, 8));
    const std::string topic = random.Bytes(random.In<size_t>(0, 8));
    const std::string payload = random.OneIn(2)
                                    ? random.Text(random.In<size_t>(0, 8), "[]{},:\"1\n\r a")
                                    : random.Bytes(random.In<size_t>(0, 9));
    const std::string line = Line(payload, device, topic);
    ASSERT_EQ(line.find('\n'), line.size() - 1) << testing::PrintToString(line);
    bool has_newline = false;
    ASSERT_TRUE(IsJson(line, &has_newline)) << testing::PrintToString(line);
  }
}

TEST(Entries, HaveTheDocumentedLayout) {
  Record record = test::MakeRecord("dev", "a/b", std::string_view("\0\xFF", 2));
  record.flags = kFlagQos1 | kFlagRetain;
  std::string out = "x";
  AppendEntry(record, &out);
  EXPECT_EQ(out, std::string("x\x03\x02\x03\0\x02\0\0\0"
                             "deva/b\0\xFF",
                             17));
}

TEST(Entries, HoldTheLargestNames) {
  const std::string device(kMaxDeviceBytes, 'd');
  const std::string topic(kMaxTopicBytes, 't');
  std::string out;
  AppendEntry(test::MakeRecord(device, topic, std::string(70'000, 'p')), &out);
  EXPECT_EQ(out.size(), 8 + device.size() + topic.size() + 70'000);
  EXPECT_EQ(out.substr(1, 7), std::string("\xFF\xFF\xFF\x70\x11\x01\0", 7));
}

// MQTT 3.1.1, 3.3: first byte, remaining length of up to four, topic with its length, identifier.
TEST(Entries, PublishBytesIsAnUpperBound) {
  for (size_t size : {0u, 1u, 100u, 127u, 16'383u, 16'384u, 2'097'152u}) {
    const std::string payload(size, 'x');
    const size_t remaining = 2 + 3 + 2 + size;
    const size_t digits = remaining < 128         ? 1
                          : remaining < 16'384    ? 2
                          : remaining < 2'097'152 ? 3
                                                  : 4;
    const size_t exact = 1 + digits + remaining;
    const size_t counted = PublishBytes(test::MakeRecord("d", "a/b", payload));
    EXPECT_GE(counted, exact);
    EXPECT_LE(counted, exact + 3);
  }
}

TEST(Frames, CarryARecordThereAndBack) {
  test::Random random;
  for (int i = 0; i < 2'000; ++i) {
    const std::string device = random.Bytes(random.In<size_t>(1, kMaxDeviceBytes));
    const std::string topic = random.Bytes(random.In<size_t>(0, random.OneIn(20) ? 65'535 : 40));
    const std::string payload = random.Bytes(random.In<size_t>(0, 100));
    Record record = test::MakeRecord(device, topic, payload, random.In<uint8_t>(1, 4));
    record.flags = random.In<uint8_t>(0, 7);
    record.seq = random.In<uint32_t>(0, UINT32_MAX);
    record.ticket = random.In<uint32_t>(0, UINT32_MAX);
    record.ts_ms = random.In<int64_t>(0, 8'640'000'000'000'000);
    std::string trace;
    if (random.OneIn(3)) {
      record.trace = MakeTrace("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                               std::string(random.In<size_t>(0, 600), 'a'), &trace);
    }
    const size_t bytes = FrameBytes(record);
    ASSERT_EQ(bytes % 8, 0u);
    // Exactly as long as promised, so that ASan detects one byte too many.
    const std::unique_ptr<char[]> frame(new char[bytes]);
    WriteRecordFrame(record, 4'000'000'000u, frame.get());
    const Record back = ReadRecordFrame(frame.get());
    ASSERT_EQ(FrameStage(frame.get()), 4'000'000'000u);
    ASSERT_EQ(back.device, record.device);
    ASSERT_EQ(back.topic, record.topic);
    ASSERT_EQ(back.payload, record.payload);
    ASSERT_EQ(back.trace, record.trace);
    ASSERT_EQ(back.record_class, record.record_class);
    ASSERT_EQ(back.flags, record.flags);
    ASSERT_EQ(back.seq, record.seq);
    ASSERT_EQ(back.ticket, record.ticket);
    ASSERT_EQ(back.ts_ms, record.ts_ms);
  }
}

// nodes/lib/base/frame.js reads these offsets.
TEST(Frames, HaveTheDocumentedHeader) {
  Record record = test::MakeRecord("dev", "topic", "payload", kBulk);
  record.flags = kFlagRetain;
  record.note = "note";
  record.seq = 7;
  record.ts_ms = 1'700'000'000'000;
  std::vector<char> frame(FrameBytes(record), '\xAA');
  WriteRecordFrame(record, 9, frame.data());
  const auto u32 = [&frame](size_t at) {
    uint32_t value;
    std::memcpy(&value, frame.data() + at, 4);
    return value;
  };
  const auto f64 = [&frame](size_t at) {
    double value;
    std::memcpy(&value, frame.data() + at, 8);
    return value;
  };
  EXPECT_EQ(u32(0), 104u);
  EXPECT_EQ(u32(4), 9u);
  EXPECT_EQ(std::string(&frame[8], 4), std::string("\0\x04\x02\0", 4));
  EXPECT_EQ(u32(12), 7u);
  EXPECT_EQ(u32(16), 1u);
  EXPECT_EQ(u32(20), 3u);
  EXPECT_EQ(u32(24), 5u);
  EXPECT_EQ(u32(28), 7u);
  EXPECT_EQ(f64(32), 1.7e12);
  EXPECT_EQ(f64(40), 1.7e12);
  EXPECT_EQ(f64(48), 0);
  EXPECT_EQ(u32(56), 7u);
  EXPECT_EQ(u32(72), 4u);
  EXPECT_EQ(std::string(&frame[80], 19), "devtopicpayloadnote");
}

}  // namespace
}  // namespace seganet

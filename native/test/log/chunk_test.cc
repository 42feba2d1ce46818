#include "core/log/chunk.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/log/crc32c.h"
#include "test/support/support.h"

namespace seganet {
namespace {

using test::Random;

constexpr uint64_t kEpoch = 1'806'041'088'126'729;
constexpr int64_t kTs = 1'763'712'000'123;

// The bytes of native/test/golden/<name>, which the tests in JavaScript read too.
std::string Golden(const std::string& name) {
  std::ifstream file(std::filesystem::path(__FILE__).parent_path().parent_path() / "golden" / name);
  std::string bytes;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    for (size_t i = 0; i + 1 < line.size(); i += 3) {
      bytes.push_back(static_cast<char>(std::strtol(line.substr(i, 2).c_str(), nullptr, 16)));
    }
  }
  return bytes;
}

ChunkEntry Entry(uint64_t sequence, uint8_t kind, uint32_t records, std::string_view bytes) {
  ChunkEntry entry;
  entry.sequence = sequence;
  entry.kind = kind;
  entry.record_count = records;
  entry.bytes = bytes;
  return entry;
}

std::string TwoLines() {
  return "{\"d\":\"meter-7\",\"t\":\"hall/meter-7\",\"ts\":1763712000133,\"s\":42,\"c\":3,"
         "\"p\":{\"kWh\":12.6}}\n"
         "{\"d\":\"cam-2\",\"t\":\"gate/cam-2\",\"ts\":1763712000140,\"s\":7,\"c\":3,"
         "\"b\":\"/9j/4AAQ\"}\n";
}

std::string TwoEntries() {
  const std::string_view first("\x01\x06\x0c\0\x0c\0\0\0meter-7hall/meter-7{\"kWh\":12.7}", 39);
  const std::string_view second("\x02\x04\x0a\0\x06\0\0\0cam-2gate/cam-2\xff\xd8\xff\xe0\0\x10",
                                29);
  return std::string(first) + std::string(second);
}

void Set(ChunkEntry* entry, int64_t after_ms, int64_t until_ms, uint32_t record_bytes,
         uint8_t reason) {
  entry->first_ts_ms = kTs + after_ms;
  entry->last_ts_ms = kTs + until_ms;
  entry->oldest_us = 91'000'123 + after_ms * 1000;
  entry->record_bytes = record_bytes;
  entry->reason = reason;
}

// The content of the golden file.
std::string Written() {
  const std::string lines = TwoLines(), entries = TwoEntries();
  ChunkEntry single = Entry(10423, 0, 1, "meter-7hall/meter-7{\"kWh\":12.5}");
  Set(&single, 0, 0, 12, 0);
  single.topic_bytes = 12;
  single.device_bytes = 7;
  single.flags = 1;
  ChunkEntry envelope = Entry(10424, 1, 2, lines);
  Set(&envelope, 10, 17, 18, 2);
  ChunkEntry records = Entry(10430, 2, 2, entries);
  Set(&records, 20, 27, 18, 3);
  ChunkWriter writer(3, kEpoch);
  for (const ChunkEntry& entry : {single, envelope, records}) writer.Add(entry);
  EXPECT_EQ(writer.batches(), 3);
  EXPECT_EQ(writer.records(), 5u);
  const size_t size = writer.size();
  std::string chunk;
  writer.Finish(&chunk);
  EXPECT_EQ(chunk.size(), size);
  EXPECT_EQ(writer.batches() + writer.records(), 0u);
  EXPECT_EQ(writer.size(), kChunkHeadBytes);
  return chunk;
}

bool Same(const ChunkEntry& a, const ChunkEntry& b) {
  return a.sequence == b.sequence && a.first_ts_ms == b.first_ts_ms &&
         a.last_ts_ms == b.last_ts_ms && a.oldest_us == b.oldest_us &&
         a.record_count == b.record_count && a.record_bytes == b.record_bytes &&
         a.topic_bytes == b.topic_bytes && a.device_bytes == b.device_bytes && a.kind == b.kind &&
         a.reason == b.reason && a.flags == b.flags && a.bytes == b.bytes;
}

struct Reading {
  // A copy that ends where its allocation ends: AddressSanitizer sees a read beyond it.
  explicit Reading(std::string_view chunk)
      : bytes(chunk.begin(), chunk.end()),
        error(ReadChunk({bytes.data(), bytes.size()}, &head, &entries)) {}
  const std::vector<char> bytes;
  ChunkHead head;
  std::vector<ChunkEntry> entries;
  const ChunkError error;
};

// True if the entries of a damaged chunk are some of those of the whole one, in their order.
bool SomeOf(const std::vector<ChunkEntry>& some, const std::vector<ChunkEntry>& all) {
  size_t at = 0;
  for (const ChunkEntry& entry : some) {
    while (at < all.size() && !Same(entry, all[at])) ++at;
    if (at++ == all.size()) return false;
  }
  return true;
}

// Writes `value` at `at`, with a matching checksum.
std::string Patched(std::string chunk, size_t at, std::string_view value, bool in_head) {
  chunk.replace(at, value.size(), value);
  const size_t start = in_head ? 0 : kChunkHeadBytes;
  const size_t crc_at = start + (in_head ? 28 : 52);
  const std::string_view whole(chunk);
  uint32_t crc = Crc32c(whole.substr(start, crc_at - start));
  if (!in_head) crc = Crc32c(whole.substr(start + kChunkEntryBytes, 31), crc);
  for (size_t i = 0; i < 4; ++i) chunk[crc_at + i] = static_cast<char>(crc >> (8 * i));
  return chunk;
}

std::string InHead(size_t at, std::string_view value) {
  return Patched(Golden("chunk-v1.hex"), at, value, true);
}
std::string InFirstEntry(size_t at, std::string_view value) {
  return Patched(Golden("chunk-v1.hex"), kChunkHeadBytes + at, value, false);
}

TEST(Chunk, WritesTheGoldenBytes) {
  const std::string golden = Golden("chunk-v1.hex");
  ASSERT_GT(golden.size(), 200u);
  EXPECT_EQ(Written(), golden);
}

TEST(Chunk, ReadsTheGoldenBytes) {
  const std::string golden = Golden("chunk-v1.hex");
  const Reading got(golden);
  ASSERT_EQ(got.error, ChunkError::kNone) << Name(got.error);
  EXPECT_EQ(got.head.record_class, 3);
  EXPECT_EQ(got.head.batches, 3);
  EXPECT_EQ(got.head.records, 5u);
  EXPECT_EQ(got.head.epoch, kEpoch);
  ASSERT_EQ(got.entries.size(), 3u);
  const ChunkEntry& single = got.entries[0];
  EXPECT_EQ(single.sequence, 10423u);
  EXPECT_EQ(single.first_ts_ms, kTs);
  EXPECT_EQ(single.oldest_us, 91'000'123);
  EXPECT_EQ(single.topic_bytes, 12);
  EXPECT_EQ(single.device_bytes, 7);
  EXPECT_EQ(single.flags, 1);
  EXPECT_EQ(got.entries[1].bytes, TwoLines());
  EXPECT_EQ(got.entries[1].last_ts_ms, kTs + 17);
  EXPECT_EQ(got.entries[1].reason, 2);
  EXPECT_EQ(got.entries[2].bytes, TwoEntries());
  EXPECT_EQ(got.entries[2].record_bytes, 18u);
}

TEST(Chunk, EveryFlippedBitIsFoundAndCostsAtMostTheBatchesThatItHits) {
  const std::string golden = Golden("chunk-v1.hex");
  const Reading whole(golden);
  ASSERT_EQ(whole.entries.size(), 3u);
  for (size_t bit = 0; bit < golden.size() * 8; ++bit) {
    std::string damaged = golden;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    const Reading got(damaged);
    ASSERT_NE(got.error, ChunkError::kNone) << "bit " << bit;
    ASSERT_TRUE(SomeOf(got.entries, whole.entries)) << "bit " << bit;
    const size_t byte = bit / 8;
    const size_t first_length = kChunkHeadBytes + 40;
    if (byte < kChunkHeadBytes) {
      // Batches have separate checksums.
      ASSERT_EQ(got.entries.size(), 3u) << "bit " << bit << ", " << Name(got.error);
    } else if (byte < kChunkHeadBytes + ChunkBytes(whole.entries[0]) &&
               (byte < first_length || byte >= first_length + 4)) {
      ASSERT_EQ(got.error, ChunkError::kBadEntry) << "bit " << bit;
      ASSERT_EQ(got.entries.size(), 2u) << "bit " << bit;
    } else {
      ASSERT_LT(got.entries.size(), 3u) << "bit " << bit;
    }
  }
}

TEST(Chunk, CutAtEveryByteGivesWhatIsWhole) {
  const std::string golden = Golden("chunk-v1.hex");
  const Reading whole(golden);
  for (size_t length = 0; length < golden.size(); ++length) {
    const Reading got(std::string_view(golden).substr(0, length));
    ASSERT_EQ(got.error, ChunkError::kTooShort) << length;
    size_t end = kChunkHeadBytes, complete = 0;
    while (complete < 3 && (end += ChunkBytes(whole.entries[complete])) <= length) ++complete;
    ASSERT_EQ(got.entries.size(), complete) << length;
    ASSERT_TRUE(SomeOf(got.entries, whole.entries)) << length;
  }
}

TEST(Chunk, BytesLeftOverAreAnError) {
  const std::string golden = Golden("chunk-v1.hex");
  for (const std::string& more : {std::string(1, '\0'), std::string(56, '\0'), golden}) {
    const Reading got(golden + more);
    EXPECT_EQ(got.error, ChunkError::kBadSums);
    EXPECT_EQ(got.entries.size(), 3u);
  }
}

TEST(Chunk, ValuesThatCannotBeAreRefusedThoughTheirChecksumIsRight) {
  EXPECT_EQ(Reading(Golden("chunk-v1.hex")).error, ChunkError::kNone);
  const auto head = [](size_t at, std::string_view value) {
    return Reading(InHead(at, value)).error;
  };
  EXPECT_EQ(head(0, "SGC2"), ChunkError::kBadMagic);
  EXPECT_EQ(head(4, "\x02"), ChunkError::kBadVersion);
  EXPECT_EQ(head(4, {"\0", 1}), ChunkError::kBadVersion);
  EXPECT_EQ(head(5, {"\0", 1}), ChunkError::kBadHead);
  EXPECT_EQ(head(5, "\x09"), ChunkError::kBadHead);
  EXPECT_EQ(head(6, {"\0\0", 2}), ChunkError::kBadHead);
  EXPECT_EQ(head(6, "\x02"), ChunkError::kBadSums);
  EXPECT_EQ(head(8, "\x06"), ChunkError::kBadSums);
  EXPECT_EQ(head(24, "\x01"), ChunkError::kBadHead);
  EXPECT_EQ(head(27, "\x80"), ChunkError::kBadHead);

  const auto entry = [](size_t at, std::string_view value) {
    const Reading got(InFirstEntry(at, value));
    EXPECT_EQ(got.entries.size(), got.error == ChunkError::kNone ? 3u : 2u);
    return got.error;
  };
  EXPECT_EQ(entry(48, {"\0", 1}), ChunkError::kNone);
  EXPECT_EQ(entry(48, "\x03"), ChunkError::kBadEntry);
  EXPECT_EQ(entry(51, "\x01"), ChunkError::kBadEntry);
  EXPECT_EQ(entry(32, {"\0", 1}), ChunkError::kBadEntry);  // no records
  EXPECT_EQ(entry(32, "\x02"), ChunkError::kBadEntry);     // two in a batch of kind single
  EXPECT_EQ(entry(44, "\x19"), ChunkError::kBadEntry);     // topic + device: 32 of 31 bytes
  EXPECT_EQ(entry(44, "\xff\xff\xff\xff"), ChunkError::kBadEntry);
}

TEST(Chunk, OfANewerVersionIsNotReadAtAll) {
  EXPECT_TRUE(Reading(InHead(4, "\x02")).entries.empty());
}

TEST(Chunk, LengthsAtTheirLimitsDoNotReadBeyondTheEnd) {
  for (const char* size : {"\xff\xff\xff\xff", "\xc8\xff\xff\xff", "\x00\x00\x00\x80"}) {
    const Reading got(InFirstEntry(40, {size, 4}));
    EXPECT_EQ(got.error, ChunkError::kBadEntry);
    EXPECT_TRUE(got.entries.empty());
    EXPECT_EQ(Reading(InHead(12, {size, 4})).error, ChunkError::kTooShort);
  }
}

TEST(Chunk, IsAppended) {
  ChunkWriter writer(1, 7);
  writer.Add(Entry(1, 1, 1, "{}\n"));
  std::string out = "node";
  writer.Finish(&out);
  EXPECT_TRUE(out.starts_with("nodeSGC1"));
  EXPECT_EQ(Reading(std::string_view(out).substr(4)).error, ChunkError::kNone);
}

TEST(Chunk, WhatIsWrittenIsRead) {
  Random random;
  for (int round = 0; round < 300; ++round) {
    const auto record_class = random.In<uint16_t>(1, kClasses);
    const auto epoch = random.In<uint64_t>(0, UINT64_MAX);
    ChunkWriter writer(static_cast<uint8_t>(record_class), epoch);
    std::vector<std::string> bytes(random.In<size_t>(1, 20));
    std::vector<ChunkEntry> written;
    uint32_t records = 0;
    for (std::string& one : bytes) {
      one = random.Bytes(random.OneIn(10) ? 70'000 : random.In<size_t>(0, 300));
      const auto kind = static_cast<uint8_t>(random.In(0, 2));
      ChunkEntry entry = Entry(random.In<uint64_t>(0, UINT64_MAX), kind,
                               kind == 0 ? 1 : random.In<uint32_t>(1, 1000), one);
      entry.first_ts_ms = random.In<int64_t>(INT64_MIN, INT64_MAX);
      entry.last_ts_ms = random.In<int64_t>(INT64_MIN, INT64_MAX);
      entry.oldest_us = random.In<int64_t>(INT64_MIN, INT64_MAX);
      entry.record_bytes = random.In<uint32_t>(0, UINT32_MAX);
      entry.topic_bytes =
          static_cast<uint16_t>(random.In<size_t>(0, std::min<size_t>(one.size(), 65'535)));
      entry.device_bytes = static_cast<uint16_t>(
          random.In<size_t>(0, std::min<size_t>(one.size() - entry.topic_bytes, 65'535)));
      entry.reason = static_cast<uint8_t>(random.In(0, 255));
      entry.flags = static_cast<uint8_t>(random.In(0, 255));
      records += entry.record_count;
      written.push_back(entry);
      writer.Add(entry);
    }
    std::string chunk;
    writer.Finish(&chunk);
    const Reading got(chunk);
    ASSERT_EQ(got.error, ChunkError::kNone) << "round " << round << ": " << Name(got.error);
    ASSERT_EQ(got.head.record_class, record_class);
    ASSERT_EQ(got.head.epoch, epoch);
    ASSERT_EQ(got.head.records, records);
    ASSERT_EQ(got.entries.size(), written.size());
    ASSERT_TRUE(SomeOf(got.entries, written)) << "round " << round;
  }
}

TEST(Chunk, RubbishIsNoChunk) {
  Random random;
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = random.Bytes(random.In<size_t>(0, 400));
    if (random.OneIn(2)) bytes.replace(0, std::min<size_t>(4, bytes.size()), "SGC1");
    const Reading got(bytes);
    ASSERT_NE(got.error, ChunkError::kNone);
    ASSERT_TRUE(got.entries.empty());
  }
}

}  // namespace
}  // namespace seganet

#include "core/log/chunk.h"

#include <type_traits>

#include "core/base/require.h"
#include "core/log/crc32c.h"
#include "core/record/record.h"

namespace seganet {
namespace {

constexpr std::string_view kMagic = "SGC1";
constexpr uint8_t kVersion = 1;
constexpr uint8_t kKinds = 3;

// Offsets of fields (docs/reference/log-format.md).
constexpr size_t kHeadCrc = 28;
constexpr size_t kEntrySize = 40;
constexpr size_t kEntryCrc = 52;

template <typename Number>
void Write(Number number, char* to) {
  for (size_t i = 0; i < sizeof number; ++i) {
    to[i] = static_cast<char>(static_cast<std::make_unsigned_t<Number>>(number) >> (8 * i));
  }
}

// Reads a little-endian number. REQUIRES: at + sizeof(Number) <= bytes.size().
template <typename Number>
Number Read(std::string_view bytes, size_t at) {
  SEGANET_REQUIRE(at + sizeof(Number) <= bytes.size());
  std::make_unsigned_t<Number> number = 0;
  for (size_t i = 0; i < sizeof number; ++i) {
    number |= static_cast<std::make_unsigned_t<Number>>(
        static_cast<std::make_unsigned_t<Number>>(static_cast<uint8_t>(bytes[at + i])) << (8 * i));
  }
  return static_cast<Number>(number);
}

// Reads the header, and the size of all entries in bytes. REQUIRES: bytes.size() >=
// kChunkHeadBytes.
ChunkError ReadHead(std::string_view bytes, ChunkHead* head, uint32_t* size) {
  SEGANET_REQUIRE(bytes.size() >= kChunkHeadBytes);
  if (!bytes.starts_with(kMagic)) return ChunkError::kBadMagic;
  // Magic, version and checksum have the same offsets in all versions, so that a damaged version is
  // not mistaken for a chunk of a newer program.
  if (Crc32c(bytes.substr(0, kHeadCrc)) != Read<uint32_t>(bytes, kHeadCrc)) {
    return ChunkError::kBadHead;
  }
  if (Read<uint8_t>(bytes, 4) != kVersion) return ChunkError::kBadVersion;
  ChunkHead read;
  read.record_class = Read<uint8_t>(bytes, 5);
  read.batches = Read<uint16_t>(bytes, 6);
  read.records = Read<uint32_t>(bytes, 8);
  read.epoch = Read<uint64_t>(bytes, 16);
  if (!ValidClass(read.record_class) || read.batches == 0 || Read<uint32_t>(bytes, 24) != 0) {
    return ChunkError::kBadHead;
  }
  *head = read;
  *size = Read<uint32_t>(bytes, 12);
  return ChunkError::kNone;
}

// Returns the size of the entry at the start of `bytes`, from the entry's own size field; 0 = the
// entry would end beyond `bytes`.
size_t EntryBytes(std::string_view bytes) {
  if (bytes.size() < kChunkEntryBytes) return 0;
  const size_t size = Read<uint32_t>(bytes, kEntrySize);
  return size <= bytes.size() - kChunkEntryBytes ? kChunkEntryBytes + size : 0;
}

// Reads and checks an entry. REQUIRES: bytes.size() is the result of EntryBytes.
bool ReadEntry(std::string_view bytes, ChunkEntry* entry) {
  SEGANET_REQUIRE(!bytes.empty() && EntryBytes(bytes) == bytes.size());
  const uint32_t crc = Crc32c(bytes.substr(kChunkEntryBytes), Crc32c(bytes.substr(0, kEntryCrc)));
  if (crc != Read<uint32_t>(bytes, kEntryCrc)) return false;
  entry->sequence = Read<uint64_t>(bytes, 0);
  entry->first_ts_ms = Read<int64_t>(bytes, 8);
  entry->last_ts_ms = Read<int64_t>(bytes, 16);
  entry->oldest_us = Read<int64_t>(bytes, 24);
  entry->record_count = Read<uint32_t>(bytes, 32);
  entry->record_bytes = Read<uint32_t>(bytes, 36);
  entry->topic_bytes = Read<uint16_t>(bytes, 44);
  entry->device_bytes = Read<uint16_t>(bytes, 46);
  entry->kind = Read<uint8_t>(bytes, 48);
  entry->reason = Read<uint8_t>(bytes, 49);
  entry->flags = Read<uint8_t>(bytes, 50);
  entry->bytes = bytes.substr(kChunkEntryBytes);
  const size_t names = size_t{entry->topic_bytes} + entry->device_bytes;
  const bool count_fits = entry->kind == 0 ? entry->record_count == 1 : entry->record_count > 0;
  return entry->kind < kKinds && count_fits && names <= entry->bytes.size() &&
         Read<uint8_t>(bytes, 51) == 0;
}

// Reads entries until `rest` ends or the end of an entry is unknown. Returns false if any entry is
// damaged.
bool ReadEntries(std::string_view rest, std::vector<ChunkEntry>* entries) {
  bool sound = true;
  while (!rest.empty()) {
    const size_t length = EntryBytes(rest);
    if (length == 0) return false;
    ChunkEntry entry;
    // A damaged entry may have a valid length. If not, the entries after it fail their checksums.
    if (ReadEntry(rest.substr(0, length), &entry)) {
      entries->push_back(entry);
    } else {
      sound = false;
    }
    rest.remove_prefix(length);
  }
  return sound;
}

}  // namespace

void ChunkWriter::Add(const ChunkEntry& entry) {
  SEGANET_REQUIRE(batches_ < UINT16_MAX && size() + ChunkBytes(entry) <= UINT32_MAX);
  char fields[kChunkEntryBytes] = {};
  Write(entry.sequence, fields);
  Write(entry.first_ts_ms, fields + 8);
  Write(entry.last_ts_ms, fields + 16);
  Write(entry.oldest_us, fields + 24);
  Write(entry.record_count, fields + 32);
  Write(entry.record_bytes, fields + 36);
  Write(static_cast<uint32_t>(entry.bytes.size()), fields + kEntrySize);
  Write(entry.topic_bytes, fields + 44);
  Write(entry.device_bytes, fields + 46);
  Write(entry.kind, fields + 48);
  Write(entry.reason, fields + 49);
  Write(entry.flags, fields + 50);
  Write(Crc32c(entry.bytes, Crc32c({fields, kEntryCrc})), fields + kEntryCrc);
  entries_.append(fields, sizeof fields).append(entry.bytes);
  batches_ += 1;
  records_ += entry.record_count;
}

void ChunkWriter::Finish(std::string* out) {
  char fields[kChunkHeadBytes] = {};
  kMagic.copy(fields, kMagic.size());
  Write(kVersion, fields + 4);
  Write(class_, fields + 5);
  Write(batches_, fields + 6);
  Write(records_, fields + 8);
  Write(static_cast<uint32_t>(entries_.size()), fields + 12);
  Write(epoch_, fields + 16);
  Write(Crc32c({fields, kHeadCrc}), fields + kHeadCrc);
  out->reserve(out->size() + size());
  out->append(fields, sizeof fields).append(entries_);
  entries_.clear();
  batches_ = 0;
  records_ = 0;
}

const char* Name(ChunkError error) {
  switch (error) {
    case ChunkError::kNone:
      return "none";
    case ChunkError::kTooShort:
      return "too short";
    case ChunkError::kBadMagic:
      return "not a chunk";
    case ChunkError::kBadVersion:
      return "of a newer version";
    case ChunkError::kBadHead:
      return "damaged head";
    case ChunkError::kBadEntry:
      return "damaged batch";
    case ChunkError::kBadSums:
      return "wrong counts";
  }
  return "unknown";
}

ChunkError ReadChunk(std::string_view bytes, ChunkHead* head, std::vector<ChunkEntry>* entries) {
  *head = ChunkHead();
  entries->clear();
  if (bytes.size() < kChunkHeadBytes) return ChunkError::kTooShort;
  uint32_t size = 0;
  ChunkError error = ReadHead(bytes, head, &size);
  if (error == ChunkError::kBadVersion) return error;
  std::string_view rest = bytes.substr(kChunkHeadBytes);
  if (error == ChunkError::kNone && rest.size() < size) error = ChunkError::kTooShort;
  if (error == ChunkError::kNone && rest.size() > size) {
    error = ChunkError::kBadSums;
    rest = rest.substr(0, size);
  }
  const bool sound = ReadEntries(rest, entries);
  if (error != ChunkError::kNone) return error;
  if (!sound) return ChunkError::kBadEntry;
  uint64_t records = 0;
  for (const ChunkEntry& entry : *entries) records += entry.record_count;
  const bool sums = entries->size() == head->batches && records == head->records;
  return sums ? ChunkError::kNone : ChunkError::kBadSums;
}

}  // namespace seganet

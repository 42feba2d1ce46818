// Chunks: batches that are written to disk together, in one compact binary format
// (docs/log-format.md). A chunk never mixes classes, uplink nodes or runs of the engine.
#ifndef SEGANET_CORE_LOG_CHUNK_H_
#define SEGANET_CORE_LOG_CHUNK_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace seganet {

// What a chunk keeps of a batch (queue/batch.h); `bytes` belongs to whoever made the entry.
struct ChunkEntry {
  uint64_t sequence = 0;  // of the run that sealed it
  int64_t first_ts_ms = 0;
  int64_t last_ts_ms = 0;
  int64_t oldest_us = 0;  // CLOCK_MONOTONIC of that run
  uint32_t record_count = 0;
  uint32_t record_bytes = 0;
  uint16_t topic_bytes = 0;
  uint16_t device_bytes = 0;
  uint8_t kind = 0;    // BatchKind
  uint8_t reason = 0;  // SealReason
  uint8_t flags = 0;
  std::string_view bytes;
};

struct ChunkHead {
  uint8_t record_class = 0;
  uint16_t batches = 0;
  uint32_t records = 0;
  uint64_t epoch = 0;
};

inline constexpr size_t kChunkHeadBytes = 32;
inline constexpr size_t kChunkEntryBytes = 56;

// Bytes that `entry` adds to a chunk.
inline size_t ChunkBytes(const ChunkEntry& entry) { return kChunkEntryBytes + entry.bytes.size(); }

// Collects entries and writes them as one chunk. Thread safety: none.
class ChunkWriter {
 public:
  ChunkWriter(uint8_t record_class, uint64_t epoch) : class_(record_class), epoch_(epoch) {}

  // REQUIRES: batches() < 65535; the chunk stays below 4 GiB.
  void Add(const ChunkEntry& entry);

  uint16_t batches() const { return batches_; }
  uint32_t records() const { return records_; }
  // Of the chunk as it would be finished now.
  size_t size() const { return kChunkHeadBytes + entries_.size(); }

  // Appends the chunk to `out`; the writer is empty again.
  void Finish(std::string* out);

 private:
  const uint8_t class_;
  const uint64_t epoch_;
  uint16_t batches_ = 0;
  uint32_t records_ = 0;
  std::string entries_;
};

enum class ChunkError : uint8_t {
  kNone,
  kTooShort,
  kBadMagic,
  kBadVersion,  // of a newer program
  kBadHead,     // checksum, or values that cannot be
  kBadEntry,    // the same of a batch
  kBadSums,     // counts of the head and of the entries differ, or bytes are left over
};
const char* Name(ChunkError error);

// Checks all of a chunk. The entries' bytes point into `bytes`. On an error `entries` holds the
// batches that are sound and come before the damage or can be told apart from it.
ChunkError ReadChunk(std::string_view bytes, ChunkHead* head, std::vector<ChunkEntry>* entries);

}  // namespace seganet

#endif  // SEGANET_CORE_LOG_CHUNK_H_

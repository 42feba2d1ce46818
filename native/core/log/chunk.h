// Chunks: batches that are written to disk together, in a compact binary format
// (docs/reference/log-format.md). All batches of a chunk have the same class, uplink node and run
// of the engine.
#ifndef SEGANET_CORE_LOG_CHUNK_H_
#define SEGANET_CORE_LOG_CHUNK_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace seganet {

// The part of a batch (queue/batch.h) that a chunk stores. The creator of the entry owns `bytes`.
struct ChunkEntry {
  uint64_t sequence = 0;  // number of the batch in the run that sealed it
  int64_t first_ts_ms = 0;
  int64_t last_ts_ms = 0;
  int64_t oldest_us = 0;  // when its oldest record arrived, CLOCK_MONOTONIC of that run
  uint32_t record_count = 0;
  uint32_t record_bytes = 0;
  uint16_t topic_bytes = 0;
  uint16_t device_bytes = 0;
  uint8_t kind = 0;    // BatchKind
  uint8_t reason = 0;  // SealReason
  uint8_t flags = 0;
  std::string_view bytes;
};

// The header of a chunk.
struct ChunkHead {
  uint8_t record_class = 0;
  uint16_t batches = 0;
  uint32_t records = 0;
  uint64_t epoch = 0;
};

inline constexpr size_t kChunkHeadBytes = 32;
inline constexpr size_t kChunkEntryBytes = 56;

// Returns the number of bytes that `entry` adds to a chunk.
inline size_t ChunkBytes(const ChunkEntry& entry) { return kChunkEntryBytes + entry.bytes.size(); }

// Collects entries and writes them as one chunk.
//
// Thread safety: none.
class ChunkWriter {
 public:
  ChunkWriter(uint8_t record_class, uint64_t epoch) : class_(record_class), epoch_(epoch) {}

  // Copies the entry into the chunk. REQUIRES: batches() < 65535; the chunk stays below 4 GiB.
  void Add(const ChunkEntry& entry);

  uint16_t batches() const { return batches_; }
  uint32_t records() const { return records_; }
  // Returns the size in bytes that the chunk would have if Finish were called now.
  size_t size() const { return kChunkHeadBytes + entries_.size(); }

  // Appends the chunk to `out` and empties the writer.
  void Finish(std::string* out);

 private:
  const uint8_t class_;
  const uint64_t epoch_;
  uint16_t batches_ = 0;
  uint32_t records_ = 0;
  std::string entries_;
};

// Why a chunk cannot be read.
enum class ChunkError : uint8_t {
  kNone,
  kTooShort,
  kBadMagic,
  kBadVersion,  // written by a newer program
  kBadHead,     // wrong checksum or impossible values in the header
  kBadEntry,    // wrong checksum or impossible values in a batch
  kBadSums,     // the header's counts differ from the entries, or bytes remain
};
// Returns a description for display.
const char* Name(ChunkError error);

// Reads and checks a whole chunk. The entries' bytes point into `bytes`. On an error, `entries` has
// the undamaged batches: those before the damage, and those after it whose start is known.
ChunkError ReadChunk(std::string_view bytes, ChunkHead* head, std::vector<ChunkEntry>* entries);

}  // namespace seganet

#endif  // SEGANET_CORE_LOG_CHUNK_H_

// A sealed batch: what the uplink publishes and what the cloud acknowledges as one.
#ifndef SEGANET_CORE_QUEUE_BATCH_H_
#define SEGANET_CORE_QUEUE_BATCH_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/log/chunk.h"
#include "core/record/record.h"

namespace seganet {

// Order as in native/index.d.ts.
enum class BatchKind : uint8_t {
  kSingle = 0,    // bytes = device, topic, payload of one record, published as it stands
  kEnvelope = 1,  // bytes = NDJSON lines
  kRecords = 2,   // bytes = entries (record/encoder.h), each published on its own
};

enum class SealReason : uint8_t { kSingle, kBytes, kDelay, kFlush, kPlan, kDemand };

// Whether a batch is on disk.
enum class Saved : uint8_t {
  kNo,        // it has to be written (queue/unsaved.h)
  kUnderWay,  // it is in a chunk that is being written
  kYes,       // it is in a committed chunk
  kGivenUp,   // it is not, and is not written while it is where it is: the log refused it, or lost
              // it
};

struct Batch {
  uint64_t id = 0;        // set by Lanes; ascends in the order of sealing, or of loading
  uint64_t epoch = 0;     // of the run that sealed it; 0 = this one
  uint64_t sequence = 0;  // of that run; with epoch and class it names the batch for ever
  BatchKind kind = BatchKind::kEnvelope;
  SealReason reason = SealReason::kSingle;
  uint8_t record_class = 0;
  uint8_t flags = 0;  // kFlag…; of the record for kSingle
  bool redelivery = false;
  bool backlog = false;  // came back from the log
  // Is not spilled: the log may have been read beyond it, so it would come back behind newer ones.
  bool pinned = false;
  // Counted as dropped, because its row was removed while it was in flight. It may still arrive.
  bool given_up = false;
  Saved saved = Saved::kNo;
  uint16_t place = 0;   // its entry in the chunk
  uint32_t worker = 0;  // that sealed it, and that its receipts go back to
  uint64_t chunk = 0;   // ticket of the chunk that it is in, 0 = none
  uint32_t stage = 0;   // the uplink stage that it waits at
  uint32_t ticket = 0;
  uint32_t record_count = 0;
  uint32_t record_bytes = 0;  // payload bytes of its records
  uint32_t device_bytes = 0;  // kSingle: lengths of the strings before the payload
  uint32_t topic_bytes = 0;
  int64_t first_ts_ms = 0;
  int64_t last_ts_ms = 0;
  int64_t oldest_us = 0;  // CLOCK_MONOTONIC when its oldest record arrived
  int64_t sealed_us = 0;  // when it came to the lanes
  std::vector<Receipt> receipts;
  std::string bytes;
  // Neighbors in the list of unsaved batches.
  Batch* before = nullptr;
  Batch* after = nullptr;

  bool on_disk() const { return saved == Saved::kYes && chunk != 0; }

  // Memory holds it until it ends. The log does not keep tickets.
  bool stays() const { return pinned || ticket != 0; }

  // What it counts in the memory budget. Does not change while it waits: what is taken is given
  // back.
  size_t Cost() const { return sizeof(Batch) + bytes.capacity() + record_count * sizeof(Receipt); }
};

using BatchPtr = std::unique_ptr<Batch>;

// An empty batch whose class and times are those of its first record.
BatchPtr StartBatch(BatchKind kind, const Record& record);

// Counts a record whose bytes the caller appends.
void CountIn(const Record& record, Batch* batch);

// A batch of one record that is published as it stands.
BatchPtr SingleBatch(const Record& record);

// What the log keeps of a batch, and a batch from that. The entry's bytes are the batch's.
ChunkEntry EntryOf(const Batch& batch);
BatchPtr BatchOf(const ChunkEntry& entry, uint8_t record_class, uint64_t epoch);

// The batch with these records alone (ascending, from 0; a line of an envelope is a record), and
// with its receipts and its place in the log.
BatchPtr PickRecords(BatchPtr batch, const std::vector<uint32_t>& records);

}  // namespace seganet

#endif  // SEGANET_CORE_QUEUE_BATCH_H_

// A sealed batch: the unit that the uplink publishes and the cloud acknowledges.
#ifndef SEGANET_CORE_QUEUE_BATCH_H_
#define SEGANET_CORE_QUEUE_BATCH_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/log/chunk.h"
#include "core/record/record.h"

namespace seganet {

// The values are part of the log format and of the interface to JavaScript.
enum class BatchKind : uint8_t {
  kSingle = 0,    // bytes = device, topic, payload and trace of one record, published unchanged
  kEnvelope = 1,  // bytes = NDJSON lines, published as one message
  kRecords = 2,   // bytes = entries (record/encoder.h), each published as a message
};

// Why a batch was sealed. The values are part of the log format and of the interface to JavaScript.
enum class SealReason : uint8_t {
  kSingle,  // its record does not wait for others
  kBytes,   // it reached the byte limit
  kDelay,   // its oldest record reached the age limit
  kFlush,   // a flush, or a record of its class that does not wait
  kPlan,    // the plan changed
  kDemand,  // an uplink demanded a batch
};

// State of a batch with respect to the log.
enum class Saved : uint8_t {
  kNo,        // must be written (queue/unsaved.h)
  kUnderWay,  // in a chunk that is being written
  kYes,       // in a committed chunk
  kGivenUp,   // not on disk, and not written while it stays where it is: the log refused or lost it
};

struct Batch {
  uint64_t id = 0;        // set by Lanes; ascends in the order of sealing, or of loading
  uint64_t epoch = 0;     // of the run that sealed it; 0 = this one
  uint64_t sequence = 0;  // in that run; with epoch and class it identifies the batch permanently
  BatchKind kind = BatchKind::kEnvelope;
  SealReason reason = SealReason::kSingle;
  uint8_t record_class = 0;
  uint8_t flags = 0;        // kFlag…; of the record for kSingle
  bool redelivery = false;  // was sent before
  bool backlog = false;     // was read back from the log
  // Must not be spilled: the log may have been read beyond it, so it would come back after newer
  // batches.
  bool pinned = false;
  // Counted as dropped because its row was removed while it was in flight. It may still arrive.
  bool given_up = false;
  uint8_t takers = 0;  // outlets that have it in flight (Outlet::taker)
  Saved saved = Saved::kNo;
  uint16_t place = 0;   // index of its entry in the chunk
  uint32_t worker = 0;  // the worker that sealed it and gets its receipts
  uint64_t chunk = 0;   // ticket of the chunk that contains it, 0 = none
  uint32_t stage = 0;   // the uplink stage where it waits
  uint32_t ticket = 0;  // of the completion that its sender requests, 0 = none
  uint32_t record_count = 0;
  uint32_t record_bytes = 0;  // payload bytes of its records
  uint32_t device_bytes = 0;  // kSingle: lengths of the strings before the payload
  uint32_t topic_bytes = 0;
  int64_t first_ts_ms = 0;
  int64_t last_ts_ms = 0;
  int64_t oldest_us = 0;  // CLOCK_MONOTONIC when its oldest record arrived
  int64_t sealed_us = 0;  // CLOCK_MONOTONIC when it was pushed to the lanes
  int64_t due_us = 0;     // when the patience for its oldest record ends, 0 = there is no limit
  std::vector<Receipt> receipts;
  std::vector<Receipt> deferred;  // of Record::deferred; empty in the lanes
  std::string bytes;
  // Neighbors in the list of unsaved batches (UnsavedBatches).
  Batch* before = nullptr;
  Batch* after = nullptr;

  bool on_disk() const { return saved == Saved::kYes && chunk != 0; }

  // True if the batch stays in memory until it ends. The log does not store tickets.
  bool stays() const { return pinned || ticket != 0; }

  // Returns its cost in the memory budget, in bytes. The cost is constant while the batch waits, so
  // that the budget gets back exactly what was taken.
  size_t Cost() const { return sizeof(Batch) + bytes.capacity() + record_count * sizeof(Receipt); }
};

using BatchPtr = std::unique_ptr<Batch>;

// Returns an empty batch with the class and times of its first record.
BatchPtr StartBatch(BatchKind kind, const Record& record);

// Adds a record to the counts, times and receipts. The caller appends its bytes.
void CountIn(const Record& record, Batch* batch);

// Returns a batch of one record that is published unchanged. `is_stamped`: time and number follow
// the payload (record/stored_payload.h).
BatchPtr SingleBatch(const Record& record, bool is_stamped = false);

// Returns the part of a batch that the log stores. The entry's bytes point into the batch.
ChunkEntry EntryOf(const Batch& batch);
// Returns the batch of an entry. Copies its bytes.
BatchPtr BatchOf(const ChunkEntry& entry, uint8_t record_class, uint64_t epoch);

// Returns the batch reduced to these records (ascending, from 0; a line of an envelope is a
// record). It keeps all receipts and its place in the log. If the batch has none of the records, it
// stays whole.
BatchPtr PickRecords(BatchPtr batch, const std::vector<uint32_t>& records);

}  // namespace seganet

#endif  // SEGANET_CORE_QUEUE_BATCH_H_

// A sealed batch: what the uplink publishes and what the cloud acknowledges as one.
#ifndef SEGANET_CORE_QUEUE_BATCH_H_
#define SEGANET_CORE_QUEUE_BATCH_H_

#include <cstdint>
#include <memory>
#include <string>

#include "core/record/record.h"

namespace seganet {

// Order as in native/index.d.ts.
enum class BatchKind : uint8_t {
  kSingle = 0,    // bytes = device, topic, payload of one record, published as it stands
  kEnvelope = 1,  // bytes = NDJSON lines
  kRecords = 2,   // bytes = entries (record/encoder.h), each published on its own
};

enum class SealReason : uint8_t { kSingle, kBytes, kDelay, kFlush, kPlan };

struct Batch {
  uint64_t id = 0;  // set by Lanes; ascends in the order of sealing
  BatchKind kind = BatchKind::kEnvelope;
  SealReason reason = SealReason::kSingle;
  uint8_t record_class = 0;
  uint8_t flags = 0;  // kFlag…; of the record for kSingle
  bool redelivery = false;
  uint32_t stage = 0;  // the uplink stage that it waits at
  uint32_t ticket = 0;
  uint32_t record_count = 0;
  uint32_t record_bytes = 0;  // payload bytes of its records
  uint32_t device_bytes = 0;  // kSingle: lengths of the strings before the payload
  uint32_t topic_bytes = 0;
  int64_t first_ts_ms = 0;
  int64_t last_ts_ms = 0;
  int64_t oldest_us = 0;  // CLOCK_MONOTONIC when its oldest record arrived
  std::string bytes;

  // What it counts in the memory budget.
  size_t Cost() const { return sizeof(Batch) + bytes.capacity(); }
};

using BatchPtr = std::unique_ptr<Batch>;

// An empty batch whose class and times are those of its first record.
BatchPtr StartBatch(BatchKind kind, const Record& record);

// Counts a record whose bytes the caller appends.
void CountIn(const Record& record, Batch* batch);

// A batch of one record that is published as it stands.
BatchPtr SingleBatch(const Record& record);

}  // namespace seganet

#endif  // SEGANET_CORE_QUEUE_BATCH_H_

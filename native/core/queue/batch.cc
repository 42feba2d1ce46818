#include "core/queue/batch.h"

namespace seganet {

BatchPtr StartBatch(BatchKind kind, const Record& record) {
  auto batch = std::make_unique<Batch>();
  batch->kind = kind;
  batch->record_class = record.record_class;
  batch->first_ts_ms = record.ts_ms;
  batch->oldest_us = record.arrived_us;
  return batch;
}

void CountIn(const Record& record, Batch* batch) {
  batch->record_count += 1;
  batch->record_bytes += static_cast<uint32_t>(record.payload.size());
  batch->last_ts_ms = record.ts_ms;
}

BatchPtr SingleBatch(const Record& record) {
  BatchPtr batch = StartBatch(BatchKind::kSingle, record);
  CountIn(record, batch.get());
  batch->flags = record.flags;
  batch->ticket = record.ticket;
  batch->device_bytes = static_cast<uint32_t>(record.device.size());
  batch->topic_bytes = static_cast<uint32_t>(record.topic.size());
  batch->bytes.reserve(record.device.size() + record.topic.size() + record.payload.size());
  batch->bytes.append(record.device).append(record.topic).append(record.payload);
  return batch;
}

}  // namespace seganet

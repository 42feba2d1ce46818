#include "core/queue/batch.h"

#include <utility>

#include "core/record/encoder.h"
#include "core/record/stored_payload.h"

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
  if (record.receipt.handle != 0) batch->receipts.push_back(record.receipt);
  if (record.deferred.handle != 0) batch->deferred.push_back(record.deferred);
}

BatchPtr SingleBatch(const Record& record, bool is_stamped) {
  BatchPtr batch = StartBatch(BatchKind::kSingle, record);
  CountIn(record, batch.get());
  batch->flags = static_cast<uint8_t>(record.flags | StoredFlags(record, is_stamped));
  batch->ticket = record.ticket;
  batch->device_bytes = static_cast<uint32_t>(record.device.size());
  batch->topic_bytes = static_cast<uint32_t>(record.topic.size());
  batch->bytes.reserve(record.device.size() + record.topic.size() +
                       StoredBytes(record, is_stamped));
  batch->bytes.append(record.device).append(record.topic);
  AppendStored(record, is_stamped, &batch->bytes);
  return batch;
}

ChunkEntry EntryOf(const Batch& batch) {
  ChunkEntry entry;
  entry.sequence = batch.sequence;
  entry.first_ts_ms = batch.first_ts_ms;
  entry.last_ts_ms = batch.last_ts_ms;
  entry.oldest_us = batch.oldest_us;
  entry.record_count = batch.record_count;
  entry.record_bytes = batch.record_bytes;
  entry.topic_bytes = static_cast<uint16_t>(batch.topic_bytes);
  entry.device_bytes = static_cast<uint16_t>(batch.device_bytes);
  entry.kind = static_cast<uint8_t>(batch.kind);
  entry.reason = static_cast<uint8_t>(batch.reason);
  entry.flags = batch.flags;
  entry.bytes = batch.bytes;
  return entry;
}

BatchPtr BatchOf(const ChunkEntry& entry, uint8_t record_class, uint64_t epoch) {
  auto batch = std::make_unique<Batch>();
  batch->epoch = epoch;
  batch->sequence = entry.sequence;
  batch->kind = static_cast<BatchKind>(entry.kind);
  batch->reason = static_cast<SealReason>(entry.reason);
  batch->record_class = record_class;
  batch->flags = entry.flags;
  batch->record_count = entry.record_count;
  batch->record_bytes = entry.record_bytes;
  batch->device_bytes = entry.device_bytes;
  batch->topic_bytes = entry.topic_bytes;
  batch->first_ts_ms = entry.first_ts_ms;
  batch->last_ts_ms = entry.last_ts_ms;
  batch->oldest_us = entry.oldest_us;
  batch->bytes = entry.bytes;
  return batch;
}

BatchPtr PickRecords(BatchPtr batch, const std::vector<uint32_t>& records) {
  batch->ticket = 0;
  if (batch->kind == BatchKind::kSingle) return batch;
  std::string all = std::exchange(batch->bytes, {});
  const bool lines = batch->kind == BatchKind::kEnvelope;
  size_t at = 0;
  uint32_t picked = 0;
  for (uint32_t i = 0; at < all.size() && picked < records.size(); ++i) {
    const size_t end = lines ? LineEnd(all, at) : EntryEnd(all, at);
    if (i == records[picked]) {
      batch->bytes.append(all, at, end - at);
      ++picked;
    }
    at = end;
  }
  if (picked == 0) {  // no such records: keep all rather than lose all
    batch->bytes = std::move(all);
    return batch;
  }
  batch->record_count = picked;
  batch->record_bytes = static_cast<uint32_t>(batch->bytes.size());
  return batch;
}

}  // namespace seganet

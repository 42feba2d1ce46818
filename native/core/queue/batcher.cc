#include "core/queue/batcher.h"

#include <algorithm>
#include <utility>

#include "core/record/encoder.h"

namespace seganet {
namespace {

// Initial capacity of a batch. Avoids the first reallocations without reserving m bytes for a quiet
// class.
constexpr size_t kFirstReserve = 2048;

}  // namespace

Status Validate(const BatcherOptions& options) {
  if (options.max_bytes < 1 || options.max_bytes > kMaxBatchBytes) {
    return Status::InvalidArgument("batch bytes (m) must be 1 to 1048576");
  }
  if (options.max_delay_ms < 1 || options.max_delay_ms > kMaxDelayMs) {
    return Status::InvalidArgument("batch delay (t) must be 1 to 86400000 ms");
  }
  if (options.gap_us > kMaxGapUs) {
    return Status::InvalidArgument("batch gap must be 0 to 1000 ms");
  }
  if (std::ranges::any_of(options.patience_ms, [](uint32_t ms) { return ms > kMaxDelayMs; })) {
    return Status::InvalidArgument("patience must be 0 to 86400000 ms");
  }
  if (options.immediate_class > kClasses) {
    return Status::InvalidArgument("immediate class must be 0 to " + std::to_string(kClasses));
  }
  return {};
}

void Batcher::SetDemands(std::vector<Demand*> uplinks) {
  if (saves()) {
    for (Demand* uplink : uplinks) uplink->AddSaver(1);
    for (Demand* uplink : uplinks_) uplink->AddSaver(-1);
  }
  uplinks_ = std::move(uplinks);
}

bool Batcher::Batching(uint32_t devices) {
  if (adaptive()) return true;
  const uint32_t n = options_.min_devices;
  if (devices >= n) {
    batching_ = true;
  } else if (uint64_t{devices} * 10 < uint64_t{n} * 9) {
    // Hysteresis: a few devices that connect and disconnect do not switch batching on and off.
    batching_ = false;
  }
  return batching_;
}

size_t Batcher::MaxBytes(uint8_t record_class) const {
  size_t bytes = options_.max_bytes;
  if (!adaptive()) return bytes;
  for (const Demand* uplink : uplinks_) {
    bytes = std::min<size_t>(bytes, uplink->BatchBytes(record_class));
  }
  return bytes;
}

void Batcher::Add(const Record& record, uint32_t devices) {
  if (options_.mode == BatchMode::kOff) {
    sink_->OnBatch(SingleBatch(record, is_stamped_));
    return;
  }
  const bool wait = Batching(devices) && record.record_class > options_.immediate_class;
  const bool envelope = options_.mode == BatchMode::kEnvelope;
  encoded_.clear();
  if (envelope) {
    AppendNdjson(record, &encoded_);
  } else {
    AppendEntry(record, &encoded_, is_stamped_);
  }
  const size_t size = envelope ? encoded_.size() : PublishBytes(record);
  const size_t max_bytes = MaxBytes(record.record_class);
  Open& open = open_[record.record_class];
  // Waiting records of the class go before a record that does not wait (order within a class).
  if (open.batch && (!wait || open.size + size > max_bytes)) {
    Seal(&open, wait ? SealReason::kBytes : SealReason::kFlush);
  }
  ++open.counted;
  if (!open.batch) {
    ++open_batches_;
    open.batch = StartBatch(envelope ? BatchKind::kEnvelope : BatchKind::kRecords, record);
    open.size = 0;
    open.held = false;
    open.batch->bytes.reserve(wait ? std::min(max_bytes, kFirstReserve) : encoded_.size());
  }
  open.batch->bytes.append(encoded_);
  open.size += size;
  CountIn(record, open.batch.get());
  if (!wait) {
    Seal(&open, SealReason::kSingle);
  } else if (open.size >= max_bytes) {
    Seal(&open, SealReason::kBytes);
    open.before_us = record.arrived_us;
  }
}

void Batcher::Seal(Open* open, SealReason reason) {
  Batch& batch = *open->batch;
  batch.reason = reason;
  const int64_t patience_us = int64_t{options_.patience_ms[batch.record_class]} * 1000;
  if (saves() && patience_us > 0) batch.due_us = batch.oldest_us + patience_us;
  --open_batches_;
  sink_->OnBatch(std::exchange(open->batch, nullptr));
}

int64_t Batcher::DeadlineOf(const Open& open) const {
  int64_t delay_us = int64_t{options_.max_delay_ms} * 1000;
  const uint8_t c = open.batch->record_class;
  if (saves()) delay_us = std::max(delay_us, int64_t{options_.patience_ms[c]} * 1000);
  if (limited_ & MaskOf(c)) delay_us = std::min(delay_us, (*longest_us_)[c]);
  return open.batch->oldest_us + delay_us;
}

// Returns when the batch's gap and its wait end and it can be sealed; kNever while no uplink has a
// demand.
int64_t Batcher::GapOf(const Open& open) const {
  if (!adaptive() || open.held) return kNever;
  return std::max(open.before_us + open.gap_us, open.batch->oldest_us + open.wait_us);
}

// Adapts the gap to the rate of the class. After a pause the gap is close to 0, because the window
// is as long as the pause.
void Batcher::AdaptGap(Open* open, int64_t now_us) const {
  const int64_t window_us = now_us - open->counted_from_us;
  if (window_us < kRateWindowUs) return;
  // A batch that waits has few turns with it, so its class needs more than a moment to be known.
  if (saves() && open->counted < kRateRecords && window_us < kSlowRateWindowUs) return;
  open->per_s = open->counted * 1'000'000 / window_us;
  open->gap_us =
      int64_t{options_.gap_us} * std::min(open->per_s, kBusyRecordsPerS) / kBusyRecordsPerS;
  open->counted = 0;
  open->counted_from_us = now_us;
}

// Adapts the wait of a batch that saves bytes, to the link with the shortest one.
void Batcher::AdaptWait(Open* open) const {
  const uint8_t c = open->batch->record_class;
  const int64_t patience_us = int64_t{options_.patience_ms[c]} * 1000;
  const auto wait_on = [&](const LinkCost& link) {
    return WaitUs(options_.thrift, patience_us, link, open->per_s);
  };
  int64_t wait_us = uplinks_.empty() ? wait_on({.reserve_us = 0}) : kNever;
  for (const Demand* uplink : uplinks_) wait_us = std::min(wait_us, wait_on(uplink->CostOf(c)));
  open->wait_us = wait_us;
  if (waits_ == nullptr) return;
  (*waits_)[c].store(static_cast<uint32_t>(wait_us / 1000), std::memory_order_relaxed);
}

int64_t Batcher::NextDeadline() const {
  int64_t first = kNever;
  for (const Open& open : open_) {
    if (!open.batch) continue;
    first = std::min({first, DeadlineOf(open), GapOf(open)});
  }
  return first;
}

bool Batcher::IsWanted(uint8_t record_class) const {
  return uplinks_.empty() || std::any_of(uplinks_.begin(), uplinks_.end(), [&](const Demand* a) {
           return a->IsRaised(record_class);
         });
}

void Batcher::EndTurn(int64_t now_us) {
  if (!adaptive()) return;
  for (Open& open : open_) {
    if (!open.batch) continue;
    AdaptGap(&open, now_us);
    if (saves()) AdaptWait(&open);
    const uint8_t record_class = open.batch->record_class;
    bool wanted = IsWanted(record_class);
    if (!wanted) {
      for (Demand* uplink : uplinks_) uplink->Wait(MaskOf(record_class));
      wanted = IsWanted(record_class);  // again, because of the race described in Demand
    }
    open.held = !wanted;
    if (GapOf(open) > now_us) continue;
    Seal(&open, SealReason::kDemand);
    open.before_us = now_us;
  }
}

void Batcher::OnTime(int64_t now_us) {
  for (Open& open : open_) {
    if (!open.batch) continue;
    if (DeadlineOf(open) <= now_us) Seal(&open, SealReason::kDelay);
  }
  EndTurn(now_us);
}

void Batcher::Flush(SealReason reason, ClassMask classes) {
  for (Open& open : open_) {
    if (open.batch && (classes & MaskOf(open.batch->record_class))) Seal(&open, reason);
  }
}

}  // namespace seganet

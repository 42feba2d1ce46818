// Lanes: selection of the batches to write to disk, and when.

#include <algorithm>
#include <utility>

#include "core/queue/lanes.h"
#include "core/queue/lanes_leaving.h"

namespace seganet {

void Lanes::SetNodes(std::map<uint32_t, std::string> nodes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  // Batches of stages that left the plan may still wait, so their names stay.
  nodes.merge(nodes_);
  nodes_ = std::move(nodes);
}

std::string Lanes::NodeOf(uint32_t stage) const {
  const auto it = nodes_.find(stage);
  return it == nodes_.end() ? "stage-" + std::to_string(stage) : it->second;
}

bool Lanes::DiskCounts() const {
  return context_.disk_counts == nullptr || context_.disk_counts->load(std::memory_order_acquire);
}

// True, also in hurried_, if the class must be written without waiting for patience_us: the cloud
// does not respond in time, or memory runs short. Decided per class, so that a session that is down
// or slow does not cause writes for another session.
bool Lanes::HurriedLocked(uint8_t record_class, int64_t now_us) {
  const SavePolicy& save = context_.save;
  if (!save.log) return false;
  const int64_t too_old = now_us - save.patience_us;
  const Outlet* outlet = serving_[record_class];
  const Lane& lane = lanes_.ready[record_class];
  const bool is_late = save.disk_first || outlet == nullptr || !outlet->is_up() ||
                       context_.budget->crowded(record_class) || outlet->LiveSince() < too_old ||
                       (!lane.empty() && lane.front()->sealed_us < too_old);
  const bool must_write = save_all_ || (is_late && DiskCounts());
  const ClassMask others = hurried_.load(std::memory_order_relaxed) & ~MaskOf(record_class);
  hurried_.store(others | (must_write ? MaskOf(record_class) : 0), std::memory_order_relaxed);
  return must_write;
}

bool Lanes::IsPrompt(uint8_t record_class, int64_t now_us) const {
  return (resting_.load(std::memory_order_relaxed) & MaskOf(record_class)) != 0 &&
         prompt_from_us_[record_class].load(std::memory_order_relaxed) <= now_us;
}

ClassMask Lanes::prompt_classes(int64_t now_us) const {
  if (resting_.load(std::memory_order_relaxed) == 0) return 0;
  ClassMask prompt = 0;
  for (uint8_t c = kCritical; c <= kClasses; ++c) {
    if (IsPrompt(c, now_us)) prompt |= MaskOf(c);
  }
  return prompt;
}

// Returns when the first batch of a class must be written; kNever = there is none.
int64_t Lanes::DueLocked(uint8_t record_class, int64_t now_us) {
  const bool must_write = HurriedLocked(record_class, now_us);
  const UnsavedBatches& unsaved = log_.unsaved(record_class);
  const Batch* first = unsaved.first();
  if (first == nullptr) return kNever;
  if (!must_write) return DiskCounts() ? first->sealed_us + context_.save.patience_us : kNever;
  if (save_all_ || unsaved.bytes() >= kChunkBytes || unsaved.records() >= kChunkRecords) return 0;
  if (IsPrompt(record_class, now_us)) return first->oldest_us;
  return first->oldest_us + context_.save.linger_us[record_class];
}

int64_t Lanes::NextSave(int64_t now_us) {
  const std::lock_guard<std::mutex> lock(mutex_);
  int64_t next = kNever;
  for (uint8_t c = kCritical; c <= kClasses; ++c) next = std::min(next, DueLocked(c, now_us));
  return next;
}

void Lanes::SaveAll() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    save_all_ = true;
  }
  if (context_.save.log) context_.wake_log();
}

bool Lanes::Seal(int64_t now_us, SealedChunk* chunk) {
  const std::lock_guard<std::mutex> lock(mutex_);
  uint8_t c = kCritical;
  while (c <= kClasses && DueLocked(c, now_us) > now_us) ++c;
  if (c > kClasses) return false;

  const UnsavedBatches& unsaved = log_.unsaved(c);
  chunk->node = NodeOf(unsaved.first()->stage);
  ChunkWriter writer(c, context_.epoch);
  std::vector<Batch*> batches;
  std::vector<uint32_t> records;
  int64_t first_ts = INT64_MAX, last_ts = 0;
  for (Batch* batch = unsaved.first(); batch != nullptr; batch = batch->after) {
    const ChunkEntry entry = EntryOf(*batch);
    const bool full = writer.size() + ChunkBytes(entry) > kChunkBytes ||
                      writer.records() + batch->record_count > kChunkRecords;
    if (full && !batches.empty()) break;
    writer.Add(entry);
    batches.push_back(batch);
    records.push_back(batch->record_count);
    first_ts = std::min(first_ts, batch->first_ts_ms);
    last_ts = std::max(last_ts, batch->last_ts_ms);
  }
  chunk->record_class = c;
  chunk->batches = writer.batches();
  chunk->records = writer.records();
  chunk->first_ts_ms = first_ts;
  chunk->last_ts_ms = last_ts;
  chunk->bytes.clear();
  writer.Finish(&chunk->bytes);
  chunk->ticket = context_.ledger->Seal(chunk->node, c, std::move(records));
  log_.Begin(chunk->ticket, std::move(batches));
  prompt_from_us_[c].store(now_us + context_.save.linger_us[c], std::memory_order_relaxed);
  return true;
}

}  // namespace seganet

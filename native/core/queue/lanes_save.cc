// Lanes: which batches are written to disk, when, and what leaves memory for it.

#include <algorithm>
#include <utility>

#include "core/queue/lanes.h"
#include "core/queue/lanes_leaving.h"

namespace seganet {

void Lanes::SetNodes(std::map<uint32_t, std::string> nodes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  // Batches of stages that left the plan are still on their way: their names stay.
  nodes.merge(nodes_);
  nodes_ = std::move(nodes);
}

std::string Lanes::NodeOf(uint32_t stage) const {
  const auto it = nodes_.find(stage);
  return it == nodes_.end() ? "stage-" + std::to_string(stage) : it->second;
}

// The cloud does not answer in time, or memory runs short: what is not on disk has to get there. Of
// each class alone, so that a session that is down or slow has nothing of another one written.
bool Lanes::HurriedLocked(uint8_t record_class, int64_t now_us) {
  const SavePolicy& save = context_.save;
  if (!save.log) return false;
  const int64_t too_old = now_us - save.patience_us;
  const Outlet* outlet = serving_[record_class];
  const Lane& lane = ready_[record_class];
  const bool hurried = save.disk_first || save_all_ || outlet == nullptr || !outlet->connected ||
                       context_.budget->crowded(record_class) || outlet->LiveSince() < too_old ||
                       (!lane.empty() && lane.front()->sealed_us < too_old);
  const ClassMask others = hurried_.load(std::memory_order_relaxed) & ~MaskOf(record_class);
  hurried_.store(others | (hurried ? MaskOf(record_class) : 0), std::memory_order_relaxed);
  return hurried;
}

// When the first batch of a class has to be written, kNever = there is none.
int64_t Lanes::DueLocked(uint8_t record_class, int64_t now_us) {
  const bool hurried = HurriedLocked(record_class, now_us);
  const UnsavedList& unsaved = unsaved_[record_class];
  const Batch* first = unsaved.first();
  if (first == nullptr) return kNever;
  if (!hurried) return first->sealed_us + context_.save.patience_us;
  if (save_all_ || unsaved.bytes() >= kChunkBytes || unsaved.records() >= kChunkRecords) return 0;
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

  UnsavedList& unsaved = unsaved_[c];
  chunk->node = NodeOf(unsaved.first()->stage);
  ChunkWriter writer(c, context_.epoch);
  std::vector<Batch*> batches;
  std::vector<uint32_t> records;
  int64_t first_ts = INT64_MAX, last_ts = 0;
  for (Batch* batch = unsaved.first(); batch != nullptr; batch = batch->after) {
    if (NodeOf(batch->stage) != chunk->node) continue;
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
  for (size_t i = 0; i < batches.size(); ++i) {
    unsaved.Remove(batches[i]);
    batches[i]->saved = Saved::kUnderWay;
    batches[i]->chunk = chunk->ticket;
    batches[i]->place = static_cast<uint16_t>(i);
  }
  saving_[chunk->ticket] = std::move(batches);
  return true;
}

// The batch leaves memory: it need not be written any more, or told about.
void Lanes::LeaveLog(Batch* batch) {
  if (!context_.save.log || batch->backlog) return;
  if (batch->saved == Saved::kNo) {
    unsaved_[batch->record_class].Remove(batch);
  } else if (batch->saved == Saved::kUnderWay) {
    const auto it = saving_.find(batch->chunk);
    if (it != saving_.end()) it->second[batch->place] = nullptr;
  }
}

void Lanes::Committed(uint64_t ticket) {
  Leaving leaving;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto it = saving_.find(ticket);
    if (it == saving_.end()) return;
    ClassMask classes = 0;
    for (Batch* batch : it->second) {
      if (batch == nullptr) continue;
      batch->saved = Saved::kYes;
      leaving.receipts.Add(batch);
      classes |= MaskOf(batch->record_class);
    }
    saving_.erase(it);
    TidyLocked(classes, context_.clock(), &leaving);
    SpillCrowd(&leaving);
    if (context_.leftovers) LeaveStoredLocked(&leaving);
    RingHeldLocked(context_.clock());
    for (const auto& outlet : outlets_) {
      if (context_.save.disk_first && (outlet->classes & classes)) outlet->bell->Ring();
    }
  }
  Settle(&leaving);
}

void Lanes::Failed(uint64_t ticket) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto it = saving_.find(ticket);
  if (it == saving_.end()) return;
  for (Batch* batch : it->second) {
    if (batch == nullptr) continue;
    batch->saved = Saved::kNo;
    batch->chunk = 0;
    unsaved_[batch->record_class].Insert(batch);
  }
  saving_.erase(it);
}

void Lanes::Discard(uint64_t ticket) {
  Leaving leaving;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto it = saving_.find(ticket);
    if (it == saving_.end()) return;
    const std::vector<Batch*> batches = std::move(it->second);
    saving_.erase(it);
    for (Batch* batch : batches) {
      if (batch == nullptr) continue;
      batch->saved = Saved::kYes;
      batch->chunk = 0;
      leaving.receipts.Add(batch);
      Lane& lane = ready_[batch->record_class];
      const auto found =
          std::lower_bound(lane.begin(), lane.end(), batch->id,
                           [](const BatchPtr& b, uint64_t id) { return b->id < id; });
      // One that is in flight may yet arrive.
      if (found == lane.end() || found->get() != batch) continue;
      LetGoLocked(std::move(*found), Drop::kLogFull, &leaving);
      lane.erase(found);
    }
    RingHeldLocked(context_.clock());
  }
  Settle(&leaving);
}

void Lanes::Unsave() {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto unsave = [this](Lane* lane) {
    for (BatchPtr& batch : *lane) {
      if (batch->backlog || batch->saved != Saved::kYes || batch->chunk == 0) continue;
      batch->saved = Saved::kNo;
      batch->chunk = 0;
      unsaved_[batch->record_class].Insert(batch.get());
    }
  };
  for (const auto& outlet : outlets_) unsave(&outlet->in_flight);
  for (uint8_t c = kCritical; c <= kClasses; ++c) unsave(&ready_[c]);
}

bool Lanes::WantsBacklog(uint8_t record_class) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const Outlet* outlet = serving_[record_class];
  if (outlet == nullptr || !outlet->connected) return false;
  if (backlog_bytes_[record_class] >= kReadAheadBytes) return false;
  // What is read counts against the limit of the class, where live records go first.
  const bool room = !context_.budget->half_full(record_class);
  if (!room) unread_ |= MaskOf(record_class);
  return room;
}

void Lanes::PushBacklog(std::vector<BatchPtr> batches) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (BatchPtr& batch : batches) {
    batch->id = context_.sequence->fetch_add(1, std::memory_order_relaxed) + 1;
    batch->backlog = true;
    batch->saved = Saved::kYes;
    context_.budget->TakeBytes(batch->Cost());
    context_.budget->AddRecords(batch->record_class, batch->record_count);
    counters_.Add(Counter::kRecordsReplayed, batch->record_count);
    const uint8_t c = batch->record_class;
    backlog_bytes_[c] += batch->bytes.size();
    backlog_[c].push_back(std::move(batch));
    if (serving_[c] != nullptr) serving_[c]->bell->Ring();
  }
}

std::array<int64_t, kClasses + 1> Lanes::Unsaved() {
  std::array<int64_t, kClasses + 1> records{};
  const std::lock_guard<std::mutex> lock(mutex_);
  for (uint8_t c = kCritical; c <= kClasses; ++c) {
    records[c] = static_cast<int64_t>(unsaved_[c].records());
  }
  for (const auto& [ticket, batches] : saving_) {
    for (const Batch* batch : batches) {
      if (batch != nullptr) records[batch->record_class] += batch->record_count;
    }
  }
  return records;
}

}  // namespace seganet

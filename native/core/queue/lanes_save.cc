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

// The cloud does not answer in time, or memory runs short: what is not on disk has to get there.
bool Lanes::HurriedLocked(int64_t now_us) {
  const SavePolicy& save = context_.save;
  if (!save.log) return false;
  bool hurried = save.disk_first || save_all_ || !connected_ ||
                 context_.budget->held() > context_.budget->limit() / 2;
  const int64_t too_old = now_us - save.patience_us;
  if (!in_flight_.empty() && in_flight_.front()->sealed_us < too_old) {
    hurried |= !in_flight_.front()->backlog;
  }
  for (const std::deque<BatchPtr>& lane : ready_) {
    if (!lane.empty() && lane.front()->sealed_us < too_old) hurried = true;
  }
  hurried_.store(hurried, std::memory_order_relaxed);
  return hurried;
}

int64_t Lanes::DueLocked(uint8_t record_class, bool hurried) const {
  const UnsavedList& unsaved = unsaved_[record_class];
  const Batch* first = unsaved.first();
  if (first == nullptr) return kNever;
  if (!hurried) return first->sealed_us + context_.save.patience_us;
  if (save_all_ || unsaved.bytes() >= kChunkBytes || unsaved.records() >= kChunkRecords) return 0;
  return first->oldest_us + context_.save.linger_us[record_class];
}

int64_t Lanes::NextSave(int64_t now_us) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const bool hurried = HurriedLocked(now_us);
  int64_t next = kNever;
  for (uint8_t c = kCritical; c <= kClasses; ++c) next = std::min(next, DueLocked(c, hurried));
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
  const bool hurried = HurriedLocked(now_us);
  uint8_t c = kCritical;
  while (c <= kClasses && DueLocked(c, hurried) > now_us) ++c;
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
    for (Batch* batch : it->second) {
      if (batch == nullptr) continue;
      batch->saved = Saved::kYes;
      leaving.receipts.Add(batch);
    }
    saving_.erase(it);
    // The oldest leave first and the newest stay: they are what the cloud wants first.
    for (uint8_t c = kClasses; c >= kCritical; --c) {
      while (context_.budget->held() > context_.budget->limit() / 2 &&
             SpillFront(&ready_[c], &leaving)) {
      }
    }
    if (context_.save.disk_first && doorbell_ != nullptr) doorbell_->Ring();
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
      std::deque<BatchPtr>& lane = ready_[batch->record_class];
      const auto found =
          std::lower_bound(lane.begin(), lane.end(), batch->id,
                           [](const BatchPtr& b, uint64_t id) { return b->id < id; });
      // One that is in flight may yet arrive.
      if (found == lane.end() || found->get() != batch) continue;
      DropLocked(std::move(*found), Drop::kLogFull, &leaving);
      lane.erase(found);
    }
  }
  Settle(&leaving);
}

void Lanes::Unsave() {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto unsave = [this](std::deque<BatchPtr>* lane) {
    for (BatchPtr& batch : *lane) {
      if (batch->backlog || batch->saved != Saved::kYes || batch->chunk == 0) continue;
      batch->saved = Saved::kNo;
      batch->chunk = 0;
      unsaved_[batch->record_class].Insert(batch.get());
    }
  };
  unsave(&in_flight_);
  for (uint8_t c = kCritical; c <= kClasses; ++c) unsave(&ready_[c]);
}

// Lets go of the first batch of a lane, which the log has. False: it has not.
bool Lanes::SpillFront(std::deque<BatchPtr>* lane, Leaving* leaving) {
  // A message that waits for its completion is not read back: its ticket is known here only.
  if (lane->empty() || lane->front()->saved != Saved::kYes || lane->front()->chunk == 0 ||
      lane->front()->ticket != 0) {
    return false;
  }
  BatchPtr batch = std::move(lane->front());
  lane->pop_front();
  context_.ledger->Spilled(batch->chunk, batch->place);
  context_.budget->GiveBytes(batch->Cost());
  context_.budget->AddRecords(batch->record_class, -int64_t{batch->record_count});
  leaving->room = true;
  return true;
}

// The user chose to drop when memory is full: the least urgent first, and of those the oldest, but
// nothing more urgent than what comes in.
void Lanes::MakeRoom(uint8_t record_class, Leaving* leaving) {
  for (uint8_t c = kClasses; c >= record_class && context_.budget->high();) {
    if (SpillFront(&ready_[c], leaving)) continue;
    if (ready_[c].empty()) {
      --c;
      continue;
    }
    BatchPtr batch = std::move(ready_[c].front());
    ready_[c].pop_front();
    DropLocked(std::move(batch), Drop::kMemoryFull, leaving);
  }
}

bool Lanes::WantsBacklog(uint8_t record_class) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return connected_ && backlog_bytes_[record_class] < kReadAheadBytes;
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
    backlog_bytes_[batch->record_class] += batch->bytes.size();
    backlog_[batch->record_class].push_back(std::move(batch));
  }
  if (doorbell_ != nullptr) doorbell_->Ring();
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

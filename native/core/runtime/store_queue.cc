#include "core/runtime/store_queue.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace seganet {
namespace {

// Batches that need not be written before this time are probably delivered by then.
constexpr int64_t kPatientUs = 500'000;
constexpr uint64_t kDeadTicket = uint64_t{1} << 52;  // tickets are JavaScript numbers, below 2^53

}  // namespace

void StoreQueue::WakeAt(int64_t due_us) {
  if (!came_.load(std::memory_order_relaxed)) came_.store(true, std::memory_order_relaxed);
  if (due_us < reported_due_us_.load(std::memory_order_acquire)) Wake();
}

void StoreQueue::Wake() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (doorbell_ != nullptr) doorbell_->Ring();
}

void StoreQueue::WakeAgain() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (doorbell_ != nullptr) doorbell_->RingAgain();
}

void StoreQueue::SetPlan(const Plan& plan) {
  std::map<std::string, Route> routes;
  std::map<std::shared_ptr<Lanes>, std::map<uint32_t, std::string>> names;
  for (const Stage& stage : plan.stages()) {
    if (stage.spec.kind != StageKind::kUplink || stage.spec.name.empty()) continue;
    routes[stage.spec.name] = {stage.spec.id, stage.lanes};
    names[stage.lanes][stage.spec.id] = stage.spec.name;
  }
  for (auto& [lanes, nodes] : names) lanes->SetNodes(std::move(nodes));
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    routes_ = std::move(routes);
  }
  Wake();
}

bool StoreQueue::Attach(Doorbell* doorbell) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (doorbell_ != nullptr) return false;
  doorbell_ = doorbell;
  doorbell_->Ring();
  return true;
}

void StoreQueue::Detach() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    doorbell_ = nullptr;
  }
  reported_due_us_.store(kNever, std::memory_order_release);
  has_task_ = false;
  while (!pending_.empty()) Failed(pending_.begin()->first);
  ledger_.Returned();
}

void StoreQueue::Opened(int64_t max_row, const std::array<int64_t, kClasses + 1>& records,
                        const std::map<std::string, int64_t>& bytes) {
  if (!ledger_.Open(max_row, records, bytes)) return;
  for (const int64_t n : records) {
    counters_.Add(Counter::kRecordsRecovered, static_cast<uint64_t>(n));
  }
}

int64_t StoreQueue::Due(int64_t now_us) {
  // Batches that arrive during the search ring the bell.
  reported_due_us_.store(kNever, std::memory_order_release);
  int64_t due = has_task_ || !dead_letters_.empty() ? 0 : kNever;
  for (const std::shared_ptr<Lanes>& lanes : all_lanes_()) {
    due = std::min(due, lanes->NextSave(now_us));
  }
  if (due != kNever) wait_us_ = due - now_us;
  if (due == kNever) due = NextLook(now_us);
  reported_due_us_.store(due, std::memory_order_release);
  return due;
}

// Nothing is to be written now: returns when to look again, if batches keep coming. One look costs
// less than the ring for the next batch and the wake-up when that would be due.
int64_t StoreQueue::NextLook(int64_t now_us) {
  if (wait_us_ < kPatientUs) return kNever;
  if (came_.exchange(false, std::memory_order_relaxed)) look_us_ = now_us + wait_us_;
  return look_us_ > now_us ? look_us_ : kNever;
}

const StoreTask* StoreQueue::Next(int64_t now_us) {
  if (!has_task_) has_task_ = NextDeadLetter() || NextChunk(now_us);
  return has_task_ ? &task_ : nullptr;
}

void StoreQueue::Taken() { has_task_ = false; }

bool StoreQueue::NextDeadLetter() {
  DeadLetter letter;
  if (!dead_letters_.Pop(&letter)) return false;
  const Batch& batch = *letter.batch;
  SealedChunk chunk;
  chunk.ticket = kDeadTicket | next_dead_ticket_++;
  chunk.node = "stage-" + std::to_string(batch.stage);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [node, route] : routes_) {
      if (route.stage == batch.stage) chunk.node = node;
    }
  }
  chunk.record_class = batch.record_class;
  chunk.batches = 1;
  chunk.records = batch.record_count;
  chunk.first_ts_ms = batch.first_ts_ms;
  chunk.last_ts_ms = batch.last_ts_ms;
  ChunkWriter writer(batch.record_class, batch.epoch);
  writer.Add(EntryOf(batch));
  writer.Finish(&chunk.bytes);
  task_ = {std::move(chunk), true, letter.code, letter.reason};
  Pending& pending = pending_[task_.chunk.ticket];
  pending.records = task_.chunk.records;
  pending.bytes = task_.chunk.bytes.size();
  pending.letter = std::move(letter);
  return true;
}

bool StoreQueue::NextChunk(int64_t now_us) {
  for (const std::shared_ptr<Lanes>& lanes : all_lanes_()) {
    task_ = {};
    if (!lanes->Seal(now_us, &task_.chunk)) continue;
    Pending& pending = pending_[task_.chunk.ticket];
    pending.lanes = lanes;
    pending.records = task_.chunk.records;
    pending.bytes = task_.chunk.bytes.size();
    return true;
  }
  return false;
}

void StoreQueue::Committed(uint64_t ticket, int64_t row) {
  const auto it = pending_.find(ticket);
  if (it == pending_.end()) return;
  Pending pending = std::move(it->second);
  pending_.erase(it);
  counters_.Add(Counter::kBytesStored, pending.bytes);
  if (pending.lanes == nullptr) {
    DeadLetterStored(&pending);
    return;
  }
  counters_.Add(Counter::kChunksStored);
  counters_.Add(Counter::kRecordsStored, pending.records);
  ledger_.Committed(ticket, row);
  pending.lanes->Committed(ticket);
}

// A dead letter is on disk: its records are kept for inspection, and nothing waits for them.
void StoreQueue::DeadLetterStored(Pending* pending) {
  Batch& batch = *pending->letter.batch;
  if (batch.chunk != 0) ledger_.Done(batch.chunk, batch.place);
  budget_->GiveBytes(batch.Cost());
  if (!batch.receipts.empty()) receipts_->Return(batch.worker, std::move(batch.receipts));
}

void StoreQueue::Failed(uint64_t ticket) {
  const auto it = pending_.find(ticket);
  if (it == pending_.end()) return;
  Pending pending = std::move(it->second);
  pending_.erase(it);
  if (has_task_ && task_.chunk.ticket == ticket) has_task_ = false;
  counters_.Add(Counter::kStoreFailures);
  if (pending.lanes == nullptr) {
    dead_letters_.Return(std::move(pending.letter));
    return;
  }
  pending.lanes->Failed(ticket);
  ledger_.Failed(ticket);
}

void StoreQueue::Dropped(uint64_t ticket) {
  const auto it = pending_.find(ticket);
  if (it == pending_.end()) return;
  Pending pending = std::move(it->second);
  pending_.erase(it);
  if (pending.lanes == nullptr) {
    DeadLetterStored(&pending);
    return;
  }
  pending.lanes->Discard(ticket);
  ledger_.Failed(ticket);
}

void StoreQueue::Freed() { counters_.Add(Counter::kChunksFreed, ledger_.Freed()); }

void StoreQueue::Removed(int64_t row, uint8_t record_class, int64_t records) {
  const GoneRow gone = ledger_.Removed(row, record_class, records);
  counters_.Add(Drop::kLogFull, record_class, static_cast<uint64_t>(gone.lost));
  if (gone.ticket == 0) return;
  for (const std::shared_ptr<Lanes>& lanes : all_lanes_()) lanes->Removed(gone.ticket);
}

bool StoreQueue::SendAgain(int64_t row, const std::string& node, uint8_t record_class,
                           std::vector<uint32_t> records) {
  const uint64_t count = std::accumulate(records.begin(), records.end(), uint64_t{0});
  if (!ledger_.SendAgain(row, node, record_class, std::move(records))) return false;
  counters_.Add(Counter::kRecordsSentAgain, count);
  Wake();
  return true;
}

void StoreQueue::Lost() {
  const std::array<int64_t, kClasses + 1> lost = ledger_.Lost();
  for (uint8_t c = kCritical; c <= kClasses; ++c) {
    counters_.Add(Drop::kCorrupt, c, static_cast<uint64_t>(lost[c]));
  }
  for (const std::shared_ptr<Lanes>& lanes : all_lanes_()) lanes->Unsave();
  Wake();
}

bool StoreQueue::Wanted(WantedRow* wanted) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (uint8_t c = kCritical; c <= kClasses; ++c) {
    for (const auto& [node, route] : routes_) {
      if (!route.lanes->WantsBacklog(c) || !ledger_.Wants(node, c, wanted)) continue;
      wanted_ = *wanted;
      return true;
    }
  }
  return false;
}

bool StoreQueue::Expired(const ChunkEntry& entry, const ChunkHead& head, int64_t now_us,
                         int64_t wall_ms) const {
  const int64_t ttl_us = options_.ttl_us[head.record_class];
  if (ttl_us == 0) return false;
  // Within a run, the monotonic clock determines the age.
  const bool this_run = head.epoch == options_.epoch;
  const int64_t age_us =
      this_run ? now_us - entry.oldest_us : (wall_ms - entry.last_ts_ms) * int64_t{1000};
  return age_us > ttl_us;
}

LoadResult StoreQueue::Loaded(int64_t row, int64_t records, std::string_view body, int64_t now_us,
                              int64_t wall_ms) {
  ChunkHead head;
  std::vector<ChunkEntry> entries;
  std::vector<uint32_t> counts;
  uint64_t ticket = 0;
  std::vector<bool> needed;
  bool sound = ReadChunk(body, &head, &entries) == ChunkError::kNone &&
               head.record_class == wanted_.record_class;
  if (sound) {
    for (const ChunkEntry& entry : entries) counts.push_back(entry.record_count);
    sound = ledger_.Loaded(wanted_, row, counts, &ticket, &needed, body.size());
  }
  if (!sound) {
    Damaged(ledger_.Corrupt(wanted_, row, records));
    return LoadResult::kCorrupt;
  }
  Route route;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto it = routes_.find(wanted_.node);
    if (it != routes_.end()) route = it->second;
  }
  std::vector<BatchPtr> batches;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (!needed[i]) continue;
    if (Expired(entries[i], head, now_us, wall_ms)) {
      counters_.Add(Drop::kExpired, head.record_class, entries[i].record_count);
      ledger_.Done(ticket, i);
      continue;
    }
    if (route.lanes == nullptr) {  // its node has just been removed from the plan
      ledger_.Spilled(ticket, i, entries[i].bytes.size());
      continue;
    }
    BatchPtr batch = BatchOf(entries[i], head.record_class, head.epoch);
    batch->stage = route.stage;
    batch->chunk = ticket;
    batch->place = static_cast<uint16_t>(i);
    batches.push_back(std::move(batch));
  }
  if (!batches.empty()) route.lanes->PushBacklog(std::move(batches));
  return LoadResult::kOk;
}

void StoreQueue::Missing() { Damaged(ledger_.Missing(wanted_)); }

void StoreQueue::Damaged(const GoneRow& gone) {
  counters_.Add(Drop::kCorrupt, wanted_.record_class, static_cast<uint64_t>(gone.lost));
  if (gone.ticket == 0) return;
  for (const std::shared_ptr<Lanes>& lanes : all_lanes_()) lanes->Unsave(gone.ticket);
}

}  // namespace seganet

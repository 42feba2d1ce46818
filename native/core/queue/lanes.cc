#include "core/queue/lanes.h"

#include <algorithm>
#include <utility>

#include "core/queue/lanes_leaving.h"

namespace seganet {

void Lanes::Push(BatchPtr batch) {
  context_.budget->TakeBytes(batch->Cost());
  const uint8_t record_class = batch->record_class;
  Leaving leaving;
  int64_t due = kNever;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    batch->id = context_.sequence->fetch_add(1, std::memory_order_relaxed) + 1;
    batch->sequence = batch->id;
    batch->epoch = context_.epoch;
    counters_.Add(Counter::kBatchesSealed);
    counters_.Add(Counter::kRecordsQueued, batch->record_count);
    if (context_.save.log) {
      batch->sealed_us = MonotonicUs();
      unsaved_[record_class].Insert(batch.get());
      due = DueLocked(record_class, HurriedLocked(batch->sealed_us));
    }
    ready_[record_class].push_back(std::move(batch));
    appetite_.Fed(kAllClasses);
    if (context_.save.drop_when_full) MakeRoom(record_class, &leaving);
    // Under the mutex, so that Detach never leaves a ring on its way to a bell that is gone.
    if (doorbell_ != nullptr) doorbell_->Ring();
  }
  if (due != kNever) context_.on_due(due);
  Settle(&leaving);
}

void Lanes::Hungry(ClassMask classes) {
  bool wake = false;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    // Something may have come in since the session looked.
    for (uint8_t c = kCritical; c <= kClasses; ++c) {
      if ((classes & MaskOf(c)) != 0 && !ready_[c].empty()) return;
    }
    wake = appetite_.Hungry(classes);
  }
  if (wake && context_.on_hungry) context_.on_hungry();
}

// Whether the first batch of a lane may be taken. One that has to be on disk first waits for that,
// but not for a disk that does not work.
bool Lanes::MayLeave(const std::deque<BatchPtr>& lane, int64_t now_us) const {
  if (lane.empty()) return false;
  const SavePolicy& save = context_.save;
  return !save.disk_first || lane.front()->saved == Saved::kYes ||
         now_us - lane.front()->sealed_us > save.patience_us;
}

uint8_t Lanes::BestLocked(int64_t now_us) const {
  if (MayLeave(ready_[kCritical], now_us)) return kCritical;
  uint8_t best = 0;
  int64_t best_rank = 0;
  int64_t best_oldest = 0;
  for (uint8_t c = kHigh; c <= kClasses; ++c) {
    if (!MayLeave(ready_[c], now_us)) continue;
    const int64_t oldest = ready_[c].front()->oldest_us;
    const int64_t aged = (now_us - oldest) / kAgingUs;
    const int64_t rank = std::max<int64_t>(kHigh, c - aged);
    // Equal ranks: the longer wait goes first, so that an aged class gets its turn and not only a
    // chance.
    if (best == 0 || rank < best_rank || (rank == best_rank && oldest < best_oldest)) {
      best = c;
      best_rank = rank;
      best_oldest = oldest;
    }
  }
  return best;
}

uint8_t Lanes::Best(int64_t now_us) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return BestLocked(now_us);
}

uint8_t Lanes::BestBacklog() {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (uint8_t c = kCritical; c <= kClasses; ++c) {
    if (!backlog_[c].empty()) return c;
  }
  return 0;
}

bool Lanes::Take(int64_t now_us, const std::function<bool(const Batch&)>& copy, bool backlog) {
  bool read_on = false;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    uint8_t best = 0;
    if (!backlog) {
      best = BestLocked(now_us);
    } else {
      while (best < kClasses && backlog_[++best].empty()) {
      }
      if (backlog_[best].empty()) best = 0;
    }
    std::deque<BatchPtr>& lane = backlog ? backlog_[best] : ready_[best];
    if (best == 0 || !copy(*lane.front())) return false;
    if (lane.front()->redelivery) counters_.Add(Counter::kBatchesRedelivered);
    in_flight_.push_back(std::move(lane.front()));
    lane.pop_front();
    if (backlog) {
      const size_t before = backlog_bytes_[best];
      backlog_bytes_[best] -= in_flight_.back()->bytes.size();
      read_on = before >= kReadAheadBytes && backlog_bytes_[best] < kReadAheadBytes;
    }
  }
  if (read_on) context_.wake_log();
  return true;
}

bool Lanes::Release(uint64_t id, int64_t now_us, const Refusal& refusal) {
  BatchPtr batch;
  const bool delivered = refusal.records.empty();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    // Acknowledgements come nearly in order: the search ends at once.
    const auto it = std::find_if(in_flight_.begin(), in_flight_.end(),
                                 [id](const BatchPtr& b) { return b->id == id; });
    if (it == in_flight_.end()) return false;
    batch = std::move(*it);
    in_flight_.erase(it);
    LeaveLog(batch.get());
    const auto refused =
        static_cast<uint32_t>(std::min<size_t>(refusal.records.size(), batch->record_count));
    if (delivered) counters_.Add(Counter::kBatchesDelivered);
    counters_.Add(Counter::kRecordsDelivered, batch->record_count - refused);
    const Drop reason = context_.dead_letters != nullptr ? Drop::kDeadLetter : Drop::kRefused;
    if (refused > 0) counters_.Add(reason, batch->record_class, refused);
  }
  if (delivered && !batch->backlog) {
    (*context_.latency)[batch->record_class].Add(now_us - batch->oldest_us);
  }
  context_.budget->AddRecords(batch->record_class, -int64_t{batch->record_count});
  context_.on_done(*batch, delivered);
  if (!delivered && context_.dead_letters != nullptr) {
    // Its bytes stay in the budget, and its device waits, until it is on disk.
    Bury(std::move(batch), refusal);
    return true;
  }
  Leaving leaving;
  leaving.receipts.Add(batch.get());
  leaving.Over(*batch);
  context_.budget->GiveBytes(batch->Cost());
  leaving.room = true;
  Settle(&leaving);
  return true;
}

void Lanes::Bury(BatchPtr batch, const Refusal& refusal) {
  context_.budget->GiveBytes(batch->Cost());
  batch = PickRecords(std::move(batch), refusal.records);
  context_.budget->TakeBytes(batch->Cost());
  context_.dead_letters->Push({std::move(batch), refusal.code, refusal.reason});
  context_.wake_log();
}

int64_t Lanes::OldestUs(int64_t now_us) {
  const std::lock_guard<std::mutex> lock(mutex_);
  int64_t oldest = now_us + 1;
  for (const BatchPtr& batch : in_flight_) {
    if (!batch->backlog) oldest = std::min(oldest, batch->oldest_us);
  }
  for (const std::deque<BatchPtr>& lane : ready_) {
    if (!lane.empty()) oldest = std::min(oldest, lane.front()->oldest_us);
  }
  return oldest > now_us ? -1 : now_us - oldest;
}

bool Lanes::Attach(Doorbell* doorbell) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (doorbell_ != nullptr) return false;
  doorbell_ = doorbell;
  doorbell_->Ring();
  return true;
}

// Puts a batch that was taken back to the head of its lane.
void Lanes::RestoreLocked(BatchPtr batch) {
  batch->redelivery = true;
  const uint8_t c = batch->record_class;
  if (batch->backlog) backlog_bytes_[c] += batch->bytes.size();
  (batch->backlog ? backlog_ : ready_)[c].push_front(std::move(batch));
}

void Lanes::Detach() {
  bool wanted = true;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    doorbell_ = nullptr;
    connected_ = false;
    wanted = wanted_;
    // Ids ascend in the order of sealing, so the highest goes back first.
    std::sort(in_flight_.begin(), in_flight_.end(),
              [](const BatchPtr& a, const BatchPtr& b) { return a->id > b->id; });
    for (BatchPtr& batch : in_flight_) RestoreLocked(std::move(batch));
    in_flight_.clear();
  }
  if (context_.save.log) context_.wake_log();
  if (!wanted) Clear(Drop::kUplinkRemoved);
}

void Lanes::SetConnected(bool connected, int64_t now_us) {
  Leaving leaving;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const bool returned = connected && !connected_;
    connected_ = connected;
    for (uint8_t c = kCritical; returned && c <= kClasses; ++c) {
      std::deque<BatchPtr>& lane = ready_[c];
      while (!lane.empty() && now_us - lane.front()->oldest_us > kStaleUs &&
             SpillFront(&lane, &leaving)) {
      }
    }
    HurriedLocked(now_us);
  }
  Settle(&leaving);
  // Down: batches are due earlier than was known. Up: the backlog is wanted.
  if (context_.save.log) context_.wake_log();
}

void Lanes::SetWanted(bool wanted) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    wanted_ = wanted;
    if (wanted || doorbell_ != nullptr) return;
  }
  Clear(Drop::kUplinkRemoved);
}

void Lanes::Clear(Drop reason) {
  Leaving leaving;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto clear = [&](std::deque<BatchPtr>* lane) {
      for (BatchPtr& batch : *lane) DropLocked(std::move(batch), reason, &leaving);
      lane->clear();
    };
    clear(&in_flight_);
    for (uint8_t c = kCritical; c <= kClasses; ++c) {
      clear(&ready_[c]);
      clear(&backlog_[c]);
      backlog_bytes_[c] = 0;
    }
  }
  // Devices whose records end with the engine are not told that they are safe.
  if (reason == Drop::kClosed) leaving.receipts.Forget();
  Settle(&leaving);
}

// Counts a batch as dropped, unless the log has it.
void Lanes::DropLocked(BatchPtr batch, Drop reason, Leaving* leaving) {
  LeaveLog(batch.get());
  if (batch->saved == Saved::kYes && batch->chunk != 0) {
    context_.ledger->Spilled(batch->chunk, batch->place);
  } else {
    counters_.Add(reason, batch->record_class, batch->record_count);
    leaving->Over(*batch);
  }
  leaving->receipts.Add(batch.get());
  context_.budget->GiveBytes(batch->Cost());
  context_.budget->AddRecords(batch->record_class, -int64_t{batch->record_count});
  leaving->gone.push_back(std::move(batch));
}

void Lanes::Settle(Leaving* leaving) {
  for (const BatchPtr& batch : leaving->gone) context_.on_done(*batch, false);
  if (context_.receipts != nullptr) leaving->receipts.ReturnTo(context_.receipts);
  bool freed = false;
  for (const auto& [chunk, place] : leaving->over) freed |= context_.ledger->Done(chunk, place);
  if (freed) context_.wake_log();
  if (leaving->room || !leaving->gone.empty()) context_.on_room();
}

}  // namespace seganet

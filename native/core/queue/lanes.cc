#include "core/queue/lanes.h"

#include <algorithm>
#include <vector>

namespace seganet {

void Lanes::Push(BatchPtr batch) {
  budget_->TakeBytes(batch->Cost());
  const std::lock_guard<std::mutex> lock(mutex_);
  batch->id = next_id_++;
  counters_.Add(Counter::kBatchesSealed);
  counters_.Add(Counter::kRecordsQueued, batch->record_count);
  ready_[batch->record_class].push_back(std::move(batch));
  // Under the mutex, so that Detach never leaves a ring on its way to a bell that is gone.
  if (doorbell_ != nullptr) doorbell_->Ring();
}

uint8_t Lanes::BestLocked(int64_t now_us) const {
  if (!ready_[kCritical].empty()) return kCritical;
  uint8_t best = 0;
  int64_t best_rank = 0;
  int64_t best_oldest = 0;
  for (uint8_t c = kHigh; c <= kClasses; ++c) {
    if (ready_[c].empty()) continue;
    const int64_t oldest = ready_[c].front()->oldest_us;
    const int64_t aged = (now_us - oldest) / options_.aging_us;
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

bool Lanes::Take(int64_t now_us, const std::function<bool(const Batch&)>& copy) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const uint8_t best = BestLocked(now_us);
  if (best == 0 || !copy(*ready_[best].front())) return false;
  if (ready_[best].front()->redelivery) counters_.Add(Counter::kBatchesRedelivered);
  in_flight_.push_back(std::move(ready_[best].front()));
  ready_[best].pop_front();
  return true;
}

bool Lanes::Release(uint64_t id, bool delivered, int64_t now_us) {
  BatchPtr batch;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    // Acknowledgements come nearly in order: the search ends at once.
    const auto it = std::find_if(in_flight_.begin(), in_flight_.end(),
                                 [id](const BatchPtr& b) { return b->id == id; });
    if (it == in_flight_.end()) return false;
    batch = std::move(*it);
    in_flight_.erase(it);
    if (delivered) {
      counters_.Add(Counter::kBatchesDelivered);
      counters_.Add(Counter::kRecordsDelivered, batch->record_count);
    } else {
      counters_.Add(Drop::kRefused, batch->record_class, batch->record_count);
    }
  }
  if (delivered) (*latency_)[batch->record_class].Add(now_us - batch->oldest_us);
  budget_->GiveBytes(batch->Cost());
  budget_->AddRecords(batch->record_class, -int64_t{batch->record_count});
  on_done_(*batch, delivered);
  return true;
}

bool Lanes::Attach(Doorbell* doorbell) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (doorbell_ != nullptr) return false;
  doorbell_ = doorbell;
  doorbell_->Ring();
  return true;
}

void Lanes::Detach() {
  bool wanted = true;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    doorbell_ = nullptr;
    wanted = wanted_;
    // Ids ascend in the order of sealing, so the highest goes back first.
    std::sort(in_flight_.begin(), in_flight_.end(),
              [](const BatchPtr& a, const BatchPtr& b) { return a->id > b->id; });
    for (BatchPtr& batch : in_flight_) {
      batch->redelivery = true;
      ready_[batch->record_class].push_front(std::move(batch));
    }
    in_flight_.clear();
  }
  if (!wanted) Clear(Drop::kUplinkRemoved);
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
  std::vector<BatchPtr> gone;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (auto* queue : {&in_flight_, &ready_[1], &ready_[2], &ready_[3], &ready_[4]}) {
      for (BatchPtr& batch : *queue) {
        counters_.Add(reason, batch->record_class, batch->record_count);
        gone.push_back(std::move(batch));
      }
      queue->clear();
    }
  }
  for (const BatchPtr& batch : gone) {
    budget_->GiveBytes(batch->Cost());
    budget_->AddRecords(batch->record_class, -int64_t{batch->record_count});
    on_done_(*batch, false);
  }
}

}  // namespace seganet

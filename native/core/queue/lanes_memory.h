// The memory of the batches of one set of lanes: counted in the engine's budget, and for
// themselves.
#ifndef SEGANET_CORE_QUEUE_LANES_MEMORY_H_
#define SEGANET_CORE_QUEUE_LANES_MEMORY_H_

#include <atomic>
#include <cstdint>

#include "core/queue/batch.h"
#include "core/queue/budget.h"

namespace seganet {

// Thread safety: any member from any thread.
class LanesMemory {
 public:
  explicit LanesMemory(Budget* budget) : budget_(budget) {}

  int64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

  // The batch enters or leaves memory.
  void Take(const Batch& batch) {
    budget_->TakeBytes(batch.Cost());
    MoveIn(batch);
  }
  void Give(const Batch& batch) {
    budget_->GiveBytes(batch.Cost());
    MoveOut(batch);
  }

  // The batch comes from other lanes of the engine, or goes there.
  void MoveIn(const Batch& batch) { Add(static_cast<int64_t>(batch.Cost())); }
  void MoveOut(const Batch& batch) { Add(-static_cast<int64_t>(batch.Cost())); }

  // The records of the batch leave memory.
  void GiveRecords(const Batch& batch) {
    budget_->AddRecords(batch.record_class, -int64_t{batch.record_count});
  }

 private:
  void Add(int64_t bytes) { bytes_.fetch_add(bytes, std::memory_order_relaxed); }

  Budget* const budget_;
  std::atomic<int64_t> bytes_{0};
};

}  // namespace seganet

#endif  // SEGANET_CORE_QUEUE_LANES_MEMORY_H_

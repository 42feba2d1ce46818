// Gives slots of a worker that has too much to do to one that has little.
#ifndef SEGANET_CORE_RUNTIME_REBALANCER_H_
#define SEGANET_CORE_RUNTIME_REBALANCER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/placement/move_planner.h"
#include "core/runtime/engine_options.h"
#include "core/runtime/slot_moves.h"

namespace seganet {

class Worker;

struct RebalanceCounts {
  uint64_t moved = 0;   // slots that went to another worker
  uint64_t undone = 0;  // that were to, and did not get ready in time
};

// Thread safety: Start before the others, Tick from one thread, the rest from any.
class Rebalancer : public SlotExchange {
 public:
  // `capacities` of the workers. They are never asked to move anything where there is one, or when
  // options.rebalance is false.
  void Start(const EngineOptions& options, const std::vector<uint32_t>& capacities,
             const std::vector<std::unique_ptr<Worker>>* workers);

  // To be called some times a second: plans when a period is over and the moves of the one before
  // have ended.
  void Tick(int64_t now_us);

  RebalanceCounts counts() const {
    return {moved_.load(std::memory_order_relaxed), undone_.load(std::memory_order_relaxed)};
  }
  uint32_t capacity(size_t worker) const { return capacities_[worker]; }

  // SlotExchange
  void Deliver(uint32_t worker, std::unique_ptr<SlotParcel> parcel) override;
  void Forward(Command command) override;
  void Ended(const SlotMove& move, bool moved) override;

 private:
  std::vector<SlotLoad> TakeSlotLoads();
  std::vector<WorkerLoad> WorkerLoads(const std::vector<SlotLoad>& slots) const;

  const std::vector<std::unique_ptr<Worker>>* workers_ = nullptr;
  std::vector<uint32_t> capacities_;
  RebalanceOptions options_;
  std::optional<Planner> planner_;
  int64_t next_us_ = 0;
  std::vector<uint32_t> records_before_;
  std::atomic<uint32_t> under_way_{0};
  std::atomic<uint64_t> moved_{0};
  std::atomic<uint64_t> undone_{0};
};

}  // namespace seganet

#endif  // SEGANET_CORE_RUNTIME_REBALANCER_H_

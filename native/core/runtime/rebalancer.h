// The rebalancer: moves slots from busy workers to less busy ones.
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
  uint64_t moved = 0;   // slots that moved to another worker
  uint64_t undone = 0;  // slots that were not ready to move in time
};

// Thread safety: Start before all other calls, Tick from one thread, the rest from any.
class Rebalancer : public SlotExchange {
 public:
  // Sets up the placement for workers of these capacities. Nothing moves if there is only one
  // worker or options.rebalance is false.
  void Start(const EngineOptions& options, const std::vector<uint32_t>& capacities,
             const std::vector<std::unique_ptr<Worker>>* workers);

  // Plans new moves if a period is over and all moves of the previous plan have ended. To be called
  // several times a second.
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
  std::optional<MovePlanner> planner_;
  int64_t next_us_ = 0;
  std::vector<uint32_t> records_before_;
  std::atomic<uint32_t> under_way_{0};
  std::atomic<uint64_t> moved_{0};
  std::atomic<uint64_t> undone_{0};
};

}  // namespace seganet

#endif  // SEGANET_CORE_RUNTIME_REBALANCER_H_

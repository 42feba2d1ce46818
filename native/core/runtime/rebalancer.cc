#include "core/runtime/rebalancer.h"

#include <utility>

#include "core/base/require.h"
#include "core/runtime/worker.h"

namespace seganet {

void Rebalancer::Start(const EngineOptions& options, const std::vector<uint32_t>& capacities,
                       const std::vector<std::unique_ptr<Worker>>* workers) {
  placement().Assign(capacities);
  capacities_ = capacities;
  workers_ = workers;
  options_ = options.rebalancing;
  active_ = options.rebalance && capacities.size() > 1;
  planner_.emplace(options_.limits);
  records_before_.assign(Placement::kSlots, 0);
  next_us_ = MonotonicUs() + options_.period_us;
}

void Rebalancer::Tick(int64_t now_us) {
  if (!active() || now_us < next_us_) return;
  next_us_ = now_us + options_.period_us;
  const std::vector<SlotLoad> slots = TakeSlotLoads();
  if (under_way_.load(std::memory_order_acquire) != 0) return;
  const std::vector<SlotMove> moves = planner_->Plan(now_us, WorkerLoads(slots), slots);
  if (moves.empty()) return;
  under_way_.store(static_cast<uint32_t>(moves.size()), std::memory_order_relaxed);
  (*workers_)[moves.front().from]->mover().Move(moves);
}

std::vector<SlotLoad> Rebalancer::TakeSlotLoads() {
  std::vector<SlotLoad> slots(Placement::kSlots);
  for (uint32_t slot = 0; slot < Placement::kSlots; ++slot) {
    const uint32_t records = placement().records(slot);
    slots[slot] = {placement().Owner(slot), records - records_before_[slot]};
    records_before_[slot] = records;
  }
  return slots;
}

std::vector<WorkerLoad> Rebalancer::WorkerLoads(const std::vector<SlotLoad>& slots) const {
  std::vector<WorkerLoad> loads;
  for (size_t i = 0; i < workers_->size(); ++i) {
    loads.push_back({(*workers_)[i]->load().busy(), capacities_[i]});
  }
  if (options_.record_cost_us == 0) return loads;
  for (WorkerLoad& load : loads) load.busy = 0;
  for (const SlotLoad& slot : slots) {
    loads[slot.worker].busy +=
        slot.records * options_.record_cost_us / static_cast<double>(options_.period_us);
  }
  return loads;
}

void Rebalancer::Deliver(uint32_t worker, std::unique_ptr<SlotParcel> parcel) {
  SEGANET_REQUIRE(!held());
  (*workers_)[worker]->mover().Arrive(std::move(parcel));
}

void Rebalancer::Forward(Command command) {
  const uint32_t owner = placement().WorkerOf(command.connection());
  (*workers_)[owner]->StartCommand(std::move(command));
}

void Rebalancer::Ended(const SlotMove&, bool moved) {
  (moved ? moved_ : undone_).fetch_add(1, std::memory_order_relaxed);
  under_way_.fetch_sub(1, std::memory_order_release);
}

}  // namespace seganet

// Decides which slots shall change their worker. Knows no threads and no clock.
#ifndef SEGANET_CORE_PLACEMENT_MOVE_PLANNER_H_
#define SEGANET_CORE_PLACEMENT_MOVE_PLANNER_H_

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/placement/placement.h"

namespace seganet {

// What a worker did in the last period.
struct WorkerLoad {
  double busy = 0;           // CPU time by time, 0..1: of its own core
  uint32_t capacity = 1024;  // WorkerCapacities
};

struct SlotLoad {
  uint32_t worker = 0;   // that owns it
  uint32_t records = 0;  // of the last period
};

struct SlotMove {
  uint32_t slot;
  uint32_t from;
  uint32_t to;
};

struct PlannerLimits {
  // The most loaded worker has so much more to do than the least loaded one, in cores and as a
  // ratio, for so many periods in a row.
  double least_gap = 0.25;
  double least_ratio = 1.5;
  uint32_t lasting_periods = 3;
  uint32_t most_moves = Placement::kSlots / 100;  // a period
  int64_t rest_us = 60'000'000;                   // a slot that was chosen stays as long
};

// Thread safety: owned by one thread.
class Planner {
 public:
  explicit Planner(const PlannerLimits& limits);

  // To be called once a period. Moves are from the most to the least loaded worker, and each makes
  // the larger of the two loads smaller: one device that is all of a worker's load stays where it
  // is. A slot's part of its worker's load is its part of the records.
  // REQUIRES: slots.size() == Placement::kSlots.
  std::vector<SlotMove> Plan(int64_t now_us, std::span<const WorkerLoad> workers,
                             std::span<const SlotLoad> slots);

 private:
  bool IsLasting(std::span<const WorkerLoad> workers, size_t most, size_t least);

  const PlannerLimits limits_;
  size_t hot_ = SIZE_MAX;  // the most loaded worker of the periods that are counted
  uint32_t periods_ = 0;
  std::array<int64_t, Placement::kSlots> rests_until_us_{};
};

}  // namespace seganet

#endif  // SEGANET_CORE_PLACEMENT_MOVE_PLANNER_H_

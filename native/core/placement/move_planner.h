// The move planner: decides which placement slots move to another worker. It knows no threads and
// no clock.
#ifndef SEGANET_CORE_PLACEMENT_MOVE_PLANNER_H_
#define SEGANET_CORE_PLACEMENT_MOVE_PLANNER_H_

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/placement/placement.h"

namespace seganet {

// The load of a worker in the last period.
struct WorkerLoad {
  double busy = 0;           // CPU time divided by elapsed time, 0..1 of its own core
  uint32_t capacity = 1024;  // WorkerCapacities
};

struct SlotLoad {
  uint32_t worker = 0;   // the owner
  uint32_t records = 0;  // in the last period
};

struct SlotMove {
  uint32_t slot;
  uint32_t from;
  uint32_t to;
};

struct MoveLimits {
  // Slots move if the busiest worker exceeds the least busy one by more than least_gap (in cores)
  // and by more than the factor least_ratio, in lasting_periods consecutive periods.
  double least_gap = 0.25;
  double least_ratio = 1.5;
  uint32_t lasting_periods = 3;
  uint32_t most_moves = Placement::kSlots / 100;  // per period
  int64_t rest_us = 60'000'000;  // a slot that was chosen is not chosen again for this long
};

// Thread safety: owned by one thread.
class MovePlanner {
 public:
  explicit MovePlanner(const MoveLimits& limits);

  // Returns the moves of this period; to be called once per period. Slots move from the busiest to
  // the least busy worker, and each move reduces the larger of the two loads. Therefore a slot that
  // causes all of its worker's load stays. A slot's share of its worker's load is its share of the
  // records.
  // REQUIRES: slots.size() == Placement::kSlots.
  std::vector<SlotMove> Plan(int64_t now_us, std::span<const WorkerLoad> workers,
                             std::span<const SlotLoad> slots);

 private:
  bool IsLasting(std::span<const WorkerLoad> workers, size_t most, size_t least);

  const MoveLimits limits_;
  size_t hot_ = SIZE_MAX;  // the busiest worker of the periods counted in periods_
  uint32_t periods_ = 0;
  std::array<int64_t, Placement::kSlots> rests_until_us_{};
};

}  // namespace seganet

#endif  // SEGANET_CORE_PLACEMENT_MOVE_PLANNER_H_

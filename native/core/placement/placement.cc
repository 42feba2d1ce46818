#include "core/placement/placement.h"

#include <numeric>

namespace seganet {

void Placement::Assign(const std::vector<uint32_t>& capacities) {
  const uint64_t all = std::accumulate(capacities.begin(), capacities.end(), uint64_t{0});
  uint32_t worker = 0;
  uint64_t end = capacities[0];  // of what this worker and those before it can do
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    while (slot * all >= end * kSlots) end += capacities[++worker];
    Set(slot, worker);
  }
}

}  // namespace seganet

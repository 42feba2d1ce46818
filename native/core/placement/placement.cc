#include "core/placement/placement.h"

#include <numeric>

#include "core/base/require.h"

namespace seganet {

void Placement::Assign(const std::vector<uint32_t>& capacities) {
  SEGANET_REQUIRE(!capacities.empty() && capacities.size() <= 256);
  const uint64_t all = std::accumulate(capacities.begin(), capacities.end(), uint64_t{0});
  uint32_t worker = 0;
  uint64_t end = capacities[0];  // capacity of this worker and all before it
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    while (slot * all >= end * kSlots) end += capacities[++worker];
    Set(slot, worker);
  }
}

}  // namespace seganet

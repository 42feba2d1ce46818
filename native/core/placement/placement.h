// Maps a device to the worker that owns it: hash → one of 1,024 slots → worker.
#ifndef SEGANET_CORE_PLACEMENT_PLACEMENT_H_
#define SEGANET_CORE_PLACEMENT_PLACEMENT_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/base/jenkins.h"

namespace seganet {

// SegaNet distributes devices over cores evenly by a Jenkins hash ("Architecture-aware agent
// management") and leaves better schemes to future work. Slots are the unit that can move to
// another worker: they need a table of 1,024 bytes instead of one entry per device.
//
// Thread safety: Assign before all other calls; WorkerOf, Owner and records from any thread,
// lock-free; Set and Count by the worker that owns the slot.
class Placement {
 public:
  static constexpr uint32_t kSlots = 1024;

  static uint32_t SlotOf(std::string_view device) { return JenkinsHash(device, kDeviceSeed) >> 22; }

  // Gives each worker a range of adjacent slots in proportion to its capacity. With equal
  // capacities, a slot goes to worker slot × workers >> 10. REQUIRES: 1 to 256 workers.
  void Assign(const std::vector<uint32_t>& capacities);

  uint32_t WorkerOf(std::string_view device) const { return Owner(SlotOf(device)); }
  // Acquire: a thread that reads a new owner also sees the parcel that was posted to that owner
  // before (SlotExchange).
  uint32_t Owner(uint32_t slot) const { return owners_[slot].load(std::memory_order_acquire); }
  void Set(uint32_t slot, uint32_t worker) {
    owners_[slot].store(static_cast<uint8_t>(worker), std::memory_order_release);
  }

  // Counts a received record of the slot.
  void Count(uint32_t slot) {
    records_[slot].store(records_[slot].load(std::memory_order_relaxed) + 1,
                         std::memory_order_relaxed);
  }
  // Returns the records since the start, modulo 2^32.
  uint32_t records(uint32_t slot) const { return records_[slot].load(std::memory_order_relaxed); }

 private:
  std::array<std::atomic<uint8_t>, kSlots> owners_{};
  std::array<std::atomic<uint32_t>, kSlots> records_{};
};

}  // namespace seganet

#endif  // SEGANET_CORE_PLACEMENT_PLACEMENT_H_

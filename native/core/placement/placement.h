// Which worker owns a device: hash → one of 1,024 slots → worker.
#ifndef SEGANET_CORE_PLACEMENT_PLACEMENT_H_
#define SEGANET_CORE_PLACEMENT_PLACEMENT_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/base/jenkins.h"

namespace seganet {

// SegaNet assigns devices to cores by a Jenkins hash, equally ("Architecture-aware agent
// management"), and leaves better schemes to others. The slot in between is what can be given to
// another worker: a table of 1,024 bytes instead of one entry a device.
//
// Thread safety: Assign before the others; WorkerOf, Owner and records from any thread, lock-free;
// Set and Count by the worker that owns the slot.
class Placement {
 public:
  static constexpr uint32_t kSlots = 1024;

  static uint32_t SlotOf(std::string_view device) { return JenkinsHash(device, kDeviceSeed) >> 22; }

  // Gives each worker a row of neighbouring slots, as many as its part of all capacities. With
  // equal capacities a slot goes to worker slot × workers >> 10. REQUIRES: 1 to 256 workers.
  void Assign(const std::vector<uint32_t>& capacities);

  uint32_t WorkerOf(std::string_view device) const { return Owner(SlotOf(device)); }
  // Acquire: whoever finds a new owner finds the parcel that was posted to it before
  // (SlotExchange).
  uint32_t Owner(uint32_t slot) const { return owners_[slot].load(std::memory_order_acquire); }
  void Set(uint32_t slot, uint32_t worker) {
    owners_[slot].store(static_cast<uint8_t>(worker), std::memory_order_release);
  }

  // A record of the slot was taken in.
  void Count(uint32_t slot) {
    records_[slot].store(records_[slot].load(std::memory_order_relaxed) + 1,
                         std::memory_order_relaxed);
  }
  // Since the start; wraps.
  uint32_t records(uint32_t slot) const { return records_[slot].load(std::memory_order_relaxed); }

 private:
  std::array<std::atomic<uint8_t>, kSlots> owners_{};
  std::array<std::atomic<uint32_t>, kSlots> records_{};
};

}  // namespace seganet

#endif  // SEGANET_CORE_PLACEMENT_PLACEMENT_H_

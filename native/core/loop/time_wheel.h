// When many things have to be looked at again, each at a time of its own.
#ifndef SEGANET_CORE_LOOP_TIME_WHEEL_H_
#define SEGANET_CORE_LOOP_TIME_WHEEL_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/clock.h"

namespace seganet {

// A device that need not be looked at for a minute costs nothing but a look each time the wheel has
// come around. Times are kept to a tick; none is met early.
//
// Thread safety: owned by one worker. Times are of one monotonic clock, us.
class TimeWheel {
 public:
  static constexpr int64_t kTickUs = 250'000;
  static constexpr size_t kSlots = 64;  // once around: 16 s

  // What is put into a wheel derives from it.
  class Item {
   protected:
    ~Item() = default;

   private:
    friend class TimeWheel;
    static constexpr uint32_t kOut = UINT32_MAX;
    uint32_t slot_ = kOut;
    uint32_t index_ = 0;
  };

  explicit TimeWheel(int64_t now_us) : tick_(now_us / kTickUs) {}

  // Due at `due_us`, or sooner when that is more than once around; kNever = not at all. REQUIRES:
  // it is not in.
  void Add(Item* item, int64_t due_us) {
    if (due_us == kNever) return;
    const int64_t ticks = (due_us + kTickUs - 1) / kTickUs - tick_;
    const int64_t ahead = std::clamp<int64_t>(ticks, 1, kSlots - 1);
    Put(item, static_cast<uint32_t>(static_cast<size_t>(tick_ + ahead) % kSlots));
  }

  // No effect when it is not in.
  void Remove(Item* item) {
    if (item->slot_ == Item::kOut) return;
    std::vector<Item*>& slot = slots_[item->slot_];
    if (item->slot_ == kTurning) {
      slot[item->index_] = nullptr;
    } else {
      slot[item->index_] = slot.back();
      slot[item->index_]->index_ = item->index_;
      slot.pop_back();
    }
    item->slot_ = Item::kOut;
  }

  // Calls look(Item*) for those that are due by now, which answers when it has to be asked again.
  // It may remove items, also its own; what it then answers is not looked at.
  template <typename Look>
  void Turn(int64_t now_us, Look&& look) {
    const int64_t now = now_us / kTickUs;
    // After a long sleep each slot once is all of it.
    tick_ = std::max(tick_, now - static_cast<int64_t>(kSlots));
    while (tick_ < now) {
      ++tick_;
      std::vector<Item*>& turning = slots_[kTurning];
      turning.swap(slots_[static_cast<size_t>(tick_) % kSlots]);
      for (uint32_t i = 0; i < turning.size(); ++i) turning[i]->slot_ = kTurning;
      for (uint32_t i = 0; i < turning.size(); ++i) {
        Item* const item = turning[i];
        if (item == nullptr) continue;
        const int64_t due_us = look(item);
        if (turning[i] == nullptr) continue;  // removed
        item->slot_ = Item::kOut;
        Add(item, due_us);
      }
      turning.clear();
    }
  }

 private:
  static constexpr uint32_t kTurning = kSlots;

  void Put(Item* item, uint32_t slot) {
    item->slot_ = slot;
    item->index_ = static_cast<uint32_t>(slots_[slot].size());
    slots_[slot].push_back(item);
  }

  int64_t tick_;  // the last that was turned
  std::array<std::vector<Item*>, kSlots + 1> slots_;
};

}  // namespace seganet

#endif  // SEGANET_CORE_LOOP_TIME_WHEEL_H_

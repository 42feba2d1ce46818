// A timer wheel: schedules the next check of many items, each at its own time.
#ifndef SEGANET_CORE_LOOP_TIME_WHEEL_H_
#define SEGANET_CORE_LOOP_TIME_WHEEL_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/require.h"

namespace seganet {

// An item that is due later than one revolution is checked once per revolution until then. Due
// times are rounded up to a tick; no item is checked before it is due, except once per revolution.
//
// Thread safety: owned by one worker. Times are microseconds of one monotonic clock.
class TimeWheel {
 public:
  static constexpr int64_t kTickUs = 250'000;
  static constexpr size_t kBuckets = 64;  // one revolution is 16 s

  // Base class of the items in a wheel.
  class Item {
   protected:
    ~Item() = default;

   private:
    friend class TimeWheel;
    static constexpr uint32_t kOut = UINT32_MAX;
    uint32_t bucket_ = kOut;
    uint32_t index_ = 0;
  };

  explicit TimeWheel(int64_t now_us) : tick_(now_us / kTickUs) {}

  // Schedules the item for `due_us`, or for an earlier time if that is more than one revolution
  // ahead; kNever does not schedule it. REQUIRES: the item is not in a wheel.
  void Add(Item* item, int64_t due_us) {
    SEGANET_REQUIRE(item->bucket_ == Item::kOut);
    if (due_us == kNever) return;
    const int64_t ticks = (due_us + kTickUs - 1) / kTickUs - tick_;
    const int64_t ahead = std::clamp<int64_t>(ticks, 1, kBuckets - 1);
    Put(item, static_cast<uint32_t>(static_cast<size_t>(tick_ + ahead) % kBuckets));
  }

  // Removes the item. No effect if it is not in the wheel.
  void Remove(Item* item) {
    if (item->bucket_ == Item::kOut) return;
    std::vector<Item*>& bucket = buckets_[item->bucket_];
    if (item->bucket_ == kTurning) {
      bucket[item->index_] = nullptr;
    } else {
      bucket[item->index_] = bucket.back();
      bucket[item->index_]->index_ = item->index_;
      bucket.pop_back();
    }
    item->bucket_ = Item::kOut;
  }

  // Calls look(Item*), which returns the item's next due time, for each item that is due at
  // `now_us`. `look` may remove items, including its own argument; in that case, its result is
  // ignored.
  template <typename Look>
  void Turn(int64_t now_us, Look&& look) {
    const int64_t now = now_us / kTickUs;
    // After a long sleep, one revolution visits every bucket.
    tick_ = std::max(tick_, now - static_cast<int64_t>(kBuckets));
    while (tick_ < now) {
      ++tick_;
      std::vector<Item*>& turning = buckets_[kTurning];
      turning.swap(buckets_[static_cast<size_t>(tick_) % kBuckets]);
      for (uint32_t i = 0; i < turning.size(); ++i) turning[i]->bucket_ = kTurning;
      for (uint32_t i = 0; i < turning.size(); ++i) {
        Item* const item = turning[i];
        if (item == nullptr) continue;
        const int64_t due_us = look(item);
        if (turning[i] == nullptr) continue;  // removed
        item->bucket_ = Item::kOut;
        Add(item, due_us);
      }
      turning.clear();
    }
  }

 private:
  static constexpr uint32_t kTurning = kBuckets;

  void Put(Item* item, uint32_t bucket) {
    item->bucket_ = bucket;
    item->index_ = static_cast<uint32_t>(buckets_[bucket].size());
    buckets_[bucket].push_back(item);
  }

  int64_t tick_;  // the last tick that Turn handled
  std::array<std::vector<Item*>, kBuckets + 1> buckets_;
};

}  // namespace seganet

#endif  // SEGANET_CORE_LOOP_TIME_WHEEL_H_

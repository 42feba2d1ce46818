// Decides which classes' devices are not read, because memory has no room for more of their
// records.
#ifndef SEGANET_CORE_QUEUE_THROTTLE_H_
#define SEGANET_CORE_QUEUE_THROTTLE_H_

#include <atomic>
#include <bit>
#include <cstdint>

#include "core/queue/budget.h"
#include "core/queue/demand.h"

namespace seganet {

// A class is slowed from the time when it is full until it is relaxed (Budget). The hysteresis
// avoids stopping and restarting devices for every record.
//
// Thread safety: any member from any thread. Callers that free memory must call Relax() afterwards.
// If the last memory is freed between the two checks in MayGoOn, Relax() may miss the new mark on a
// machine that reorders memory accesses, so the owner must also call Relax() periodically.
class Throttle {
 public:
  enum class Verdict : uint8_t { kGoOn, kSlowed, kBegins };

  explicit Throttle(const Budget* budget) : budget_(budget) {}

  // Decides whether devices of this class may be read. kSlowed: no. kBegins: no, since this call.
  Verdict MayGoOn(uint8_t record_class) {
    const ClassMask mine = MaskOf(record_class);
    const bool full = budget_->full(record_class);
    const bool slowed = (slowed_.load() & mine) != 0;
    if (!full && !slowed) return Verdict::kGoOn;
    const bool begins = !slowed && (slowed_.fetch_or(mine) & mine) == 0;
    // The class may have relaxed before the mark was visible.
    if (begins && budget_->relaxed(record_class)) {
      slowed_.fetch_and(~mine);
      return Verdict::kGoOn;
    }
    return begins ? Verdict::kBegins : Verdict::kSlowed;
  }

  bool slowed(uint8_t record_class) const { return (slowed_.load() & MaskOf(record_class)) != 0; }

  // Returns the most urgent class that is slowed, 0 = none.
  uint8_t slowed_from() const {
    const ClassMask slowed = slowed_.load(std::memory_order_relaxed);
    return slowed == 0 ? 0 : static_cast<uint8_t>(std::countr_zero(slowed));
  }

  // Ends the slowing of classes that have room again. Returns true if there are any; the caller
  // must then read their devices.
  bool Relax() {
    const ClassMask slowed = slowed_.load();
    ClassMask over = 0;
    for (uint8_t c = kCritical; slowed != 0 && c <= kClasses; ++c) {
      if ((slowed & MaskOf(c)) != 0 && budget_->relaxed(c)) over |= MaskOf(c);
    }
    return over != 0 && (slowed_.fetch_and(~over) & over) != 0;
  }

 private:
  const Budget* const budget_;
  std::atomic<ClassMask> slowed_{0};
};

}  // namespace seganet

#endif  // SEGANET_CORE_QUEUE_THROTTLE_H_

// Which classes' devices are not read, because what is held of their records leaves no room for
// more.
#ifndef SEGANET_CORE_QUEUE_THROTTLE_H_
#define SEGANET_CORE_QUEUE_THROTTLE_H_

#include <atomic>
#include <bit>
#include <cstdint>

#include "core/queue/budget.h"
#include "core/queue/demand.h"

namespace seganet {

// A class is slowed from when it is full until it is relaxed (Budget), so that devices are not
// stopped and started for every record.
//
// Thread safety: any member from any thread. Who frees memory calls Relax() afterwards. One that
// frees the last of it between MayGoOn's two looks may miss the mark on a machine that reorders
// them, so somebody calls Relax() now and then as well.
class Throttle {
 public:
  enum class Verdict : uint8_t { kGoOn, kSlowed, kBegins };

  explicit Throttle(const Budget* budget) : budget_(budget) {}

  // Whether devices of this class may be read. kBegins: not, from now on.
  Verdict MayGoOn(uint8_t record_class) {
    const ClassMask mine = MaskOf(record_class);
    const bool full = budget_->full(record_class);
    const bool slowed = (slowed_.load() & mine) != 0;
    if (!full && !slowed) return Verdict::kGoOn;
    const bool begins = !slowed && (slowed_.fetch_or(mine) & mine) == 0;
    // It may have emptied before the mark was there to be seen.
    if (begins && budget_->relaxed(record_class)) {
      slowed_.fetch_and(~mine);
      return Verdict::kGoOn;
    }
    return begins ? Verdict::kBegins : Verdict::kSlowed;
  }

  bool slowed(uint8_t record_class) const { return (slowed_.load() & MaskOf(record_class)) != 0; }

  // Most urgent class that is slowed, 0 = none.
  uint8_t slowed_from() const {
    const ClassMask slowed = slowed_.load(std::memory_order_relaxed);
    return slowed == 0 ? 0 : static_cast<uint8_t>(std::countr_zero(slowed));
  }

  // Lets the classes go on that have room again. True: there are some, and their devices are to be
  // read.
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

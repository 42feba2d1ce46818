// Interrupt moderation: how long a worker sleeps on, so that one wake-up serves all that became
// ready.
#ifndef SEGANET_CORE_LOOP_WAKEUP_MODERATION_H_
#define SEGANET_CORE_LOOP_WAKEUP_MODERATION_H_

#include <algorithm>
#include <cstdint>

namespace seganet {

// A wake-up costs the kernel as much as two messages. But a nap is a wake-up too: it pays where
// several events come in one (measured: at 640 messages a second naps made the worker half as dear
// again). So there are none until that many came lately, and the first record after a quiet time
// never waits.
//
// Thread safety: none. Times are of one monotonic clock, us.
class Moderation {
 public:
  // Events in one interval from which on naps pay. A message is one to three of them, and a few
  // devices that happen to send together are no load.
  static constexpr int64_t kWorthwhile = 4;
  // Over which they are counted at least, or an interval where that is longer: one event in a part
  // of a long interval says nothing of it.
  static constexpr int64_t kWindowUs = 10'000;

  explicit Moderation(int64_t interval_us) : interval_us_(interval_us) {}

  // Something had become ready: a device, or what another thread brought.
  void Count() { ++events_; }

  // To be asked before each wait for events: how long to sleep before it. `may` = false: not now.
  int64_t NapUs(int64_t now_us, bool may) {
    Measure(now_us);
    const int64_t early_us = last_wake_us_ + interval_us_ - now_us;
    const bool naps = may && busy_ && early_us > 0;
    last_wake_us_ = naps ? now_us + early_us : now_us;
    return naps ? early_us : 0;
  }

 private:
  void Measure(int64_t now_us) {
    const int64_t passed_us = now_us - window_us_;
    if (passed_us < std::max(kWindowUs, interval_us_)) return;
    busy_ = events_ * interval_us_ >= kWorthwhile * passed_us;
    events_ = 0;
    window_us_ = now_us;
  }

  const int64_t interval_us_;
  int64_t last_wake_us_ = 0;
  int64_t window_us_ = 0;  // when the present one began
  int64_t events_ = 0;     // in it
  bool busy_ = false;
};

}  // namespace seganet

#endif  // SEGANET_CORE_LOOP_WAKEUP_MODERATION_H_

// Wake-up moderation: how long a worker sleeps before it waits for events, so that one wake-up
// serves all events that become ready meanwhile.
#ifndef SEGANET_CORE_LOOP_WAKEUP_MODERATION_H_
#define SEGANET_CORE_LOOP_WAKEUP_MODERATION_H_

#include <algorithm>
#include <cstdint>

namespace seganet {

// A wake-up costs the kernel as much as two messages. But a nap is a wake-up too: it pays only if
// several events arrive during it. (Measured: at 640 messages a second, naps increased the worker's
// CPU time by half.) Therefore there are no naps until enough events arrived recently, and the
// first record after a quiet period never waits.
//
// Thread safety: none. Times are microseconds of one monotonic clock.
class WakeupModeration {
 public:
  // Events per interval at and above which naps pay. A message causes one to three of them, and a
  // few devices that happen to send at the same time are not a load.
  static constexpr int64_t kWorthwhile = 4;
  // Events are counted over at least this time, or over an interval if that is longer: a part of a
  // long interval is too short a sample.
  static constexpr int64_t kWindowUs = 10'000;

  explicit WakeupModeration(int64_t interval_us) : interval_us_(interval_us) {}

  // Counts an event: a device became ready, or another thread posted something.
  void Count() { ++events_; }

  // Returns how long to sleep before the next wait for events, 0 = not at all. Called before each
  // such wait. `may` false rules out a nap.
  int64_t NapUs(int64_t now_us, bool may) {
    Measure(now_us);
    const int64_t early_us = last_wake_us_ + interval_us_ - now_us;
    const bool naps = may && busy_ && early_us > 0;
    last_wake_us_ = naps ? now_us + early_us : now_us;
    return naps ? early_us : 0;
  }

  // The last nap ended early, at this time.
  void WokeAt(int64_t now_us) { last_wake_us_ = now_us; }

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
  int64_t window_us_ = 0;  // begin of the current window
  int64_t events_ = 0;     // in the current window
  bool busy_ = false;
};

}  // namespace seganet

#endif  // SEGANET_CORE_LOOP_WAKEUP_MODERATION_H_

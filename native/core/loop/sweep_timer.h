// The timer of a loop for work that is due now and then: four times a second while something
// happens on the loop, once a second after some seconds in which nothing did. Wake-ups are most of
// what a gateway costs while its devices are silent.
#ifndef SEGANET_CORE_LOOP_SWEEP_TIMER_H_
#define SEGANET_CORE_LOOP_SWEEP_TIMER_H_

#include <uv.h>

#include <cstdint>
#include <functional>
#include <utility>

#include "core/base/clock.h"

namespace seganet {

// Thread safety: the loop's thread.
class SweepTimer {
 public:
  static constexpr uint64_t kBusyMs = 250;
  static constexpr uint64_t kStillMs = 1000;
  // Sweeps without an event between them, after which the slow pace begins.
  static constexpr uint32_t kStillSweeps = 12;
  // A sweep that is later than this waits for another kBusyMs. A loop that stood still, because its
  // core did something else or the machine was frozen, runs its timers before it reads what peers
  // sent meanwhile, and the sweep would end them for their silence. So do other threads, for
  // example the one that decrypts what this one reads.
  static constexpr int64_t kLateUs = 100'000;

  // sweep: returns true if nothing waits that four times a second would serve sooner.
  explicit SweepTimer(std::function<bool()> sweep) : sweep_(std::move(sweep)) {}
  SweepTimer(const SweepTimer&) = delete;
  SweepTimer& operator=(const SweepTimer&) = delete;

  void Start(uv_loop_t* loop) {
    uv_timer_init(loop, &timer_);
    timer_.data = this;
    SetPace(kBusyMs);
  }

  // REQUIRES: Start was called. The object must live until the loop has closed the handle.
  void Close() { uv_close(reinterpret_cast<uv_handle_t*>(&timer_), nullptr); }

  // An event was handled: the fast pace begins, or goes on.
  void Stir() {
    still_sweeps_ = 0;
    if (pace_ms_ != kBusyMs) SetPace(kBusyMs);
  }

  // Call it at the end of each turn of the loop: a turn that was not a sweep had an event.
  void EndTurn() {
    if (!std::exchange(swept_, false)) Stir();
  }

  uint64_t pace_ms() const { return pace_ms_; }

 private:
  void SetPace(uint64_t ms) {
    pace_ms_ = ms;
    Arm(ms);
  }

  void Arm(uint64_t ms) {
    due_us_ = MonotonicUs() + static_cast<int64_t>(ms) * 1000;
    uv_timer_start(
        &timer_, [](uv_timer_t* timer) { static_cast<SweepTimer*>(timer->data)->OnTime(); }, ms, 0);
  }

  void OnTime() {
    const bool is_late = MonotonicUs() - due_us_ > kLateUs;
    if (is_late && !std::exchange(waited_, true)) {
      swept_ = true;
      return Arm(kBusyMs);
    }
    waited_ = false;
    Arm(pace_ms_);
    Sweep();
  }

  void Sweep() {
    swept_ = true;
    if (!sweep_()) return Stir();
    if (++still_sweeps_ == kStillSweeps) SetPace(kStillMs);
  }

  const std::function<bool()> sweep_;
  uv_timer_t timer_{};
  uint64_t pace_ms_ = kBusyMs;
  int64_t due_us_ = 0;
  uint32_t still_sweeps_ = 0;
  bool waited_ = false;  // a late sweep has waited
  bool swept_ = false;
};

}  // namespace seganet

#endif  // SEGANET_CORE_LOOP_SWEEP_TIMER_H_

// Wake-up moderation of an uplink thread: enforces a minimum interval between its turns under load.
// loop/wakeup_moderation.h does the same for workers.
#ifndef SEGANET_CORE_UPLINK_UPLINK_MODERATION_H_
#define SEGANET_CORE_UPLINK_UPLINK_MODERATION_H_

#include <cstdint>
#include <functional>
#include <limits>

namespace seganet {

// A wake-up costs several times as much as a PUBLISH. Under load a turn therefore ends with a
// sleep, and the next turn handles all doorbells and PUBACKs of that time. A turn after a pause, or
// at a low rate, is never delayed.
//
// Thread safety: none. Times are of one monotonic clock, us.
class UplinkModeration {
 public:
  // Up to kQuietRate records per second, turns are not delayed. From kBusyRate on, they begin
  // kBusyUs apart. In between, the interval increases linearly.
  static constexpr int64_t kQuietRate = 2000;
  static constexpr int64_t kBusyRate = 6000;
  static constexpr int64_t kBusyUs = 1000;
  // Window in which the rate is measured. After a pause, the rate is low.
  static constexpr int64_t kWindowUs = 50'000;
  // Shorter sleeps cost more than they save.
  static constexpr int64_t kMinSleepUs = 100;

  // `sleep` blocks the thread for a number of us, or less if something urgent happens, and returns
  // the time slept.
  explicit UplinkModeration(int64_t now_us, std::function<int64_t(int64_t)> sleep = Sleep);

  // Ends a turn, and sleeps if the next turn should begin later. `records`: total number of records
  // taken so far. `is_waiting`: something waits for the next turn, so do not sleep.
  void Rest(int64_t now_us, uint64_t records, bool is_waiting);

  // Returns the current interval between the beginnings of turns, us.
  int64_t interval_us() const { return interval_us_; }

 private:
  static int64_t Sleep(int64_t us);
  void Measure(int64_t now_us, uint64_t records);

  const std::function<int64_t(int64_t)> sleep_;
  int64_t interval_us_ = 0;
  // When the last turn ended. Initially long ago.
  int64_t turn_us_ = std::numeric_limits<int64_t>::min() / 2;
  int64_t window_us_;
  uint64_t records_before_ = 0;
};

}  // namespace seganet

#endif  // SEGANET_CORE_UPLINK_UPLINK_MODERATION_H_

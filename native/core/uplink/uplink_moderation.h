// Interrupt moderation of the uplink's thread: how far apart its turns are. The C++ of
// nodes/lib/uplink/moderation.js; the workers' is runtime/moderation.h.
#ifndef SEGANET_CORE_UPLINK_UPLINK_MODERATION_H_
#define SEGANET_CORE_UPLINK_UPLINK_MODERATION_H_

#include <cstdint>
#include <functional>
#include <limits>

namespace seganet {

// A wake-up costs several times what a PUBLISH costs, so under load a turn ends with a nap, and the
// next one serves the doorbells and PUBACKs of all that time. A turn after a pause is never
// delayed, nor is any at a low rate.
//
// Thread safety: none. Times are of one monotonic clock, us.
class UplinkModeration {
 public:
  // Up to kQuietRate records a second nothing is delayed, from kBusyRate on turns begin kBusyUs
  // apart; between the two it rises evenly.
  static constexpr int64_t kQuietRate = 2000;
  static constexpr int64_t kBusyRate = 6000;
  static constexpr int64_t kBusyUs = 1000;
  // The rate is that of the last so long, so what comes after a pause finds a quiet one.
  static constexpr int64_t kWindowUs = 50'000;
  // Shorter costs more than it saves.
  static constexpr int64_t kLeastNapUs = 100;

  // `sleep` blocks the thread for so many us.
  explicit UplinkModeration(int64_t now_us, std::function<void(int64_t)> sleep = Nap);

  // The turn is over and nothing is left to do in it. `records`: that were taken so far, of all
  // time. `is_waiting`: something waits for what the next turn brings.
  void Rest(int64_t now_us, uint64_t records, bool is_waiting);

  // How far apart turns begin now, us.
  int64_t interval_us() const { return interval_us_; }

 private:
  static void Nap(int64_t us);
  void Measure(int64_t now_us, uint64_t records);

  const std::function<void(int64_t)> sleep_;
  int64_t interval_us_ = 0;
  // When the last turn ended. There was none, and nothing is near it.
  int64_t turn_us_ = std::numeric_limits<int64_t>::min() / 2;
  int64_t window_us_;
  uint64_t records_before_ = 0;
};

}  // namespace seganet

#endif  // SEGANET_CORE_UPLINK_UPLINK_MODERATION_H_

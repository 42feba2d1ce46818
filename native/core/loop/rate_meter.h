// The records per second that a device sent over the last seconds.
#ifndef SEGANET_CORE_LOOP_RATE_METER_H_
#define SEGANET_CORE_LOOP_RATE_METER_H_

#include <algorithm>
#include <cstdint>

namespace seganet {

// Counts in windows of kWindowUs. The part of the last kWindowUs that the current window does not
// cover is estimated from the previous window.
// Thread safety: none. Times are microseconds of one monotonic clock.
class RateMeter {
 public:
  static constexpr int64_t kWindowUs = 4'000'000;

  void Add(int64_t now_us) {
    Roll(now_us);
    ++current_;
  }

  double PerSecond(int64_t now_us) const {
    RateMeter now = *this;
    now.Roll(now_us);
    if (now.start_us_ == 0) return 0;
    const auto passed = static_cast<double>(std::max<int64_t>(now_us - now.start_us_, 0));
    // A new device has no previous window. Dividing by at least one second prevents one record from
    // counting as a high rate.
    if (now.first_) return now.current_ * 1e6 / std::max(passed, 1e6);
    return (now.previous_ * (1 - passed / kWindowUs) + now.current_) * 1e6 / kWindowUs;
  }

 private:
  void Roll(int64_t now_us) {
    if (start_us_ == 0) {
      start_us_ = now_us;
      return;
    }
    const int64_t windows = (now_us - start_us_) / kWindowUs;
    if (windows <= 0) return;
    previous_ = windows == 1 ? current_ : 0;
    current_ = 0;
    start_us_ += windows * kWindowUs;
    first_ = false;
  }

  int64_t start_us_ = 0;  // of the current window; 0 = no record yet
  uint32_t current_ = 0;
  uint32_t previous_ = 0;
  bool first_ = true;
};

}  // namespace seganet

#endif  // SEGANET_CORE_LOOP_RATE_METER_H_

// How many records a second a device sends, of the last seconds.
#ifndef SEGANET_CORE_LOOP_RATE_METER_H_
#define SEGANET_CORE_LOOP_RATE_METER_H_

#include <algorithm>
#include <cstdint>

namespace seganet {

// Two windows: what the one at hand does not cover yet is supposed to be as the one before was.
// Thread safety: none. Times are of one monotonic clock, us.
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
    // A device that is new has no window before: at least a second, or one record is many a second.
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

  int64_t start_us_ = 0;  // of the window at hand, 0 = no record yet
  uint32_t current_ = 0;
  uint32_t previous_ = 0;
  bool first_ = true;
};

}  // namespace seganet

#endif  // SEGANET_CORE_LOOP_RATE_METER_H_

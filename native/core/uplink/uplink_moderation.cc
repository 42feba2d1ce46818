#include "core/uplink/uplink_moderation.h"

#include <algorithm>
#include <ctime>
#include <utility>

namespace seganet {

UplinkModeration::UplinkModeration(int64_t now_us, std::function<int64_t(int64_t)> sleep)
    : sleep_(std::move(sleep)), window_us_(now_us) {}

void UplinkModeration::Rest(int64_t now_us, uint64_t records, bool is_waiting) {
  Measure(now_us, records);
  const int64_t wait_us = turn_us_ + interval_us_ - now_us;
  turn_us_ = now_us;
  if (is_waiting || wait_us < kMinSleepUs) return;
  turn_us_ += sleep_(wait_us);
}

void UplinkModeration::Measure(int64_t now_us, uint64_t records) {
  const int64_t passed_us = now_us - window_us_;
  if (passed_us < kWindowUs) return;
  const double rate =
      static_cast<double>(records - records_before_) * 1e6 / static_cast<double>(passed_us);
  const double load = std::clamp((rate - kQuietRate) / (kBusyRate - kQuietRate), 0.0, 1.0);
  interval_us_ = static_cast<int64_t>(load * kBusyUs);
  window_us_ = now_us;
  records_before_ = records;
}

// A signal may end the sleep early, which costs only a wake-up.
int64_t UplinkModeration::Sleep(int64_t us) {
  timespec time{};
  time.tv_sec = static_cast<time_t>(us / 1'000'000);
  time.tv_nsec = static_cast<decltype(time.tv_nsec)>(us % 1'000'000 * 1000);
  nanosleep(&time, nullptr);
  return us;
}

}  // namespace seganet

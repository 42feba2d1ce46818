// The engine's memory budget for waiting records, the number of records of each class, and the
// thresholds at which a class must wait. Less urgent classes have lower thresholds and leave the
// rest of the memory to more urgent ones.
#ifndef SEGANET_CORE_QUEUE_BUDGET_H_
#define SEGANET_CORE_QUEUE_BUDGET_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "core/record/record.h"

namespace seganet {

// Thread safety: any member from any thread, except Set…, which must be called before the threads
// start.
class Budget {
 public:
  explicit Budget(int64_t bytes) : limit_(bytes) {}

  void SetLimit(int64_t bytes) { limit_ = bytes; }
  // Sets the maximum number of records of each class in memory, 0 = no limit for the class.
  void SetClassLimits(const std::array<int64_t, kClasses + 1>& records) { class_limit_ = records; }
  // If true, the lanes drop records above a class limit, and devices do not wait for it.
  void SetDropping(bool dropping) { dropping_ = dropping; }

  void AddRecords(uint8_t record_class, int64_t n) {
    records_[record_class].fetch_add(n, std::memory_order_relaxed);
  }
  void TakeBytes(size_t n) { held_.fetch_add(static_cast<int64_t>(n), std::memory_order_relaxed); }
  void GiveBytes(size_t n) { held_.fetch_sub(static_cast<int64_t>(n), std::memory_order_relaxed); }

  int64_t held() const { return held_.load(std::memory_order_relaxed); }
  int64_t limit() const { return limit_; }
  int64_t records(uint8_t record_class) const {
    return records_[record_class].load(std::memory_order_relaxed);
  }

  // Above 90 % (high) all devices are slowed; below 75 % (low) they are read again. The last tenth
  // is for data in flight: one read buffer per device.
  bool high() const { return held() > Percent(kFullPercent); }
  bool low() const { return held() < Percent(kFullPercent - kRelaxedBelow); }

  // True if the class has more records in memory than its limit.
  bool over(uint8_t record_class) const {
    return class_limit_[record_class] > 0 && records(record_class) > class_limit_[record_class];
  }

  // True if devices of this class must wait: its limit is reached, or memory use is above 90 % for
  // class 1, 85 % for class 2, 80 % for class 3, 75 % for the others.
  bool full(uint8_t record_class) const {
    if (dropping_) return high();
    const int64_t limit = class_limit_[record_class];
    return (limit > 0 && records(record_class) >= limit) || overflows(record_class);
  }

  // True if memory has no room for the class: memory use is above the threshold of full(). If the
  // user chose to drop, waiting records of the class are dropped.
  bool overflows(uint8_t record_class) const { return held() > Percent(FullPercent(record_class)); }

  // True if devices of this class may be read again: it has less than three quarters of its limit,
  // and memory use is 15 percentage points below the threshold of full().
  bool relaxed(uint8_t record_class) const {
    if (dropping_) return low();
    const int64_t limit = class_limit_[record_class];
    return (limit == 0 || records(record_class) < limit - limit / 4) &&
           held() < Percent(FullPercent(record_class) - kRelaxedBelow);
  }

  // True if records of the class must be written to disk and leave memory, early enough that no
  // device waits: the class has more than half of its limit, or memory use is above 50 % for the
  // least urgent classes, up to 65 % for class 1. The thresholds differ so that a long outage of
  // the session of class 4 does not cause alarms of another session to be written.
  bool crowded(uint8_t record_class) const {
    return half_full(record_class) || held() > Percent(FullPercent(record_class) - kCrowdedBelow);
  }
  bool half_full(uint8_t record_class) const {
    const int64_t limit = class_limit_[record_class];
    return limit > 0 && records(record_class) > limit / 2;
  }

 private:
  static constexpr int kFullPercent = 90;
  static constexpr int kLeastPercent = 75;
  static constexpr int kRelaxedBelow = 15;
  static constexpr int kCrowdedBelow = 25;

  static int FullPercent(uint8_t record_class) {
    return std::max(kLeastPercent, kFullPercent - 5 * (record_class - kCritical));
  }
  int64_t Percent(int percent) const {
    return limit_ / 100 * percent + limit_ % 100 * percent / 100;
  }

  int64_t limit_;
  bool dropping_ = false;
  std::array<int64_t, kClasses + 1> class_limit_{};
  std::atomic<int64_t> held_{0};
  std::array<std::atomic<int64_t>, kClasses + 1> records_{};
};

}  // namespace seganet

#endif  // SEGANET_CORE_QUEUE_BUDGET_H_

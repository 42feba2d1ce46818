// The engine's memory budget for records that wait, how many of each class do, and from when on a
// class has to wait, so that the less urgent ones leave the rest of the memory to the others.
#ifndef SEGANET_CORE_QUEUE_BUDGET_H_
#define SEGANET_CORE_QUEUE_BUDGET_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "core/record/record.h"

namespace seganet {

// Thread safety: any member from any thread, but for those named Set….
class Budget {
 public:
  explicit Budget(int64_t bytes) : limit_(bytes) {}

  // Before the threads start.
  void SetLimit(int64_t bytes) { limit_ = bytes; }
  // Records of a class that memory holds at most, 0 = no limit of its own.
  void SetClassLimits(const std::array<int64_t, kClasses + 1>& records) { class_limit_ = records; }
  // What is above a limit is dropped by the lanes, and devices do not wait for that.
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

  // Above 90 % all devices are slowed; they are read again below 75 %. What is on its way already
  // (a read buffer a device) has the last tenth.
  bool high() const { return held() > Percent(kFullPercent); }
  bool low() const { return held() < Percent(kFullPercent - kRelaxedBelow); }

  // The class has more records in memory than it may.
  bool over(uint8_t record_class) const {
    return class_limit_[record_class] > 0 && records(record_class) > class_limit_[record_class];
  }

  // Devices of this class have to wait: its limit is reached, or memory is above 90 % for class 1,
  // 85 for 2, 80 for 3 and 75 for those that are less urgent.
  bool full(uint8_t record_class) const {
    if (dropping_) return high();
    const int64_t limit = class_limit_[record_class];
    return (limit > 0 && records(record_class) >= limit) || overflows(record_class);
  }

  // Memory has no room for the class: what waits of it goes where the user chose to drop. Those
  // that are less urgent go earlier, as they would wait earlier.
  bool overflows(uint8_t record_class) const { return held() > Percent(FullPercent(record_class)); }

  // They may go on: below three quarters of its limit, and memory 15 points lower.
  bool relaxed(uint8_t record_class) const {
    if (dropping_) return low();
    const int64_t limit = class_limit_[record_class];
    return (limit == 0 || records(record_class) < limit - limit / 4) &&
           held() < Percent(FullPercent(record_class) - kRelaxedBelow);
  }

  // Its records have to get to disk and out of memory, early enough that nobody waits: above half
  // of its limit, or memory above half for the least urgent classes and up to 65 % for class 1. So
  // a long outage of bulk's session does not have the alarms of another one written.
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

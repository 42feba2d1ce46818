// The engine's memory budget for records that wait, and how many of each class do.
#ifndef SEGANET_CORE_QUEUE_BUDGET_H_
#define SEGANET_CORE_QUEUE_BUDGET_H_

#include <array>
#include <atomic>
#include <cstdint>

#include "core/record/record.h"

namespace seganet {

// Thread safety: any member from any thread.
class Budget {
 public:
  explicit Budget(int64_t bytes) : limit_(bytes) {}

  // Before the threads start.
  void SetLimit(int64_t bytes) { limit_ = bytes; }

  // Records of a class, at most; 0 = no limit of its own.
  void SetClassLimits(const std::array<int64_t, kClasses + 1>& records) { class_limits_ = records; }

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

  // No more of this class: it has reached its own limit, or memory is above what its urgency may
  // use.
  bool full(uint8_t record_class) const {
    const int64_t limit = class_limits_[record_class];
    return (limit > 0 && records(record_class) >= limit) || held() > Percent(StopsAt(record_class));
  }
  // There is room again, with a margin.
  bool relaxed(uint8_t record_class) const {
    const int64_t limit = class_limits_[record_class];
    return (limit == 0 || records(record_class) < limit - limit / 4) &&
           held() < Percent(StopsAt(record_class) - 15);
  }

  // Above 90 % devices are slowed; they are read again below 75 %. What is on its way already (a
  // read buffer a device) has the last tenth.
  bool high() const { return held() > limit_ / 10 * 9; }
  bool low() const { return held() < limit_ / 4 * 3; }

 private:
  // Class 1 may use 90 %, each one less urgent 5 points less, down to 75.
  static constexpr int StopsAt(uint8_t record_class) {
    return record_class >= kBulk ? 75 : 95 - 5 * record_class;
  }
  int64_t Percent(int64_t n) const { return limit_ / 100 * n; }

  int64_t limit_;
  std::array<int64_t, kClasses + 1> class_limits_{};
  std::atomic<int64_t> held_{0};
  std::array<std::atomic<int64_t>, kClasses + 1> records_{};
};

}  // namespace seganet

#endif  // SEGANET_CORE_QUEUE_BUDGET_H_

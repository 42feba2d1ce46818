#ifndef SEGANET_BENCH_SINK_STEPS_H_
#define SEGANET_BENCH_SINK_STEPS_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "../common/histogram.h"

namespace bench {

// Latency by the step of a record's intended time. The load starts with the smallest intended time.
// That record may not arrive first, so records of the first second are kept until the start is
// known.
class Steps {
 public:
  // 0: no steps.
  explicit Steps(int64_t step_us) : step_us_(step_us) {}

  void Add(int64_t intended_us, int64_t now_us) {
    if (step_us_ == 0) return;
    if (known_) {
      Count(intended_us, now_us);
      return;
    }
    if (held_.empty()) {
      until_us_ = now_us + kHoldUs;
      start_us_ = intended_us;
    }
    start_us_ = std::min(start_us_, intended_us);
    held_.emplace_back(intended_us, now_us);
    if (now_us >= until_us_) Settle();
  }

  // Returns [{"count":…,"p50":…,…},…] in order.
  std::string Json(bool buckets) const {
    Steps all = *this;
    all.Settle();
    std::string out = "[";
    for (const Histogram& step : all.steps_) {
      if (out.size() > 1) out += ",";
      out += step.Json(buckets);
    }
    return out + "]";
  }

  bool any() const { return step_us_ > 0; }

 private:
  static constexpr int64_t kHoldUs = 1000000;
  static constexpr size_t kMaxSteps = 1000;  // later ones count in the last

  void Settle() {
    known_ = true;
    for (const auto& [intended_us, now_us] : held_) Count(intended_us, now_us);
    held_ = {};
  }

  void Count(int64_t intended_us, int64_t now_us) {
    const auto at_us = std::max<int64_t>(intended_us - start_us_, 0);
    const size_t step = std::min(static_cast<size_t>(at_us / step_us_), kMaxSteps - 1);
    if (step >= steps_.size()) steps_.resize(step + 1);
    steps_[step].Add(now_us - intended_us);
  }

  const int64_t step_us_;
  bool known_ = false;
  int64_t until_us_ = 0;
  int64_t start_us_ = 0;
  std::vector<std::pair<int64_t, int64_t>> held_;
  std::vector<Histogram> steps_;
};

}  // namespace bench

#endif  // SEGANET_BENCH_SINK_STEPS_H_
